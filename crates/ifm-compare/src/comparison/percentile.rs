//! A percentile of one run between order statistics, and of several runs taken together.
//!
//! The number of values below a percentile is binomial regardless of their distribution, so the
//! values at two ranks bound it ([`interval`]). Values that depend on each other are worth fewer
//! independent ones, and few values give one bound or none. Not here: two sides.

use ifm_metrics::stat::interval::{TAIL, needed_to_bound, ranks_in_effect};
use std::sync::Arc;

/// Halvings by which a value is found among several runs: beyond the digits of a number.
const HALVINGS: u32 = 80;

/// Values in rising order.
#[derive(Debug, Clone)]
pub(crate) enum Ordered {
    /// All of them.
    Values(Arc<[f64]>),
    /// Values at shares of them, rising in both, dense around the percentile.
    Grid(Arc<[(f64, f64)]>),
}

/// What bounds a percentile of one run.
#[derive(Debug, Clone)]
pub(crate) struct PercentileBounds {
    pub ordered: Ordered,
    /// 0 to 100.
    pub p: f64,
    /// Number of values.
    pub n: u64,
    /// Independent values that would say as much.
    pub in_effect: f64,
}

impl PercentileBounds {
    /// The values that bound the percentile, each left out by chance at most `tail`; a bound that so
    /// few values cannot give is absent.
    pub fn bounds(&self, tail: f64) -> (Option<f64>, Option<f64>) {
        let (low, high) = ranks_in_effect(self.n, self.p, self.in_effect, tail);
        (low.and_then(|rank| self.at(rank)), high.and_then(|rank| self.at(rank)))
    }

    /// Whether the values bound the percentile on both sides with 95 % confidence.
    pub fn is_bounded(&self) -> bool {
        matches!(ranks_in_effect(self.n, self.p, self.in_effect, TAIL), (Some(_), Some(_)))
    }

    /// Independent values that are needed for both bounds.
    pub fn needed(&self) -> u64 {
        needed_to_bound(self.p, TAIL)
    }

    /// The value at a rank from 0.
    fn at(&self, rank: u64) -> Option<f64> {
        match &self.ordered {
            Ordered::Values(sorted) => sorted.get(rank as usize).copied(),
            Ordered::Grid(grid) => Some(value_at(grid, rank as f64 / (self.n.max(2) - 1) as f64)),
        }
    }

    /// Values that are at most `value`.
    fn count_to(&self, value: f64) -> f64 {
        match &self.ordered {
            Ordered::Values(sorted) => sorted.partition_point(|other| *other <= value) as f64,
            Ordered::Grid(grid) => share_to(grid, value) * self.n as f64,
        }
    }

    fn ends(&self) -> Option<(f64, f64)> {
        match &self.ordered {
            Ordered::Values(sorted) => Some((*sorted.first()?, *sorted.last()?)),
            Ordered::Grid(grid) => Some((grid.first()?.1, grid.last()?.1)),
        }
    }
}

/// The bounds of a percentile of all values of several runs together.
pub(crate) fn pooled_bounds(runs: &[&PercentileBounds], tail: f64) -> (Option<f64>, Option<f64>) {
    let Some(first) = runs.first() else { return (None, None) };
    let n = runs.iter().map(|run| run.n).sum();
    let in_effect = runs.iter().map(|run| run.in_effect.min(run.n as f64)).sum();
    let (low, high) = ranks_in_effect(n, first.p, in_effect, tail);
    let at = |rank: u64| {
        let ends = runs.iter().filter_map(|run| run.ends());
        let (mut below, mut above) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let count = |value: f64| runs.iter().map(|run| run.count_to(value)).sum::<f64>();
        let wanted = rank as f64 + 1.0;
        if count(below) >= wanted {
            return Some(below);
        }
        for _ in 0..HALVINGS {
            let middle = below + (above - below) / 2.0;
            *(if count(middle) >= wanted { &mut above } else { &mut below }) = middle;
        }
        Some(above)
    };
    (low.and_then(at), high.and_then(at))
}

