//! One measurement compared with the same one of the baseline: the change, and whether it is shown.
//!
//! Not here: whole runs with their requests, which `comparison` holds against each other.

use super::Bands;
use crate::stat::welch::welch;
use crate::survey::{Pooled, Reading};
use ifm_core::sheet::{Quantity, Statistic};

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Standard errors from the middle of a 95 % interval to its end.
const REACH: f64 = 1.959_963_985;
/// From so many repeats on both sides the interval rests on how they differ.
const REPEATS_MIN: usize = 3;

/// Whether a difference is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The interval of the change leaves out zero.
    Yes,
    /// It does not, or the change is below what counts as one.
    No,
    /// There is no interval, and the change is not small.
    Unknown,
}

/// A change against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    /// The baseline's number.
    pub base: Reading,
    /// The other's number.
    pub other: Reading,
    /// Other over baseline, less 1.
    pub change: f64,
    /// Lower bound of the change with 95 % confidence; absent where nobody can give one.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Whether it is shown.
    pub shown: Shown,
}

impl Delta {
    /// Holds a number against the baseline's. From three repeats on both sides the interval is
    /// Welch's, of the logarithms of the repeats; else it is put together from the two intervals of
    /// the numbers, as errors of logarithms that do not depend on each other. `None` where a side
    /// has no positive number.
    pub fn of(
        base: &Pooled,
        other: &Pooled,
        quantity: &Quantity,
        statistic: Statistic,
    ) -> Option<Delta> {
        let before = base.reading(quantity, statistic)?;
        let after = other.reading(quantity, statistic)?;
        let repeats = (base.values(quantity, statistic), other.values(quantity, statistic));
        let mut delta = Delta::between(before, after)?;
        if repeats.0.len() >= REPEATS_MIN && repeats.1.len() >= REPEATS_MIN {
            let bounds = by_repeats(&repeats.0, &repeats.1);
            (delta.low, delta.high) = (bounds.map(|b| b.0), bounds.map(|b| b.1));
            delta.shown = shown(delta.change, bounds);
        }
        Some(delta)
    }

    /// Holds two numbers against each other by their own intervals.
    pub fn between(base: Reading, other: Reading) -> Option<Delta> {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        if !is_positive(base.value) || !is_positive(other.value) {
            return None;
        }
        let change = other.value / base.value - 1.0;
        let bounds = by_intervals(&base, &other);
        let (low, high) = (bounds.map(|b| b.0), bounds.map(|b| b.1));
        Some(Delta { base, other, change, low, high, shown: shown(change, bounds) })
    }
}

fn by_repeats(base: &[f64], other: &[f64]) -> Option<(f64, f64)> {
    let logs = |values: &[f64]| -> Option<Vec<f64>> {
        values.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect()
    };
    let test = welch(&logs(base)?, &logs(other)?, CONFIDENCE)?;
    Some((test.difference.low.exp_m1(), test.difference.high.exp_m1()))
}

fn by_intervals(base: &Reading, other: &Reading) -> Option<(f64, f64)> {
    let error = |reading: &Reading| {
        let (low, high) = (reading.low?, reading.high?);
        (low > 0.0 && high >= low).then(|| (high.ln() - low.ln()) / (2.0 * REACH))
    };
    let error = error(base)?.hypot(error(other)?);
    let middle = (other.value / base.value).ln();
    Some(((middle - REACH * error).exp_m1(), (middle + REACH * error).exp_m1()))
}

/// A change that is smaller than the smallest that counts is none, whatever its interval.
fn shown(change: f64, bounds: Option<(f64, f64)>) -> Shown {
    let is_small = Bands::get().overhead.is_good(change.abs());
    match bounds {
        _ if is_small => Shown::No,
        Some((low, high)) if low <= 0.0 && high >= 0.0 => Shown::No,
        Some(_) => Shown::Yes,
        None => Shown::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(value: f64, reach: Option<f64>) -> Reading {
        let low = reach.map(|reach| value - reach);
        let high = reach.map(|reach| value + reach);
        Reading { low, high, ..Reading::new(Quantity::E2e, Statistic::Mean, value) }
    }

    #[test]
    fn a_change_is_shown_where_its_interval_leaves_out_zero() {
        for (base, other, reach, expect) in [
            (100.0, 110.0, Some(1.0), Shown::Yes),
            (100.0, 110.0, Some(10.0), Shown::No),
            (100.0, 110.0, None, Shown::Unknown),
            (100.0, 101.0, Some(0.1), Shown::No),
        ] {
            let delta =
                Delta::between(reading(base, reach), reading(other, reach)).expect("numbers");
            assert_eq!(delta.shown, expect, "{base} {other} {reach:?}");
        }
        assert_eq!(Delta::between(reading(0.0, None), reading(1.0, None)), None);
    }

    /// Logarithms of 90, 100, 110 and twice as much: the spread is 0.1004, t(0.975, 4) = 2.776445,
    /// so the upper bound is 2 · exp(2.776445 · √(2 · 0.1004² / 3)) − 1.
    #[test]
    fn repeats_decide_by_welchs_test() {
        let bounds = by_repeats(&[90.0, 100.0, 110.0], &[180.0, 200.0, 220.0]).expect("three");
        assert!((bounds.1 - 1.5114).abs() < 2e-3, "{bounds:?}");
        assert_eq!(by_repeats(&[0.0, 1.0], &[1.0, 1.0]), None);
    }
}
