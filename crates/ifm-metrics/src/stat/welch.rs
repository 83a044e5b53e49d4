//! Means: the interval of one, and whether two differ.
//!
//! For values that are independent: one value per repeated run, or one per request where requests
//! do not depend on each other. Not here: values in one run that follow each other, see
//! [`blocks`](super::blocks).

use super::special::{student_two_sided, student_upper_quantile};

/// Values that differ by a smaller share are the same but for the last digits of a sum.
const SAME: f64 = 1e-12;

/// Number, mean and variance of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample variance (n - 1); absent for one value.
    pub variance: Option<f64>,
}

impl Moments {
    /// Of values in any order. None without a value, and where one of them is not a number.
    pub fn of(values: &[f64]) -> Option<Moments> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Moments { n, mean, variance: (n > 1).then(|| squares / (n - 1) as f64) })
    }

    /// Sample standard deviation; absent for one value.
    pub fn std(&self) -> Option<f64> {
        self.variance.map(f64::sqrt)
    }
}

/// A value and the bounds around it, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Estimate {
    /// The same on another scale; `change` must rise.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Estimate {
        Estimate { value: change(self.value), low: change(self.low), high: change(self.high) }
    }

    /// One over it: the bounds change places.
    pub fn inverse(self) -> Estimate {
        let Estimate { value, low, high } = self;
        Estimate { value: value.recip(), low: high.recip(), high: low.recip() }
    }
}

/// The interval of a mean: `mean ± t(1 - alpha/2, n - 1) · s / sqrt(n)`.
///
/// Between repeated runs the values are one number per run (its mean, or its percentile: the
/// interval is then that of the mean of the runs' percentiles). Source: Student (1908). Assumes
/// values that are independent and roughly normal, which means and percentiles of runs are. None
/// for fewer than two values, for a value that is not a number, for values that do not vary at all,
/// which say nothing of how far they are off, and for a confidence that is not between 0 and 1.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Estimate> {
    let moments = Moments::of(values)?;
    let tail = tail(confidence)?;
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let variance = moments.variance.filter(|variance| variance.sqrt() > SAME * largest)?;
    let error = (variance / moments.n as f64).sqrt();
    let reach = student_upper_quantile(tail, (moments.n - 1) as f64) * error;
    let mean = moments.mean;
    Some(Estimate { value: mean, low: mean - reach, high: mean + reach })
}

/// The same for amounts, such as times, rates and shares: where no value is below zero the mean is not
/// either, and it is not above `most`, which is 1 for a share. Bounds beyond are cut there.
pub fn mean_interval_of_amounts(values: &[f64], confidence: f64, most: f64) -> Option<Estimate> {
    let found = mean_interval(values, confidence)?;
    let least = if values.iter().all(|value| *value >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    Some(Estimate { low: found.low.max(least), high: found.high.min(most), ..found })
}

/// The difference of two means, and the evidence that it is not zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanDifference {
    /// Second mean minus first.
    pub difference: Estimate,
    /// Standard error of the difference.
    pub error: f64,
    /// The test's statistic; infinite where the values of a side do not vary but the means differ.
    pub t: f64,
    /// Degrees of freedom, not whole.
    pub freedom: f64,
    /// Two-sided chance of such a difference if there were none.
    pub p: f64,
}

/// Welch's test: whether two means differ, where the variances may differ too.
///
/// `t = (mean_b - mean_a) / sqrt(v_a/n_a + v_b/n_b)`, with the degrees of freedom of Welch and
/// Satterthwaite. Source: Welch (1947). Assumes independent, roughly normal values. None for fewer
/// than two values on a side, for a value that is not a number, and for a confidence that is not
/// between 0 and 1. Where neither side varies at all, p is 1 for equal means and 0 for others.
pub fn welch(a: &[f64], b: &[f64], confidence: f64) -> Option<MeanDifference> {
    let (first, second) = (Moments::of(a)?, Moments::of(b)?);
    let share = |moments: &Moments| Some(moments.variance? / moments.n as f64);
    let error = |moments: &Moments| Some((share(moments)?, (moments.n - 1) as f64));
    from_errors(first.mean, error(&first)?, second.mean, error(&second)?, confidence)
}

