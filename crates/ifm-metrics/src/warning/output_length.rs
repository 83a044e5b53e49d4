//! Answers that are not as long as asked.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{LevelSummary, TokenFacts};
use ifm_core::RequestRecord;

/// Above this relative difference, levels and runs do not do the same work.
const SHARE_MAX: f64 = 0.02;

pub(super) const CHECK: Check =
    Check { id: "output_length", title: "answers are as long as asked", run: Made::ByLevel(make) };

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    // An answer of a form ends when it is complete: what was asked is the most that it may have.
    let is_free = |record: &&&RequestRecord| record.form.is_none();
    let of_free = level.forms.as_ref().map(|_| {
        let free: Vec<&RequestRecord> =
            context.measured(level).iter().filter(is_free).copied().collect();
        TokenFacts::of(&free)
    });
    let tokens = of_free.as_ref().unwrap_or(&level.tokens);
    let (Some(asked), Some(got)) = (tokens.output_asked_mean, tokens.output_mean) else {
        return AtLevel::NotApplicable;
    };
    // An estimate may be off by more than the difference that is checked.
    if asked <= 0.0 || !tokens.output_from.provenance().is_exact() {
        return AtLevel::NotApplicable;
    }
    let difference = got / asked - 1.0;
    if difference.abs() <= SHARE_MAX {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "answers have {got:.1} tokens on average, {asked:.1} were asked for ({})",
            percent(difference)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::form_spec;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};

    #[test]
    fn fires_on_short_answers() {
        let corrupt = |run: &mut ifm_core::RunData| {
            run.requests.iter_mut().for_each(|record| record.output_tokens_asked = Some(20));
        };
        check("output_length", corrupt, Severity::Caution, "16.0 tokens on average, 20.0 were");
    }

    #[test]
    fn answers_of_a_form_end_when_they_are_complete() {
        let mut run = sound_run();
        run.manifest.spec.workload.forms = vec![form_spec("json", 0.5)];
        for record in run.requests.iter_mut().step_by(2) {
            (record.form, record.output_tokens_asked) = (Some(0), Some(200));
        }
        assert_eq!(state(&run, "output_length"), CheckState::Passed);
        run.requests.iter_mut().for_each(|record| record.form = Some(0));
        assert_eq!(state(&run, "output_length"), CheckState::NotApplicable);
    }
}
