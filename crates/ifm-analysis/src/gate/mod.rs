//! Gates: whether a run is inside thresholds, and how sure that is.
//!
//! A threshold passes if the whole interval is inside, fails if all of it is outside, and is
//! inconclusive otherwise: a gate that fails by chance is switched off, and one that passes by
//! chance is worse. What is not here: files and exit codes.

mod suggestion;
pub mod threshold;

pub use suggestion::{Suggestion, Suggestions, suggest};
pub use threshold::{Bound, Limit, Threshold, ThresholdError, parse_load};

use crate::Warning;
use crate::comparison::contrast::{cell, contrast};
use crate::comparison::difference::differences;
use crate::comparison::evidence::Evidence;
use crate::comparison::side::{AtLoad, is_same, load_words};
use crate::comparison::{
    Cell, Difference, Doubt, Measure, Settings, Shortage, Side, SideHead, head,
};
use crate::level::Load;
use crate::slo::ERROR_RATE_MAX;
use crate::stat::Estimate;
use crate::stat::interval::{self, TAIL};
use std::fmt;

/// What a threshold, or all of them, came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateState {
    /// Inside, whatever the interval holds.
    Pass,
    /// Outside, whatever the interval holds.
    Fail,
    /// The data do not decide.
    Inconclusive,
}

impl GateState {
    /// The stored word.
    pub fn word(self) -> &'static str {
        match self {
            GateState::Pass => "pass",
            GateState::Fail => "fail",
            GateState::Inconclusive => "inconclusive",
        }
    }
}

/// Why a threshold did not pass, beyond its numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum GateReason {
    /// The interval crosses the limit.
    Crosses,
    /// The run has no value: no complete answer, or nothing that the measure needs.
    NoValue,
    /// The baseline has no value there.
    NoBaseline,
    /// The values cannot decide.
    Doubt(Doubt),
}

impl fmt::Display for GateReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateReason::Crosses => formatter.write_str("the interval crosses the limit"),
            GateReason::NoValue => formatter.write_str("the run has no value"),
            GateReason::NoBaseline => formatter.write_str("the baseline has no value there"),
            GateReason::Doubt(doubt) => write!(formatter, "{doubt}"),
        }
    }
}

/// One threshold at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRow {
    /// The threshold, with its load.
    pub threshold: Threshold,
    /// Whether nobody wrote it: the limit on failed requests that latencies need to mean anything.
    pub is_implied: bool,
    /// The run's value; absent if it has none.
    pub value: Option<Cell>,
    /// The baseline's value, for a change.
    pub baseline: Option<Cell>,
    /// The change: a share of the baseline's value, or points, with its interval.
    pub change: Option<Estimate>,
    /// What it came to.
    pub state: GateState,
    /// Why it did not pass; absent where the numbers say it.
    pub reason: Option<GateReason>,
}

/// All thresholds.
#[derive(Debug, Clone, PartialEq)]
pub struct GateResult {
    /// The run.
    pub run: SideHead,
    /// The baseline, if one was given.
    pub baseline: Option<SideHead>,
    /// The thresholds in the order given, each at its loads; implied ones last.
    pub rows: Vec<GateRow>,
    /// Fail if one fails, else inconclusive if one is, else pass.
    pub state: GateState,
    /// What run and baseline differ in; empty without a baseline.
    pub differences: Vec<Difference>,
    /// What the run's own checks found that may mislead, at the loads of the thresholds.
    pub cautions: Vec<Warning>,
    /// Confidence of the intervals.
    pub confidence: f64,
}

impl GateResult {
    /// How many thresholds came to a state.
    pub fn count(&self, state: GateState) -> usize {
        self.rows.iter().filter(|row| row.state == state).count()
    }
}

/// Why thresholds cannot be held against a run at all.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// No threshold was given.
    #[error("there is no threshold to check")]
    Empty,
    /// A threshold names a load that the run was not measured at.
    #[error("{threshold} names a load that the run was not measured at; it has: {loads}")]
    NoSuchLoad {
        /// The threshold.
        threshold: String,
        /// The loads of the run.
        loads: String,
    },
    /// A threshold is a change, and there is no baseline.
    #[error("{threshold} is a change against a baseline, and none was given")]
    NoBaseline {
        /// The threshold.
        threshold: String,
    },
}

