//! How many independent values a mean, or a share of values, rests on in effect.
//!
//! Requests in flight together share a queue and a batch, so their times rise and fall together: a
//! mean of them varies more than that of as many independent values. And where a few long requests
//! are most of the variance, the variance itself is known no better than that of a few values.

use super::blocks::{plain_inflation, variance_inflation};

/// Inflations this many standard errors above 1 are more than chance.
const ERRORS: f64 = 2.0;
/// Standard error of an inflation of independent values, times the root of their number.
const ERROR_PER_ROOT: f64 = 2.0;

/// What a mean rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveSize {
    /// How many times as large the variance of the mean is as that of independent values; at least 1.
    pub inflation: f64,
    /// Independent values whose mean would vary as much; at least 1 where there are values.
    pub independent: f64,
    /// Normal values whose variance would be known as well: `2 n / (k - 1)` for the kurtosis `k`, by
    /// the variance `(m4 - m2^2) / n` of a variance. Source: Cramer, "Mathematical Methods of
    /// Statistics" (1946), chapter 27.
    pub of_variance: f64,
}

/// Of the mean of values in the order of time, whose inflation is at least `inflation`. Equal
/// values count one by one. Too few values to see a dependence count as independent.
pub fn of_mean(values: &[f64], inflation: f64) -> EffectiveSize {
    let n = values.len() as f64;
    let inflation = variance_inflation(values).unwrap_or(1.0).max(inflation);
    let mean = values.iter().sum::<f64>() / n;
    let moment = |power: i32| values.iter().map(|v| (v - mean).powi(power)).sum::<f64>() / n;
    let (second, fourth) = (moment(2), moment(4));
    let excess = fourth / (second * second) - 1.0;
    let of_variance = if excess > 0.0 { (2.0 * n / excess).min(n) } else { n };
    EffectiveSize { inflation, independent: (n / inflation).max(n.min(1.0)), of_variance }
}

/// How many times as large the variance of the share of values below a percentile is as that of
/// independent values, in the order of time. `below` is 1 for each value below it, else 0, or a
/// weighted form of that.
///
/// Two estimates, the larger of which counts: of the counts themselves, and of the ranks of the
/// values, which shows a slow change that few counts do not. In the bulk of the values it is at least
/// `of_bulk`. In a tail, where that is absent and few values decide, only an inflation beyond chance counts.
pub fn share_inflation(values: &[f64], below: &[f64], of_bulk: Option<f64>) -> f64 {
    let of_ranks = variance_inflation(&ranks(values)).unwrap_or(1.0);
    let found = of_ranks.max(plain_inflation(below).unwrap_or(1.0));
    let chance = 1.0 + ERRORS * ERROR_PER_ROOT / (values.len().max(1) as f64).sqrt();
    match of_bulk {
        Some(inflation) => found.max(inflation),
        None if found < chance => 1.0,
        None => found,
    }
}

/// The place of each value among all in rising order, that of equal values in the middle of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let not_above = sorted.partition_point(|other| other <= value);
        (below + not_above) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::random::RandomStream;

    fn series(n: usize, memory: f64, seed: u64) -> Vec<f64> {
        let mut stream = RandomStream::new(seed);
        let mut value = stream.normal();
        (0..n)
            .map(|_| {
                value = memory * value + (1.0 - memory * memory).sqrt() * stream.normal();
                value
            })
            .collect()
    }

    #[test]
    fn strong_dependence_leaves_few_values() {
        // Of a memory of 0.95 an n-th of 39 is left: 25.6 of 1,000.
        let sizes = (0..40).map(|seed| of_mean(&series(1_000, 0.95, seed), 1.0).independent);
        let mean = sizes.sum::<f64>() / 40.0;
        assert!((18.0..36.0).contains(&mean), "{mean}");
        let alone = of_mean(&series(1_000, 0.0, 1), 1.0);
        assert!(alone.independent > 800.0 && alone.of_variance > 800.0, "{alone:?}");
    }

    #[test]
    fn a_mean_rests_on_one_value_or_more() {
        // 16 values that fall all the way.
        let falling: Vec<f64> = (0..16).map(|at| 46.0 - f64::from(at)).collect();
        assert!(of_mean(&falling, 40.0).independent >= 1.0);
        assert_eq!(of_mean(&[], 1.0).independent, 0.0);
    }

    #[test]
    fn one_long_request_is_most_of_a_variance() {
        let mut values = series(300, 0.0, 1);
        assert!(of_mean(&values, 1.0).of_variance > 200.0);
        values[7] = 60.0;
        let found = of_mean(&values, 1.0);
        assert!(found.of_variance < 4.0, "{found:?}");
        let flat = of_mean(&[2.0; 30], 1.0);
        assert_eq!((flat.independent, flat.of_variance), (30.0, 30.0));
    }

    #[test]
    fn a_share_depends_where_its_values_do() {
        let median = |values: &[f64]| {
            let below: Vec<f64> = values.iter().map(|v| f64::from(u8::from(*v <= 0.0))).collect();
            share_inflation(values, &below, Some(1.0))
        };
        let mean =
            |memory| (0..20).map(|seed| median(&series(600, memory, seed))).sum::<f64>() / 20.0;
        assert!(mean(0.0) < 1.2 && mean(0.95) > 20.0, "{} {}", mean(0.0), mean(0.95));
        assert_eq!(share_inflation(&[1.0; 9], &[1.0; 9], None), 1.0);
        assert_eq!(share_inflation(&[1.0; 9], &[1.0; 9], Some(3.0)), 3.0);
    }
}
