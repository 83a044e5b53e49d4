//! Gates: whether a run is inside thresholds, and how sure that is.
//!
//! A threshold passes if the whole interval is inside, fails if all of it is outside, and is
//! inconclusive otherwise: a gate that fails by chance is switched off, and one that passes by
//! chance is worse. Not here: files and exit codes.

mod suggestion;
pub mod threshold;

pub use suggestion::{Suggestion, Suggestions, suggest};
pub use threshold::{BAND, Bound, Limit, Threshold, ThresholdError, parse_load};

use crate::comparison::condition::{is_same, list_words};
use crate::comparison::contrast::{Contrast, SHARE_POINTS_MIN, cell, contrast};
use crate::comparison::difference::differences;
use crate::comparison::evidence::{Evidence, RunEvidence, Spread, disturbed, too_few, unbounded};
use crate::comparison::pair::{Asked, draft_at};
use crate::comparison::side::{AtLoad, keys};
use crate::comparison::{
    Cell, Condition, Difference, Doubt, Measure, Settings, Shortage, Side, SideHead, head,
    of_definitions,
};
use crate::history::{BAND_CONFIDENCE, is_told, newest};
use ifm_core::Metric;
use ifm_core::metric::Direction;
use ifm_core::order::Order as _;
use ifm_metrics::Warning;
use ifm_metrics::level::Load;
use ifm_metrics::repeats::CONFIDENCE;
use ifm_metrics::slo::ERROR_RATE_MAX;
use ifm_metrics::stat::Estimate;
use ifm_metrics::stat::multiple::holm;
use ifm_metrics::stat::proportion::trials_to_bound;
use std::collections::BTreeSet;
use std::fmt;

ifm_core::vocabulary! {
    /// The result of a threshold, or of all of them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum GateState {
        /// Inside, regardless of the interval.
        Pass = "pass",
        /// Outside, regardless of the interval.
        Fail = "fail",
        /// The data do not decide.
        Inconclusive = "inconclusive",
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
    /// The value is one number, with no information on its error.
    OneNumber,
    /// The values cannot decide.
    Doubt(Doubt),
}

impl fmt::Display for GateReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GateReason::Crosses => formatter.write_str("the interval crosses the limit"),
            GateReason::NoValue => formatter.write_str("the run has no value"),
            GateReason::NoBaseline => formatter.write_str("the baseline has no value there"),
            GateReason::OneNumber => formatter.write_str("cannot be decided: one number"),
            GateReason::Doubt(doubt) => write!(formatter, "{doubt}"),
        }
    }
}

/// One threshold at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRow {
    /// The threshold, with its load.
    pub threshold: Threshold,
    /// The condition at which it is checked.
    pub at: Condition,
    /// The measure as it was found: in an open loop times count from due.
    pub measure: Measure,
    /// Whether it was added automatically: the limit on failed requests that latencies need to mean
    /// anything.
    pub is_implied: bool,
    /// The run's value; absent if it has none.
    pub value: Option<Cell>,
    /// The baseline's value, for a change.
    pub baseline: Option<Cell>,
    /// The change: a share of the baseline's value, or points, with its interval.
    pub change: Option<Estimate>,
    /// The same as a number alone, wherever both have a value.
    pub difference: Option<f64>,
    /// Its result.
    pub state: GateState,
    /// Why it did not pass; absent where the numbers say it.
    pub reason: Option<GateReason>,
    /// Which runs of a history were compared; absent for another baseline.
    pub stretch: Option<GateStretch>,
}

/// Runs of a history that were compared.
#[derive(Debug, Clone, PartialEq)]
pub struct GateStretch {
    /// Runs before.
    pub before: usize,
    /// Runs since, the checked one among them.
    pub after: usize,
    /// Id of the first run since, where a lasting change came before the checked one.
    pub since: Option<String>,
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
    /// Number of thresholds with a state.
    pub fn count(&self, state: GateState) -> usize {
        self.rows.iter().filter(|row| row.state == state).count()
    }
}

