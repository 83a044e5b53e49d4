//! Shares: how sure one is, and whether two differ.
//!
//! Not here: what is counted.

use super::special::{ln_choose, normal_upper_quantile};
use super::welch::{Estimate, tail};

/// The interval of a share of `hits` among `n`: all shares p from which the count is at most z
/// standard errors away, `|hits/n - p| <= z · sqrt(p (1 - p) / n)`.
///
/// Source: Wilson (1927). Sound down to no hits at all. Assumes independent trials. None for no
/// trials, more hits than trials, and a confidence that is not between 0 and 1.
pub fn share_interval(hits: u64, n: u64, confidence: f64) -> Option<Estimate> {
    if n == 0 || hits > n {
        return None;
    }
    let z = normal_upper_quantile(tail(confidence)?);
    Some(wilson(hits as f64 / n as f64, n as f64, z))
}

/// The fewest trials without a hit whose [`share_interval`] ends below `limit`: `z^2 / n` over
/// `1 + z^2 / n` is its upper bound. None for a limit or a confidence that is not between 0 and 1.
pub fn trials_to_bound(limit: f64, confidence: f64) -> Option<u64> {
    let z = normal_upper_quantile(tail(confidence)?);
    let is_share = limit > 0.0 && limit < 1.0;
    is_share.then(|| (z * z * (1.0 - limit) / limit).ceil() as u64)
}

/// The interval of a share of `size` trials, which need not be a whole number, at `z` standard errors.
pub(crate) fn wilson(share: f64, size: f64, z: f64) -> Estimate {
    let middle = (share + z * z / (2.0 * size)) / (1.0 + z * z / size);
    let reach = z / (1.0 + z * z / size)
        * (share * (1.0 - share) / size + z * z / (4.0 * size * size)).sqrt();
    // With no hits, or only hits, one bound is the share itself, which rounding may miss.
    let low = if share <= 0.0 { 0.0 } else { (middle - reach).max(0.0) };
    let high = if share >= 1.0 { 1.0 } else { (middle + reach).min(1.0) };
    Estimate { value: share, low, high }
}

/// The difference of two shares, second minus first, with the interval that Newcombe (1998) makes
/// of the two of Wilson, his method 10.
///
/// Assumes independent trials. None as for [`share_interval`].
pub fn share_difference(a: (u64, u64), b: (u64, u64), confidence: f64) -> Option<Estimate> {
    let first = share_interval(a.0, a.1, confidence)?;
    let second = share_interval(b.0, b.1, confidence)?;
    let value = second.value - first.value;
    let below = (second.value - second.low).hypot(first.high - first.value);
    let above = (second.high - second.value).hypot(first.value - first.low);
    Some(Estimate { value, low: value - below, high: value + above })
}

/// Fisher's exact test: the two-sided chance that hits fall on two groups as unevenly as this, if
/// both have the same share. The sum over all tables with these margins that are not likelier than
/// the one that was found.
///
/// Source: Fisher (1934). Assumes independent trials. None for a group without a trial, and more
/// hits than trials.
pub fn fisher_exact(a: (u64, u64), b: (u64, u64)) -> Option<f64> {
    let ((hits_a, n_a), (hits_b, n_b)) = (a, b);
    if n_a == 0 || n_b == 0 || hits_a > n_a || hits_b > n_b {
        return None;
    }
    let hits = hits_a + hits_b;
    let ln_all = ln_choose(n_a + n_b, hits);
    let ln_chance = |in_a: u64| ln_choose(n_a, in_a) + ln_choose(n_b, hits - in_a) - ln_all;
    // A hair of room: equally likely tables must not part by rounding.
    let limit = ln_chance(hits_a) + 1e-7;
    let tables = hits.saturating_sub(n_b)..=hits.min(n_a);
    let sum: f64 = tables.map(ln_chance).filter(|chance| *chance <= limit).map(f64::exp).sum();
    Some(sum.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, expect: f64) {
        assert!((got - expect).abs() < 1e-9, "{got} is not {expect}");
    }

    // statsmodels 0.15.0: proportion_confint(15, 300, method="wilson");
    // confint_proportions_2indep(15, 300, 4, 280, method="newcomb") is first minus second. scipy
    // 1.17.1: stats.fisher_exact([[4, 276], [15, 285]]).pvalue.
    #[test]
    fn shares_are_those_of_statsmodels_and_scipy() {
        let share = share_interval(15, 300, 0.95).expect("a share");
        near(share.low, 0.030_531_640_629_347_278);
        near(share.high, 0.080_847_033_472_744_15);
        let difference = share_difference((4, 280), (15, 300), 0.95).expect("two shares");
        near(difference.low, 0.006_439_019_571_818_277);
        near(difference.high, 0.067_769_223_668_989_71);
        near(fisher_exact((4, 280), (15, 300)).expect("two shares"), 0.018_607_296_560_797_244);
    }

    #[test]
    fn computes_intervals_of_few_trials() {
        // The lady tasting tea: 3 of 4 against 1 of 4. 34 of the 70 tables are as uneven.
        near(fisher_exact((3, 4), (1, 4)).expect("shares"), 34.0 / 70.0);
        near(fisher_exact((0, 50), (0, 70)).expect("shares"), 1.0);
        let none = share_interval(0, 100, 0.95).expect("trials");
        // z^2 / (n + z^2).
        assert_eq!((none.value, none.low), (0.0, 0.0));
        near(none.high, 3.841_458_820_694_124 / 103.841_458_820_694_12);
        assert_eq!(share_interval(7, 7, 0.95).expect("trials").high, 1.0);
        assert_eq!(share_interval(0, 0, 0.95), None);
        let needed = trials_to_bound(0.01, 0.95).expect("a limit");
        let high = |n| share_interval(0, n, 0.95).expect("trials").high;
        assert!(needed == 381 && high(needed) <= 0.01 && high(needed - 1) > 0.01);
        assert_eq!(trials_to_bound(0.0, 0.95), None);
        assert_eq!(share_interval(2, 1, 0.95), None);
        assert_eq!(fisher_exact((0, 0), (1, 2)), None);
    }
}
