//! Prompts that were served from a prefix cache although they should be unique.

use super::prompt_length::TEMPLATE_TOKENS;
use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;

/// Above this share of cached prompt tokens, prompts that should be unique were not.
const SHARE_MAX: f64 = 0.01;

pub(super) const CHECK: Check = Check {
    id: "prompt_cache",
    title: "unique prompts did not come from a cache",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    if has_conversations(context) {
        return AtLevel::NotApplicable;
    }
    let (Some(share), Some(cached)) = (level.tokens.cached_share, level.tokens.cached_total) else {
        return AtLevel::NotApplicable;
    };
    let meant = meant_share(context, level);
    if !is_too_much(share, meant) {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "{} of the prompt tokens ({cached}) came from the server's cache, at most {} were \
             meant to: TTFT is too low for new prompts",
            percent(share),
            percent(meant)
        ),
    )
}

/// Whether users talk: what was said before is meant to come from the cache.
pub(super) fn has_conversations(context: &Context) -> bool {
    context.run.manifest.workload.as_ref().is_some_and(|sent| sent.sessions.is_some())
}

/// Whether more came from a cache than was meant to.
pub(super) fn is_too_much(share: f64, meant: f64) -> bool {
    share > meant + SHARE_MAX
}

/// The share of the prompt tokens that may come from a cache: a shared prefix, and the template.
pub(super) fn meant_share(context: &Context, level: &LevelSummary) -> f64 {
    let workload = &context.run.manifest.spec.workload;
    let shared = f64::from(workload.shared_prefix_tokens) + template_tokens(context, level);
    let mean = level.tokens.prompt_mean.or(level.tokens.prompt_asked_mean);
    mean.map_or(0.0, |mean| (shared / mean.max(1.0)).min(1.0))
}

/// Tokens that the server's chat template added to each prompt: the same every time, so that those
/// at its start come from the cache whatever was sent. Where lengths were made by the server's
/// count, they are part of what was asked.
fn template_tokens(context: &Context, level: &LevelSummary) -> f64 {
    let lengths = context.run.manifest.spec.workload.prompt_lengths;
    let calibrated = lengths.and_then(|lengths| lengths.calibration);
    let known = calibrated.map_or(0.0, |found| f64::from(found.template_tokens));
    let tokens = &level.tokens;
    let added = match (tokens.prompt_asked_mean, tokens.prompt_mean) {
        (Some(asked), Some(got)) => got - asked,
        _ => 0.0,
    };
    added.max(known).clamp(0.0, TEMPLATE_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};
    use ifm_core::spec::{Calibration, LengthCounter, PromptLengths};
    use ifm_core::{CountSource, Counted, RunData};

    fn cache(run: &mut RunData, tokens: Option<u32>) {
        run.requests.iter_mut().for_each(|record| record.cached_tokens = tokens);
    }

    #[test]
    fn fires_on_cached_unique_prompts() {
        check(
            "prompt_cache",
            |run| cache(run, Some(32)),
            Severity::Caution,
            "32.0 % of the prompt",
        );
    }

    #[test]
    fn a_shared_prefix_may_be_cached() {
        let mut run = sound_run();
        run.manifest.spec.workload.shared_prefix_tokens = 32;
        cache(&mut run, Some(32));
        assert_eq!(state(&run, "prompt_cache"), CheckState::Passed);
    }

    #[test]
    fn the_chat_template_may_be_cached() {
        let mut run = sound_run();
        for record in &mut run.requests {
            record.prompt_tokens = Some(Counted { tokens: 103, from: CountSource::FinalUsage });
        }
        cache(&mut run, Some(2));
        assert_eq!(state(&run, "prompt_cache"), CheckState::Passed);
        cache(&mut run, Some(20));
        assert_eq!(state(&run, "prompt_cache"), CheckState::Caution);
    }

    #[test]
    fn a_template_within_the_asked_length_may_be_cached() {
        let mut run = sound_run();
        cache(&mut run, Some(2));
        assert_eq!(state(&run, "prompt_cache"), CheckState::Caution);
        run.manifest.spec.workload.prompt_lengths = Some(PromptLengths {
            counted_by: LengthCounter::ServerCalibrated,
            calibration: Some(Calibration {
                template_tokens: 3,
                ratio: 1.0,
                requests: 8,
                error_share: None,
            }),
        });
        assert_eq!(state(&run, "prompt_cache"), CheckState::Passed);
    }

    #[test]
    fn a_server_that_does_not_tell_cannot_be_checked() {
        let mut run = sound_run();
        cache(&mut run, None);
        assert_eq!(state(&run, "prompt_cache"), CheckState::NotApplicable);
    }
}
