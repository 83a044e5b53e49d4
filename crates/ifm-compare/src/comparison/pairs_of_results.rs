//! Measurements compared in pairs, by the evidence and the verdicts of whole runs.
//!
//! A report is about single points and repeats of them, and its statement about a difference has to
//! equal that of `compare` for the same results. Not here: which points are compared with each
//! other, and sentences (`insight`).

use super::condition::Condition;
use super::document::sample_of_point;
use super::evidence::{Known, evidence};
use super::measure::{Measure, Over};
use super::pair::{Asked, Draft, Row, drafts_at};
use super::side::{AtLoad, Member};
use super::{Metric, Settings};
use ifm_core::spec::SloSpec;
use ifm_core::{RunData, Sheet};
use ifm_metrics::RunSummary;
use ifm_metrics::stat::multiple::holm;
use ifm_results::{Point, Pooled};
use std::sync::OnceLock;

/// Measures of a run that reports compare in addition to [`Measure::DEFAULT`].
const MORE: [Measure; 7] = [
    Measure { metric: Metric::E2e, over: Over::Mean },
    Measure::percentile_of(Metric::E2e, 99.0),
    Measure { metric: Metric::Ttft, over: Over::Mean },
    Measure { metric: Metric::Itl, over: Over::Mean },
    Measure { metric: Metric::Tpot, over: Over::Mean },
    Measure::percentile_of(Metric::UserSpeed, 50.0),
    Measure { metric: Metric::UserSpeed, over: Over::Mean },
];

/// The evidence of the points of results: for each of its sources, in their
/// order, the levels with what differences rest on. A point of an origin without levels here is
/// compared by its own numbers.
#[derive(Debug, Default)]
pub struct ResultsEvidence {
    sources: Vec<Source>,
}

/// A run or document.
#[derive(Debug)]
struct Source {
    member: Member,
    /// Evidence of each of its levels, drawn on first use.
    known: Vec<OnceLock<Vec<Known>>>,
}

/// Evidence of nothing, for questions about numbers alone.
pub static NO_EVIDENCE: ResultsEvidence = ResultsEvidence { sources: Vec::new() };

impl ResultsEvidence {
    /// Of runs and then of documents, in the order in which their points were added to the results.
    pub fn new(runs: impl IntoIterator<Item = Member>, sheets: &[Sheet]) -> ResultsEvidence {
        let no_target = SloSpec::none();
        let measures = measures_of_documents();
        let of_sheets = sheets.iter().map(|sheet| Member::of_sheet(sheet, &measures, &no_target));
        let origin = |member: Member| {
            let known = member.samples.iter().map(|_| OnceLock::new()).collect();
            Source { member, known }
        };
        ResultsEvidence { sources: runs.into_iter().chain(of_sheets).map(origin).collect() }
    }

    /// Reduces a run to what comparisons need. `tools` are the tools whose documents are compared
    /// with the run; it is computed by their definitions too.
    pub fn member(run: &RunData, summary: &RunSummary, tools: &[String]) -> Member {
        let slo = &run.manifest.spec.slo;
        let measures = match tools {
            [] => [&Measure::DEFAULT[..], &MORE[..]].concat(),
            _ => measures_of_documents(),
        };
        match tools {
            [] => Member::of_summary(run, summary, &measures, slo),
            tools => Member::summary_beside_documents(run, summary, &measures, slo, tools),
        }
    }

    /// Whether `compare` would look for what both sides have, as with documents of other tools.
    fn is_choice(&self) -> bool {
        self.sources.is_empty() || self.sources.iter().any(|origin| !origin.member.is_own)
    }

    /// The measures that `compare` shows of these sources without being asked.
    pub fn usual(&self) -> (Vec<Measure>, bool) {
        match self.is_choice() {
            true => (Measure::of_documents(), true),
            false => (Measure::DEFAULT.to_vec(), false),
        }
    }

