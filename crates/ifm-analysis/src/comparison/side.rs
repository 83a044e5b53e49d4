//! One side of a comparison: a run, or several runs of the same thing.
//!
//! What is not here: a second side.

use super::evidence::{Drawing, Evidence, evidence};
use super::measure::{Latency, Measure, Over};
use super::sample::LevelSample;
use crate::level::{LevelSummary, Load, measured_by_level};
use crate::slo::VerdictState;
use crate::warning::{Severity, Warning};
use ifm_core::spec::SloSpec;
use ifm_core::{Manifest, RunData};

/// Loads of an open loop that differ by a smaller share than this are the same.
const SAME_RATE: f64 = 1e-9;

/// What is kept of one run: its head, and a column for each measure at each level.
#[derive(Debug, Clone)]
pub struct Member {
    /// The head of the run.
    pub manifest: Manifest,
    /// Its levels with a known load.
    pub(crate) samples: Vec<LevelSample>,
    /// Lengths at each level.
    pub(crate) lengths: Vec<Lengths>,
    /// What the checks found, notes left out.
    pub(crate) warnings: Vec<Warning>,
    /// Whether gaps of any level are between events rather than tokens.
    pub(crate) is_inter_event: bool,
    /// Whether tokens of any level were counted by nobody.
    pub(crate) is_estimated: bool,
    /// The largest load inside the run's own latency target while all lower ones are.
    pub(crate) fitting: Option<Load>,
}

/// Tokens of one level, per request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub load: Load,
    pub prompt: Option<f64>,
    pub output: Option<f64>,
}

impl Member {
    /// Takes what is kept of a run. `slo` is the latency target whose terms are to be compared.
    pub fn of(run: &RunData, measures: &[Measure], slo: &SloSpec) -> Member {
        let summary = crate::summarize(run);
        let by_level = measured_by_level(&run.requests);
        let mut wanted = measures.to_vec();
        wanted.extend(terms(slo).map(|(measure, _)| measure));
        wanted.push(Measure::ErrorRate);
        let sample = |level: &LevelSummary| {
            let load = level.load()?;
            let mut at_load: Vec<Measure> = Vec::with_capacity(wanted.len());
            for measure in wanted.iter().map(|measure| measure.at_load(load)) {
                if !at_load.contains(&measure) {
                    at_load.push(measure);
                }
            }
            LevelSample::of(level, by_level.get(&level.level)?, &at_load)
        };
        let lengths = |level: &LevelSummary| {
            Some(Lengths {
                load: level.load()?,
                prompt: level.tokens.prompt_mean,
                output: level.tokens.output_mean,
            })
        };
        let loud = |warning: &&Warning| warning.severity > Severity::Note;
        // A level that was measured again counts by its second time only.
        let counting = || summary.levels.iter().filter(|level| level.measured_again.is_none());
        Member {
            samples: counting().filter_map(sample).collect(),
            lengths: counting().filter_map(lengths).collect(),
            warnings: summary.warnings.iter().filter(loud).cloned().collect(),
            is_inter_event: summary
                .levels
                .iter()
                .any(|level| level.latencies.gap_label == crate::level::GapLabel::InterEvent),
            is_estimated: summary
                .levels
                .iter()
                .any(|level| level.latencies.tpot_ns.is_none() && has_estimates(level)),
            fitting: fitting(&summary.levels),
            manifest: run.manifest.clone(),
        }
    }

    /// What people call the run: its name, or its id.
    pub fn title(&self) -> &str {
        self.manifest.name.as_deref().unwrap_or(&self.manifest.run_id)
    }

    /// The loads that were measured, in the order of the levels.
    pub fn loads(&self) -> impl Iterator<Item = Load> {
        self.samples.iter().map(|sample| sample.load)
    }

    /// The largest load inside the run's own latency target while all lower ones are inside too.
    pub fn fitting_load(&self) -> Option<Load> {
        self.fitting
    }
}

fn has_estimates(level: &LevelSummary) -> bool {
    level.latencies.tpot_ns_estimated.is_some()
}

