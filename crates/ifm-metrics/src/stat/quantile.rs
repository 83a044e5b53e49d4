//! Percentiles by linear interpolation between order statistics.
//!
//! The rule is type 7 of Hyndman and Fan, "Sample quantiles in statistical packages" (1996), the
//! default of NumPy and R. It is the only rule in this program, so that two numbers can be
//! compared.

/// The name of the percentile rule, as reports print it.
pub const PERCENTILE_RULE: &str = "linear interpolation between order statistics (type 7)";

/// Minimum number of values beyond a percentile for it to be shown without a mark.
const VALUES_BEYOND: f64 = 10.0;

/// Position of percentile `p` (0 to 100) among `n` sorted values: the lower rank, from 0, and the
/// share of the way to the next one. `p` outside the range is taken as the nearer end.
pub fn position(n: u64, p: f64) -> (u64, f64) {
    let last = n.saturating_sub(1);
    let height = last as f64 * (p / 100.0).clamp(0.0, 1.0);
    let rank = (height.floor() as u64).min(last);
    (rank, height - rank as f64)
}

/// Percentile `p` (0 to 100) of values in rising order; absent for no values.
pub fn percentile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let (rank, share) = position(sorted.len() as u64, p);
    let low = *sorted.get(rank as usize)?;
    let high = sorted.get(rank as usize + 1).copied().unwrap_or(low);
    Some(low + (high - low) * share)
}

/// Whether `n` values are enough to show percentile `p` (0 to 100) without a mark: ten values
/// must be expected beyond it. That is 1000 for P99, 200 for P95 and 100 for P90. The median and
/// the ends, P0 and P100, are never marked: they say what they are.
pub fn is_enough(n: u64, p: f64) -> bool {
    if p == 50.0 || p <= 0.0 || p >= 100.0 {
        return n > 0;
    }
    let tail = (p.min(100.0 - p)) / 100.0;
    // A hair of room, because 1 - 0.99 is not 0.01 in binary.
    n as f64 * tail >= VALUES_BEYOND - 1e-6
}

/// The fewest values with which percentile `p` (0 to 100) is shown without a mark.
pub fn needed_for(p: f64) -> u64 {
    let tail = (p.min(100.0 - p)) / 100.0;
    if p == 50.0 || tail <= 0.0 { 1 } else { (VALUES_BEYOND / tail - 1e-6).ceil() as u64 }
}

/// Whether percentile `p` of `values` (in any order) is at most `limit`. One pass, no sorting:
/// only the values next to the limit decide. True for no values.
pub(crate) fn percentile_is_at_most(
    values: impl Iterator<Item = u64>,
    n: u64,
    p: f64,
    limit: f64,
) -> bool {
    if n == 0 {
        return true;
    }
    let (mut within, mut below, mut above) = (0u64, f64::NEG_INFINITY, f64::INFINITY);
    for value in values {
        let value = value as f64;
        if value <= limit {
            within += 1;
            below = below.max(value);
        } else {
            above = above.min(value);
        }
    }
    let (rank, share) = position(n, p);
    if within >= n || within > rank + 1 {
        true
    } else if within <= rank {
        false
    } else {
        share == 0.0 || below + (above - below) * share <= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn matches_hand_computed_values() {
        let values = [10.0, 20.0, 30.0, 40.0, 50.0];
        let check = |p: f64, expect: f64| {
            let got = percentile_of_sorted(&values, p).expect("values");
            assert!((got - expect).abs() < 1e-12, "p{p}: {got} is not {expect}");
        };
        check(0.0, 10.0);
        check(50.0, 30.0);
        check(90.0, 46.0);
        check(99.0, 49.6);
        check(100.0, 50.0);
        assert_eq!(percentile_of_sorted(&[], 50.0), None);
        assert_eq!(percentile_of_sorted(&[7.0], 99.0), Some(7.0));
    }

    #[test]
    fn the_sample_sizes_are_those_of_the_definitions() {
        for (p, needed) in [(99.0, 1000), (95.0, 200), (90.0, 100), (99.9, 10_000)] {
            assert!(is_enough(needed, p), "p{p} with {needed}");
            assert!(!is_enough(needed - 1, p), "p{p} with one less than {needed}");
            assert_eq!(needed_for(p), needed, "p{p}");
        }
        assert!(is_enough(1, 50.0));
        assert_eq!((needed_for(50.0), needed_for(100.0)), (1, 1));
        assert!(!is_enough(0, 50.0));
    }

    proptest! {
        #[test]
        fn the_one_pass_test_agrees_with_the_percentile(
            values in prop::collection::vec(0u64..50, 1..40),
            p in 0.0f64..100.0,
            limit in 0.0f64..50.0,
        ) {
            let mut sorted: Vec<f64> = values.iter().map(|v| *v as f64).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let value = percentile_of_sorted(&sorted, p).expect("values");
            let n = values.len() as u64;
            prop_assert_eq!(
                percentile_is_at_most(values.into_iter(), n, p, limit),
                value <= limit
            );
        }
    }
}
