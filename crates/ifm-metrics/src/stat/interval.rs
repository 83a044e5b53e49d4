//! Order statistics that bound a percentile.
//!
//! Source: David and Nagaraja, "Order Statistics" (2003), section 7.1: the number of values below
//! the true quantile is binomial, regardless of the distribution of the values. The values must be
//! independent; of values that depend on each other it must be known how many they are in effect.

use super::special::normal_upper_quantile;
use super::welch::tail;

/// Chance left out on each side of the intervals that summaries give.
pub const TAIL: f64 = 0.025;
/// Above this number of values, the binomial is taken as normal: its error is below one rank.
const EXACT_N_MAX: u64 = 2_000;
/// Numbers of values that are tried for two bounds, from the one that bounds a side.
const NEAR: u64 = 8;

/// Bounds of a percentile with 95 % confidence. A bound that so few values cannot give is absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// The values that bound percentile `p` (0 to 100) of a law from which `sorted` (in rising order)
/// was drawn. A bound that so few values cannot give is absent. Assumes independent values. None
/// for a confidence that is not between 0 and 1.
pub fn percentile_interval(sorted: &[f64], p: f64, confidence: f64) -> Option<Interval> {
    let (low, high) = ranks(sorted.len() as u64, p, tail(confidence)?);
    let value_at = |rank: u64| sorted.get(rank as usize).copied();
    Some(Interval { low: low.and_then(value_at), high: high.and_then(value_at) })
}

/// Ranks from 0 of the values that bound percentile `p` (0 to 100) of `n` values, each left out by
/// chance at most `tail`; a bound is absent where so few values cannot give it.
pub(crate) fn ranks(n: u64, p: f64, tail: f64) -> (Option<u64>, Option<u64>) {
    let q = p / 100.0;
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return (None, None);
    }
    let (low, high) =
        if n <= EXACT_N_MAX { exact_ranks(n, q, tail) } else { normal_ranks(n as f64, q, tail) };
    (low.checked_sub(1), (high <= n).then(|| high - 1))
}

/// The same for `n` values that are as good as `in_effect` independent ones: what the binomial of these
/// says of the share of values below the percentile holds for the `n`. Rounded outward.
pub fn ranks_in_effect(n: u64, p: f64, in_effect: f64, tail: f64) -> (Option<u64>, Option<u64>) {
    let few = in_effect.max(0.0) as u64;
    if few >= n {
        return ranks(n, p, tail);
    }
    let (low, high) = ranks(few, p, tail);
    let times = n as f64 / few.max(1) as f64;
    let low = low.map(|rank| (rank as f64 * times).floor() as u64);
    let high = high.map(|rank| ((rank + 1) as f64 * times).ceil() as u64 - 1);
    (low, high.filter(|rank| *rank < n))
}

/// The fewest independent values that bound percentile `p` (0 to 100) on both sides, each left out by
/// chance at most `tail`: 368 for P99 and a tail of 2.5 %.
pub fn needed_to_bound(p: f64, tail: f64) -> u64 {
    let beyond = p.min(100.0 - p) / 100.0;
    if beyond <= 0.0 {
        return u64::MAX;
    }
    let needed = (tail.ln() / (1.0 - beyond).ln()).ceil().max(1.0) as u64;
    // Both sides count near the median.
    let is_bounded = |n: &u64| matches!(ranks(*n, p, tail), (Some(_), Some(_)));
    (needed..needed.saturating_add(NEAR)).find(is_bounded).unwrap_or(needed)
}

