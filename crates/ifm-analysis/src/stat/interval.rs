//! Order statistics that bound a percentile.
//!
//! Source: David and Nagaraja, "Order Statistics" (2003), section 7.1: the number of values below
//! the true quantile is binomial, whatever the distribution of the values. The values must be
//! independent, which requests of one level are to a good degree and pooled gaps are not.

use super::special::normal_upper_quantile;
use super::welch::tail;

/// Chance left out on each side of the intervals that summaries give.
pub(crate) const TAIL: f64 = 0.025;
/// Above this number of values, the binomial is taken as normal: its error is below one rank.
const EXACT_N_MAX: u64 = 2_000;

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

/// One-based ranks by the binomial distribution: the largest lower rank and the smallest upper one
/// that leave out at most `tail` each. 0 and n + 1 stand for "no such value".
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
        // 0.99^368 = 0.0248, the first power below 0.025: so many values bound P99 from above.
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
    fn the_two_methods_meet() {
        let exact = exact_ranks(EXACT_N_MAX, 0.95, TAIL);
        let normal = normal_ranks(EXACT_N_MAX as f64, 0.95, TAIL);
        assert!(exact.0.abs_diff(normal.0) <= 2, "{exact:?} {normal:?}");
        assert!(exact.1.abs_diff(normal.1) <= 2, "{exact:?} {normal:?}");
    }
}
