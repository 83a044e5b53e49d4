//! The history of a cell: one value a run, steps and drifts in it, and what they came with.
//!
//! Runs that answer one question are a cell; each measure at each load of it is a series. Its
//! changes are judged by how runs differ among themselves: nights vary more than the requests of
//! one night. Not here: words, and which runs are used.

mod cell;
mod change;
mod newest;
mod series;
mod value;

pub use cell::names;
pub(crate) use newest::newest;
pub(crate) use value::is_told;

use crate::comparison::evidence::Evidence;
use crate::comparison::side::keys;
use crate::comparison::{
    Cell, Condition, Difference, Doubt, Measure, Member, Settings, Shortage, Side, Verdict,
};
use ifm_core::order::Order as _;
use ifm_metrics::stat::Estimate;
use ifm_metrics::stat::multiple::holm;
use series::Draft;
use std::collections::BTreeSet;

/// Minimum number of runs for a change to be detected.
pub const RUNS_MIN: usize = ifm_metrics::stat::course::VALUES_MIN;
/// Maximum number of runs: the latest of them.
pub const RUNS_MAX: usize = 1_000;
/// Confidence of the band: of equal runs, all but one in a hundred lie inside.
pub const BAND_CONFIDENCE: f64 = 0.99;

/// A run or document in its place in time.
#[derive(Debug, Clone)]
pub struct Dated {
    /// Its stored data.
    pub member: Member,
    /// When it began, UTC, RFC 3339; absent for documents.
    pub at_utc: Option<String>,
    /// Its tags; `name=value` says under which condition it was measured, such as a commit.
    pub tags: Vec<String>,
}

/// What becomes one value of a series.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Per {
    /// Each run.
    #[default]
    Run,
    /// The runs of a day, UTC.
    Day,
    /// The runs that have the same value of a tag, one after the other.
    Tag(String),
}

/// Settings of a history.
#[derive(Debug, Clone)]
pub struct HistorySettings {
    /// Measures, confidence of a change, smallest relevant change, draws and their seed.
    pub comparison: Settings,
    /// Facts and tags that keep cells apart, besides those that always do.
    pub by: Vec<String>,
    /// What becomes one value.
    pub per: Per,
}

/// A run of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHead {
    /// Id of the run, or name of the document.
    pub id: String,
    /// Its name; absent where it has none.
    pub name: Option<String>,
    /// When it began, UTC.
    pub at_utc: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its server with the version, where that is known.
    pub server: Option<String>,
    /// Place of its cell in [`History::cells`].
    pub cell: usize,
}

/// The series of many runs.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// Names of the cells, in the order of their first runs.
    pub cells: Vec<String>,
    /// The runs, the first one first.
    pub runs: Vec<RunHead>,
    /// One for each measure at each load of each cell.
    pub series: Vec<Series>,
    /// One less the chance of a false change anywhere among the series.
    pub confidence: f64,
    /// Smallest relevant change, a share.
    pub threshold: f64,
    /// Series that were tested together.
    pub tested: usize,
}

ifm_core::vocabulary! {
    /// The result of a series.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SeriesState {
        /// No change was found.
        Steady = "steady",
        /// Its latest change was for the worse, by a relevant amount.
        Worse = "worse",
        /// Its latest change was for the better, by a relevant amount.
        Better = "better",
        /// Its latest change is smaller than is relevant, or may be.
        Small = "small",
        /// No lasting change, but the last run lies outside the band: one run does not tell.
        Outside = "outside",
        /// There are too few runs or requests, or what was found may be chance.
        Undecided = "undecided",
    }
}

ifm_core::vocabulary! {
    /// The role of a value in its series.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Standing {
        /// It counts.
        Counted = "counted",
        /// Its run has too few requests: it is shown and does not count.
        TooFew = "too_few",
        /// It differs from the runs before and after it: it is shown and does not count.
        Apart = "apart",
        /// It has no place on a scale of ratios: it is zero.
        Zero = "zero",
    }
}

/// One value of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Places of its runs in [`History::runs`].
    pub runs: Vec<usize>,
    /// The value with the interval of its own requests, in the unit of the measure.
    pub cell: Cell,
    /// Its role in the series.
    pub standing: Standing,
    /// Why it does not count.
    pub shortage: Option<Shortage>,
}

