//! Prompts that were served from a prefix cache although they should be unique.

use super::prompt_length::{TEMPLATE_TOKENS, text_mean};
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
             intended to: TTFT is too low for new prompts",
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

/// The share of the prompt tokens that may come from a cache: a shared prefix, the template, and
/// media that were sent before, which the check `few_media` covers.
pub(super) fn meant_share(context: &Context, level: &LevelSummary) -> f64 {
    let workload = &context.run.manifest.spec.workload;
    let shared = f64::from(workload.shared_prefix_tokens)
        + template_tokens(context, level)
        + seen_media_tokens(level);
    let mean = level.tokens.prompt_mean.or(level.tokens.prompt_asked_mean);
    mean.map_or(0.0, |mean| (shared / mean.max(1.0)).min(1.0))
}

/// Tokens per prompt of media that an earlier request had carried. If not reported, all that a
/// prompt has beyond its text may be media.
fn seen_media_tokens(level: &LevelSummary) -> f64 {
    let Some(media) = level.media.as_deref().filter(|media| media.seen > 0) else {
        return 0.0;
    };
    let tokens = &level.tokens;
    match (media.seen_tokens, tokens.prompt_asked_mean, tokens.prompt_mean) {
        (Some(seen), _, _) => seen / media.ok.max(1) as f64,
        (None, Some(asked), Some(got)) => (got - asked).max(0.0) * media.seen_share(),
        _ => 0.0,
    }
}

/// Tokens that the server's chat template added to each prompt: the same every time, so that those
/// at its start come from the cache whatever was sent. Where lengths were made by the server's
/// count, they are part of what was asked.
fn template_tokens(context: &Context, level: &LevelSummary) -> f64 {
    let lengths = context.run.manifest.spec.workload.prompt_lengths.as_ref();
    let known = lengths.and_then(|lengths| {
        let calibrated = lengths.calibration.map(|found| found.template_tokens);
        calibrated.or(lengths.template_tokens)
    });
    let known = known.map_or(0.0, f64::from);
    let tokens = &level.tokens;
    let added = match (tokens.prompt_asked_mean, text_mean(level).or(tokens.prompt_mean)) {
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
            ..PromptLengths::by_tokenizer()
        });
        assert_eq!(state(&run, "prompt_cache"), CheckState::Passed);
    }

    #[test]
    fn media_that_were_sent_before_may_be_cached() {
        // 299 of 419 tokens are of the image, which half of the requests have from earlier ones.
        let run = |cached: u32, is_told: bool| {
            crate::testing::images(|number, record| {
                record.media.as_mut().expect("images").seen = u32::from(number >= 60);
                record.cached_tokens = Some(if number >= 60 { cached } else { 0 });
                if !is_told {
                    (record.text_tokens, record.image_tokens) = (None, None);
                }
            })
        };
        for is_told in [true, false] {
            assert_eq!(state(&run(299, is_told), "prompt_cache"), CheckState::Passed, "{is_told}");
            // With the text it is more, which only shows where the tokens of images are known.
            let all = state(&run(419, is_told), "prompt_cache");
            let whole = if is_told { CheckState::Caution } else { CheckState::Passed };
            assert_eq!(all, whole, "{is_told}");
        }
        let new = crate::testing::images(|_, record| record.cached_tokens = Some(299));
        let said = crate::warning::testing::text(&new, "prompt_cache");
        assert!(said.contains("71.4 % of the prompt") && said.contains("at most 4.8 %"), "{said}");
    }

    #[test]
    fn a_server_that_does_not_report_hits_cannot_be_checked() {
        let mut run = sound_run();
        cache(&mut run, None);
        assert_eq!(state(&run, "prompt_cache"), CheckState::NotApplicable);
    }
}
