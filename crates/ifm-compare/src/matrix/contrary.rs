//! Measures of the same runs that say contrary things.

use super::{Matrix, Ratio};
use ifm_core::Metric;
use ifm_core::sheet::PartKind;

/// Quantities that a ranking may use.
const MEASURES: [Metric; 4] =
    [Metric::OutputRate, Metric::TotalRate, Metric::InputRate, Metric::E2e];
/// Share of the latency up to which an output rate is that of a part of it.
const PART_MAX: f64 = 0.95;

/// A candidate that the ranking's measure shows on one side of the baseline, and other measures on
/// the other side.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrary {
    /// The thing.
    pub thing: usize,
    /// Against the baseline, by the measure of the ranking.
    pub ranked: Ratio,
    /// Against the baseline, by each of the others that say the contrary.
    pub others: Vec<(Metric, Ratio)>,
    /// Share of the latency that the output tokens take at the output rate, where it is a part
    /// only and one of the contrary measures is that rate.
    pub output_share: Option<f64>,
}

impl Matrix<'_> {
    /// The things of a configuration whose measures say contrary things, each of them shown.
    pub fn contraries(&self, configuration: usize) -> Vec<Contrary> {
        let Some(of) = self.configurations.get(configuration) else { return Vec::new() };
        let ranked = self.against_baseline(&[configuration], None);
        let others: Vec<(Metric, Vec<Option<Ratio>>)> = MEASURES
            .iter()
            .filter(|measure| **measure != of.measure)
            .map(|measure| (*measure, self.against_baseline(&[configuration], Some(*measure))))
            .collect();
        let contrary = |(thing, ranked): (usize, Option<Ratio>)| {
            let ranked = ranked.filter(Ratio::is_shown)?;
            let says_contrary = |ratio: &Ratio| match ranked.is_faster() {
                true => ratio.is_slower(),
                false => ratio.is_faster(),
            };
            let other = |(measure, ratios): &(Metric, Vec<Option<Ratio>>)| {
                let ratio = ratios.get(thing).cloned().flatten().filter(says_contrary)?;
                Some(((*measure), ratio))
            };
            let others: Vec<(Metric, Ratio)> = others.iter().filter_map(other).collect();
            let has_output = of.measure == Metric::OutputRate
                || others.iter().any(|(measure, _)| *measure == Metric::OutputRate);
            let output_share = self.output_share(thing, configuration).filter(|_| has_output);
            (!others.is_empty()).then_some(Contrary { thing, ranked, others, output_share })
        };
        ranked.into_iter().enumerate().filter_map(contrary).collect()
    }

    /// Share of the latency of a batch that its output tokens take at its output rate; absent where
    /// it is all of it, or is not known.
    pub fn output_share(&self, thing: usize, configuration: usize) -> Option<f64> {
        const MS_PER_S: f64 = 1e3;
        if self.kind != PartKind::StaticBatch {
            return None;
        }
        let of = self.configurations.get(configuration)?;
        let cell = self.cell(thing, configuration)?;
        let mean = |measure| Some(cell.sample(measure)?.mean).filter(|mean: &f64| *mean > 0.0);
        let seconds = of.batch? * of.output_tokens? / mean(Metric::OutputRate)?;
        let share = seconds / (mean(Metric::E2e)? / MS_PER_S);
        (share < PART_MAX).then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_results::testing::{results, timed};

    /// A published batch of 32: 4 048 tok/s after the first token against 3 756, and 0.74 s against
    /// 0.64 s in all.
    #[test]
    fn reports_a_faster_decode_in_a_slower_batch() {
        let asked = (32, 256, 32);
        let mut points = Vec::new();
        for (name, rows) in [
            ("original", [(3755.92, 0.64), (3789.70, 0.62), (3805.71, 0.60)]),
            ("w8a16", [(4048.26, 0.74), (4009.73, 0.72), (3923.16, 0.75)]),
            ("w8a8", [(4848.36, 0.46), (4735.19, 0.47), (4819.17, 0.46)]),
        ] {
            points.extend(timed(name, asked, &rows));
        }
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        let found = matrix.contraries(0);
        let [only] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(only.thing, 1);
        // Prompts take most of the time, so that the whole of it ranks: tokens over seconds, so that
        // the ratio is that of the harmonic means, near 1.86 s / 2.21 s.
        assert!(only.ranked.is_slower() && (only.ranked.value - 1.86 / 2.21).abs() < 1e-3);
        let [(Metric::OutputRate, rate)] = only.others.as_slice() else { panic!("{only:?}") };
        // Of the geometric means of 4048.26, 4009.73, 3923.16 and of 3755.92, 3789.70, 3805.71.
        assert!(rate.is_faster() && (rate.value - 1.05541).abs() < 1e-5, "{only:?}");
        // 1 024 tokens at 3 993.717 tok/s, of 0.736667 s.
        let share = only.output_share.expect("tokens, rate and latency");
        assert!((share - 0.348_06).abs() < 1e-5, "{share}");
    }
}
