//! Comparisons: whether one result is better than another, and how sure that is.
//!
//! [`compare`] compares sides with a baseline, row by row; [`rank()`] puts them in order. A side is
//! made of runs of ours, or of documents of other tools, and both become levels with a column for
//! each measure. The server, the workload, the client and the definitions are compared first:
//! numbers of unlike things answer no question. Intervals rest on requests drawn again in blocks, on
//! how repeats differ, or on a mean with its deviation and count; one number has none. Everything is
//! a function of the results and of a seed. Not here: words.

pub mod advantage;
pub mod capacity;
pub mod condition;
pub mod contrast;
pub mod difference;
mod document;
pub(crate) mod evidence;
pub(crate) mod meaning;
pub mod measure;
pub mod pair;
pub mod pairs_of_results;
pub(crate) mod percentile;
pub mod placement;
pub mod rank;
pub mod repeated_prompt;
mod requests;
pub(crate) mod sample;
mod shortage;
pub mod side;
pub mod speed_up;
pub mod verdict;

pub use advantage::Advantage;
pub use capacity::{Capacity, CapacityPair, CapacityState};
pub use condition::Condition;
pub use contrast::{Basis, Cell, Doubt};
pub use difference::{COPIES, Difference, DifferenceKind};
pub use ifm_core::metric::{Direction, Metric, MetricUnit as Unit};
pub use measure::{Measure, MeasureError, Over};
pub use pair::Row;
pub use pairs_of_results::ResultsEvidence;
pub use placement::{Placement, Undecided};
pub use rank::{Ranked, Ranking, rank};
pub use repeated_prompt::RepeatedPrompt;
pub use shortage::Shortage;
pub use side::{Member, Side};
pub use speed_up::SpeedUp;
pub use verdict::Verdict;

use capacity::compare_capacity;
use condition::list_words;
use contrast::Rules;
use difference::differences;
use evidence::{Drawing, Evidence};
use ifm_core::order::Order as _;
use ifm_core::spec::SloSpec;
use ifm_metrics::stat::multiple::holm;
use ifm_metrics::stat::outlier::grubbs;
use meaning::{Agreement, By};
use pair::{Asked, Draft, conditions, drafts, without_match};
use side::{AtLoad, keys};
use std::collections::BTreeSet;

/// How sides are compared.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Confidence of the intervals, and one less the chance of a false alarm over all rows.
    pub confidence: f64,
    /// Smallest relevant change, as a share of the baseline's value.
    pub threshold: f64,
    /// Draws for each interval.
    pub resamples: u32,
    /// Seed of the draws.
    pub seed: u64,
    /// The rows at each load.
    pub measures: Vec<Measure>,
    /// The latency target of the capacities.
    pub slo: SloSpec,
    /// Whether the measures are those that a comparison with documents looks for, of which each row
    /// that both sides have a value for is shown.
    pub is_choice: bool,
    /// Whether values of different definitions are compared anyway.
    pub even_so: bool,
    /// Whether a load that only one side has is read between two measured loads of the other.
    pub interpolates: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            confidence: 0.95,
            threshold: 0.03,
            resamples: 2_000,
            seed: 0,
            measures: Measure::DEFAULT.to_vec(),
            slo: SloSpec::none(),
            is_choice: false,
            even_so: false,
            interpolates: false,
        }
    }
}

impl Settings {
    pub(crate) fn asked(&self) -> Asked<'_> {
        let Settings { measures, is_choice, even_so, interpolates, .. } = self;
        let (is_choice, even_so, interpolates) = (*is_choice, *even_so, *interpolates);
        Asked { measures, is_choice, even_so, interpolates }
    }

    pub(crate) fn rules(&self) -> Rules {
        Rules { confidence: self.confidence, threshold: self.threshold }
    }

    pub(crate) fn drawing(&self) -> Drawing {
        Drawing { resamples: self.resamples, seed: self.seed }
    }
}

