//! Thresholds that a run would pass, to begin with.
//!
//! At a load below the knee, where numbers are steady: the largest one of at most 70 % of what fits
//! the latency target, else the middle one. Limits leave room for what is not a regression. What is
//! not here: the file that they are written to.

use super::threshold::{Bound, Limit, Threshold};
use crate::comparison::condition::is_same_kind;
use crate::comparison::contrast::cell;
use crate::comparison::evidence::Evidence;
use crate::comparison::side::keys;
use crate::comparison::{
    Cell, Condition, Measure, Metric, Settings, Shortage, Side, SideHead, Unit, head,
};
use ifm_metrics::level::Load;

/// Share of the fitting load up to which numbers are steady.
const STEADY_SHARE: f64 = 0.7;
/// Room beyond the interval for medians, for tails and for throughputs, as a share.
const ROOM_MEDIAN: f64 = 0.10;
const ROOM_TAIL: f64 = 0.30;
const ROOM_RATE: f64 = 0.05;

/// A threshold and the value that it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The threshold.
    pub threshold: Threshold,
    /// The run's value.
    pub cell: Cell,
    /// Why the run has too few requests for it, so that it is better left out.
    pub shortage: Option<Shortage>,
}

/// What a run suggests.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestions {
    /// The run.
    pub run: SideHead,
    /// What they are for.
    pub at: Condition,
    /// The thresholds.
    pub list: Vec<Suggestion>,
}

/// The measures of suggestions.
const MEASURES: [Measure; 6] = [
    Measure::value_of(Metric::OutputRate),
    Measure::percentile_of(Metric::Itl, 50.0),
    Measure::percentile_of(Metric::Ttft, 50.0),
    Measure::percentile_of(Metric::Itl, 99.0),
    Measure::percentile_of(Metric::Ttft, 99.0),
    Measure::value_of(Metric::ErrorRate),
];

impl Suggestion {
    /// The measures that a run has to be read for.
    pub fn measures() -> Vec<Measure> {
        MEASURES.to_vec()
    }
}

/// Thresholds for a run; absent for a run without a level.
pub fn suggest(run: &Side, settings: &Settings) -> Option<Suggestions> {
    let found = run.evidence(settings.drawing(), 0, &keys(std::iter::once(run)));
    let fitting = run.capacity(&settings.slo).load();
    let steady = fitting.and_then(|fitting| {
        let below = |load: Load| {
            is_same_kind(load, fitting) && load.value() <= STEADY_SHARE * fitting.value()
        };
        found.iter().rfind(|at| at.at.load.is_some_and(below))
    });
    let at = steady.or(found.get(found.len() / 2))?;
    let list = MEASURES.iter().filter_map(|measure| {
        let due = at.at.load.map_or(*measure, |load| measure.at_load(load));
        let has_due = at.known.iter().any(|known| known.measure == due);
        let measure = if has_due { due } else { *measure };
        let evidence = at.evidence(measure)?;
        let cell = cell(evidence, measure, settings.confidence)?;
        let (bound, limit) = limit(measure, &cell);
        let threshold = Threshold { measure, load: at.at.load, bound, limit };
        // Stricter than the gate itself: a thin percentile would be open in every other job.
        let shortage = match (evidence, limit) {
            (Evidence::Runs(runs), _) if runs.len() == 1 => {
                runs.first().and_then(|run| run.shortage)
            }
            (evidence, Limit::Value(limit)) => super::shortage(evidence, limit),
            _ => None,
        };
        // A share whose interval crosses the limit would be open even in the run it is from.
        let crosses = |high: f64| matches!(limit, Limit::Value(limit) if high > limit);
        if shortage.is_none() && measure.is_share() && cell.high.is_some_and(crosses) {
            return None;
        }
        Some(Suggestion { threshold, cell, shortage })
    });
    let list = list.collect();
    Some(Suggestions { run: head(run, &found), at: at.at.clone(), list })
}

fn limit(measure: Measure, cell: &Cell) -> (Bound, Limit) {
    let (low, high) = (cell.low.unwrap_or(cell.value), cell.high.unwrap_or(cell.value));
    match measure.unit() {
        Unit::Share => (Bound::Max, Limit::Value(ifm_metrics::slo::ERROR_RATE_MAX)),
        Unit::TokPerS
        | Unit::ReqPerS
        | Unit::StepPerS
        | Unit::SessionPerHour
        | Unit::ImagePerS
        | Unit::MegapixelPerS
        | Unit::BytesPerS
        | Unit::FlopPerS
        | Unit::Plain => {
            (Bound::Min, Limit::Value(two_digits(low * (1.0 - ROOM_RATE), f64::floor)))
        }
        Unit::Ns | Unit::Bytes | Unit::J | Unit::W | Unit::Usd => {
            let is_tail = measure.percentile().is_some_and(|p| p > 90.0);
            let room = if is_tail { ROOM_TAIL } else { ROOM_MEDIAN };
            (Bound::Max, Limit::Value(two_digits(high * (1.0 + room), f64::ceil)))
        }
    }
}

/// A number of two digits, on one side of the given one.
fn two_digits(value: f64, round: fn(f64) -> f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    round(value / unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_two_digits() {
        assert_eq!(two_digits(1234.0, f64::floor), 1200.0);
        assert_eq!(two_digits(31_456_000.0, f64::ceil), 32_000_000.0);
        assert!((two_digits(0.071, f64::ceil) - 0.071).abs() < 1e-12);
        assert_eq!(two_digits(0.0, f64::ceil), 0.0);
    }
}
