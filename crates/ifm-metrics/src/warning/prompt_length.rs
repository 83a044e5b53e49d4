//! Prompts that the server counts otherwise than we meant them.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{KindTokens, LevelSummary, TokenKind};
use ifm_core::spec::{LengthCounter, PromptLengths};

/// Prompts may be off by this share.
const SHARE_MAX: f64 = 0.10;
/// Prompts may be off by this many tokens, regardless of the share.
const SPARE_TOKENS: f64 = 4.0;
/// A template adds up to about this many tokens, where it was not measured.
pub(super) const TEMPLATE_TOKENS: f64 = 64.0;

pub(super) const CHECK: Check = Check {
    id: "prompt_length",
    title: "prompts have the intended length",
    run: Made::ByLevel(make),
};

/// What a server may add to a prompt.
enum Template {
    /// Nothing: the requested length includes it.
    Included,
    /// This many tokens, as measured.
    Measured(u32),
    /// Nothing is known of it although it was to be measured.
    Unknown,
    /// Not measured: up to [`TEMPLATE_TOKENS`].
    Unmeasured,
}

impl Template {
    fn of(lengths: Option<&PromptLengths>) -> Template {
        match lengths {
            Some(lengths) if lengths.counted_by == LengthCounter::ServerCalibrated => {
                Template::Included
            }
            Some(PromptLengths { template_tokens: Some(tokens), .. }) => {
                Template::Measured(*tokens)
            }
            Some(PromptLengths { failure: Some(_), .. }) => Template::Unknown,
            _ => Template::Unmeasured,
        }
    }
}

/// A prompt is compared with its text: the tokens of its images have no requested length.
fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let (Some(asked), Some(got)) = (level.tokens.prompt_asked_mean, text_mean(level)) else {
        return AtLevel::NotApplicable;
    };
    if asked <= 0.0 {
        return AtLevel::NotApplicable;
    }
    let lengths = context.run.manifest.spec.workload.prompt_lengths.as_ref();
    let template = Template::of(lengths);
    let (added, spare) = match template {
        Template::Measured(tokens) => (f64::from(tokens), SPARE_TOKENS),
        Template::Included | Template::Unknown => (0.0, SPARE_TOKENS),
        Template::Unmeasured if got >= asked => (0.0, TEMPLATE_TOKENS),
        Template::Unmeasured => (0.0, 0.0),
    };
    let meant = asked + added;
    let difference = got / meant - 1.0;
    if difference.abs() <= SHARE_MAX || (got - meant).abs() <= spare {
        return AtLevel::Silent;
    }
    let why = match template {
        Template::Measured(tokens) => format!(", {tokens} of them the chat template's"),
        Template::Unknown => ", and their length by the server's count could not be set".to_owned(),
        Template::Included | Template::Unmeasured => String::new(),
    };
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "prompts have {got:.1} tokens on average, {meant:.1} were intended ({}){why}",
            percent(difference)
        ),
    )
}

/// Mean tokens of the text of a prompt, its template's among them; absent where some requests carried
/// media and it is not known of all.
pub(super) fn text_mean(level: &LevelSummary) -> Option<f64> {
    let Some(media) = level.media.as_deref() else { return level.tokens.prompt_mean };
    let text = media.tokens_of(TokenKind::Text).filter(|text| text.total().is_some());
    text.filter(|_| media.requests == media.ok).and_then(KindTokens::mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};
    use ifm_core::{CountSource, Counted, RunData};

    fn count(tokens: u32) -> impl Fn(&mut RunData) {
        move |run| {
            for record in &mut run.requests {
                record.prompt_tokens = Some(Counted { tokens, from: CountSource::FinalUsage });
            }
        }
    }

    #[test]
    fn fires_on_short_and_on_much_longer_prompts() {
        check("prompt_length", count(80), Severity::Caution, "80.0 tokens on average, 100.0");
        check("prompt_length", count(165), Severity::Caution, "(65.0 %)");
    }

    #[test]
    fn images_are_not_taken_for_text() {
        let mut run = crate::testing::sound_images();
        assert_eq!(state(&run, "prompt_length"), CheckState::Passed);
        run.requests.iter_mut().for_each(|record| record.text_tokens = None);
        assert_eq!(state(&run, "prompt_length"), CheckState::NotApplicable);
    }

    /// A run whose prompts of 100 tokens were counted as `got` tokens.
    fn by(lengths: PromptLengths, counted: u32) -> CheckState {
        let mut run = sound_run();
        count(counted)(&mut run);
        run.manifest.spec.workload.prompt_lengths = Some(lengths);
        state(&run, "prompt_length")
    }

    #[test]
    fn a_failed_calibration_excuses_no_tokens() {
        let failed = || PromptLengths {
            failure: Some("no answer within 31.0 s".to_owned()),
            ..PromptLengths::by_tokenizer()
        };
        assert_eq!(by(failed(), 159), CheckState::Caution);
        assert_eq!(by(failed(), 108), CheckState::Passed);
    }

    #[test]
    fn a_measured_template_is_all_that_is_added() {
        let measured =
            || PromptLengths { template_tokens: Some(38), ..PromptLengths::by_tokenizer() };
        assert_eq!(by(measured(), 138), CheckState::Passed);
        assert_eq!(by(measured(), 163), CheckState::Caution);
        assert_eq!(by(measured(), 100), CheckState::Caution);
    }

    #[test]
    fn a_calibrated_length_includes_the_template() {
        let calibrated = || PromptLengths {
            counted_by: LengthCounter::ServerCalibrated,
            ..PromptLengths::by_tokenizer()
        };
        assert_eq!(by(calibrated(), 103), CheckState::Passed);
        assert_eq!(by(calibrated(), 159), CheckState::Caution);
    }

    #[test]
    fn accepts_the_length_of_a_chat_template() {
        let mut run = sound_run();
        count(164)(&mut run);
        assert_eq!(state(&run, "prompt_length"), CheckState::Passed);
    }
}
