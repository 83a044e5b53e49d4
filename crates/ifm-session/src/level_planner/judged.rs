//! What the levels of a search say about the loads.
//!
//! Not here: which load is next (`replay`), and what a single level says (`ifm-metrics`).

use super::Axis;
use ifm_core::Metric;
use ifm_core::spec::{LoadSpec, RunSpec};
use ifm_core::{Outcome, Phase, RequestRecord};
use ifm_metrics::capacity::{Change, Finding, pooled};
use ifm_metrics::level::Load;
use ifm_metrics::settling::{Certainty, certainty, scouted};
use ifm_metrics::slo::VerdictState;
use ifm_metrics::{LevelSummary, Seen};
use std::collections::BTreeMap;

const NS_PER_S: f64 = 1e9;

/// Scouts and measured loads.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// Measured loads, by their index in the search.
    pub judged: BTreeMap<u32, Judged>,
    /// Scouts, likewise.
    pub scouts: BTreeMap<u32, Scout>,
}

impl Found {
    /// Mean seconds of the longest answers at a load that may be inside.
    pub fn busy_s(&self) -> f64 {
        let measured = self.judged.values().filter(|judged| judged.finding == Finding::Inside);
        let measured = measured.filter_map(|judged| mean_e2e_s(&judged.summary));
        let scouts = self.scouts.values().filter(|scout| scout.finding != Finding::Outside);
        measured.chain(scouts.filter_map(|scout| scout.e2e_s)).fold(0.0, f64::max)
    }
}

fn mean_e2e_s(summary: &LevelSummary) -> Option<f64> {
    summary.latencies.get(Metric::E2e).map(|e2e| e2e.mean / NS_PER_S)
}

/// What a scout says about a load.
#[derive(Debug, Clone)]
pub struct Scout {
    /// The requested load.
    pub load: Load,
    /// Its level in the run.
    pub level: u16,
    /// Measured requests that were sent.
    pub requests: u64,
    /// Clearly inside, clearly outside, or unsettled.
    pub finding: Finding,
    /// The worst term's value over its limit.
    pub ratio: Option<f64>,
    /// Mean duration of an answer.
    e2e_s: Option<f64>,
}

impl Scout {
    /// What the level of a scout shows.
    pub(super) fn of(axis: Axis, spec: &RunSpec, (place, level): (u32, u16), seen: Seen) -> Scout {
        let pooled = pooled(spec, &[level], seen);
        let summary = ifm_metrics::summarize_level(spec, level, None, pooled.seen());
        let load = spec.levels.get(usize::from(level));
        let finding =
            load.map_or(Finding::Unsettled, |load| scouted(&pooled.requests, &spec.slo, load));
        Scout {
            load: axis.load(place),
            level,
            requests: sent(&[level], seen),
            finding,
            ratio: ratio(&summary),
            e2e_s: mean_e2e_s(&summary),
        }
    }
}

/// The value of the worst term over its limit.
pub(super) fn ratio(summary: &LevelSummary) -> Option<f64> {
    let ratios = summary.verdict.terms.iter().map(|term| Some(term.value_ms? / term.term.limit_ms));
    let ratios: Option<Vec<f64>> = ratios.collect();
    ratios?.into_iter().reduce(f64::max)
}

/// The verdict on one load, from all its measurements.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Its index in the search.
    pub place: u32,
    /// The requested load.
    pub load: Load,
    /// Levels of the run that it is based on.
    pub levels: Vec<u16>,
    /// Measured requests that were sent in these levels.
    pub requests: u64,
    /// All measurements as one level, with only the first wave of the first one.
    pub summary: LevelSummary,
    /// The finding.
    pub finding: Finding,
    /// The measurement after the search; only at the ends of the bracket.
    pub again: Option<Again>,
}

/// A load measured once more after the search.
#[derive(Debug, Clone)]
pub struct Again {
    /// Requests of this measurement.
    pub requests: u64,
    /// The finding of this measurement alone.
    pub finding: Finding,
    /// How the server's speed differs from the earlier measurements; absent if it cannot be
    /// determined.
    pub change: Option<Change>,
}

impl Judged {
    /// How often the load was measured, without the measurement after the search.
    pub fn looks(&self) -> u32 {
        self.levels.len() as u32
    }

    /// Whether the measurement after the search surely contradicts it.
    pub fn is_contradicted(&self) -> bool {
        let Some(again) = &self.again else { return false };
        again.finding != Finding::Unsettled && again.finding != self.finding
    }

    /// The change of the server's speed between the measurements, if it is proven.
    pub fn shown_change(&self) -> Option<&Change> {
        self.again.as_ref()?.change.as_ref().filter(|change| change.is_shown())
    }
}

/// The measurements of a load.
pub(super) fn looks_at(axis: Axis, spec: &RunSpec, place: u32) -> Vec<u16> {
    levels_at(axis, spec, place).filter(|(_, load)| !load.scout).map(|(level, _)| level).collect()
}

/// The scout at a load, if one was sent.
pub(super) fn scout_at(axis: Axis, spec: &RunSpec, place: u32) -> Option<u16> {
    levels_at(axis, spec, place).find(|(_, load)| load.scout).map(|(level, _)| level)
}

fn levels_at(axis: Axis, spec: &RunSpec, place: u32) -> impl Iterator<Item = (u16, &LoadSpec)> {
    let levels = spec.levels.iter().enumerate().map(|(level, load)| (level as u16, load));
    levels.filter(move |(_, load)| axis.place(load) == Some(place))
}

/// Several measurements of a load as one.
pub(super) fn judge(axis: Axis, spec: &RunSpec, place: u32, looks: &[u16], seen: Seen) -> Judged {
    let first = looks.first().copied().unwrap_or(0);
    let pooled = pooled(spec, looks, seen);
    let summary = ifm_metrics::summarize_level(spec, first, None, pooled.seen());
    let verdict = &summary.verdict;
    // With random arrivals, the waits depend on each other, which the interval of a percentile
    // ignores: both tests have to agree. For sessions, only their own intervals are available.
    let is_of_sessions = spec.slo.terms.iter().all(|term| term.metric.is_of_sessions());
    let is_agreed = |certainty_needed| match axis {
        Axis::Users => true,
        Axis::Rate { .. } if is_of_sessions => true,
        Axis::Rate { .. } => certainty(&pooled.requests, &spec.slo, true) == certainty_needed,
    };
    let finding = match verdict.state {
        // More requests were in flight than allowed: the server did not keep up.
        _ if summary.counts.dropped > 0 || verdict.too_many_errors => Finding::Outside,
        VerdictState::Pass if verdict.is_sure && is_agreed(Certainty::Kept) => Finding::Inside,
        VerdictState::Fail if verdict.is_sure && is_agreed(Certainty::Missed) => Finding::Outside,
        _ => Finding::Unsettled,
    };
    let requests = sent(looks, seen);
    let (load, levels) = (axis.load(place), looks.to_vec());
    Judged { place, load, levels, requests, summary, finding, again: None }
}

/// Measured requests that were sent in some levels.
fn sent(levels: &[u16], seen: Seen) -> u64 {
    let is_sent = |record: &&RequestRecord| {
        levels.contains(&record.level)
            && record.phase == Phase::Measure
            && record.outcome != Outcome::Dropped
    };
    seen.requests.iter().filter(is_sent).count() as u64
}