/// Values between two changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Places of its values in [`Series::points`], those that do not count left out.
    pub points: Vec<usize>,
    /// Their mean, geometric but for shares, in the unit of the measure.
    pub mean: f64,
    /// Between which values 99 of 100 runs of the same are; absent for a drift and where nothing
    /// varies that could be known.
    pub band: Option<Estimate>,
}

ifm_core::vocabulary! {
    /// How a series changed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ChangeKind {
        /// From one run to the next.
        Step = "step",
        /// Steadily, over many runs.
        Drift = "drift",
    }
}

/// A change of a series. Places are indices of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// A step or a drift.
    pub kind: ChangeKind,
    /// The last value before.
    pub last_before: usize,
    /// The first value after; of a drift the first one in it.
    pub first_after: usize,
    /// Earliest place of the first value after, at 95 %.
    pub earliest: usize,
    /// Latest place of it.
    pub latest: usize,
    /// After over before, of a drift its end over its beginning; of shares the difference.
    pub size: Estimate,
    /// Of a drift the same for one value, a share; absent for a step and for shares.
    pub per_value: Option<Estimate>,
    /// Chance of such a change if there were none, corrected for the places that were tried.
    pub p: f64,
    /// Whether the other kind fits clearly worse: a step may be the beginning of a drift.
    pub is_clear: bool,
    /// Better, worse, too small to matter, or not decided.
    pub verdict: Verdict,
    /// Why it is not decided.
    pub doubt: Option<Doubt>,
    /// What else changed between the last run that is surely before and the first that is surely
    /// after: versions, tags such as a commit, facts of the machine.
    pub came_with: Vec<Difference>,
}

/// A measure at a load of a cell, run after run.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Place of the cell.
    pub cell: usize,
    /// The requested condition.
    pub at: Condition,
    /// The measure.
    pub measure: Measure,
    /// Whether gaps are between events that may hold several tokens.
    pub is_inter_event: bool,
    /// Its values, the first one first.
    pub points: Vec<Point>,
    /// What lies between the changes.
    pub stretches: Vec<Stretch>,
    /// The changes, the first one first.
    pub changes: Vec<Change>,
    /// Its result.
    pub state: SeriesState,
    /// Why it is undecided.
    pub doubt: Option<Doubt>,
    /// How runs of the same differ: the standard deviation as a share of the value, of shares in
    /// points; absent where too few runs tell.
    pub noise: Option<f64>,
    /// The smallest lasting change that would be found within three runs with a chance of 80 %, as
    /// `noise`.
    pub detectable: Option<f64>,
    /// Chance of its changes if there were none, corrected for the places that were tried; absent
    /// if no change was searched for.
    pub p: Option<f64>,
    /// The same corrected for all series.
    pub p_corrected: Option<f64>,
}

impl Series {
    /// The latest change that matters; where none does, the latest.
    pub fn latest(&self) -> Option<&Change> {
        latest(&self.changes)
    }

    /// The value before the last.
    pub fn last(&self) -> Option<&Point> {
        self.points.last()
    }
}

fn latest(changes: &[Change]) -> Option<&Change> {
    let matters = |change: &&Change| matches!(change.verdict, Verdict::Better | Verdict::Worse);
    changes.iter().rfind(matters).or(changes.last())
}

impl History {
    /// Number of series with a state.
    pub fn count(&self, state: SeriesState) -> usize {
        self.series.iter().filter(|series| series.state == state).count()
    }
}

/// Looks for changes in the series of these runs, which are in the order of time.
pub fn history(all: &[Dated], settings: &HistorySettings) -> History {
    let all = all.get(all.len().saturating_sub(RUNS_MAX)..).unwrap_or_default();
    let sides: Vec<Side> = all.iter().map(|of| cell::alone(&of.member)).collect();
    let keys = keys(sides.iter());
    let cells = cells(all, &settings.by, &keys);
    let heads: Vec<&Dated> = cells.iter().filter_map(|runs| all.get(*runs.first()?)).collect();
    let mut drafts: Vec<Draft> = Vec::new();
    for (number, runs) in cells.iter().enumerate() {
        drafts.extend(drafts_of(number, &points(runs, all, &settings.per), (all, &keys), settings));
    }
    let chances: Vec<f64> = drafts.iter().filter_map(Draft::p).collect();
    let tested = chances.len();
    let mut corrected = holm(&chances).unwrap_or_default().into_iter();
    let series = drafts.into_iter().map(|draft| {
        let p = draft.p().and_then(|_| corrected.next());
        draft.finish(p, (all, &keys), &settings.comparison)
    });
    let series = series.collect();
    let head = |(place, of): (usize, &Dated)| RunHead {
        id: of.member.id.clone(),
        name: of.member.name.clone(),
        at_utc: of.at_utc.clone(),
        tags: of.tags.clone(),
        server: cell::told(of, cell::SERVER),
        cell: cells.iter().position(|runs| runs.contains(&place)).unwrap_or(0),
    };
    History {
        cells: cell::labels(&heads, &settings.by, &keys),
        runs: all.iter().enumerate().map(head).collect(),
        series,
        confidence: settings.comparison.confidence,
        threshold: settings.comparison.threshold,
        tested,
    }
}

