//! Intervals of values that depend on those before them, for one look at a level under way.
//!
//! All take requests in the order of their starts. Requests in flight together share a queue and a
//! batch, so the variance of a mean is inflated by what the autocovariances say
//! ([`plain_inflation`]). Not here: which values are used, and when.

use crate::stat::blocks::plain_inflation;
use crate::stat::percentile_of_sorted;
use crate::stat::proportion::wilson;
use crate::stat::special::student_upper_quantile;

/// Most values whose dependence is judged; more are taken together in groups of neighbors, so that
/// a look at a million requests takes milliseconds.
const GROUPS_MAX: usize = 2_000;
/// Chance left out on each side of a 95 % interval.
const TAIL: f64 = 0.025;

/// A request's part of a ratio of sums: its values together, and how many they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    pub sum: f64,
    pub count: f64,
}

/// How sure a mean is.
struct Error {
    /// Variance of the mean.
    variance: f64,
    /// Independent values that would tell as much.
    worth: f64,
}

/// The error of the mean of values that depend on each other.
fn error_of_mean(values: &[f64]) -> Option<Error> {
    let together = values.len().div_ceil(GROUPS_MAX).max(1);
    let groups: Vec<f64> = values
        .chunks_exact(together)
        .map(|group| group.iter().sum::<f64>() / together as f64)
        .collect();
    let inflation = plain_inflation(&groups)?;
    let n = groups.len() as f64;
    let mean = groups.iter().sum::<f64>() / n;
    let variance = groups.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some(Error { variance: inflation * variance / n, worth: n / inflation })
}

/// Standard errors to each side of an interval that holds 95 %.
fn reach(error: &Error) -> f64 {
    student_upper_quantile(TAIL, (error.worth - 1.0).max(1.0))
}

/// Sum over count, and the error of that: of the residuals `sum - ratio · count` (Cochran,
/// "Sampling Techniques", 1977, section 2.11).
fn ratio(parts: &[Part]) -> Option<(f64, Error)> {
    let sum: f64 = parts.iter().map(|part| part.sum).sum();
    let count: f64 = parts.iter().map(|part| part.count).sum();
    if count <= 0.0 {
        return None;
    }
    let ratio = sum / count;
    let mean_count = count / parts.len() as f64;
    let residuals: Vec<f64> =
        parts.iter().map(|part| (part.sum - ratio * part.count) / mean_count).collect();
    Some((ratio, error_of_mean(&residuals)?))
}

/// Bounds of a mean of values, `z` standard errors to each side: of the ratio of sums over whole
/// requests. None for fewer than eight requests, or without a value.
pub(super) fn mean_bounds(parts: &[Part], z: f64) -> Option<(f64, f64)> {
    let (mean, error) = ratio(parts)?;
    let reach = z * error.variance.sqrt();
    Some((mean - reach, mean + reach))
}

/// Half the width of the 95 % interval of a ratio of sums, as a share of the ratio; 0 where every
/// request says the same. None for fewer than eight requests, or without a value.
pub(super) fn half_width_of_ratio(parts: &[Part]) -> Option<f64> {
    let (ratio, error) = ratio(parts)?;
    let half = reach(&error) * error.variance.sqrt();
    share_of(half, ratio)
}

/// The same for a median.
pub(super) fn half_width_of_median(values: &[f64]) -> Option<f64> {
    Some(median_with_half_width(values)?.1)
}

/// A median, and half the width of its 95 % interval as a share of it: the values at the ranks between which the true median lies, by the error
/// of the share of values below it (Woodruff 1952).
pub(crate) fn median_with_half_width(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = percentile_of_sorted(&sorted, 50.0)?;
    let below: Vec<f64> =
        values.iter().map(|value| if *value <= median { 1.0 } else { 0.0 }).collect();
    let error = error_of_mean(&below)?;
    let off = 50.0 * reach(&error) / error.worth.sqrt();
    if off >= 50.0 {
        return None;
    }
    let low = percentile_of_sorted(&sorted, 50.0 - off)?;
    let high = percentile_of_sorted(&sorted, 50.0 + off)?;
    Some((median, share_of((high - low) / 2.0, median)?))
}

fn share_of(half: f64, value: f64) -> Option<f64> {
    if half == 0.0 {
        return Some(0.0);
    }
    Some(half / value).filter(|share| share.is_finite() && *share >= 0.0)
}

