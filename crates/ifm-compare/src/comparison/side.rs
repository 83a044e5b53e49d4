//! One side of a comparison: a run, a document, or several of them that are repeats of one thing.
//!
//! Our runs and other tools' documents become the same: levels with a column for each measure. Not
//! here: a second side, and how documents are read, see `document.rs`.

use super::Metric;
use super::condition::Condition;
use super::evidence::{Drawing, Evidence, Known, evidence};
use super::measure::Measure;
use super::sample::LevelSample;
use ifm_core::manifest::Manifest;
use ifm_core::order::Order as _;
use ifm_core::sheet::key;
use ifm_core::spec::{LoadSpec, SloSpec};
use ifm_core::{HealthVerdict, RunData, RunState};
use ifm_metrics::RunSummary;
use ifm_metrics::level::{LevelSummary, Load, measured_by_level};
use ifm_metrics::warning::{Severity, Warning};
use ifm_results::fact::{Fact, NUMBERS, asked_of, drafts, facts_of};
use ifm_results::{Point, Results};
use std::collections::BTreeSet;

/// The stored data of one run or document: its head, and a column for each measure at each level.
#[derive(Debug, Clone)]
pub struct Member {
    /// Id of the run, or name of the document.
    pub id: String,
    /// The name that a run was given.
    pub name: Option<String>,
    /// Identity of what it holds: members with the same are copies of one measurement.
    pub content: String,
    /// The command line of a run.
    pub command: Vec<String>,
    /// Models that were measured.
    pub models: Vec<String>,
    /// The tool that measured, where it is not this program.
    pub tool: Option<String>,
    /// Whether it is a run of ours.
    pub(crate) is_own: bool,
    /// What holds for all of it.
    pub(crate) facts: Vec<Fact>,
    /// Its levels; levels of a document that differ only in the repeat are repeats.
    pub(crate) samples: Vec<LevelSample>,
    /// Lengths at each level.
    pub(crate) lengths: Vec<Lengths>,
    /// Requested mean lengths of prompts and answers.
    pub(crate) asked: [Option<f64>; 2],
    /// The workload as it was typed, from which these lengths were drawn; absent if unknown.
    pub(crate) typed: Option<String>,
    /// The requested load, if it is known in full, and the digest of the prompts with its kind.
    pub(crate) levels: Vec<LoadSpec>,
    pub(crate) prompts: Option<String>,
    /// Prompts that were sent, and how many different ones, where each was sent by itself.
    pub(crate) sent: Option<(u64, u64)>,
    /// What the client doubts of its own times, why the run is not complete, and what was remarked while it was
    /// measured.
    pub(crate) doubts: [Option<String>; 3],
    /// What the checks found, notes left out.
    pub(crate) warnings: Vec<Warning>,
    /// Whether gaps of any level are between events rather than tokens.
    pub(crate) is_inter_event: bool,
    /// The numbers of its levels, by which a capacity is found.
    pub(crate) points: Vec<Point>,
    /// Places of the levels that count.
    pub(crate) places: Vec<String>,
    /// Settings that distinguish levels of a document.
    pub(crate) varying: BTreeSet<String>,
}

/// Tokens of one level, per request.
#[derive(Debug, Clone)]
pub(crate) struct Lengths {
    pub at: Condition,
    pub prompt: Option<f64>,
    pub output: Option<f64>,
}

/// The measures that a member is read for: the measures of the rows, and of the terms of a target.
pub(crate) fn wanted(measures: &[Measure], slo: &SloSpec) -> Vec<Measure> {
    let mut wanted = measures.to_vec();
    wanted.extend(terms(slo).map(|(measure, _)| measure));
    wanted.push(Measure::value_of(Metric::ErrorRate));
    wanted
}

impl Member {
    /// Takes what is kept of a run. `slo` is the latency target that it is compared by, which need
    /// not be the one that it was measured with.
    pub fn of(run: &RunData, measures: &[Measure], slo: &SloSpec) -> Member {
        Member::of_summary(run, &ifm_metrics::summarize_for(run, slo), measures, slo)
    }

    /// As [`of`](Member::of), from what [`summarize_for`](ifm_metrics::summarize_for) made of the run.
    pub fn of_summary(
        run: &RunData,
        summary: &RunSummary,
        measures: &[Measure],
        slo: &SloSpec,
    ) -> Member {
        let at_load = |measure: &Measure, load| vec![measure.at_load(load)];
        Member::read((run, summary), &wanted(measures, slo), at_load)
    }