/// The difference of two values that each have a variance and degrees of freedom.
pub fn from_errors(
    a: f64,
    (variance_a, freedom_a): (f64, f64),
    b: f64,
    (variance_b, freedom_b): (f64, f64),
    confidence: f64,
) -> Option<MeanDifference> {
    let variance = variance_a + variance_b;
    if variance <= 0.0 {
        return from_error(b - a, 0.0, freedom_a + freedom_b, confidence);
    }
    let freedom =
        variance.powi(2) / (variance_a.powi(2) / freedom_a + variance_b.powi(2) / freedom_b);
    from_error(b - a, variance.sqrt(), freedom, confidence)
}

/// A difference with its standard error and its degrees of freedom.
pub fn from_error(value: f64, error: f64, freedom: f64, confidence: f64) -> Option<MeanDifference> {
    let tail = tail(confidence)?;
    if error <= 0.0 {
        let (t, p) = if value == 0.0 { (0.0, 1.0) } else { (f64::INFINITY.copysign(value), 0.0) };
        let difference = Estimate { value, low: value, high: value };
        return Some(MeanDifference { difference, error: 0.0, t, freedom, p });
    }
    let t = value / error;
    let reach = student_upper_quantile(tail, freedom) * error;
    let difference = Estimate { value, low: value - reach, high: value + reach };
    Some(MeanDifference { difference, error, t, freedom, p: student_two_sided(t, freedom) })
}

/// The chance left out on each side.
pub fn tail(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then(|| (1.0 - confidence) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 6] = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9];
    const B: [f64; 8] = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0];

    fn near(got: f64, expect: f64) {
        assert!((got - expect).abs() < 1e-9 * expect.abs().max(1.0), "{got} is not {expect}");
    }

    #[test]
    fn computes_the_interval_of_a_mean() {
        // Mean 2, variance 1, three values: 2 ± 4.302653 / sqrt(3).
        let found = mean_interval(&[1.0, 2.0, 3.0], 0.95).expect("three values");
        near(found.value, 2.0);
        near(found.high - 2.0, 4.302_652_729_749_464 / 3f64.sqrt());
        near(2.0 - found.low, found.high - 2.0);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(mean_interval(&[1.0, 2.0], 1.0), None);
    }

    #[test]
    fn bounds_of_amounts_stay_in_their_range() {
        let times = mean_interval_of_amounts(&[1.0, 40.0, 90.0], 0.95, f64::INFINITY);
        assert!(times.is_some_and(|found| found.low == 0.0 && found.high > 90.0), "{times:?}");
        let shares = mean_interval_of_amounts(&[0.9, 0.99, 1.0], 0.95, 1.0);
        assert!(shares.is_some_and(|found| found.high == 1.0 && found.low < 0.9), "{shares:?}");
        let changes = mean_interval_of_amounts(&[-1.0, 1.0, 3.0], 0.95, f64::INFINITY);
        assert_eq!(changes, mean_interval(&[-1.0, 1.0, 3.0], 0.95));
    }

    // scipy 1.17.1: r = stats.ttest_ind(B, A, equal_var=False); r.statistic, r.df, r.pvalue,
    // r.confidence_interval(0.95).
    #[test]
    fn welchs_test_is_that_of_scipy() {
        let found = welch(&A, &B, 0.95).expect("values");
        near(found.t, 1.406_927_128_858_428_2);
        near(found.freedom, 7.046_874_533_683_051);
        near(found.p, 0.201_988_677_353_455_05);
        near(found.difference.low, -1.696_094_052_160_207_3);
        near(found.difference.high, 6.696_094_052_160_207);
    }

    #[test]
    fn values_that_do_not_vary_decide_at_once() {
        let same = welch(&[2.0, 2.0], &[2.0, 2.0], 0.95).expect("values");
        assert_eq!((same.t, same.p), (0.0, 1.0));
        let other = welch(&[2.0, 2.0], &[1.0, 1.0], 0.95).expect("values");
        assert_eq!((other.t, other.p, other.difference.high), (f64::NEG_INFINITY, 0.0, -1.0));
        assert_eq!(welch(&[1.0], &[1.0, 2.0], 0.95), None);
    }
}
