//! What a comparison could have found.
//!
//! A comparison that shows no difference says little until it is known which difference it would
//! have shown. Not here: the comparison itself.

use super::special::{normal_upper_quantile, student_upper_quantile};

/// The smallest difference of two means that a two-sided test at `alpha` finds with chance `power`,
/// from the standard error of the difference and its degrees of freedom, in the unit of `error`:
/// `(t(1 - alpha/2, freedom) + t(power, freedom)) · error`.
///
/// Source: Bloom, "Minimum detectable effects" (1995). Assumes independent values of the same
/// standard deviation on both sides. Above the exact value from the noncentral t by less than 1 % for
/// 5 and more on each side. None for no degrees of freedom, an `alpha` that is not between 0 and 1, and
/// a `power` that is not at least one half and below 1.
pub fn detectable(error: f64, freedom: f64, alpha: f64, power: f64) -> Option<f64> {
    let is_sensible = freedom > 0.0 && alpha > 0.0 && alpha < 1.0 && (0.5..1.0).contains(&power);
    is_sensible.then(|| {
        let reach = student_upper_quantile(alpha / 2.0, freedom);
        (reach + student_upper_quantile(1.0 - power, freedom)) * error
    })
}

/// Halvings of the range in which [`detectable_share`] searches: below a millionth of a point.
const HALVINGS: u32 = 40;

/// The smallest difference of two shares, 0 to 1, that a two-sided test at `alpha` finds with chance
/// `power`, if the share of the first group is that of `first`, hits among trials, and the second
/// group has `n` trials. The difference `d` at which
/// `d = z(1 - alpha/2) · sqrt(p (1 - p) (1/n1 + 1/n2)) + z(power) · sqrt(p1 q1 / n1 + p2 q2 / n2)`
/// with `p2 = p1 ± d`, `p` the share over both groups, and the sign that leaves more room.
///
/// Source: Fleiss, Levin and Paik, "Statistical Methods for Rates and Proportions" (2003), chapter
/// 4, without the correction for continuity. None for a group without a trial, and where not even the
/// largest possible difference is found with that chance.
pub fn detectable_share(first: (u64, u64), n: u64, alpha: f64, power: f64) -> Option<f64> {
    let (hits, n_first) = first;
    if n == 0 || n_first == 0 || hits > n_first {
        return None;
    }
    let (n1, n2) = (n_first as f64, n as f64);
    let share = hits as f64 / n1;
    // By symmetry a share above one half is that of the others.
    let p1 = share.min(1.0 - share);
    let [of_test, of_power] = [alpha / 2.0, 1.0 - power].map(normal_upper_quantile);
    let needed = |d: f64| {
        let p2 = p1 + d;
        let p = (p1 * n1 + p2 * n2) / (n1 + n2);
        of_test * (p * (1.0 - p) * (1.0 / n1 + 1.0 / n2)).sqrt()
            + of_power * (p1 * (1.0 - p1) / n1 + p2 * (1.0 - p2) / n2).sqrt()
    };
    let (mut low, mut high) = (0.0, 1.0 - p1);
    if needed(high) > high {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if needed(middle) > middle { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed on paper for no hits: both roots are `sqrt(d / n)` but for terms of d², so that `d
    /// = (1.960 + 0.842)² / n`.
    #[test]
    fn shares_have_a_difference_that_would_show() {
        let found = detectable_share((0, 10_000), 10_000, 0.05, 0.8).expect("trials");
        assert!((found / (2.801_585f64.powi(2) / 1e4) - 1.0).abs() < 1e-3, "{found}");
        let found = detectable_share((100, 200), 200, 0.05, 0.8).expect("trials");
        assert!((found - 0.138_32).abs() < 1e-4, "{found}");
        assert_eq!(
            detectable_share((1, 2), 3, 0.05, 0.8),
            None,
            "two and three trials show nothing"
        );
        let (few, many) = (
            detectable_share((3, 100), 100, 0.05, 0.8),
            detectable_share((97, 100), 100, 0.05, 0.8),
        );
        assert_eq!(few, many, "failures of 3 % and successes of 97 %");
        assert_eq!(detectable_share((0, 0), 10, 0.05, 0.8), None);
        assert_eq!(detectable_share((1, 1), 0, 0.05, 0.8), None);
    }

    // statsmodels 0.15.0: TTestIndPower().solve_power(nobs1=n, alpha=alpha, power=power), which is
    // exact.
    #[test]
    fn it_is_near_the_exact_value() {
        for (n, alpha, power, expect) in [
            (5, 0.05, 0.8, 2.024_440_145_655_355),
            (10, 0.05, 0.8, 1.324_947_368_330_822),
            (30, 0.01, 0.9, 1.025_555_668_037_561_7),
            (500, 0.05, 0.95, 0.228_208_561_179_632_92),
        ] {
            // Of a standard deviation of 1: the error of a difference of two means of n values.
            let (error, freedom) = ((2.0 / f64::from(n)).sqrt(), f64::from(2 * n - 2));
            let got = detectable(error, freedom, alpha, power).expect("sensible");
            assert!((got / expect - 1.0).abs() < 0.01, "n = {n}: {got} and {expect}");
        }
    }

    #[test]
    fn rejects_impossible_inputs() {
        assert_eq!(detectable(1.0, 0.0, 0.05, 0.8), None);
        assert_eq!(detectable(1.0, 8.0, 0.0, 0.8), None);
        assert_eq!(detectable(1.0, 8.0, 0.05, 1.0), None);
        assert_eq!(detectable(0.0, 8.0, 0.05, 0.8), Some(0.0));
    }
}