/// Runs of `all` that answer the same question as `of`, without `of` itself, in their order.
pub fn comparable<'d>(of: &Dated, all: &'d [Dated], by: &[String]) -> Vec<&'d Dated> {
    let sides: Vec<Side> = all.iter().chain([of]).map(|of| cell::alone(&of.member)).collect();
    let keys = keys(sides.iter());
    all.iter().filter(|other| cell::is_same(of, other, by, &keys)).collect()
}

/// Runs by the cell that they belong to.
fn cells(all: &[Dated], by: &[String], keys: &BTreeSet<String>) -> Vec<Vec<usize>> {
    let mut cells: Vec<Vec<usize>> = Vec::new();
    for (place, of) in all.iter().enumerate() {
        let is_of = |cell: &&mut Vec<usize>| {
            let head = cell.first().and_then(|first| all.get(*first));
            head.is_some_and(|head| cell::is_same(head, of, by, keys))
        };
        match cells.iter_mut().find(is_of) {
            Some(cell) => cell.push(place),
            None => cells.push(vec![place]),
        }
    }
    cells
}

/// The runs of a cell by the value that they become.
fn points(runs: &[usize], all: &[Dated], per: &Per) -> Vec<Vec<usize>> {
    let key = |place: &usize| -> Option<String> {
        let of = all.get(*place)?;
        match per {
            Per::Run => None,
            Per::Day => of.at_utc.as_ref()?.get(..10).map(str::to_owned),
            Per::Tag(name) => cell::value_of_tag(of, name),
        }
    };
    let is_same = |a: &usize, b: &usize| matches!((key(a), key(b)), (Some(a), Some(b)) if a == b);
    runs.chunk_by(is_same).map(<[usize]>::to_vec).collect()
}

/// The series of a cell, at each load each measure, before the correction.
fn drafts_of(
    cell: usize,
    points: &[Vec<usize>],
    (all, keys): (&[Dated], &BTreeSet<String>),
    settings: &HistorySettings,
) -> Vec<Draft> {
    let drawing = settings.comparison.drawing();
    // At each load the evidence of each point, by measure.
    let mut found: Vec<Draft> = Vec::new();
    for runs in points {
        let members: Vec<Member> =
            runs.iter().filter_map(|run| Some(all.get(*run)?.member.clone())).collect();
        let side = Side { label: String::new(), members };
        for at in side.evidence(drawing, 0, keys) {
            for measure in &settings.comparison.measures {
                let due = at.at.load.map_or(*measure, |load| measure.at_load(load));
                let has_due = at.known.iter().any(|known| known.measure == due);
                let measure = if has_due { due } else { *measure };
                let Some(evidence) = at.evidence(measure).cloned() else { continue };
                let is_of =
                    |draft: &&mut Draft| draft.measure == measure && draft.at.is_same(&at.at);
                let evidence: (Vec<usize>, Evidence) = (runs.clone(), evidence);
                match found.iter_mut().find(is_of) {
                    Some(draft) => draft.add(evidence, &settings.comparison),
                    None => {
                        let is_inter_event =
                            side.members.iter().any(|member| member.is_inter_event);
                        let mut draft = Draft::new(cell, at.at.clone(), measure, is_inter_event);
                        draft.add(evidence, &settings.comparison);
                        found.push(draft);
                    }
                }
            }
        }
    }
    let place = |measure: &Measure| {
        let all = settings.comparison.measures.iter();
        all.clone().position(|known| {
            known == measure
                || (known.metric.from_due() == measure.metric && known.over == measure.over)
        })
    };
    found.order_by(|a, b| a.at.order(&b.at).then(place(&a.measure).cmp(&place(&b.measure))));
    found.into_iter().map(|draft| draft.looked_at(&settings.comparison)).collect()
}

#[cfg(test)]
mod proof_tests;
#[cfg(test)]
mod tests;