/// Why thresholds cannot be compared with a run at all.
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
    /// No level of a document has a value of the measure.
    #[error("{name} has no value for {threshold} at any level")]
    NoSuchMeasure {
        /// The threshold.
        threshold: String,
        /// The document.
        name: String,
    },
    /// A threshold is a band, and the baseline is not a history.
    #[error("{threshold} needs a band, which only a history has: use --baseline history:20")]
    NoHistory {
        /// The threshold.
        threshold: String,
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

/// What a run is compared with.
#[derive(Debug, Clone, Copy)]
pub enum Against<'a> {
    /// Values alone.
    Nothing,
    /// A side: all of its runs are repeats of one thing.
    Side(&'a Side),
    /// The runs before, the first one first: their differences are the noise. A run and those since
    /// a change for the worse are compared with the runs before that change.
    History(&'a Side),
}

impl<'a> Against<'a> {
    fn side(self) -> Option<&'a Side> {
        match self {
            Against::Nothing => None,
            Against::Side(side) | Against::History(side) => Some(side),
        }
    }
}

/// Default thresholds of a run that is compared with its history: no measure that it has may be
/// worse than the band. Percentiles with too few requests are left out.
pub fn band_thresholds(run: &Side, settings: &Settings) -> Vec<Threshold> {
    let found = run.evidence(
        Settings { resamples: 2, ..settings.clone() }.drawing(),
        0,
        &keys(std::iter::once(run)),
    );
    let has = |measure: &Measure| {
        let mut all = found.iter().filter_map(|at| at.evidence(*measure));
        // A percentile that the run's requests cannot tell would leave every gate open.
        all.any(|of| measure.percentile().is_none_or(|p| p == 50.0 || is_told(of, *measure)))
    };
    let threshold = |measure: Measure| Threshold {
        measure,
        load: None,
        bound: match measure.direction() {
            Direction::Lower => Bound::Max,
            Direction::Higher | Direction::Neither => Bound::Min,
        },
        limit: Limit::Band,
    };
    settings.measures.iter().copied().filter(has).map(threshold).collect()
}

/// Checks a run against thresholds. At each load that a threshold names without a limit on failed
/// requests, at most 1 % may fail: latencies of the rest would say little.
///
/// # Errors
/// [`GateError`] where a threshold cannot be compared with this run.
pub fn judge(
    run: &Side,
    against: Against,
    thresholds: &[Threshold],
    settings: &Settings,
) -> Result<GateResult, GateError> {
    if thresholds.is_empty() {
        return Err(GateError::Empty);
    }
    let baseline = against.side();
    let is_history = matches!(against, Against::History(_));
    let keys = keys(std::iter::once(run).chain(baseline));
    let of_run = run.evidence(settings.drawing(), 0, &keys);
    let of_baseline = baseline.map(|side| side.evidence(settings.drawing(), 1, &keys));
    let mut rows = Vec::new();
    let (mut definitions, mut chances) = (Vec::new(), Vec::new());
    for (threshold, at, is_implied) in with_implied(thresholds, run, &of_run)? {
        if matches!(threshold.limit, Limit::Change(_)) && baseline.is_none() {
            return Err(GateError::NoBaseline { threshold: threshold.to_string() });
        }
        if threshold.limit == Limit::Band && !is_history {
            return Err(GateError::NoHistory { threshold: threshold.to_string() });
        }
        let find = |side: &[AtLoad]| side.iter().find(|known| known.at.is_same(&at)).cloned();
        let base = of_baseline.as_deref().and_then(find);
        let history = baseline.filter(|_| is_history);
        let (run, base) = (&find(&of_run), &base);
        let found = row(threshold, is_implied, (run, base, history), at, settings);
        definitions.extend(found.definitions);
        chances.push(found.p);
        rows.push(found.row);
    }
    judge_bands(&mut rows, &chances, settings);
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
        differences: baseline
            .map(|side| all_differences(&compared(side, is_history), run, &keys, definitions))
            .unwrap_or_default(),
        confidence: settings.confidence,
    })
}

/// What a run is compared with besides its numbers: of a history its last run, since versions may
/// change over it.
fn compared(side: &Side, is_history: bool) -> Side {
    let members = match side.members.last() {
        Some(last) if is_history => vec![last.clone()],
        _ => side.members.clone(),
    };
    Side { label: side.label.clone(), members }
}

/// What run and baseline differ in, definitions among it.
fn all_differences(
    baseline: &Side,
    run: &Side,
    keys: &BTreeSet<String>,
    definitions: Vec<Difference>,
) -> Vec<Difference> {
    let mut found = differences(baseline, run, keys);
    for difference in definitions {
        if !found.contains(&difference) {
            found.push(difference);
        }
    }
    found.order_by_key(|difference| std::cmp::Reverse(difference.kind));
    found
}

