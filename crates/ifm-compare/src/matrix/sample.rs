//! What repeats of a number are together, as they were measured and as a document states it.

use super::Cell;
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, RowRole, Statistic, StdKind};
use ifm_metrics::stat::welch::{Moments, mean_interval_of_amounts};
use ifm_results::{CONFIDENCE, Point, REPEATS_MIN, Stat};

/// Standard deviation over mean above which repeats say nothing of the thing that they measured.
pub const TRUSTED_CV_MAX: f64 = 0.2;
/// Noise of arithmetic, as a share.
const PRECISION: f64 = 1e-9;
/// The deviations that a summary may print, in order of preference.
const SPREADS: [Statistic; 4] = [
    Statistic::Std(StdKind::Sample),
    Statistic::Std(StdKind::Unknown),
    Statistic::Std(StdKind::Population),
    Statistic::HalfWidth,
];

/// What repeats of a number are together.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation, or what a summary prints after `±`; absent for one repeat.
    pub std: Option<f64>,
    /// Number of repeats; absent where a summary does not say.
    pub n: Option<usize>,
    /// Every repeat; empty for a summary.
    pub values: Vec<f64>,
}

impl Sample {
    /// Standard deviation over mean.
    pub fn cv(&self) -> Option<f64> {
        self.std.filter(|_| self.mean > 0.0).map(|std| std / self.mean)
    }

    /// Whether the repeats agree well enough to say anything of what they measured.
    pub fn is_trusted(&self) -> bool {
        self.cv().is_none_or(|cv| cv <= TRUSTED_CV_MAX)
    }

    /// The interval of the mean with 95 % confidence (Student); absent with fewer than three
    /// repeats.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let found = mean_interval_of_amounts(&self.values, CONFIDENCE, f64::INFINITY)
            .filter(|_| self.is_testable())?;
        Some((found.low, found.high))
    }

    /// Whether there are enough repeats to test a difference.
    pub fn is_testable(&self) -> bool {
        self.values.len() >= REPEATS_MIN
    }
}

impl Cell<'_> {
    /// The repeats of a quantity; absent where none was measured.
    pub fn sample(&self, quantity: Metric) -> Option<Sample> {
        let values: Vec<f64> = self
            .points
            .iter()
            .filter(|point| point.role == RowRole::Measured)
            .filter_map(|point| Some(central(point, quantity)?.value))
            .collect();
        match Moments::of(&values) {
            Some(moments) => {
                Some(Sample { mean: moments.mean, std: moments.std(), n: Some(moments.n), values })
            }
            None => self.summary(quantity),
        }
    }

    /// The repeats of a quantity as a page writes them: with the mean and the deviation that the
    /// document states, where they agree with its repeats as far as digits are printed. It had
    /// more digits to compute them from.
    pub fn written(&self, quantity: Metric) -> Option<Sample> {
        let sample = self.sample(quantity)?;
        let stated = self.stated.and_then(|point| {
            let mean = central(point, quantity)?;
            Some((mean, spread_of(point, quantity)))
        });
        let Some((mean, spread)) = stated else { return Some(sample) };
        let of_run = self.points.iter().filter_map(|point| rounding(central(point, quantity)?));
        let of_run = of_run.fold(0.0, f64::max);
        let Some(digit) = rounding(mean) else { return Some(sample) };
        let is_near = |a: f64, b: f64, slack: f64| (a - b).abs() <= slack * (1.0 + PRECISION);
        if !is_near(mean.value, sample.mean, digit + of_run) {
            return Some(sample);
        }
        // Each run may be off by its rounding, and so may their deviation.
        let spread = spread.map(|spread| spread.value).zip(sample.std);
        let spread = spread.filter(|(stated, own)| is_near(*stated, *own, digit + 2.0 * of_run));
        let std = spread.map(|(stated, _)| stated).or(sample.std);
        Some(Sample { mean: mean.value, std, ..sample })
    }

    /// What a document says of repeats that it does not show.
    fn summary(&self, quantity: Metric) -> Option<Sample> {
        let point = self.points.iter().find(|point| central(point, quantity).is_some())?;
        let runs = Metric::other("runs");
        Some(Sample {
            mean: central(point, quantity)?.value,
            std: spread_of(point, quantity).map(|spread| spread.value),
            n: point.value(runs, Statistic::Count).map(|n| n as usize),
            values: Vec::new(),
        })
    }
}

