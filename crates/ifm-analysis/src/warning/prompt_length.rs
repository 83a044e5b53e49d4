//! Prompts that the server counts otherwise than we meant them.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{KindTokens, LevelSummary, TokenKind};

/// A chat template adds some tokens to every prompt; more than this share is not only a template.
const SHARE_MAX: f64 = 0.10;
/// A template adds up to about this many tokens, whatever the share.
pub(super) const TEMPLATE_TOKENS: f64 = 64.0;

pub(super) const CHECK: Check =
    Check { id: "prompt_length", title: "prompts are as long as meant", run: Made::ByLevel(make) };

/// A prompt is measured against its text: what images in it become is not asked for.
fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let (Some(asked), Some(got)) = (level.tokens.prompt_asked_mean, text_mean(level)) else {
        return AtLevel::NotApplicable;
    };
    if asked <= 0.0 {
        return AtLevel::NotApplicable;
    }
    let difference = got / asked - 1.0;
    let is_template = got >= asked && got - asked <= TEMPLATE_TOKENS;
    if difference.abs() <= SHARE_MAX || is_template {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "prompts have {got:.1} tokens on average, {asked:.1} were meant ({})",
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

    #[test]
    fn a_chat_template_is_no_surprise() {
        let mut run = sound_run();
        count(164)(&mut run);
        assert_eq!(state(&run, "prompt_length"), CheckState::Passed);
    }
}
