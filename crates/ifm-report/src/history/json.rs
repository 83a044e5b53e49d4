//! A history for programs: one JSON document.

use crate::comparison::unit_json;
use crate::json::{SCHEMA_VERSION, known, objects, text};
use ifm_compare::comparison::{Condition, Difference, Doubt};
use ifm_compare::history::{Change, History, Point, RunHead, Series, Stretch};
use ifm_metrics::level::Load;
use ifm_metrics::stat::Estimate;
use std::collections::BTreeMap;

/// The history as one JSON document; ends with a line break.
pub fn history_json(history: &History) -> String {
    text(&known(&HistoryDocument::from(history)))
}

/// Names of the runs of a value.
fn ids(history: &History, point: &Point) -> Vec<String> {
    point.runs.iter().filter_map(|run| Some(history.runs.get(*run)?.id.clone())).collect()
}

/// The name of the first run of a value.
fn id(history: &History, series: &Series, place: usize) -> String {
    let point = series.points.get(place);
    point.and_then(|point| ids(history, point).into_iter().next()).unwrap_or_default()
}

/// Bounds in another unit.
fn per(estimate: Estimate, per: f64) -> HistoryInterval {
    HistoryInterval::from(estimate.map(|value| value / per))
}

/// A change of a series.
struct Of<'h> {
    history: &'h History,
    series: &'h Series,
}