/// The measures that a run has to be read for.
pub fn measures(thresholds: &[Threshold]) -> Vec<Measure> {
    let mut measures: Vec<Measure> = Vec::new();
    for threshold in thresholds {
        if !measures.contains(&threshold.measure) {
            measures.push(threshold.measure);
        }
    }
    measures
}

/// Holds a run against thresholds. At each load that a threshold names, and for which nobody wrote
/// a limit on failed requests, at most 1 % may fail: latencies of what is left would say little.
///
/// # Errors
/// [`GateError`] where a threshold cannot be held against this run.
pub fn judge(
    run: &Side,
    baseline: Option<&Side>,
    thresholds: &[Threshold],
    settings: &Settings,
) -> Result<GateResult, GateError> {
    if thresholds.is_empty() {
        return Err(GateError::Empty);
    }
    let of_run = run.evidence(settings.drawing(), 0);
    let of_baseline = baseline.map(|side| side.evidence(settings.drawing(), 1));
    let mut rows = Vec::new();
    for (threshold, is_implied) in with_implied(thresholds, &of_run)? {
        if matches!(threshold.limit, Limit::Change(_)) && baseline.is_none() {
            return Err(GateError::NoBaseline { threshold: threshold.to_string() });
        }
        let at = |side: &[AtLoad]| -> Option<Evidence> {
            let load = threshold.load?;
            let at = side.iter().find(|at| is_same(at.load, load))?;
            at.evidence(threshold.measure.at_load(load)).cloned()
        };
        let pair = (at(&of_run), of_baseline.as_deref().and_then(at));
        rows.push(row(threshold, is_implied, pair, settings));
    }
    let has = |state| rows.iter().any(|row| row.state == state);
    let state = if has(GateState::Fail) {
        GateState::Fail
    } else if has(GateState::Inconclusive) {
        GateState::Inconclusive
    } else {
        GateState::Pass
    };
    let cautions = cautions(run, &rows);
    Ok(GateResult {
        cautions,
        run: head(run, &of_run),
        baseline: baseline.zip(of_baseline.as_deref()).map(|(side, at)| head(side, at)),
        rows,
        state,
        differences: baseline.map(|side| differences(side, run)).unwrap_or_default(),
        confidence: settings.confidence,
    })
}

/// What the checks of the runs found at the loads of the rows, or of a whole run.
fn cautions(run: &Side, rows: &[GateRow]) -> Vec<Warning> {
    let is_about = |warning: &&Warning| {
        let at =
            |load| rows.iter().any(|row| row.threshold.load.is_some_and(|at| is_same(at, load)));
        warning.load.is_none_or(at)
    };
    run.members.iter().flat_map(|member| &member.warnings).filter(is_about).cloned().collect()
}

/// Each threshold at its loads, and the implied ones.
fn with_implied(
    thresholds: &[Threshold],
    run: &[AtLoad],
) -> Result<Vec<(Threshold, bool)>, GateError> {
    let mut all = Vec::new();
    let mut loads: Vec<Load> = Vec::new();
    for threshold in thresholds {
        let known: Vec<Load> = run
            .iter()
            .map(|at| at.load)
            .filter(|load| threshold.load.is_none_or(|wanted| is_same(wanted, *load)))
            .collect();
        if known.is_empty() {
            let words: Vec<String> = run.iter().map(|at| load_words(at.load)).collect();
            let loads = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
            return Err(GateError::NoSuchLoad { threshold: threshold.to_string(), loads });
        }
        for load in known {
            all.push((Threshold { load: Some(load), ..*threshold }, false));
            if !loads.iter().any(|other| is_same(*other, load)) {
                loads.push(load);
            }
        }
    }
    let is_told = |load: Load| {
        all.iter().any(|(threshold, _)| {
            threshold.measure.is_share() && threshold.load.is_some_and(|at| is_same(at, load))
        })
    };
    let untold: Vec<Load> = loads.into_iter().filter(|load| !is_told(*load)).collect();
    all.extend(untold.into_iter().map(|load| {
        let limit = Limit::Value(ERROR_RATE_MAX);
        let (measure, bound) = (Measure::ErrorRate, Bound::Max);
        (Threshold { measure, load: Some(load), bound, limit }, true)
    }));
    Ok(all)
}

