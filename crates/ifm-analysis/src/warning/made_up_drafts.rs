//! Speculative decoding measured with text that nobody wrote: drafts of random tokens are guessed worse,
//! or of a repeated answer better, than those of any use.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;

pub(super) const CHECK: Check = Check {
    id: "made_up_drafts",
    title: "drafts were made of text that people write",
    run: Made::ByLevel(make),
};

/// Kinds of workload whose prompts are drawn, or filled up to a length, rather than written.
const MADE_UP: [&str; 7] =
    ["random", "random-ids", "prefix-repetition", "mooncake", "burstgpt", "weka", "agents"];

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let Some(drafts) = &level.speculation else { return AtLevel::NotApplicable };
    let kind = context.run.manifest.spec.workload.kind.as_str();
    if !MADE_UP.contains(&kind) {
        return AtLevel::Silent;
    }
    let found = match (drafts.acceptance_length, drafts.acceptance_rate) {
        (Some(length), Some(rate)) => {
            format!("acceptance length {length:.2} and acceptance rate {}", percent(rate))
        }
        (Some(length), None) => format!("acceptance length {length:.2}"),
        (None, Some(rate)) => format!("acceptance rate {}", percent(rate)),
        (None, None) => "what was accepted".to_owned(),
    };
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "the prompts of {kind} are made up: {found}, and the speed that follows, say nothing of \
             real text; take spec-bench, speed-bench or sharegpt"
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state};

    #[test]
    fn fires_on_random_text_and_not_on_questions_or_without_drafts() {
        let mut run = sound_run();
        assert_eq!(state(&run, "made_up_drafts"), CheckState::NotApplicable);
        for record in &mut run.requests {
            (record.accepted_draft_tokens, record.rejected_draft_tokens) = (Some(3), Some(5));
            record.draft_steps = Some(4);
        }
        run.manifest.spec.workload.kind = "random-ids".to_owned();
        assert_eq!(state(&run, "made_up_drafts"), CheckState::Caution);
        run.manifest.spec.workload.kind = "spec-bench".to_owned();
        assert_eq!(state(&run, "made_up_drafts"), CheckState::Passed);
    }
}
