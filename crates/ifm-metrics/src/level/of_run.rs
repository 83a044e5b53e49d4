//! One level of a run with everything that the run knows of it: what its requests measured, and what
//! was sampled and counted meanwhile.
//!
//! Not here: what the requests measured ([`summarize_measured`]), and what several levels say
//! together.

use super::{LevelSummary, ended_in, percentiles, sessions_of, summarize_measured};
use crate::measured::{Counts, ProbeSummary};
use crate::speculation::Speculation;
use crate::telemetry::{LevelEnergy, ServerCounters};
use ifm_core::order::Order as _;
use ifm_core::spec::RunSpec;
use ifm_core::{EndedSession, Phase, RequestRecord, RunView};

/// A run, and what its levels are judged by.
#[derive(Clone, Copy)]
pub(crate) struct Levels<'a> {
    pub run: RunView<'a>,
    /// The spec of the run, or the same with another target.
    pub spec: &'a RunSpec,
    /// Sessions of which no request shows how they ended.
    pub ended: &'a [EndedSession],
}

impl Levels<'_> {
    /// Summarizes a level from its measured requests.
    pub fn level(&self, level: u16, requests: &[&RequestRecord]) -> LevelSummary {
        let info = self.run.manifest.levels.iter().find(|info| info.level == level);
        let ended = ended_in(level, self.ended);
        self.with_run(summarize_measured(self.spec, level, info, requests, &ended), requests)
    }

    /// Takes a summary that was made when the level ended, and adds what the run learned after it. None
    /// where it is not of these requests, or where its target is about sessions: how they ended is
    /// known at the end of the run.
    pub fn ended_level(
        &self,
        known: &LevelSummary,
        requests: &[&RequestRecord],
    ) -> Option<LevelSummary> {
        let is_of_sessions = self.spec.slo.terms.iter().any(|term| term.metric.is_of_sessions());
        if is_of_sessions || known.counts != Counts::of(requests) {
            return None;
        }
        let mut summary = known.clone();
        let info = self.run.manifest.levels.iter().find(|info| info.level == known.level);
        summary.complete = info.map(|info| info.complete);
        summary.ended_by = info.and_then(|info| info.ended_by);
        summary.measured_again = info.and_then(|info| info.measured_again);
        Some(self.with_run(summary, requests))
    }

    fn with_run(&self, mut summary: LevelSummary, requests: &[&RequestRecord]) -> LevelSummary {
        let (run, level) = (self.run, summary.level);
        let is_whole = summary.complete == Some(true) && !summary.is_scout();
        if self.spec.slo.is_default || !is_whole {
            summary.withhold_verdict();
        }
        let energy = |rates| LevelEnergy::of(rates, summary.generates, run);
        summary.energy = summary.window().and_then(energy);
        summary.server = server_account(run, level);
        summary.speculation = Speculation::of(requests, summary.server.as_ref());
        let percentiles = percentiles(self.spec);
        let ended = ended_in(level, self.ended);
        let sessions = sessions_of(requests, &ended, &percentiles, block_tokens(run));
        summary.sessions = sessions.map(Box::new);
        summary.probe = ProbeSummary::of(run, level, &percentiles).map(Box::new);
        summary
    }
}

/// Summarizes a level of a run in progress that has just ended. `requests` of the view are all so far,
/// in any order; `ended` are the sessions of which no request shows how they ended. None for a level
/// without a measured request.
pub fn summarize_ended_level(
    run: RunView,
    ended: &[EndedSession],
    level: u16,
) -> Option<LevelSummary> {
    let is_measured =
        |record: &&RequestRecord| record.level == level && record.phase == Phase::Measure;
    let mut requests: Vec<&RequestRecord> = run.requests.iter().filter(is_measured).collect();
    requests.order_by_key(|record| record.seq);
    let levels = Levels { run, spec: &run.manifest.spec, ended };
    (!requests.is_empty()).then(|| levels.level(level, &requests))
}

/// Tokens of a block of the server's cache, if the server reports it.
fn block_tokens(run: RunView) -> Option<u32> {
    let server = run.manifest.facts.as_ref()?.server.as_ref()?;
    let told = server.notes.get("block_size")?.parse().ok();
    told.filter(|tokens| *tokens > 0)
}

/// What the server counted while a level ran, warm-up included.
fn server_account(run: RunView, level: u16) -> Option<ServerCounters> {
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
    ServerCounters::of(run.series, (first_ns, last_ns), next_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_loop, run};

    #[test]
    fn levels_that_were_summarized_when_they_ended_give_the_same_run() {
        let mut requests = closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 4));
        requests.extend(closed_loop((120, 1), (4, 60), 9_000.0, (130.0, 11.0, 4)));
        let mut run = run(&[2, 4], requests);
        run.manifest.spec.slo = crate::slo::parse("ttft:p99<200ms").expect("a target");
        let mut shuffled = run.requests.clone();
        shuffled.reverse();
        let live = RunView { requests: &shuffled, ..run.view() };
        let ended: Vec<LevelSummary> =
            (0..2).filter_map(|level| summarize_ended_level(live, &[], level)).collect();
        assert_eq!(ended.len(), 2);
        // What became known after the first level.
        run.manifest.levels[0].measured_again = Some(1);
        assert_eq!(crate::summarize_with(&run, &ended), crate::summarize(&run));
        // A summary of other requests is not taken.
        run.requests.pop();
        assert_eq!(crate::summarize_with(&run, &ended), crate::summarize(&run));
    }
}