/// A repeat that is an outlier on its side.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart {
    /// Label of the side.
    pub side: String,
    /// Id of the run.
    pub run: String,
    /// The requested condition.
    pub at: Condition,
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
    /// Label.
    pub label: String,
    /// Ids of its runs, names of its documents.
    pub runs: Vec<String>,
    /// Model names.
    pub models: Vec<String>,
    /// Tools of its documents.
    pub tools: Vec<String>,
    /// What was measured, in order.
    pub conditions: Vec<Condition>,
    /// Whether gaps are between events that may hold several tokens.
    pub is_inter_event: bool,
    /// Whether its numbers were computed and not measured.
    pub is_predicted: bool,
    /// The command line of its first run.
    pub command: Vec<String>,
}

/// A side compared with the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The second side.
    pub side: SideHead,
    /// What was compared besides the numbers, the weightiest first.
    pub differences: Vec<Difference>,
    /// Measures at loads, by load.
    pub rows: Vec<Row>,
    /// What speculative decoding brought, by load, where one side drafts and the other does not.
    pub speed_ups: Vec<SpeedUp>,
    /// One prompt again and again against new ones, by load, where one side sent one prompt.
    pub repeated_prompt: Vec<RepeatedPrompt>,
    /// The largest loads inside the latency target; absent without one.
    pub capacity: Option<CapacityPair>,
    /// Repeats that are outliers.
    pub apart: Vec<Apart>,
}

impl Pair {
    /// How many rows got a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Whether one side is a prediction and the other one a measurement: what differs is then an error of
    /// the prediction, and neither side is better.
    pub fn is_of_prediction(&self, baseline: &SideHead) -> bool {
        self.side.is_predicted != baseline.is_predicted
    }

    /// What makes the two sides unlike.
    pub fn unlike(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| difference.kind == DifferenceKind::Unlike)
    }
}

/// Sides compared with a baseline.
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
    /// Draws for each interval.
    pub resamples: u32,
    /// Seed of the draws.
    pub seed: u64,
    /// Rows that were tested together.
    pub tested: usize,
}

