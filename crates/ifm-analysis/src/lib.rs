//! Metrics and verdicts from records: pure functions, no clock, no file.
//!
//! [`summarize`] turns a run into numbers, checks and answers. The same run gives the same numbers,
//! bit for bit. The modules [`request`] (durations of one request), [`level`] (populations and
//! rates) and [`definitions`] (the same by other tools' rules) contain the definitions. Not here:
//! how a number is written, which is the part of the reports.
#![forbid(unsafe_code)]

pub mod answer;
pub mod audit;
pub mod capacity;
pub mod comparison;
pub mod definitions;
pub mod disturbance;
mod fact;
pub mod failure;
pub mod forecast;
pub mod gate;
pub mod goodput;
pub mod health;
pub mod history;
mod image_tokens;
pub mod insight;
pub mod level;
pub mod machine;
pub mod matrix;
mod measured;
pub mod measured_machine;
mod media_figures;
pub mod repeats;
pub mod request;
mod roof;
pub mod settling;
pub mod slo;
pub mod speculation;
pub mod starts;
pub mod stat;
pub mod survey;
pub mod tally;
pub mod telemetry;
pub mod tpot;
pub mod warning;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use answer::Answers;
pub use health::HealthEvidence;
pub use level::{LevelSummary, Seen, summarize_level};
pub use repeats::Repeated;
pub use request::RequestMetrics;
pub use settling::Settling;
pub use speculation::Speculation;
pub use stat::Distribution;
pub use telemetry::{LevelEnergy, ServerCounters};
pub use warning::{CheckResult, Severity, Warning};

use ifm_core::order::Order as _;
use ifm_core::spec::{RunSpec, SloSpec};
use ifm_core::{ClientHealth, EndedSession, Phase, RequestRecord, RunData};
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
    summarize_by(run, slo, Seen::of(run).ended)
}

/// The same for a run in progress, whose manifest does not hold the end of its sessions yet:
/// `ended` are the sessions of which no request shows how they ended.
pub fn summarize_so_far(run: &RunData, ended: &[EndedSession]) -> RunSummary {
    summarize_by(run, &run.manifest.spec.slo, ended)
}

fn summarize_by(run: &RunData, slo: &SloSpec, ended: &[EndedSession]) -> RunSummary {
    let own = &run.manifest.spec;
    let is_own = own.slo.terms == slo.terms;
    let spec = match is_own {
        true => Cow::Borrowed(own),
        false => Cow::Owned(RunSpec { slo: slo.clone(), ..own.clone() }),
    };
    let spec = spec.as_ref();
    let measured = level::measured_by_level(&run.requests);
    let mut levels: Vec<LevelSummary> = measured
        .iter()
        .map(|(level, requests)| {
            let info = run.manifest.levels.iter().find(|info| info.level == *level);
            let ended = level::ended_in(*level, ended);
            let mut summary = level::summarize_measured(spec, *level, info, requests, &ended);
            let is_whole = info.is_some_and(|info| info.complete) && !summary.is_scout();
            if spec.slo.is_default || !is_whole {
                summary.withhold_verdict();
            }
            let energy = |rates| LevelEnergy::of(rates, summary.generates, run);
            summary.energy = summary.window().and_then(energy);
            summary.server = server_account(run, *level);
            summary.speculation = Speculation::of(requests, summary.server.as_ref());
            let percentiles = level::percentiles(spec);
            let sessions = level::sessions_of(requests, &ended, &percentiles, block_tokens(run));
            summary.sessions = sessions.map(Box::new);
            summary.probe = measured::ProbeSummary::of(run, *level, &percentiles).map(Box::new);
            summary
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

/// Tokens of a block of the server's cache, if the server reports it.
fn block_tokens(run: &RunData) -> Option<u32> {
    let server = run.manifest.facts.as_ref()?.server.as_ref()?;
    let told = server.notes.get("block_size")?.parse().ok();
    told.filter(|tokens| *tokens > 0)
}

/// What the server counted while a level ran, warm-up included.
fn server_account(run: &RunData, level: u16) -> Option<ServerCounters> {
    if run.series.is_empty() {
        return None;
    }
    // A probe is alone before the first level, and no part of any.
    let is_own = |record: &&RequestRecord| record.level == level && record.phase != Phase::Probe;
    let of_level = || run.requests.iter().filter(is_own);
    let first_ns = of_level().map(|record| record.start_ns).min()?;
    let last_ns = of_level().map(|record| record.end_ns).max()?;
    let starts = run.requests.iter().map(|record| record.start_ns);
    let next_ns = starts.filter(|start_ns| *start_ns > last_ns).min();
    ServerCounters::of(&run.series, (first_ns, last_ns), next_ns)
}