    /// Rows of each pair, the first the baseline. The chance of a false alarm is kept over all of
    /// them together.
    pub fn rows<'p>(
        &self,
        pairs: impl IntoIterator<Item = (&'p Pooled<'p>, &'p Pooled<'p>)>,
        (measures, is_choice): (&[Measure], bool),
    ) -> Vec<Vec<Row>> {
        let settings = Settings::default();
        let asked = Asked { measures, is_choice, ..settings.asked() };
        let rules = settings.rules();
        let drafts: Vec<Vec<Draft>> = pairs
            .into_iter()
            .map(|(a, b)| drafts_at(&self.at(a), &self.at(b), (&asked, &rules)))
            .collect();
        let chances: Vec<f64> = drafts.iter().flatten().filter_map(Draft::p).collect();
        let mut corrected = holm(&chances).unwrap_or_default().into_iter();
        let rows = drafts.into_iter().map(|drafts| {
            let finished = drafts.into_iter().map(|draft| {
                let p = draft.p().and_then(|_| corrected.next());
                draft.finish(p, &rules)
            });
            finished.collect()
        });
        rows.collect()
    }

    /// What repeats of one measurement say together of some measures: where the evidence of a point
    /// lacks one, by its numbers.
    pub(crate) fn of_points(&self, points: &[&Point], measures: &[Measure]) -> AtLoad {
        let load = points.first().and_then(|point| point.load);
        let at = Condition { load, ..Condition::default() };
        let is_predicted = points.iter().any(|point| point.is_predicted());
        let mut all = AtLoad { at, is_predicted, known: Vec::new() };
        for point in points {
            let mut known = self.known(point);
            let at_load = |measure: Measure| load.map_or(measure, |load| measure.at_load(load));
            let is_asked = |measure: Measure| {
                measures.iter().any(|of| measure == *of || measure == at_load(*of))
            };
            known.retain(|known| is_asked(known.measure));
            if known.is_empty() {
                let sample = sample_of_point(point, measures);
                known = evidence(&sample, Settings::default().drawing(), 0, "point");
            }
            all.add(known);
        }
        all
    }

    /// What repeats of one measurement say together.
    fn at(&self, cell: &Pooled) -> AtLoad {
        let at = Condition { load: cell.load(), setting: Default::default() };
        let is_predicted = cell.points.iter().any(|point| point.is_predicted());
        let mut all = AtLoad { at, is_predicted, known: Vec::new() };
        for point in &cell.points {
            all.add(self.known(point));
        }
        all
    }

    /// What a point says: by its requests where they are known, else by its numbers.
    fn known(&self, point: &Point) -> Vec<Known> {
        let drawing = Settings::default().drawing();
        // The same names of draws as in `compare` with one result on each side, so the same resamples.
        let name = |level: usize| format!("side {} run 0 level {level}", point.source);
        let mut known = Vec::new();
        if let Some(Source { member, known: drawn }) = self.sources.get(point.source) {
            for (level, (sample, drawn)) in member.samples.iter().zip(drawn).enumerate() {
                // Levels of a document are its points, one for one; places need not be unique there.
                let is_of_point = match member.is_own {
                    true => sample.place == point.place,
                    false => member.points.get(level).is_some_and(|own| is_same(own, point)),
                };
                if is_of_point {
                    let draw = || evidence(sample, drawing, 0, &name(level));
                    known.extend(drawn.get_or_init(draw).iter().cloned());
                }
            }
        }
        if known.is_empty() {
            let sample = sample_of_point(point, &measures_of_documents());
            known = evidence(&sample, drawing, 0, &name(0));
        }
        known
    }
}

/// Whether two points are one measurement, whatever they are called and come from.
fn is_same(a: &Point, b: &Point) -> bool {
    a.place == b.place && a.load == b.load && a.stats == b.stats
}

/// What documents are read for.
fn measures_of_documents() -> Vec<Measure> {
    let mut measures = Measure::of_documents();
    measures.extend(MORE.into_iter().filter(|more| !measures.contains(more)).collect::<Vec<_>>());
    measures
}
