//! Comparisons: whether one run is better than another, and how sure that is.
//!
//! [`compare`] holds sides against a baseline, row by row; [`rank()`] puts them in order. The server,
//! the workload and the client are compared first: numbers of unlike things answer no question.
//! Intervals rest on requests drawn again in blocks, or, where a level was repeated, on how the
//! runs differ. Everything is a function of the runs and of a seed. What is not here: words.

pub mod capacity;
pub mod contrast;
pub mod difference;
pub(crate) mod evidence;
pub mod measure;
pub mod pair;
pub mod rank;
mod sample;
pub mod side;

pub use capacity::{Capacity, CapacityPair, CapacityState};
pub use contrast::{Basis, Cell, Doubt, Verdict};
pub use difference::{Difference, DifferenceKind};
pub use evidence::Shortage;
pub use measure::{Direction, Latency, Measure, MeasureError, Over, Unit};
pub use pair::Row;
pub use rank::{Ranked, Ranking, rank};
pub use side::{Member, Side};

use crate::level::Load;
use crate::stat::multiple::holm;
use crate::stat::outlier::grubbs;
use capacity::compare_capacity;
use contrast::Rules;
use difference::differences;
use evidence::{Drawing, Evidence};
use ifm_core::spec::SloSpec;
use pair::{Draft, drafts, loads};
use side::{AtLoad, load_words};

/// How sides are compared.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Confidence of the intervals, and one less the chance of a false alarm over all rows.
    pub confidence: f64,
    /// Smallest relevant change, as a share of the baseline's value.
    pub threshold: f64,
    /// Draws behind each interval.
    pub resamples: u32,
    /// Seed of the draws.
    pub seed: u64,
    /// The rows at each load.
    pub measures: Vec<Measure>,
    /// The latency target of the capacities.
    pub slo: SloSpec,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            confidence: 0.95,
            threshold: 0.03,
            resamples: 2_000,
            seed: 0,
            measures: Measure::DEFAULT.to_vec(),
            slo: SloSpec { name: "none".to_owned(), terms: Vec::new() },
        }
    }
}

impl Settings {
    pub(crate) fn rules(&self) -> Rules {
        Rules { confidence: self.confidence, threshold: self.threshold }
    }

    pub(crate) fn drawing(&self) -> Drawing {
        Drawing { resamples: self.resamples, seed: self.seed }
    }
}

/// A repeat that stands apart from the others of its side.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart {
    /// What the side is called.
    pub side: String,
    /// Id of the run.
    pub run: String,
    /// The load.
    pub load: Load,
    /// The measure.
    pub measure: Measure,
    /// The run's value, in the unit of the measure.
    pub value: f64,
    /// The mean of the side's runs.
    pub mean: f64,
}

/// What a side is, for the head of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct SideHead {
    /// What it is called.
    pub label: String,
    /// Ids of its runs.
    pub runs: Vec<String>,
    /// Model names.
    pub models: Vec<String>,
    /// The loads that were measured, rising.
    pub loads: Vec<Load>,
    /// Whether gaps are between events that may hold several tokens.
    pub is_inter_event: bool,
    /// The command line of its first run.
    pub command: Vec<String>,
}

/// A side held against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The second side.
    pub side: SideHead,
    /// What was looked at besides the numbers, the weightiest first.
    pub differences: Vec<Difference>,
    /// Measures at loads, by load.
    pub rows: Vec<Row>,
    /// The largest loads inside the latency target; absent without one.
    pub capacity: Option<CapacityPair>,
    /// Repeats that stand apart.
    pub apart: Vec<Apart>,
}

impl Pair {
    /// How many rows got a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// What makes the two sides unlike.
    pub fn unlike(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| difference.kind == DifferenceKind::Unlike)
    }
}

/// Sides held against a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The first side.
    pub baseline: SideHead,
    /// The others, in the order given.
    pub pairs: Vec<Pair>,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Smallest relevant change.
    pub threshold: f64,
    /// Draws behind each interval.
    pub resamples: u32,
    /// Seed of the draws.
    pub seed: u64,
    /// Rows that were tested together.
    pub tested: usize,
}