fn fitting(levels: &[LevelSummary]) -> Option<Load> {
    let mut by_load: Vec<(Load, bool)> = levels
        .iter()
        .filter(|level| level.measured_again.is_none())
        .filter_map(|level| Some((level.load()?, level.verdict.state == VerdictState::Pass)))
        .collect();
    // Of repeats that fail comes first: a load is inside only if each of its repeats is.
    by_load.sort_by(|a, b| order(a.0, b.0).then(a.1.cmp(&b.1)));
    let inside = by_load.iter().take_while(|(_, passes)| *passes);
    inside.last().map(|(load, _)| *load)
}

/// The terms of a latency target as measures, with their limits in nanoseconds.
pub(crate) fn terms(slo: &SloSpec) -> impl Iterator<Item = (Measure, f64)> {
    slo.terms.iter().filter_map(|term| {
        let latency = match term.metric.as_str() {
            "ttft" => Latency::Ttft,
            "ttfat" => Latency::Ttfat,
            "itl" => Latency::Itl,
            "tpot" => Latency::Tpot,
            "e2e" => Latency::E2e,
            _ => return None,
        };
        let over = term.percentile.map_or(Over::Mean, Over::Percentile);
        Some((Measure::Latency(latency, over), term.limit_ms * 1e6))
    })
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub struct Side {
    /// What it is called.
    pub label: String,
    /// Its runs: repeats of the same thing. Never empty in a comparison that says anything.
    pub members: Vec<Member>,
}

/// What a side says at one load.
#[derive(Debug, Clone)]
pub(crate) struct AtLoad {
    pub load: Load,
    pub evidence: Vec<(Measure, Evidence)>,
}

impl AtLoad {
    pub fn evidence(&self, measure: Measure) -> Option<&Evidence> {
        self.evidence.iter().find(|(known, _)| *known == measure).map(|(_, evidence)| evidence)
    }
}

impl Side {
    /// What the side says at each of its loads, in rising order: levels of the same load, in one
    /// run or several, are repeats. `place` keeps its draws apart from those of other sides.
    pub(crate) fn evidence(&self, drawing: Drawing, place: usize) -> Vec<AtLoad> {
        let mut found: Vec<AtLoad> = Vec::new();
        for (run, member) in self.members.iter().enumerate() {
            for (level, sample) in member.samples.iter().enumerate() {
                let name = format!("side {place} run {run} level {level}");
                let evidence = evidence(sample, drawing, run, &name);
                match found.iter_mut().find(|known| is_same(known.load, sample.load)) {
                    Some(known) => known.add(evidence),
                    None => found.push(AtLoad { load: sample.load, evidence }),
                }
            }
        }
        found.sort_by(|a, b| order(a.load, b.load));
        found
    }
}

impl AtLoad {
    fn add(&mut self, evidence: Vec<(Measure, Evidence)>) {
        for (measure, more) in evidence {
            match self.evidence.iter_mut().find(|(known, _)| *known == measure) {
                None => self.evidence.push((measure, more)),
                Some((_, Evidence::Runs(runs))) => {
                    if let Evidence::Runs(mut more) = more {
                        runs.append(&mut more);
                    }
                }
                Some((_, Evidence::Share { hits, n })) => {
                    if let Evidence::Share { hits: more_hits, n: more_n } = more {
                        *hits += more_hits;
                        *n += more_n;
                    }
                }
            }
        }
    }
}

/// Whether two loads are the same.
pub(crate) fn is_same(a: Load, b: Load) -> bool {
    match (a, b) {
        (Load::Users(a), Load::Users(b)) => a == b,
        (Load::ReqPerS(a), Load::ReqPerS(b)) => (a - b).abs() <= SAME_RATE * a.abs().max(b.abs()),
        _ => false,
    }
}

/// Whether two loads are of one kind, so that one can lie between two others.
pub(crate) fn is_same_kind(a: Load, b: Load) -> bool {
    matches!((a, b), (Load::Users(_), Load::Users(_)) | (Load::ReqPerS(_), Load::ReqPerS(_)))
}

/// Users before rates, each rising.
pub(crate) fn order(a: Load, b: Load) -> std::cmp::Ordering {
    let kind = |load: Load| matches!(load, Load::ReqPerS(_));
    kind(a).cmp(&kind(b)).then(a.value().total_cmp(&b.value()))
}

/// A load in words.
pub(crate) fn load_words(load: Load) -> String {
    match load {
        Load::Users(1) => "1 user".to_owned(),
        Load::Users(users) => format!("{users} users"),
        Load::ReqPerS(rate) => format!("{rate} req/s"),
    }
}