    /// As [`of_summary`](Member::of_summary), each measure as what `at_load` makes of it at a load.
    pub(super) fn read(
        (run, summary): (&RunData, &RunSummary),
        wanted: &[Measure],
        at_load: impl Fn(&Measure, Load) -> Vec<Measure>,
    ) -> Member {
        let manifest = &run.manifest;
        let by_level = measured_by_level(&run.requests);
        let sample = |level: &LevelSummary| {
            let load = level.load()?;
            let mut columns: Vec<Measure> = Vec::with_capacity(wanted.len());
            for measure in wanted.iter().flat_map(|measure| at_load(measure, load)) {
                if !columns.contains(&measure) {
                    columns.push(measure);
                }
            }
            let mut sample = LevelSample::of(level, by_level.get(&level.level)?, &columns)?;
            sample.at.setting.set(key::MODEL, &manifest.spec.target.model);
            if let Some(kind) = &manifest.server.kind {
                sample.at.setting.set(key::ENGINE, kind);
            }
            Some(sample)
        };
        let lengths = |level: &LevelSummary| {
            Some(Lengths {
                at: level.load()?.into(),
                prompt: level.tokens.prompt_mean,
                output: level.tokens.output_mean,
            })
        };
        let loud = |warning: &&Warning| warning.severity > Severity::Note;
        let counting = || summary.levels.iter().filter(|level| level.is_result());
        let is_inter_event = summary
            .levels
            .iter()
            .any(|level| level.latencies.gap_label == ifm_metrics::level::GapLabel::InterEvent);
        let is_estimated = summary
            .levels
            .iter()
            .any(|level| level.latencies.get(Metric::Tpot).is_none() && has_estimates(level));
        let health = manifest.health.as_ref();
        let suspect = health.filter(|health| health.verdict == HealthVerdict::Suspect);
        let partial = (manifest.state != RunState::Complete)
            .then(|| manifest.stop_reason.clone().unwrap_or("not sealed".to_owned()));
        Member {
            id: manifest.run_id.clone(),
            name: manifest.name.clone(),
            content: manifest.run_id.clone(),
            command: manifest.command.clone(),
            models: vec![manifest.spec.target.model.clone()],
            tool: None,
            is_own: true,
            facts: facts_of(manifest, is_inter_event, is_estimated)
                .into_iter()
                .chain(drafts(&summary.levels))
                .collect(),
            samples: counting().filter_map(sample).collect(),
            lengths: counting().filter_map(lengths).collect(),
            asked: asked_of(manifest),
            typed: manifest.spec.workload.text.clone(),
            levels: manifest.spec.levels.clone(),
            prompts: digest_of(manifest),
            sent: manifest
                .workload
                .as_ref()
                .filter(|sent| sent.sessions.is_none())
                .map(|sent| (sent.prompts, sent.distinct_prompts)),
            doubts: [suspect.map(|health| health.reasons.join("; ")), partial, None],
            warnings: summary.warnings.iter().filter(loud).cloned().collect(),
            is_inter_event,
            points: Results::of_run(manifest, summary).points,
            places: counting().map(|level| format!("/levels/{}", level.level)).collect(),
            varying: BTreeSet::new(),
        }
    }

    /// The same without its requests, which are not needed to identify a run of ours.
    pub(crate) fn head(&self) -> Member {
        let samples = if self.is_own { Vec::new() } else { self.samples.clone() };
        Member {
            id: self.id.clone(),
            name: self.name.clone(),
            content: self.content.clone(),
            command: Vec::new(),
            models: self.models.clone(),
            tool: self.tool.clone(),
            is_own: self.is_own,
            facts: self.facts.clone(),
            samples,
            lengths: self.lengths.clone(),
            asked: self.asked,
            typed: self.typed.clone(),
            levels: self.levels.clone(),
            prompts: self.prompts.clone(),
            sent: self.sent,
            doubts: self.doubts.clone(),
            warnings: self.warnings.clone(),
            is_inter_event: self.is_inter_event,
            points: self.points.clone(),
            places: Vec::new(),
            varying: self.varying.clone(),
        }
    }

    /// What people call it: its name, or its id.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Whether it holds a level at all.
    pub fn has_levels(&self) -> bool {
        !self.samples.is_empty()
    }
}

fn has_estimates(level: &LevelSummary) -> bool {
    level.latencies.estimated(Metric::Tpot).is_some()
}

/// The terms of a latency target as measures, with their limits in the unit of their values.
pub(crate) fn terms(slo: &SloSpec) -> impl Iterator<Item = (Measure, f64)> {
    slo.terms.iter().map(|term| (Measure::of_term(term), term.limit()))
}

/// One side of a comparison.
#[derive(Debug, Clone)]
pub struct Side {
    /// Label.
    pub label: String,
    /// Its runs or documents: repeats of the same thing, or levels of it. Never empty in a
    /// comparison that says anything.
    pub members: Vec<Member>,
}

/// What a side says at one condition.
#[derive(Debug, Clone)]
pub(crate) struct AtLoad {
    pub at: Condition,
    /// Whether it was computed and not measured.
    pub is_predicted: bool,
    pub known: Vec<Known>,
}