/// Quantities with other names in tools of static batches: a batch has one latency, its duration,
/// and its rates are the rates of the engine's two phases.
const OF_BATCHES: [(Metric, Metric); 3] = [
    (Metric::E2e, Metric::Duration),
    (Metric::InputRate, Metric::PrefillRate),
    (Metric::OutputRate, Metric::DecodeRate),
];

/// A quantity, and its equivalent in a static batch.
fn names(point: &Point, quantity: Metric) -> impl Iterator<Item = Metric> + use<> {
    let is_batch = point.kind == PartKind::StaticBatch;
    let of_batch = name_of_batches(quantity).filter(|_| is_batch);
    std::iter::once(quantity).chain(of_batch)
}

/// What tools of static batches call a quantity, where they have another name.
pub(super) fn name_of_batches(quantity: Metric) -> Option<Metric> {
    OF_BATCHES.iter().find(|(name, _)| *name == quantity).map(|(_, other)| *other)
}

fn central(point: &Point, quantity: Metric) -> Option<&Stat> {
    names(point, quantity).find_map(|name| point.central(name))
}

/// The deviation of a summary.
fn spread_of(point: &Point, quantity: Metric) -> Option<&Stat> {
    let of = |name| SPREADS.into_iter().find_map(|statistic| point.stat(name, statistic));
    names(point, quantity).find_map(of)
}

/// Half a unit of the last digit in the document, in the canonical unit.
fn rounding(reading: &Stat) -> Option<f64> {
    let printed = reading.printed.as_deref()?;
    let number: f64 = printed.parse().ok().filter(|number| *number != 0.0)?;
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let digit = 10_f64.powi(-i32::try_from(decimals).ok()?);
    Some(digit / 2.0 * (reading.value / number).abs())
}

#[cfg(test)]
mod tests {
    use super::super::Matrix;
    use super::*;
    use ifm_results::testing::{batch, results};

    const ASKED: (u32, u32, u32) = (1, 2048, 32);

    /// A latency as it is printed in seconds.
    fn latency(statistic: Statistic, printed: &str) -> Stat {
        let seconds: f64 = printed.parse().expect("a number");
        let printed = Some(printed.to_owned());
        Stat { printed, ..Stat::new(Metric::E2e, statistic, seconds * 1e3) }
    }

    /// Three runs and what the document states of them.
    fn written(mean: &str, std: &str) -> (f64, f64) {
        let run = |(repeat, printed): (u32, &str)| {
            let mut point = batch("a", ASKED, repeat, 180.0);
            point.stats.push(latency(Statistic::Value, printed));
            point
        };
        let mut points: Vec<Point> = (1..).zip(["0.26", "0.29", "0.26"]).map(run).collect();
        let mut summary = batch("a", ASKED, 1, 180.0);
        summary.role = RowRole::Summary;
        let unknown = Statistic::Std(StdKind::Unknown);
        summary.stats = vec![latency(Statistic::Mean, mean), latency(unknown, std)];
        points.push(summary);
        let results = results(&points);
        let matrix = Matrix::of(&results, None, None).expect("batches");
        let sample = matrix.cells[0].written(Metric::E2e).expect("measured");
        assert_eq!(sample.values.len(), 3, "the repeats stay");
        (sample.mean, sample.std.expect("three runs"))
    }

    /// Runs of 0.2649, 0.2949 and 0.2649 s have a mean of 0.275 s, which their printed values do
    /// not determine; no runs with these printed values have a mean of 0.29 s.
    #[test]
    fn uses_a_stated_mean_if_the_digits_allow_it() {
        assert_eq!(written("0.27", "0.02"), (270.0, 20.0));
        let (mean, std) = written("0.29", "0.05");
        assert!((mean - 270.0).abs() < 1e-9 && (std - 17.320_508).abs() < 1e-5, "{mean} {std}");
        let (mean, std) = written("0.27", "0.05");
        assert!(mean == 270.0 && (std - 17.320_508).abs() < 1e-5, "{std}");
    }

    #[test]
    fn the_duration_of_a_batch_is_its_latency_and_that_of_a_level_is_not() {
        let of = |kind| {
            let mut point = batch("a", ASKED, 1, 180.0);
            let value = |quantity, value| Stat::new(quantity, Statistic::Value, value);
            point.kind = kind;
            point.stats = vec![value(Metric::Duration, 250.0), value(Metric::DecodeRate, 120.0)];
            let latency = central(&point, Metric::E2e).map(|reading| reading.value);
            (latency, central(&point, Metric::OutputRate).map(|reading| reading.value))
        };
        assert_eq!(of(PartKind::StaticBatch), (Some(250.0), Some(120.0)));
        assert_eq!(of(PartKind::Serving), (None, None));
    }
}
