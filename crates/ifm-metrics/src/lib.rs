//! Numbers, checks and verdicts from the records of a run: pure functions, no clock, no file.
//!
//! [`summarize`] turns a run into numbers, checks and answers. The same run gives the same numbers,
//! bit for bit. The modules [`request`] (durations of one request), [`level`] (populations and
//! rates) and [`definitions`] (the same by other tools' rules) contain the definitions. Not here:
//! how a number is written, which is the part of the reports.
#![forbid(unsafe_code)]

pub mod answer;
pub mod capacity;
pub mod cold;
pub mod definitions;
pub mod disturbance;
pub mod failure;
pub mod goodput;
pub mod health;
pub mod image_tokens;
pub mod level;
pub mod machine;
pub mod measured;
pub mod measured_machine;
pub mod media_figures;
pub mod repeats;
pub mod request;
pub mod roof;
pub mod settling;
pub mod slo;
pub mod speculation;
pub mod stat;
pub mod tally;
pub mod telemetry;
pub mod tpot;
pub mod warning;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use answer::Answers;
pub use health::HealthEvidence;
pub use level::{LevelSummary, Seen, summarize_ended_level, summarize_level};
pub use repeats::Repeated;
pub use request::RequestMetrics;
pub use settling::Settling;
pub use speculation::Speculation;
pub use stat::Distribution;
pub use telemetry::{LevelEnergy, ServerCounters};
pub use warning::{CheckResult, Severity, Warning};

use ifm_core::order::Order as _;
use ifm_core::spec::{RunSpec, SloSpec};
use ifm_core::{ClientHealth, RunData};
use level::Load;
use std::borrow::Cow;

/// Everything that is computed from a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// Levels in the order in which they ran; those without a request are left out.
    pub levels: Vec<LevelSummary>,
    /// The loads that were measured more than once, their repeats taken together.
    pub repeats: Vec<Repeated>,
    /// What deserves caution, in the order of the checks.
    pub warnings: Vec<Warning>,
    /// Every check with its result.
    pub checks: Vec<CheckResult>,
    /// The answers to the main questions about the run; absent if nothing was measured.
    pub answers: Option<Answers>,
    /// The client's own error, as it judged it when it ran.
    pub health: Option<ClientHealth>,
}

impl RunSummary {
    /// The levels as a reader looks for them: by load, repeats of a load together in the order in which
    /// they ran. In the order in which they ran where a load is unknown.
    pub fn levels_by_load(&self) -> Vec<&LevelSummary> {
        let known: Option<Vec<(Load, &LevelSummary)>> =
            self.levels.iter().map(|level| Some((level.load()?, level))).collect();
        let Some(mut levels) = known else { return self.levels.iter().collect() };
        levels.order_by(|(a, _), (b, _)| a.order(*b));
        levels.into_iter().map(|(_, level)| level).collect()
    }
}

/// Computes everything from a run, by its own latency target.
pub fn summarize(run: &RunData) -> RunSummary {
    summarize_for(run, &run.manifest.spec.slo)
}

/// Computes everything from a run, by a latency target that need not be its own.
pub fn summarize_for(run: &RunData, slo: &SloSpec) -> RunSummary {
    summarize_by(run, slo, &[])
}

/// The same as [`summarize`], where levels were summarized when they ended: they are not computed
/// again.
pub fn summarize_with(run: &RunData, known: &[LevelSummary]) -> RunSummary {
    summarize_by(run, &run.manifest.spec.slo, known)
}

fn summarize_by(run: &RunData, slo: &SloSpec, known: &[LevelSummary]) -> RunSummary {
    let own = &run.manifest.spec;
    let is_own = own.slo.terms == slo.terms;
    let spec = match is_own {
        true => Cow::Borrowed(own),
        false => Cow::Owned(RunSpec { slo: slo.clone(), ..own.clone() }),
    };
    let spec = spec.as_ref();
    let measured = level::measured_by_level(&run.requests);
    let levels = level::Levels { run: run.view(), spec, ended: Seen::of(run).ended };
    let mut levels: Vec<LevelSummary> = measured
        .iter()
        .map(|(level, requests)| {
            let known = known.iter().find(|known| known.level == *level);
            let ended = known.and_then(|known| levels.ended_level(known, requests));
            ended.unwrap_or_else(|| levels.level(*level, requests))
        })
        .collect();
    let with_forms =
        levels.iter_mut().filter_map(|level| Some((level.level, &mut **level.forms.as_mut()?)));
    measured::forms::note_firsts(with_forms, &run.requests);
    let checks = warning::check(run, &measured, &levels);
    let warnings = checks.iter().flat_map(|check| check.warnings.iter().cloned()).collect();
    let repeats = repeats::repeated(&levels);
    // A search answers for the target that it searched with, and for no other.
    let searched = answer::Searched::of(run).filter(|_| is_own);
    let answers = answer::answers((&spec.slo, searched.as_ref()), &levels, &repeats, &checks);
    RunSummary { levels, repeats, warnings, checks, answers, health: run.manifest.health.clone() }
}