/// Compares each of `others` with `baseline`. The chance of a false alarm is kept over all rows of
/// all pairs together.
pub fn compare(baseline: &Side, others: &[Side], settings: &Settings) -> Comparison {
    let rules = settings.rules();
    let keys = keys(std::iter::once(baseline).chain(others));
    let base = baseline.evidence(settings.drawing(), 0, &keys);
    let evidence: Vec<Vec<AtLoad>> = others
        .iter()
        .enumerate()
        .map(|(index, side)| side.evidence(settings.drawing(), index + 1, &keys))
        .collect();
    let all: Vec<Vec<Draft>> =
        evidence.iter().map(|side| drafts(&base, side, &settings.asked(), &rules)).collect();
    let chances: Vec<f64> = all.iter().flatten().filter_map(Draft::p).collect();
    let tested = chances.len();
    let mut corrected = holm(&chances).unwrap_or_default().into_iter();
    let pairs = others
        .iter()
        .zip(&evidence)
        .zip(all)
        .map(|((side, at), drafts)| {
            let mut differences = differences(baseline, side, &keys);
            differences.extend(of_definitions(&drafts));
            let interpolates = settings.interpolates;
            match conditions(&base, at, interpolates).is_empty() {
                true => differences.push(no_common_condition(&base, at)),
                false if drafts.is_empty() => differences.push(no_common_measure(&base, at)),
                false => differences.extend(unmatched(&base, at, interpolates)),
            }
            differences.order_by_key(|difference| std::cmp::Reverse(difference.kind));
            let rows = drafts.into_iter().map(|draft| {
                let p = draft.p().and_then(|_| corrected.next());
                draft.finish(p, &rules)
            });
            let rows: Vec<Row> = rows.collect();
            let mut apart = apart(baseline, &base, settings.confidence);
            apart.extend(self::apart(side, at, settings.confidence));
            Pair {
                side: head(side, at),
                speed_ups: speed_up::speed_ups(&differences, &rows),
                repeated_prompt: repeated_prompt::repeated_prompt(
                    (baseline, side),
                    &differences,
                    &rows,
                ),
                differences,
                rows,
                capacity: compare_capacity(&settings.slo, (baseline, &base), (side, at)),
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
        side.members.iter().flat_map(|member| member.models.iter().cloned()).collect();
    models.dedup();
    let mut tools: Vec<String> =
        side.members.iter().filter_map(|member| member.tool.clone()).collect();
    tools.dedup();
    SideHead {
        label: side.label.clone(),
        runs: side.members.iter().map(|member| member.id.clone()).collect(),
        models,
        tools,
        conditions: at.iter().map(|at| at.at.clone()).collect(),
        is_inter_event: side.members.iter().any(|member| member.is_inter_event),
        is_predicted: side.is_predicted(),
        command: side.members.first().map(|member| member.command.clone()).unwrap_or_default(),
    }
}

/// The difference that leaves nothing to compare: no level of one side is one of the other.
pub const NO_COMMON_LOAD: &str = "no common load";

/// That no level of one side is one of the other, or lies between such where that is asked for.
fn no_common_condition(a: &[AtLoad], b: &[AtLoad]) -> Difference {
    let words = |side: &[AtLoad]| Some(list_words(side.iter().map(|at| &at.at)));
    Difference::new(NO_COMMON_LOAD, DifferenceKind::Unlike, (words(a), words(b)))
}

/// That no measure has a value on both sides.
fn no_common_measure(a: &[AtLoad], b: &[AtLoad]) -> Difference {
    let words = |side: &[AtLoad]| {
        let known = side.iter().flat_map(|at| &at.known);
        let names: BTreeSet<String> = known.map(|known| known.measure.to_string()).collect();
        let names: Vec<String> = names.into_iter().collect();
        Some(if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    };
    let what = "no common metric";
    Difference::new(what, DifferenceKind::Unlike, (words(a), words(b)))
}

/// The levels that only one side has.
fn unmatched(a: &[AtLoad], b: &[AtLoad], interpolates: bool) -> Option<Difference> {
    let (of_a, of_b) = (without_match(a, b, interpolates), without_match(b, a, interpolates));
    let words = |side: &[&Condition]| Some(list_words(side.iter().copied()));
    (!of_a.is_empty() || !of_b.is_empty()).then(|| {
        let what = "levels that only one side has, left out";
        Difference::new(what, DifferenceKind::Expected, (words(&of_a), words(&of_b)))
    })
}

/// Definitions that differ, or that may. Where not one row is left by one definition, the sides are
/// unlike.
pub(crate) fn of_definitions(drafts: &[Draft]) -> Vec<Difference> {
    let is_unlike = |(a, b): &(By, By)| a.agrees(b) == Agreement::None;
    let are_all = !drafts.is_empty()
        && drafts.iter().all(|draft| draft.unsure.as_ref().is_some_and(is_unlike));
    let mut found: Vec<Difference> = Vec::new();
    for draft in drafts {
        let Some((a, b)) = &draft.unsure else { continue };
        let quantity = draft.measure.quantity_words();
        let kind = if are_all { DifferenceKind::Unlike } else { DifferenceKind::Warning };
        let what = format!("definition of {quantity}");
        let difference = Difference::new(what, kind, (Some(a.words()), Some(b.words())));
        if !found.contains(&difference) {
            found.push(difference);
        }
    }
    found
}

/// Repeats that Grubbs's test finds, corrected for the number of tests.
fn apart(side: &Side, at: &[AtLoad], confidence: f64) -> Vec<Apart> {
    let mut found = Vec::new();
    for at in at {
        for known in &at.known {
            let Evidence::Runs(runs) = &known.evidence else { continue };
            let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
            let Some(outlier) = grubbs(&values) else { continue };
            let Some(run) = runs.get(outlier.index) else { continue };
            let Some(member) = side.members.get(run.run) else { continue };
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let apart = Apart {
                side: side.label.clone(),
                run: member.id.clone(),
                at: at.at.clone(),
                measure: known.measure,
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
mod document_tests;
#[cfg(test)]
mod proof_tests;
#[cfg(test)]
mod tests;
