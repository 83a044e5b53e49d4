//! The central value of several repeats of one measurement, and its interval.
//!
//! Times and rates differ from repeat to repeat by factors, so their logarithms are averaged: the
//! geometric mean. One slow repeat moves it less than the arithmetic mean, and the ratio of two of
//! them is the ratio that a comparison tests. Shares add up over requests, so they have the
//! arithmetic mean, and so has everything that is zero or below somewhere. Every output that takes
//! repeats together gets its value here. Not here: the values of one level, see
//! [`Distribution`](super::Distribution).

use super::welch::{Estimate, mean_interval, mean_interval_of_amounts};

/// On which scale repeats vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Times, rates, sizes: by factors.
    Ratio,
    /// Shares, 0 to 1: by differences.
    Share,
}

/// The central value of values in any order; absent without a value.
pub fn center(values: &[f64], scale: Scale) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    Some(match is_geometric(values, scale) {
        // The logarithm of a value and back is not always the value.
        true if values.iter().all(|value| Some(value) == values.first()) => *values.first()?,
        true => (values.iter().map(|value| value.ln()).sum::<f64>() / n).exp(),
        false => values.iter().sum::<f64>() / n,
    })
}

/// Student's interval of that value, with the value; absent for fewer than two values and for values that
/// do not vary.
pub fn center_interval(values: &[f64], scale: Scale, confidence: f64) -> Option<Estimate> {
    if is_geometric(values, scale) {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        return mean_interval(&logs, confidence).map(|found| found.map(f64::exp));
    }
    let most = if scale == Scale::Share { 1.0 } else { f64::INFINITY };
    mean_interval_of_amounts(values, confidence, most)
}

fn is_geometric(values: &[f64], scale: Scale) -> bool {
    scale == Scale::Ratio && values.iter().all(|value| *value > 0.0 && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expect: f64) {
        let found = found.expect("values");
        assert!((found - expect).abs() < 1e-9 * expect.abs().max(1.0), "{found} is not {expect}");
    }

    #[test]
    fn amounts_have_the_geometric_mean_and_shares_the_arithmetic_one() {
        near(center(&[2.0, 8.0], Scale::Ratio), 4.0);
        near(center(&[0.2, 0.8], Scale::Share), 0.5);
        near(center(&[0.0, 8.0], Scale::Ratio), 4.0);
        near(center(&[-2.0, 8.0], Scale::Ratio), 3.0);
        assert_eq!(center(&[44.8; 3], Scale::Ratio), Some(44.8));
        assert_eq!(center(&[], Scale::Ratio), None);
    }

    /// Logarithms 0, ln 2 and ln 4: deviation ln 2, t(0.975, 2) = 4.302653, so the reach is
    /// 4.302653 · ln 2 / √3 = 1.721876 on each side of ln 2.
    #[test]
    fn interval_is_even_in_factors() {
        let found = center_interval(&[1.0, 2.0, 4.0], Scale::Ratio, 0.95).expect("three values");
        let reach = 1.721_876_f64.exp();
        assert!((found.value - 2.0).abs() < 1e-9, "{found:?}");
        assert!((found.high / (2.0 * reach) - 1.0).abs() < 1e-5, "{found:?}");
        assert!((found.low * reach / 2.0 - 1.0).abs() < 1e-5, "{found:?}");
        let share = center_interval(&[0.9, 0.99, 1.0], Scale::Share, 0.95).expect("three values");
        assert!(share.high <= 1.0 && share.low > 0.0, "{share:?}");
        assert_eq!(center_interval(&[3.0; 3], Scale::Ratio, 0.95), None);
    }
}
