//! MLPerf's early-stopping estimate of a percentile: the value that a percentile stays below with a
//! confidence of 99 %.
//!
//! The number of values above the true percentile `p` is binomial with `n` and `1 - p`. The `t`-th
//! highest value is an upper bound of the percentile unless `t` or fewer values lie above it, whose
//! chance has to be below 1 %. Source: LoadGen, `loadgen/early_stopping.cc` of mlcommons/inference,
//! which asks the same of the regularised incomplete beta function, with tolerance 0. Not here:
//! intervals of percentiles by drawing again.

/// One less the confidence of LoadGen.
const CHANCE: f64 = 0.01;

/// Which of `n` values, counted from the highest, is the estimate of percentile `p`, 0 to 100; absent
/// where `n` is smaller than [`least`].
pub fn rank(n: u64, p: f64) -> Option<u64> {
    let (mut found, mut all) = (None, 0.0);
    for (above, chance) in chances(n, p) {
        all += chance;
        if all >= CHANCE {
            break;
        }
        found = Some(above).filter(|above| *above > 0);
    }
    found
}

/// The fewest values for which there is an estimate of percentile `p`, above 0 and below 100.
pub fn least(p: f64) -> u64 {
    let (mut low, mut high) = (1, 2);
    while rank(high, p).is_none() && high < u64::MAX / 4 {
        low = high;
        high *= 2;
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        match rank(middle, p) {
            Some(_) => high = middle,
            None => low = middle,
        }
    }
    high
}

/// How many of `n` values lie above percentile `p`, from 0, and the chance of it.
fn chances(n: u64, p: f64) -> impl Iterator<Item = (u64, f64)> {
    let (below, above) = (p / 100.0, 1.0 - p / 100.0);
    let odds = (above / below).ln();
    let mut logarithm = n as f64 * below.ln();
    (0..=n).map(move |k| {
        let chance = logarithm.exp();
        logarithm += ((n - k) as f64 / (k + 1) as f64).ln() + odds;
        (k, chance)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of MLPerf's inference rules.
    #[test]
    fn the_least_numbers_are_those_of_mlperf() {
        let found = [50.0, 90.0, 95.0, 99.0, 99.9].map(least);
        assert_eq!(found, [11, 64, 130, 662, 6636]);
        for p in [50.0, 90.0, 95.0, 99.0, 99.9] {
            assert_eq!((rank(least(p), p), rank(least(p) - 1, p)), (Some(1), None), "{p}");
        }
    }

    #[test]
    fn of_ten_thousand_the_p99_is_the_77th_highest() {
        assert_eq!(rank(10_000, 99.0), Some(77));
        // Far fewer than 1 % are above: chance has been allowed for.
        assert_eq!(rank(1_000_000, 50.0).map(|rank| rank / 1000), Some(498));
    }

    /// One less than the confidence of n = 11 at the median, computed on paper: 12 of 2048 ways.
    #[test]
    fn chances_are_binomial() {
        let all: Vec<f64> = chances(11, 50.0).map(|(_, chance)| chance).collect();
        assert!((all[0] + all[1] - 12.0 / 2048.0).abs() < 1e-12);
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