/// One-based ranks by the binomial distribution: the largest lower rank and the smallest upper one
/// that leave out at most `tail` each. 0 and n + 1 mean "no such value".
fn exact_ranks(n: u64, q: f64, tail: f64) -> (u64, u64) {
    let (mut low, mut high) = (0, n + 1);
    let ratio = q / (1.0 - q);
    // The chance of k values below the quantile, from k = 0 up, in logarithms against underflow.
    let mut log_chance = n as f64 * (1.0 - q).ln();
    let mut below = 0.0;
    for k in 0..=n {
        if k > 0 {
            log_chance += (((n - k + 1) as f64 / k as f64) * ratio).ln();
        }
        below += log_chance.exp();
        // Now `below` is the chance that at most k values are below the quantile.
        if below <= tail {
            low = k + 1;
        }
        if below >= 1.0 - tail {
            high = k + 1;
            break;
        }
    }
    (low, high)
}

/// The same by the normal distribution.
fn normal_ranks(n: f64, q: f64, tail: f64) -> (u64, u64) {
    let spread = normal_upper_quantile(tail) * (n * q * (1.0 - q)).sqrt();
    let low = (n * q - spread).floor().max(0.0) as u64;
    let high = (n * q + spread).ceil() as u64 + 1;
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_table_for_medians() {
        // Ranks (from 1) of the 95 % interval of a median: 10 values 2 and 9, 20 values 6 and 15,
        // 100 values 40 and 61.
        for (n, low, high) in [(10, 2, 9), (20, 6, 15), (100, 40, 61)] {
            assert_eq!(ranks(n, 50.0, TAIL), (Some(low - 1), Some(high - 1)), "n = {n}");
        }
    }

    #[test]
    fn few_values_give_one_bound_or_none() {
        assert_eq!(ranks(5, 50.0, TAIL), (None, None));
        assert_eq!(ranks(0, 50.0, TAIL), (None, None));
        // 0.99^100 = 0.37: the largest of 100 values is below P99 too often to bound it.
        assert!(matches!(ranks(100, 99.0, TAIL), (Some(_), None)));
        // 0.99^368 = 0.0248, the first power below 0.025: 368 values bound P99 from above.
        assert_eq!(ranks(367, 99.0, TAIL).1, None);
        assert_eq!(ranks(368, 99.0, TAIL).1, Some(367));
    }

    #[test]
    fn the_values_at_the_ranks_are_the_bounds() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let found = percentile_interval(&values, 50.0, 0.95).expect("a confidence");
        assert_eq!(found, Interval { low: Some(40.0), high: Some(61.0) });
        let surer = percentile_interval(&values, 50.0, 0.999).expect("a confidence");
        assert!(surer.low < found.low && surer.high > found.high);
        assert_eq!(percentile_interval(&values, 50.0, 0.0), None);
    }

    #[test]
    fn dependent_values_have_the_bounds_of_fewer() {
        assert_eq!(ranks_in_effect(400, 99.0, 400.0, TAIL), ranks(400, 99.0, TAIL));
        assert_eq!(ranks_in_effect(400, 99.0, 367.0, TAIL).1, None);
        // Ten in effect: of 10 values 2 and 9, so the tenth of a hundred and the ninetieth.
        assert_eq!(ranks_in_effect(100, 50.0, 10.0, TAIL), (Some(10), Some(89)));
        assert_eq!(ranks_in_effect(100, 50.0, 0.0, TAIL), (None, None));
    }

    #[test]
    fn finds_the_number_of_values_that_bound_a_percentile() {
        for (p, needed) in [(99.0, 368), (95.0, 72), (90.0, 36), (50.0, 6), (1.0, 368)] {
            assert_eq!(needed_to_bound(p, TAIL), needed, "p{p}");
            assert!(matches!(ranks(needed - 1, p, TAIL), (None, _) | (_, None)), "p{p}");
        }
    }

    #[test]
    fn the_two_methods_meet() {
        let exact = exact_ranks(EXACT_N_MAX, 0.95, TAIL);
        let normal = normal_ranks(EXACT_N_MAX as f64, 0.95, TAIL);
        assert!(exact.0.abs_diff(normal.0) <= 2, "{exact:?} {normal:?}");
        assert!(exact.1.abs_diff(normal.1) <= 2, "{exact:?} {normal:?}");
    }
}