impl AtLoad {
    /// What is known of a measure by each definition, times from due before times from the sending.
    pub fn known(&self, measure: Measure) -> Vec<&Known> {
        let of = |measure| self.known.iter().filter(move |known| known.measure == measure);
        let due = self.at.load.map_or(measure, |load| measure.at_load(load));
        let found: Vec<&Known> = of(due).collect();
        if found.is_empty() { of(measure).collect() } else { found }
    }

    /// What is known of a measure by itself: by the first definition that says how far it may be
    /// off, of as many runs as any.
    pub fn evidence(&self, measure: Measure) -> Option<&Evidence> {
        let worth = |known: &Known| (known.evidence.has_spread(), known.evidence.runs());
        let known = self.known(measure).into_iter().rev();
        known.max_by_key(|known| worth(known)).map(|known| &known.evidence)
    }
}

/// Settings that distinguish the levels of all sides: settings that differ within a document, and
/// settings of the request and the measurement that differ between the documents of a side.
pub(crate) fn keys<'a>(sides: impl Iterator<Item = &'a Side>) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for side in sides {
        let documents = || side.members.iter().filter(|member| !member.is_own);
        keys.extend(documents().flat_map(|member| member.varying.iter().cloned()));
        for name in BETWEEN {
            let samples = documents().flat_map(|member| &member.samples);
            let values: BTreeSet<Option<&str>> =
                samples.map(|sample| sample.at.setting.get(name)).collect();
            if values.len() > 1 {
                keys.insert(name.to_owned());
            }
        }
    }
    keys
}

/// Settings that make levels of several documents of one side different levels, not repeats.
const BETWEEN: [&str; 12] = [
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
    key::BATCH_SIZE,
    key::TEST,
    key::DEPTH_TOKENS,
    key::STRATEGY,
    key::WORKLOAD,
    key::MODEL,
    key::GPU,
    key::QUANTIZATION,
    key::CONDITION,
    key::CONCURRENCY,
];

impl Member {
    /// Whether it was computed and not measured.
    pub(crate) fn is_predicted(&self) -> bool {
        let of = |fact: &&Fact| fact.what == NUMBERS;
        let numbers = self.facts.iter().find(of).and_then(|fact| fact.value.as_deref());
        numbers == Some(key::PREDICTED)
    }
}

impl Side {
    /// Whether any of it was computed and not measured.
    pub(crate) fn is_predicted(&self) -> bool {
        self.members.iter().any(Member::is_predicted)
    }

    /// Whether all of it was measured by this program.
    pub(crate) fn is_own(&self) -> bool {
        self.members.iter().all(|member| member.is_own)
    }

    /// The evidence of the side at each of its conditions, in order: levels of the same condition,
    /// in one run or several, are repeats. `place` separates its draws from the draws of other
    /// sides.
    pub(crate) fn evidence(
        &self,
        drawing: Drawing,
        place: usize,
        keys: &BTreeSet<String>,
    ) -> Vec<AtLoad> {
        let mut found: Vec<AtLoad> = Vec::new();
        for (run, member) in self.members.iter().enumerate() {
            for (level, sample) in member.samples.iter().enumerate() {
                let name = format!("side {place} run {run} level {level}");
                let known = evidence(sample, drawing, run, &name);
                let at = sample.at.reduced(keys);
                match found.iter_mut().find(|found| found.at.is_same(&at)) {
                    Some(found) => found.add(known),
                    None => {
                        found.push(AtLoad { at, is_predicted: self.is_predicted(), known });
                    }
                }
            }
        }
        found.order_by(|a, b| a.at.order(&b.at));
        found
    }
}

impl AtLoad {
    pub(super) fn add(&mut self, known: Vec<Known>) {
        for more in known {
            let is_same = |known: &&mut Known| known.measure == more.measure && known.by == more.by;
            match self.known.iter_mut().find(is_same).map(|known| &mut known.evidence) {
                None => self.known.push(more),
                Some(Evidence::Runs(runs)) => {
                    if let Evidence::Runs(mut more) = more.evidence {
                        runs.append(&mut more);
                    }
                }
                Some(Evidence::Share { hits, n }) => {
                    if let Evidence::Share { hits: more_hits, n: more_n } = more.evidence {
                        *hits += more_hits;
                        *n += more_n;
                    }
                }
            }
        }
    }
}

/// The kind of the digest of a run's prompts, and its beginning.
fn digest_of(manifest: &Manifest) -> Option<String> {
    let digests =
        [("blake3", &manifest.prompts_blake3), ("sha256", &manifest.prompts_sha256)].into_iter();
    let (kind, digest) =
        digests.filter_map(|(kind, digest)| Some((kind, digest.as_ref()?))).next()?;
    Some(format!("{kind}:{}", digest.chars().take(12).collect::<String>()))
}