objects! {
    /// What `history --json` writes.
    HistoryDocument of history: &History {
        /// Version of the document. Major versions are not compatible.
        #[cfg_attr(feature = "schema", schemars(extend("pattern" = "^1[.]")))]
        schema_version: &'static str = SCHEMA_VERSION,
        /// What the document is.
        #[cfg_attr(feature = "schema", schemars(extend("const" = "history")))]
        kind: &'static str = "history",
        /// One less the chance of a false change anywhere among the series.
        confidence: f64 = history.confidence,
        /// Smallest relevant change, a share.
        threshold: f64 = history.threshold,
        /// Series that were tested together.
        tested: usize = history.tested,
        /// Names of the cells: runs that answer one question.
        cells: Vec<String> = history.cells.clone(),
        /// The runs, the first one first.
        runs: Vec<HistoryRun> = history.runs.iter().map(HistoryRun::from).collect(),
        /// One for each measure at each load of each cell.
        series: Vec<HistorySeries> = history
            .series
            .iter()
            .map(|series| HistorySeries::from(Of { history, series }))
            .collect(),
    }

    /// A run.
    HistoryRun of run: &RunHead {
        /// Id of the run, or name of the document.
        id: String = run.id.clone(),
        /// Its name.
        name: Option<String> = run.name.clone(),
        /// When it began, UTC, RFC 3339.
        at_utc: Option<String> = run.at_utc.clone(),
        /// Its tags.
        tags: Vec<String> = run.tags.clone(),
        /// Its server with the version.
        server: Option<String> = run.server.clone(),
        /// Place of its cell in `cells`, from 0.
        cell: usize = run.cell,
    }

    /// A measure at a load of a cell, run after run.
    HistorySeries of of: Of<'_> {
        /// Place of the cell in `cells`, from 0.
        cell: usize = of.series.cell,
        /// What was asked for.
        load: HistoryLoad = HistoryLoad::from(&of.series.at),
        /// The measure, as `--metric` reads it.
        metric: String = of.series.measure.to_string(),
        /// Unit of the values.
        unit: &'static str = unit_json(of.series.measure.unit()).0,
        /// What it came to.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["steady", "worse", "better", "small", "outside", "undecided"])))]
        state: &'static str = of.series.state.word(),
        /// Why it is undecided.
        reason: Option<HistoryReason> = of.series.doubt.as_ref().map(HistoryReason::from),
        /// Standard deviation of runs of the same, a share of the value or points of a share.
        noise: Option<f64> = of.series.noise,
        /// The smallest lasting change that three runs would show with a chance of 80 %, as `noise`.
        detectable: Option<f64> = of.series.detectable,
        /// Chance of its changes if there were none.
        p: Option<f64> = of.series.p,
        /// The same corrected for all series.
        p_corrected: Option<f64> = of.series.p_corrected,
        /// Its values, the first one first.
        points: Vec<HistoryPoint> = of
            .series
            .points
            .iter()
            .map(|point| HistoryPoint::from((of.history, of.series, point)))
            .collect(),
        /// What lies between the changes.
        stretches: Vec<HistoryStretch> =
            of.series.stretches.iter().map(|one| HistoryStretch::from((of.series, one))).collect(),
        /// Its changes, the first one first.
        changes: Vec<HistoryChange> = of
            .series
            .changes
            .iter()
            .map(|change| HistoryChange::from((of.history, of.series, change)))
            .collect(),
    }

    /// A load, and other settings that distinguish levels.
    HistoryLoad of at: &Condition {
        /// Requests in flight.
        users: Option<u32> = match at.load {
            Some(Load::Users(users)) => Some(users),
            _ => None,
        },
        /// Requests each second.
        req_per_s: Option<f64> = match at.load {
            Some(Load::ReqPerS(rate)) => Some(rate),
            _ => None,
        },
        /// What else was set, by name.
        setting: Option<BTreeMap<String, String>> = (!at.setting.is_empty()).then(|| {
            at.setting.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }),
    }

    /// Why a series is undecided.
    HistoryReason of doubt: &Doubt {
        /// Its word.
        id: &'static str = doubt.word(),
        /// In words.
        text: String = doubt.to_string(),
    }

    /// A number between bounds.
    HistoryInterval of estimate: Estimate {
        /// The estimate.
        value: f64 = estimate.value,
        /// Lower bound.
        low: f64 = estimate.low,
        /// Upper bound.
        high: f64 = estimate.high,
    }

    /// A value.
    HistoryPoint of of: (&History, &Series, &Point) {
        /// Ids of its runs.
        runs: Vec<String> = ids(of.0, of.2),
        /// The value, in `unit`.
        value: f64 = of.2.cell.value / unit_json(of.1.measure.unit()).1,
        /// Lower bound by the requests of its runs.
        low: Option<f64> = of.2.cell.low.map(|low| low / unit_json(of.1.measure.unit()).1),
        /// Upper bound.
        high: Option<f64> = of.2.cell.high.map(|high| high / unit_json(of.1.measure.unit()).1),
        /// Values it is based on: requests, gaps.
        n: Option<u64> = of.2.cell.n,
        /// What it is in the series.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["counted", "too_few", "apart", "zero"])))]
        standing: &'static str = of.2.standing.word(),
        /// Why it does not count.
        reason: Option<String> = of.2.shortage.map(|shortage| shortage.to_string()),
    }

    /// Values between two changes.
    HistoryStretch of of: (&Series, &Stretch) {
        /// Places of its values in `points`, from 0.
        points: Vec<usize> = of.1.points.clone(),
        /// Their mean, in `unit`.
        mean: f64 = of.1.mean / unit_json(of.0.measure.unit()).1,
        /// Between which values 99 of 100 runs of the same are.
        band: Option<HistoryInterval> =
            of.1.band.map(|band| per(band, unit_json(of.0.measure.unit()).1)),
    }

    /// A change.
    HistoryChange of of: (&History, &Series, &Change) {
        /// A step from one run to the next, or a drift.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["step", "drift"])))]
        kind: &'static str = of.2.kind.word(),
        /// Id of the last run before.
        last_before: String = id(of.0, of.1, of.2.last_before),
        /// Id of the first run after; of a drift the first one in it.
        first_after: String = id(of.0, of.1, of.2.first_after),
        /// The earliest that the first run after may be, at 95 %.
        earliest: String = id(of.0, of.1, of.2.earliest),
        /// The latest that it may be.
        latest: String = id(of.0, of.1, of.2.latest),
        /// After over before; absent for shares.
        ratio: Option<HistoryInterval> =
            (!of.1.measure.is_share()).then(|| HistoryInterval::from(of.2.size)),
        /// After minus before, of shares.
        points: Option<HistoryInterval> =
            of.1.measure.is_share().then(|| HistoryInterval::from(of.2.size)),
        /// Of a drift the change from one value to the next, a share.
        per_value: Option<HistoryInterval> = of.2.per_value.map(HistoryInterval::from),
        /// Chance of such a change if there were none.
        p: f64 = of.2.p,
        /// Whether the other kind fits clearly worse.
        is_clear: bool = of.2.is_clear,
        /// What can be concluded.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["better", "worse", "no_relevant_difference", "no_difference_shown", "inconclusive"])))]
        verdict: &'static str = of.2.verdict.word(),
        /// Why it is not decided.
        reason: Option<HistoryReason> = of.2.doubt.as_ref().map(HistoryReason::from),
        /// What else differs between the run before the earliest and the latest.
        came_with: Vec<HistoryDifference> =
            of.2.came_with.iter().map(HistoryDifference::from).collect(),
    }

    /// Something that differs.
    HistoryDifference of found: &Difference {
        /// A fact, or the name of a tag.
        what: String = found.what.clone(),
        /// What it means for a comparison.
        #[cfg_attr(feature = "schema", schemars(extend("enum" = ["expected", "warning", "unlike"])))]
        kind: &'static str = found.kind.word(),
        /// What it was before.
        before: Option<String> = found.a.clone(),
        /// What it is after.
        after: Option<String> = found.b.clone(),
    }
}
