//! Prompts that the server's own counters say were served from its prefix cache, although they
//! should be unique.

use super::cache::{has_conversations, is_too_much, meant_share};
use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;

pub(super) const CHECK: Check = Check {
    id: "server_cache",
    title: "by the server's counters, unique prompts did not come from a cache",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    if has_conversations(context) {
        return AtLevel::NotApplicable;
    }
    let Some(server) = &level.server else { return AtLevel::NotApplicable };
    let Some(share) = server.cache_share() else { return AtLevel::NotApplicable };
    let meant = meant_share(context, level);
    let is_told_already =
        level.tokens.cached_share.is_some_and(|of_answers| is_too_much(of_answers, meant));
    if !is_too_much(share, meant) || is_told_already {
        return AtLevel::Silent;
    }
    let (hits, queries) =
        (server.cache_hits.unwrap_or_default(), server.cache_queries.unwrap_or_default());
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "the server's counters show a prefix cache hit rate of {} ({hits:.0} of \
             {queries:.0}), at most {} was intended: TTFT is too low for new prompts",
            percent(share),
            percent(meant)
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::telemetry;
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state};
    use ifm_core::RunData;
    use ifm_core::series::Signal;

    /// A run whose server found this many of 100 looked-up tokens each second.
    fn run(found: f64) -> RunData {
        let mut run = sound_run();
        run.requests.iter_mut().for_each(|record| {
            record.start_ns += 1;
            record.cached_tokens = None;
        });
        run.series = vec![
            telemetry(Signal::ServerCacheQueries, "x", (0.0, 60.0), &|at_s| 100.0 * at_s),
            telemetry(Signal::ServerCacheHits, "x", (0.0, 60.0), &|at_s| found * at_s),
        ];
        run
    }

    #[test]
    fn fires_on_hits_and_not_on_the_template_or_a_shared_prefix() {
        assert_eq!(state(&run(0.5), "server_cache"), CheckState::Passed);
        assert_eq!(state(&run(40.0), "server_cache"), CheckState::Caution);
        let mut shared = run(40.0);
        shared.manifest.spec.workload.shared_prefix_tokens = 45;
        assert_eq!(state(&shared, "server_cache"), CheckState::Passed);
    }

    #[test]
    fn does_not_repeat_what_the_answers_report() {
        let mut told = run(40.0);
        told.requests.iter_mut().for_each(|record| record.cached_tokens = Some(40));
        assert_eq!(state(&told, "prompt_cache"), CheckState::Caution);
        assert_eq!(state(&told, "server_cache"), CheckState::Passed);
    }

    #[test]
    fn without_counters_or_with_a_cache_that_is_off_it_cannot_be_made() {
        assert_eq!(state(&sound_run(), "server_cache"), CheckState::NotApplicable);
        let mut off = run(0.0);
        off.series[0].value.iter_mut().for_each(|queries| *queries = 0.0);
        assert_eq!(state(&off, "server_cache"), CheckState::NotApplicable);
    }
}