/// The value at a share, by linear interpolation within a grid.
pub(crate) fn value_at(grid: &[(f64, f64)], share: f64) -> f64 {
    let above = grid.partition_point(|(known, _)| *known < share);
    let last = grid.len().saturating_sub(1);
    let (Some(low), Some(high)) = (grid.get(above.saturating_sub(1)), grid.get(above.min(last)))
    else {
        return f64::NAN;
    };
    if high.0 <= low.0 {
        return high.1;
    }
    low.1 + (high.1 - low.1) * ((share - low.0) / (high.0 - low.0)).clamp(0.0, 1.0)
}

/// The share of values that are at most `value`, by linear interpolation within a grid.
fn share_to(grid: &[(f64, f64)], value: f64) -> f64 {
    let above = grid.partition_point(|(_, known)| *known <= value);
    let (Some(low), Some(high)) =
        (above.checked_sub(1).and_then(|at| grid.get(at)), grid.get(above))
    else {
        return if above == 0 { 0.0 } else { 1.0 };
    };
    low.0 + (high.0 - low.0) * ((value - low.1) / (high.1 - low.1)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_metrics::stat::random::RandomStream;

    fn bounded(values: Vec<f64>, p: f64) -> PercentileBounds {
        let mut values = values;
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as u64;
        PercentileBounds { ordered: Ordered::Values(values.into()), p, n, in_effect: n as f64 }
    }

    fn lognormal(n: u64, seed: u64) -> Vec<f64> {
        let mut stream = RandomStream::new(seed);
        (0..n).map(|_| (0.4 * stream.normal()).exp()).collect()
    }

    #[test]
    fn a_p99_is_bounded_by_368_values_and_rarely_missed() {
        let truth = (0.4f64 * 2.326_347_874).exp();
        let (mut too_low, mut too_high) = (0, 0);
        for seed in 0..1_000 {
            let (low, high) = bounded(lognormal(400, seed), 99.0).bounds(TAIL);
            too_low += u32::from(high.expect("enough") < truth);
            too_high += u32::from(low.expect("enough") > truth);
        }
        // 2.5 % of 1,000 at most on each side, and chance on top.
        assert!(too_low <= 35 && too_high <= 35, "{too_low} {too_high}");
        let few = bounded(lognormal(300, 1), 99.0);
        assert!(few.bounds(TAIL).0.is_some() && few.bounds(TAIL).1.is_none() && !few.is_bounded());
        assert_eq!(few.needed(), 368);
        let depends = PercentileBounds { in_effect: 100.0, ..bounded(lognormal(400, 1), 99.0) };
        assert!(!depends.is_bounded());
    }

    #[test]
    fn runs_together_are_the_values_together() {
        let runs: Vec<PercentileBounds> =
            (0..4).map(|seed| bounded(lognormal(100, seed), 99.0)).collect();
        let all = bounded((0..4).flat_map(|seed| lognormal(100, seed)).collect(), 99.0);
        let runs: Vec<&PercentileBounds> = runs.iter().collect();
        let ((low, high), (expect_low, expect_high)) =
            (pooled_bounds(&runs, TAIL), all.bounds(TAIL));
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-9;
        assert!(near(low, expect_low) && near(high, expect_high), "{low:?} {high:?}");
        assert_eq!(pooled_bounds(&[], TAIL), (None, None));
    }

    #[test]
    fn a_grid_is_read_in_both_directions() {
        let grid = [(0.0, 1.0), (0.5, 2.0), (1.0, 6.0)];
        assert_eq!((value_at(&grid, 0.75), share_to(&grid, 4.0)), (4.0, 0.75));
        assert_eq!((share_to(&grid, 0.5), share_to(&grid, 6.0)), (0.0, 1.0));
    }
}
