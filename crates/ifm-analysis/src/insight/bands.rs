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
    /// Speed of N users over N times that of one, 0 to 1.
    pub efficiency: Band,
    /// Speed of the fastest scenario over that of the slowest.
    pub speed_spread: Band,
    /// Change that a condition makes, as a share.
    pub overhead: Band,
    /// Standard deviation over mean of repeats.
    pub cv: Band,
}

/// Three words for a value and the two bounds between them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    good: Bound,
    middle: Bound,
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
    /// The word for a value.
    pub fn word(&self, value: f64) -> &str {
        match self {
            _ if self.good.holds(value) => &self.good.word,
            _ if self.middle.holds(value) => &self.middle.word,
            _ => &self.poor,
        }
    }

    /// Whether the value has the best word.
    pub fn is_good(&self, value: f64) -> bool {
        self.good.holds(value)
    }

    /// Whether the value has the worst word.
    pub fn is_poor(&self, value: f64) -> bool {
        !self.good.holds(value) && !self.middle.holds(value)
    }

    /// The two bounds, from the good to the poor side.
    pub fn bounds(&self) -> [Option<f64>; 2] {
        [self.good.at(), self.middle.at()]
    }

    /// The three words, from the good to the poor side.
    pub fn words(&self) -> [&str; 3] {
        [&self.good.word, &self.middle.word, &self.poor]
    }
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
            [0.71, 0.41, 0.08].map(|share| efficiency.word(share)),
            ["near linear", "sub-linear", "saturating"]
        );
        assert!(efficiency.is_poor(0.4) && !efficiency.is_poor(0.41));
    }
}
