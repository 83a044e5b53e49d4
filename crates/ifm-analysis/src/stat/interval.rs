//! Ranks of the order statistics that bound a percentile with 95 % confidence.
//!
//! Source: David and Nagaraja, "Order Statistics" (2003), section 7.1: the number of values below
//! the true quantile is binomial, whatever the distribution of the values. The values must be
//! independent, which requests of one level are to a good degree and pooled gaps are not.

/// Chance left out on each side.
const TAIL: f64 = 0.025;
/// The quantile of the standard normal distribution at 1 - `TAIL`.
const NORMAL_97_5: f64 = 1.959_963_985;
/// Above this number of values, the binomial is taken as normal: its error is below one rank.
const EXACT_N_MAX: u64 = 2_000;

/// Ranks from 0 of the values that bound percentile `p` (0 to 100) of `n` values, each left out by
/// chance at most [`TAIL`]; a bound is absent where so few values cannot give it.
pub(crate) fn ranks(n: u64, p: f64) -> (Option<u64>, Option<u64>) {
    let q = p / 100.0;
    if n == 0 || q <= 0.0 || q >= 1.0 {
        return (None, None);
    }
    let (low, high) = if n <= EXACT_N_MAX { exact_ranks(n, q) } else { normal_ranks(n as f64, q) };
    (low.checked_sub(1), (high <= n).then(|| high - 1))
}

/// One-based ranks by the binomial distribution: the largest lower rank and the smallest upper one
/// that leave out at most `TAIL` each. 0 and n + 1 stand for "no such value".
fn exact_ranks(n: u64, q: f64) -> (u64, u64) {
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
        if below <= TAIL {
            low = k + 1;
        }
        if below >= 1.0 - TAIL {
            high = k + 1;
            break;
        }
    }
    (low, high)
}

/// The same by the normal distribution.
fn normal_ranks(n: f64, q: f64) -> (u64, u64) {
    let spread = NORMAL_97_5 * (n * q * (1.0 - q)).sqrt();
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
            assert_eq!(ranks(n, 50.0), (Some(low - 1), Some(high - 1)), "n = {n}");
        }
    }

    #[test]
    fn few_values_give_one_bound_or_none() {
        assert_eq!(ranks(5, 50.0), (None, None));
        assert_eq!(ranks(0, 50.0), (None, None));
        // 0.99^100 = 0.37: the largest of 100 values is below P99 too often to bound it.
        assert!(matches!(ranks(100, 99.0), (Some(_), None)));
        // 0.99^368 = 0.0248, the first power below 0.025: so many values bound P99 from above.
        assert_eq!(ranks(367, 99.0).1, None);
        assert_eq!(ranks(368, 99.0).1, Some(367));
    }

    #[test]
    fn the_two_methods_meet() {
        let exact = exact_ranks(EXACT_N_MAX, 0.95);
        let normal = normal_ranks(EXACT_N_MAX as f64, 0.95);
        assert!(exact.0.abs_diff(normal.0) <= 2, "{exact:?} {normal:?}");
        assert!(exact.1.abs_diff(normal.1) <= 2, "{exact:?} {normal:?}");
    }
}