/// Holds each of `others` against `baseline`. The chance of a false alarm is kept over all rows of
/// all pairs together.
pub fn compare(baseline: &Side, others: &[Side], settings: &Settings) -> Comparison {
    let rules = settings.rules();
    let base = baseline.evidence(settings.drawing(), 0);
    let evidence: Vec<Vec<AtLoad>> = others
        .iter()
        .enumerate()
        .map(|(index, side)| side.evidence(settings.drawing(), index + 1))
        .collect();
    let all: Vec<Vec<Draft>> =
        evidence.iter().map(|side| drafts(&base, side, &settings.measures, &rules)).collect();
    let chances: Vec<f64> = all.iter().flatten().filter_map(Draft::p).collect();
    let tested = chances.len();
    let mut corrected = holm(&chances).unwrap_or_default().into_iter();
    let pairs = others
        .iter()
        .zip(&evidence)
        .zip(all)
        .map(|((side, at), drafts)| {
            let rows = drafts.into_iter().map(|draft| {
                let p = draft.p().and_then(|_| corrected.next());
                draft.finish(p, &rules)
            });
            let rows = rows.collect();
            let mut differences = differences(baseline, side);
            if loads(&base, at).is_empty() {
                differences.insert(0, no_common_load(&base, at));
            }
            let mut apart = apart(baseline, &base, settings.confidence);
            apart.extend(self::apart(side, at, settings.confidence));
            Pair {
                side: head(side, at),
                differences,
                rows,
                capacity: compare_capacity(&settings.slo, &base, at, settings.confidence),
                apart,
            }
        })
        .collect();
    Comparison {
        baseline: head(baseline, &base),
        pairs,
        confidence: settings.confidence,
        threshold: settings.threshold,
        resamples: settings.resamples,
        seed: settings.seed,
        tested,
    }
}

pub(crate) fn head(side: &Side, at: &[AtLoad]) -> SideHead {
    let mut models: Vec<String> =
        side.members.iter().map(|run| run.manifest.spec.target.model.clone()).collect();
    models.dedup();
    SideHead {
        label: side.label.clone(),
        runs: side.members.iter().map(|run| run.manifest.run_id.clone()).collect(),
        models,
        loads: at.iter().map(|at| at.load).collect(),
        is_inter_event: side.members.iter().any(|run| run.is_inter_event),
        command: side.members.first().map(|run| run.manifest.command.clone()).unwrap_or_default(),
    }
}

/// That no load of one side is, or lies between, loads of the other.
fn no_common_load(a: &[AtLoad], b: &[AtLoad]) -> Difference {
    let words = |side: &[AtLoad]| {
        let loads: Vec<String> = side.iter().map(|at| load_words(at.load)).collect();
        Some(if loads.is_empty() { "none".to_owned() } else { loads.join(", ") })
    };
    let (what, kind) = ("loads, of which none is common".to_owned(), DifferenceKind::Unlike);
    Difference { what, kind, a: words(a), b: words(b) }
}

/// Repeats that Grubbs's test finds, corrected for the number of tests.
fn apart(side: &Side, at: &[AtLoad], confidence: f64) -> Vec<Apart> {
    let mut found = Vec::new();
    for at in at {
        for (measure, evidence) in &at.evidence {
            let Evidence::Runs(runs) = evidence else { continue };
            let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
            let Some(outlier) = grubbs(&values) else { continue };
            let Some(run) = runs.get(outlier.index) else { continue };
            let Some(member) = side.members.get(run.run) else { continue };
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let apart = Apart {
                side: side.label.clone(),
                run: member.manifest.run_id.clone(),
                load: at.load,
                measure: *measure,
                value: run.value,
                mean,
            };
            found.push((outlier.p, apart));
        }
    }
    let chances: Vec<f64> = found.iter().map(|(p, _)| *p).collect();
    let corrected = holm(&chances).unwrap_or_default();
    found
        .into_iter()
        .zip(corrected)
        .filter(|(_, p)| *p < 1.0 - confidence)
        .map(|((_, apart), _)| apart)
        .collect()
}

#[cfg(test)]
mod proof;
#[cfg(test)]
mod tests;
