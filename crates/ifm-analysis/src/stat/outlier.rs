//! Repeats that stand apart from the others.
//!
//! An outlier is told, never taken away: a run that was slow was slow. What is not here: why.

use super::quantile::percentile_of_sorted;
use super::special::student_two_sided;
use super::welch::Moments;

/// Above this size, a modified z-score calls for a look. Source: Iglewicz and Hoaglin (1993).
pub const MODIFIED_Z_MAX: f64 = 3.5;
/// What a median of absolute deviations is multiplied with to be a standard deviation, inverted.
const MEDIAN_DEVIATION_PER_STD: f64 = 0.674_489_750_196_081_7;
/// What a mean of absolute deviations is multiplied with to be a standard deviation.
const STD_PER_MEAN_DEVIATION: f64 = 1.253_314_137_315_500_3;

/// How far each value is from the median, in standard deviations that outliers cannot stretch:
/// `0.6745 · (x - median) / MAD`, with the median of the absolute deviations MAD; where that is 0,
/// `(x - median) / (1.2533 · mean absolute deviation)`.
///
/// Source: Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993). Assumes roughly normal
/// values but for the outliers; below five values it finds little. None for fewer than three
/// values, a value that is no number, and values that are all the same.
pub fn modified_z(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < 3 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let median_of = |values: &mut Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        percentile_of_sorted(values, 50.0)
    };
    let median = median_of(&mut values.to_vec())?;
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let mean = deviations.iter().sum::<f64>() / deviations.len() as f64;
    let middle = median_of(&mut deviations)?;
    let spread = if middle > 0.0 {
        middle / MEDIAN_DEVIATION_PER_STD
    } else {
        mean * STD_PER_MEAN_DEVIATION
    };
    (spread > 0.0).then(|| values.iter().map(|value| (value - median) / spread).collect())
}

/// The value that stands furthest from the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grubbs {
    /// Its place in the values.
    pub index: usize,
    /// Its distance from the mean in standard deviations.
    pub g: f64,
    /// Chance that the furthest of so many normal values is as far, on either side.
    pub p: f64,
}

/// Grubbs's test for one outlier: `G = max |x - mean| / s`.
///
/// `p = min(1, n · P(|t| >= sqrt(n (n - 2) G^2 / ((n - 1)^2 - n G^2))))` with n - 2 degrees of
/// freedom, Bonferroni's bound, exact for p below one half. Source: Grubbs (1950). Assumes normal
/// values but for one. None for fewer than three values, a value that is no number, and values
/// that are all the same.
pub fn grubbs(values: &[f64]) -> Option<Grubbs> {
    let moments = Moments::of(values)?;
    let std = moments.std().filter(|std| *std > 0.0)?;
    if values.len() < 3 {
        return None;
    }
    let distance = |value: &f64| (value - moments.mean).abs() / std;
    let furthest = values.iter().enumerate().max_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
    let (index, g) = furthest.map(|(index, value)| (index, distance(value)))?;
    let n = values.len() as f64;
    let rest = (n - 1.0).powi(2) - n * g * g;
    // At the largest distance that is possible, rounding may leave nothing or less.
    let p = if rest <= 0.0 {
        0.0
    } else {
        let t = (n * (n - 2.0) * g * g / rest).sqrt();
        (n * student_two_sided(t, n - 2.0)).min(1.0)
    };
    Some(Grubbs { index, g, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modified_z_by_hand() {
        // Median 10, deviations 2, 1, 0, 1, 20: their median is 1.
        let found = modified_z(&[8.0, 9.0, 10.0, 11.0, 30.0]).expect("values");
        let expect = [-2.0, -1.0, 0.0, 1.0, 20.0].map(|d| d * MEDIAN_DEVIATION_PER_STD);
        for (got, expect) in found.iter().zip(expect) {
            assert!((got - expect).abs() < 1e-12, "{found:?}");
        }
        // Most values the same: the mean deviation stands in, 4 / 5.
        let found = modified_z(&[10.0, 10.0, 10.0, 10.0, 14.0]).expect("values");
        assert!((found[4] - 4.0 / (1.253_314_137_315_500_3 * 0.8)).abs() < 1e-12, "{found:?}");
        assert_eq!(modified_z(&[1.0, 2.0]), None);
        assert_eq!(modified_z(&[3.0; 4]), None);
        assert_eq!(modified_z(&[1.0, 2.0, f64::INFINITY]), None);
    }

    // The eight values of the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.17.1. G by
    // numpy 2.4.6: abs(v - v.mean()).max() / v.std(ddof=1). The chance by scipy 1.17.1: t = sqrt(n*(n-2)*G**2/((n-1)**2-n*G**2));
    // n*2*stats.t.sf(t, n-2).
    #[test]
    fn grubbs_test_is_that_of_the_handbook() {
        let values = [199.31, 199.53, 200.19, 200.82, 201.92, 201.95, 202.18, 245.57];
        let found = grubbs(&values).expect("values");
        assert_eq!(found.index, 7);
        assert!((found.g - 2.468_764_611_212_45).abs() < 1e-12, "{}", found.g);
        assert!((found.p / 3.002_638_682_071_362e-7 - 1.0).abs() < 1e-9, "{}", found.p);
        assert_eq!(grubbs(&[1.0, 2.0]), None);
        assert_eq!(grubbs(&[2.0; 5]), None);
        // Three values of which two are the same are as far as can be.
        let furthest = grubbs(&[1.0, 1.0, 2.0]).expect("values");
        assert!(furthest.p < 1e-6 && furthest.index == 2);
    }
}
