//! Words of quality with their bounds, from `bands.toml`.

use serde::Deserialize;
use std::sync::LazyLock;

/// The words and bounds that this version uses.
static BANDS: LazyLock<Bands> = LazyLock::new(|| {
    #[allow(clippy::expect_used)]
    toml::from_str(include_str!("bands.toml")).expect("invariant: bands.toml is tested")
});

/// All bands.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bands {
    /// Version of the table.
    pub version: u32,
    /// Gaps between tokens, ms.
    pub itl_ms: Band,
    /// Time to first token, ms.
    pub ttft_ms: Band,
    /// Speed for one of N users over that for a single one, 0 to 1.
    pub efficiency: Band,
    /// Growth of the output over growth of the load, from one load to the next.
    pub output_growth: Band,
    /// Speed of the fastest scenario over that of the slowest.
    pub speed_spread: Band,
    /// Change that a condition makes, as a share.
    pub overhead: Band,
    /// Standard deviation over mean of repeats.
    pub cv: Band,
}

/// Three or four words for a value and the bounds between them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    good: Bound,
    middle: Bound,
    low: Option<Bound>,
    poor: String,
    /// Where the bounds come from.
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    below: Option<f64>,
    above: Option<f64>,
    word: String,
}

impl Bound {
    fn holds(&self, value: f64) -> bool {
        self.below.is_none_or(|below| value < below) && self.above.is_none_or(|above| value > above)
    }

    fn at(&self) -> Option<f64> {
        self.below.or(self.above)
    }
}

impl Band {
    /// The bounds from the good to the poor side.
    fn steps(&self) -> impl Iterator<Item = &Bound> {
        [Some(&self.good), Some(&self.middle), self.low.as_ref()].into_iter().flatten()
    }

    /// The word for a value.
    pub fn word(&self, value: f64) -> &str {
        self.steps().find(|step| step.holds(value)).map_or(&self.poor, |step| &step.word)
    }

    /// Whether the value has the best word.
    pub fn is_good(&self, value: f64) -> bool {
        self.good.holds(value)
    }

    /// Whether the value is beyond the middle.
    pub fn is_poor(&self, value: f64) -> bool {
        !self.good.holds(value) && !self.middle.holds(value)
    }

    /// The bounds of the good and of the middle word.
    pub fn bounds(&self) -> [Option<f64>; 2] {
        [self.good.at(), self.middle.at()]
    }

    /// The good, the middle and the worst word.
    pub fn words(&self) -> [&str; 3] {
        [&self.good.word, &self.middle.word, &self.poor]
    }

    /// Every word with the bound where it begins and the one where it ends, from the good to the
    /// poor side.
    pub fn stretches(&self) -> Vec<Stretch<'_>> {
        let mut from = None;
        let mut stretches = Vec::new();
        for step in self.steps() {
            let is_poor = stretches.len() > 1;
            stretches.push(Stretch { word: &step.word, from, to: step.at(), is_poor });
            from = step.at();
        }
        stretches.push(Stretch { word: &self.poor, from, to: None, is_poor: true });
        stretches
    }
}

/// The values that have one word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch<'b> {
    /// The word.
    pub word: &'b str,
    /// The bound on the good side; the best word has none.
    pub from: Option<f64>,
    /// The bound on the poor side; the worst word has none.
    pub to: Option<f64>,
    /// Whether it lies beyond the middle.
    pub is_poor: bool,
}

impl Bands {
    /// The bands of this version.
    pub fn get() -> &'static Bands {
        &BANDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_at_a_bound_has_the_worse_word() {
        let itl = &Bands::get().itl_ms;
        for (value, word) in
            [(5.8, "instant"), (20.0, "acceptable"), (69.9, "acceptable"), (75.8, "sluggish")]
        {
            assert_eq!(itl.word(value), word, "{value}");
        }
        let efficiency = &Bands::get().efficiency;
        assert_eq!(
            [0.71, 0.41, 0.40, 0.151, 0.15, 0.08].map(|share| efficiency.word(share)),
            ["near linear", "sub-linear", "saturating", "saturating", "saturated", "saturated"]
        );
        assert!(efficiency.is_poor(0.4) && efficiency.is_poor(0.1) && !efficiency.is_poor(0.41));
        let growth = &Bands::get().output_growth;
        assert_eq!(
            [0.21, 0.16, 0.04, 0.0, -0.07].map(|share| growth.word(share)),
            ["grows", "grows little", "hardly grows", "stops growing", "stops growing"]
        );
    }

    #[test]
    fn stretches_join_at_the_bounds() {
        let all = Bands::get().efficiency.stretches();
        let ends: Vec<_> = all.iter().map(|one| (one.from, one.to, one.is_poor)).collect();
        let expect = [
            (None, Some(0.7), false),
            (Some(0.7), Some(0.4), false),
            (Some(0.4), Some(0.15), true),
            (Some(0.15), None, true),
        ];
        assert_eq!(ends, expect);
        assert_eq!(Bands::get().itl_ms.stretches().len(), 3);
    }
}
