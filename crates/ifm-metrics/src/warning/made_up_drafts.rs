//! Speculative decoding measured with synthetic text: drafts of random tokens are guessed worse,
//! and drafts of a repeated answer better, than in real use.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;

pub(super) const CHECK: Check = Check {
    id: "made_up_drafts",
    title: "drafts were of text that people write",
    run: Made::ByLevel(make),
};

/// Kinds of workload whose prompts are drawn, or filled up to a length, rather than written.
const MADE_UP: [&str; 7] =
    ["random", "random-ids", "prefix-repetition", "mooncake", "burstgpt", "weka", "agents"];

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let Some(drafts) = &level.speculation else { return AtLevel::NotApplicable };
    let workload = &context.run.manifest.spec.workload;
    let kind = workload.kind.as_str();
    let is_made_up = match workload.classes.as_slice() {
        [] => MADE_UP.contains(&kind),
        classes => classes.iter().any(|class| is_made_up(&class.workload)),
    };
    if !is_made_up {
        return AtLevel::Silent;
    }
    let found = match (drafts.acceptance_length, drafts.acceptance_rate) {
        (Some(length), Some(rate)) => {
            format!("acceptance length {length:.2} and acceptance rate {}", percent(rate))
        }
        (Some(length), None) => format!("acceptance length {length:.2}"),
        (None, Some(rate)) => format!("acceptance rate {}", percent(rate)),
        (None, None) => "the acceptance".to_owned(),
    };
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "the prompts of {kind} are synthetic: {found}, and the resulting speed, say nothing \
             about real text; use spec-bench, speed-bench or sharegpt"
        ),
    )
}

/// Whether a workload as it was typed is of a synthetic kind: by its name, or as lengths alone.
fn is_made_up(text: &str) -> bool {
    let name = text.split([':', '?']).next().unwrap_or(text);
    MADE_UP.contains(&name) || text.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state};
    use ifm_core::spec::TrafficClass;

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
        run.manifest.spec.workload.kind = "mix".to_owned();
        let class = |workload: &str| TrafficClass {
            name: workload.to_owned(),
            share: 0.5,
            model: None,
            workload: workload.to_owned(),
        };
        run.manifest.spec.workload.classes = vec![class("spec-bench:f"), class("1024/128")];
        assert_eq!(state(&run, "made_up_drafts"), CheckState::Caution);
        run.manifest.spec.workload.classes.pop();
        assert_eq!(state(&run, "made_up_drafts"), CheckState::Passed);
        run.manifest.spec.workload.classes.clear();
        run.manifest.spec.workload.kind = "spec-bench".to_owned();
        assert_eq!(state(&run, "made_up_drafts"), CheckState::Passed);
    }
}