/// What the checks of the runs found at the loads of the rows, or of a whole run.
fn cautions(run: &Side, rows: &[GateRow]) -> Vec<Warning> {
    let is_about = |warning: &&Warning| {
        let at = |load: Load| {
            rows.iter().any(|row| row.threshold.load.is_some_and(|at| is_same(at, load)))
        };
        warning.load.is_none_or(at)
    };
    run.members.iter().flat_map(|member| &member.warnings).filter(is_about).cloned().collect()
}

/// Each threshold at its condition, and the implied ones. Without a load it applies wherever its
/// measure has a value, or everywhere if it has none.
fn with_implied(
    thresholds: &[Threshold],
    side: &Side,
    run: &[AtLoad],
) -> Result<Vec<(Threshold, Condition, bool)>, GateError> {
    let mut all: Vec<(Threshold, Condition, bool)> = Vec::new();
    let mut conditions: Vec<&AtLoad> = Vec::new();
    for threshold in thresholds {
        let is_meant = |at: &&AtLoad| match (threshold.load, at.at.load) {
            (None, _) => true,
            (Some(wanted), Some(load)) => is_same(wanted, load),
            (Some(_), None) => false,
        };
        let mut known: Vec<&AtLoad> = run.iter().filter(is_meant).collect();
        let has_value = |at: &&AtLoad| at.evidence(threshold.measure).is_some();
        if !side.is_own() && !run.iter().any(|at| has_value(&at)) {
            let (threshold, name) = (threshold.to_string(), side.label.clone());
            return Err(GateError::NoSuchMeasure { threshold, name });
        }
        if threshold.load.is_none() && !side.is_own() {
            known.retain(has_value);
        }
        if known.is_empty() {
            let loads = list_words(run.iter().map(|at| &at.at));
            return Err(GateError::NoSuchLoad { threshold: threshold.to_string(), loads });
        }
        for at in known {
            all.push((Threshold { load: at.at.load, ..*threshold }, at.at.clone(), false));
            if !conditions.iter().any(|other| other.at.is_same(&at.at)) {
                conditions.push(at);
            }
        }
    }
    // A document may not say how many requests failed, or have none at all.
    let is_counted =
        |at: &&AtLoad| side.is_own() || at.evidence(Measure::value_of(Metric::ErrorRate)).is_some();
    // Other shares, such as that of valid answers, do not say how many requests failed.
    let is_of_failures = |threshold: &Threshold| {
        matches!(threshold.measure.metric, Metric::ErrorRate | Metric::Success)
    };
    let is_told = |at: &AtLoad| {
        all.iter().any(|(threshold, known, _)| is_of_failures(threshold) && known.is_same(&at.at))
    };
    let untold: Vec<&AtLoad> =
        conditions.into_iter().filter(is_counted).filter(|at| !is_told(at)).collect();
    all.extend(untold.into_iter().map(|at| {
        let limit = Limit::Value(ERROR_RATE_MAX);
        let (measure, bound) = (Measure::value_of(Metric::ErrorRate), Bound::Max);
        (Threshold { measure, load: at.at.load, bound, limit }, at.at.clone(), true)
    }));
    Ok(all)
}

/// One threshold with what is needed to judge all of them.
struct Found {
    row: GateRow,
    /// Definitions that may differ.
    definitions: Vec<Difference>,
    /// Of a band the chance of such a change if there were none.
    p: Option<f64>,
}