/// The lower bound, `z` standard errors away, of the share of values that count: `sum` of them
/// among the `count` of each request. None for fewer than eight requests, or without a value.
pub(super) fn share_at_least(parts: &[Part], z: f64) -> Option<f64> {
    let (share, size) = trials(parts)?;
    Some(wilson(share, size.unwrap_or(parts.len() as f64), z).low)
}

/// The upper bound, with 97.5 %, of the same share. `values` has one value for each request, whose
/// dependence is considered too: which side of a limit a value is on shows less of it, and nothing
/// if all are on one side. None for fewer than eight requests, or without a value.
pub(super) fn share_at_most(parts: &[Part], values: &[f64]) -> Option<f64> {
    let (share, size) = trials(parts)?;
    let together = values.len().div_ceil(GROUPS_MAX).max(1);
    let worth = error_of_mean(values)?.worth * together as f64;
    // The values of a request with many of them may be independent.
    let is_single = parts.iter().all(|part| part.count == 1.0);
    let size = size.map_or(worth, |size| if is_single { size.min(worth) } else { size });
    Some(wilson(share, size, student_upper_quantile(TAIL, (size - 1.0).max(1.0))).high)
}

/// The share of values that count, and how many independent trials would have its error; absent
/// where all requests say the same.
fn trials(parts: &[Part]) -> Option<(f64, Option<f64>)> {
    let (share, error) = ratio(parts)?;
    let count: f64 = parts.iter().map(|part| part.count).sum();
    let spread = share * (1.0 - share);
    let size = (error.variance > 0.0 && spread > 0.0).then(|| (spread / error.variance).min(count));
    Some((share, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::random::RandomStream;

    fn ones(values: &[f64]) -> Vec<Part> {
        values.iter().map(|&sum| Part { sum, count: 1.0 }).collect()
    }

    #[test]
    fn a_mean_of_independent_values_has_the_interval_of_student() {
        // 20 values 9 and 11 in an order without memory: mean 10, variance 20/19, so the half width
        // is 2.093 · sqrt(1/19) = 0.4802 (t with 19 degrees of freedom).
        let signs = [1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 1];
        let values: Vec<f64> = signs.iter().map(|sign| 9.0 + 2.0 * f64::from(*sign)).collect();
        let found = half_width_of_ratio(&ones(&values)).expect("values");
        assert!((found - 0.048_02).abs() < 1e-4, "{found}");
    }

    #[test]
    fn what_has_no_spread_is_known() {
        assert_eq!(half_width_of_ratio(&ones(&[7.0; 10])), Some(0.0));
        assert_eq!(half_width_of_median(&[7.0; 10]), Some(0.0));
        assert_eq!(half_width_of_ratio(&ones(&[7.0; 7])), None);
        assert_eq!(half_width_of_ratio(&[]), None);
        assert_eq!(half_width_of_ratio(&ones(&[0.0; 10])), Some(0.0));
    }

    #[test]
    fn a_share_without_spread_is_bounded_by_the_requests() {
        // All of 1 000 gaps in each of 10 requests: ten trials, 10 / (10 + 1.96²) by Wilson.
        let all = vec![Part { sum: 1_000.0, count: 1_000.0 }; 10];
        let found = share_at_least(&all, 1.96).expect("values");
        assert!((found - 10.0 / (10.0 + 1.96f64.powi(2))).abs() < 1e-12, "{found}");
        assert_eq!(share_at_least(&ones(&[0.0; 10]), 1.96), Some(0.0));
    }

    #[test]
    fn dependent_values_are_less_sure() {
        let series = |memory: f64| {
            let mut stream = RandomStream::new(3);
            let mut deviation = 0.0;
            let fresh = (1.0 - memory * memory).sqrt();
            let value = |_| {
                deviation = memory * deviation + fresh * stream.normal();
                100.0 + 10.0 * deviation
            };
            (0..2_000).map(value).collect::<Vec<f64>>()
        };
        let (free, bound) = (series(0.0), series(0.8));
        for width in [half_width_of_median, |v: &[f64]| half_width_of_ratio(&ones(v))] {
            let (free, bound) = (width(&free).expect("values"), width(&bound).expect("values"));
            assert!(bound > 1.8 * free, "{free} and {bound}");
        }
    }
}
