//! Repeats that are outliers among the others.
//!
//! An outlier is reported, never removed: a run that was slow was slow. Not here: the reason.

use super::special::student_two_sided;
use super::welch::Moments;

/// The value that is furthest from the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grubbs {
    /// Its place in the values.
    pub index: usize,
    /// Its distance from the mean in standard deviations.
    pub g: f64,
    /// Chance that the furthest of this many normal values is as far, on either side.
    pub p: f64,
}

/// Grubbs's test for one outlier: `G = max |x - mean| / s`.
///
/// `p = min(1, n · P(|t| >= sqrt(n (n - 2) G^2 / ((n - 1)^2 - n G^2))))` with n - 2 degrees of
/// freedom, Bonferroni's bound, exact for p below one half. Source: Grubbs (1950). Assumes normal
/// values but for one. None for fewer than three values, a value that is not a number, and equal
/// values.
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