/// One threshold at one load. `history` is the baseline's side where that is a history.
fn row(
    threshold: Threshold,
    is_implied: bool,
    (run, baseline, history): (&Option<AtLoad>, &Option<AtLoad>, Option<&Side>),
    at: Condition,
    settings: &Settings,
) -> Found {
    let evidence = |at: &Option<AtLoad>| at.as_ref()?.evidence(threshold.measure).cloned();
    let of = |evidence: &Option<Evidence>| {
        evidence
            .as_ref()
            .and_then(|evidence| cell(evidence, threshold.measure, settings.confidence))
    };
    let (of_run, of_base) = (evidence(run), evidence(baseline));
    let due = at.load.map_or(threshold.measure, |load| threshold.measure.at_load(load));
    let has_due = run.as_ref().is_some_and(|at| at.known.iter().any(|known| known.measure == due));
    let mut row = GateRow {
        threshold,
        measure: if has_due { due } else { threshold.measure },
        at,
        is_implied,
        value: of(&of_run).map(|cell| if is_implied { cell.counted() } else { cell }),
        baseline: of(&of_base),
        change: None,
        difference: None,
        state: GateState::Fail,
        reason: Some(GateReason::NoValue),
        stretch: None,
    };
    let (mut definitions, mut p) = (Vec::new(), None);
    match (&of_run, threshold.limit) {
        (None, _) => {}
        (Some(_), Limit::Value(limit)) if is_implied => {
            let value = row.value.map_or(f64::NAN, |cell| cell.value);
            (row.state, row.reason) = by_interval(threshold.bound, limit, value, value);
        }
        (Some(of_run), Limit::Value(limit)) => {
            (row.state, row.reason) = judge_value(of_run, row.value, &threshold, limit);
        }
        (Some(_), Limit::Change(_) | Limit::Band) => {
            (row.state, row.reason) = (GateState::Inconclusive, Some(GateReason::NoBaseline));
            if let (Some(base), Some(run), Some(_)) = (baseline, run, &of_base) {
                match history {
                    None => definitions = against_side(&mut row, (base, run), settings),
                    Some(side) => p = against_history(&mut row, (base, run), side, settings),
                }
            }
        }
    }
    row.difference = row.change.map(|change| change.value).or_else(|| {
        let (a, b) = (row.baseline?.value, row.value?.value);
        let alone = if threshold.measure.is_share() { b - a } else { b / a - 1.0 };
        alone.is_finite().then_some(alone)
    });
    Found { row, definitions, p }
}

/// A change against repeats of one thing; the definitions that may differ.
fn against_side(
    row: &mut GateRow,
    (base, run): (&AtLoad, &AtLoad),
    settings: &Settings,
) -> Vec<Difference> {
    let how = (&Asked { measures: &[], ..settings.asked() }, &settings.rules());
    let Some(draft) = draft_at(base, run, row.threshold.measure, how) else { return Vec::new() };
    let definitions = of_definitions(std::slice::from_ref(&draft));
    row.measure = draft.measure;
    (row.baseline, row.value) = (draft.a.or(row.baseline), draft.b.or(row.value));
    match draft.contrast {
        Err(doubt) => row.reason = Some(GateReason::Doubt(doubt)),
        Ok(contrast) => held(row, &contrast),
    }
    definitions
}

/// Applies a contrast to a threshold that is a change.
fn held(row: &mut GateRow, contrast: &Contrast) {
    let none = if row.threshold.measure.is_share() { 0.0 } else { 1.0 };
    let found = contrast.change.map(|value| value - none);
    row.change = Some(found);
    (row.state, row.reason) = match (contrast.shortage, row.threshold.limit) {
        (Some(shortage), _) => {
            (GateState::Inconclusive, Some(GateReason::Doubt(Doubt::Short(shortage))))
        }
        (None, Limit::Change(limit)) => {
            by_interval(row.threshold.bound, limit, found.low, found.high)
        }
        // Judged with all others of its kind.
        (None, _) => (GateState::Pass, None),
    };
}

/// A change against the runs before; of a band its chance.
fn against_history(
    row: &mut GateRow,
    (base, run): (&AtLoad, &AtLoad),
    side: &Side,
    settings: &Settings,
) -> Option<f64> {
    let measure = row.measure;
    let of = |at: &AtLoad| at.evidence(measure).cloned();
    let (Some(base), Some(run)) = (of(base), of(run)) else {
        row.reason = Some(GateReason::NoBaseline);
        return None;
    };
    let found = match newest((&base, side.members.len()), &run, measure) {
        Ok(found) => found,
        Err(doubt) => {
            row.reason = Some(GateReason::Doubt(doubt));
            return None;
        }
    };
    let is_band = row.threshold.limit == Limit::Band;
    row.baseline = cell(&found.before, measure, settings.confidence);
    row.stretch = (found.runs.0 > 0).then(|| GateStretch {
        before: found.runs.0,
        after: found.runs.1,
        since: found.since.and_then(|run| Some(side.members.get(run)?.id.clone())),
    });
    match contrast(&found.before, &found.after, &settings.rules()) {
        Err(doubt) => {
            row.reason = Some(GateReason::Doubt(doubt));
            None
        }
        Ok(contrast) => {
            held(row, &contrast);
            let p = contrast.p.max(found.p.unwrap_or(0.0));
            (is_band && contrast.shortage.is_none()).then_some(p)
        }
    }
}