fn row(
    threshold: Threshold,
    is_implied: bool,
    (run, baseline): (Option<Evidence>, Option<Evidence>),
    settings: &Settings,
) -> GateRow {
    let of = |evidence: &Option<Evidence>| {
        evidence.as_ref().and_then(|evidence| cell(evidence, settings.confidence))
    };
    let (value, base) = (of(&run), of(&baseline));
    let mut change = None;
    let (state, reason) = match (&run, threshold.limit) {
        (None, _) => (GateState::Fail, Some(GateReason::NoValue)),
        (Some(run), Limit::Value(limit)) => judge_value(run, value, &threshold, limit),
        (Some(run), Limit::Change(limit)) => match &baseline {
            None => (GateState::Inconclusive, Some(GateReason::NoBaseline)),
            Some(baseline) => match contrast(baseline, run, &settings.rules()) {
                Err(doubt) => (GateState::Inconclusive, Some(GateReason::Doubt(doubt))),
                Ok(contrast) => {
                    let none = if threshold.measure.is_share() { 0.0 } else { 1.0 };
                    let found = contrast.change.map(|value| value - none);
                    change = Some(found);
                    match contrast.shortage {
                        Some(shortage) => {
                            let doubt = Doubt::Short(shortage);
                            (GateState::Inconclusive, Some(GateReason::Doubt(doubt)))
                        }
                        None => by_interval(threshold.bound, limit, found.low, found.high),
                    }
                }
            },
        },
    };
    GateRow { threshold, is_implied, value, baseline: base, change, state, reason }
}

/// A value against a limit in its own unit.
fn judge_value(
    run: &Evidence,
    cell: Option<Cell>,
    threshold: &Threshold,
    limit: f64,
) -> (GateState, Option<GateReason>) {
    let Some(cell) = cell else { return (GateState::Fail, Some(GateReason::NoValue)) };
    let (Some(low), Some(high)) = (cell.low, cell.high) else {
        return (GateState::Inconclusive, Some(GateReason::Doubt(Doubt::NoValue)));
    };
    // Few failures among few requests leave a wide interval: what was counted decides there, else
    // a hundred requests without a failure could not pass.
    if let Evidence::Share { .. } = run {
        return by_interval(threshold.bound, limit, cell.value, cell.value);
    }
    let (state, reason) = by_interval(threshold.bound, limit, low, high);
    match shortage(run, threshold.measure) {
        Some(shortage) if state == GateState::Pass => {
            (GateState::Inconclusive, Some(GateReason::Doubt(Doubt::Short(shortage))))
        }
        _ => (state, reason),
    }
}

/// What keeps a value from passing: too few values for a bound of the percentile, or requests that
/// depend on each other.
fn shortage(run: &Evidence, measure: Measure) -> Option<Shortage> {
    let Evidence::Runs(runs) = run else { return None };
    // Several runs have their spread for themselves.
    let [run] = runs.as_slice() else { return None };
    let shortage = run.shortage?;
    let is_bounded = measure.percentile().is_some_and(|p| {
        let (low, high) = interval::ranks(run.n, p, TAIL);
        low.is_some() && high.is_some()
    });
    match shortage {
        Shortage::Values { n, .. } if is_bounded && n == run.n => None,
        shortage => Some(shortage),
    }
}

fn by_interval(bound: Bound, limit: f64, low: f64, high: f64) -> (GateState, Option<GateReason>) {
    let (inside, outside) = match bound {
        Bound::Max => (high <= limit, low > limit),
        Bound::Min => (low >= limit, high < limit),
    };
    match (inside, outside) {
        (true, _) => (GateState::Pass, None),
        (_, true) => (GateState::Fail, None),
        _ => (GateState::Inconclusive, Some(GateReason::Crosses)),
    }
}

#[cfg(test)]
mod tests;