/// Bands are judged together, since one of many is left by chance: a row fails where it is worse by a
/// relevant amount and surely so after the correction, and is left open where it is so without it.
fn judge_bands(rows: &mut [GateRow], chances: &[Option<f64>], settings: &Settings) {
    let known: Vec<f64> = chances.iter().flatten().copied().collect();
    let mut corrected = holm(&known).unwrap_or_default().into_iter();
    let alpha = 1.0 - BAND_CONFIDENCE;
    for (row, p) in rows.iter_mut().zip(chances) {
        let (Some(p), Some(change)) = (p, row.change) else { continue };
        let corrected = corrected.next().unwrap_or(1.0);
        let relevant =
            if row.threshold.measure.is_share() { SHARE_POINTS_MIN } else { settings.threshold };
        let is_worse = match row.threshold.bound {
            Bound::Max => change.value >= relevant,
            Bound::Min => change.value <= -relevant,
        };
        (row.state, row.reason) = match (is_worse, corrected < alpha, *p < alpha) {
            (true, true, _) => (GateState::Fail, None),
            (true, false, true) => {
                (GateState::Inconclusive, Some(GateReason::Doubt(Doubt::Correction)))
            }
            _ => (GateState::Pass, None),
        };
    }
}

/// A value against a limit in its own unit. A bound that is not known decides nothing: a percentile of
/// few requests may have a lower bound alone, which is enough to fail.
fn judge_value(
    run: &Evidence,
    cell: Option<Cell>,
    threshold: &Threshold,
    limit: f64,
) -> (GateState, Option<GateReason>) {
    let Some(cell) = cell else { return (GateState::Fail, Some(GateReason::NoValue)) };
    if cell.low.is_none() && cell.high.is_none() {
        return (GateState::Inconclusive, Some(without_bounds(run)));
    }
    let low = cell.low.unwrap_or(f64::NEG_INFINITY);
    let high = cell.high.unwrap_or(f64::INFINITY);
    let doubt =
        |shortage| (GateState::Inconclusive, Some(GateReason::Doubt(Doubt::Short(shortage))));
    match (by_interval(threshold.bound, limit, low, high), shortage(run, limit)) {
        ((GateState::Fail, reason), _) => (GateState::Fail, reason),
        (_, Some(shortage)) => doubt(shortage),
        (found, None) => found,
    }
}

/// Why a value has no bound at all.
fn without_bounds(run: &Evidence) -> GateReason {
    let Evidence::Runs(runs) = run else { return GateReason::Doubt(Doubt::NoValue) };
    match runs.as_slice() {
        [run] if matches!(run.spread, Spread::Unknown) => GateReason::OneNumber,
        [run] if matches!(run.spread, Spread::Uncounted) => GateReason::Doubt(Doubt::Uncounted),
        runs => {
            let shortage = runs.iter().filter_map(RunEvidence::ranks).find_map(unbounded);
            GateReason::Doubt(shortage.map_or(Doubt::NoValue, Doubt::Short))
        }
    }
}

/// What keeps a value from passing: too few values for a bound of the percentile, requests that depend
/// on each other, repeats that other work disturbed; of a share, too few requests to pass even if all
/// of them were good.
fn shortage(run: &Evidence, limit: f64) -> Option<Shortage> {
    let runs = match run {
        Evidence::Runs(runs) => runs,
        Evidence::Share { hits, n } => {
            let is_whole = *hits == 0 || hits == n;
            let needed = trials_to_bound(limit.min(1.0 - limit), CONFIDENCE)?;
            return (is_whole && *n < needed).then_some(Shortage::Values { n: *n, needed });
        }
    };
    let disturbed = disturbed(runs);
    // How runs differ, and how requests depend on each other, is in the interval of several.
    let ranks = || match runs.as_slice() {
        [run] => run.ranks().and_then(unbounded),
        runs => runs.iter().filter_map(RunEvidence::ranks).find_map(too_few),
    };
    let of_one = || match runs.as_slice() {
        [run] if run.ranks().is_none() => run.shortage,
        _ => None,
    };
    disturbed.or_else(ranks).or_else(of_one)
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
