//! Images that the server took and did not read.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::image_tokens::PIXELS_LARGE;
use crate::level::LevelSummary;
use ifm_core::RequestRecord;

/// A prompt that is longer than its text by fewer tokens than this has a chat template and no
/// image in it.
const ADDED_MAX: u32 = 48;
/// So large a share of the requests has to show it.
const SHARE_MIN: f64 = 0.95;

pub(super) const CHECK: Check = Check {
    id: "unread_media",
    title: "prompts grew with the images that they carried",
    run: Made::ByLevel(make),
};

/// Whether the prompt has no token for its images; absent if unknown.
fn is_unread(record: &&RequestRecord) -> Option<bool> {
    let media = record.media.as_ref().filter(|_| record.outcome.is_ok())?;
    if let Some(image) = record.image_tokens.filter(|_| media.images > 0) {
        return Some(image.tokens == 0);
    }
    let pixels = media.pixels? as f64 / f64::from(media.images.max(1));
    if media.images == 0 || pixels < PIXELS_LARGE {
        return None;
    }
    // If the prompt has fewer tokens than planned, the difference says nothing about the images.
    let added = record.prompt_tokens?.tokens.checked_sub(record.prompt_tokens_asked?);
    Some(added.is_some_and(|added| added < ADDED_MAX))
}

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let told: Vec<bool> = context.measured(level).iter().filter_map(is_unread).collect();
    if told.is_empty() {
        return AtLevel::NotApplicable;
    }
    let unread = told.iter().filter(|is_unread| **is_unread).count();
    let share = unread as f64 / told.len() as f64;
    if share < SHARE_MIN {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Invalid,
        format!(
            "images appear to be ignored: in {} of {} requests the prompt has no more tokens \
             than its text and a chat template; is this a vision model?",
            percent(share),
            told.len()
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::{images, sound_images};
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state, text};
    use ifm_core::{CountSource, Counted, RunData};

    fn prompts(tokens: u32) -> RunData {
        images(|_, record| {
            record.prompt_tokens = Some(Counted { tokens, from: CountSource::FinalUsage });
            (record.image_tokens, record.text_tokens) = (None, None);
        })
    }

    #[test]
    fn fires_where_prompts_did_not_grow() {
        assert_eq!(state(&sound_run(), "unread_media"), CheckState::NotApplicable);
        assert_eq!(state(&sound_images(), "unread_media"), CheckState::Passed);
        assert_eq!(state(&prompts(419), "unread_media"), CheckState::Passed);
        // Fewer than were meant: the tokenizers differ, and nothing follows.
        assert_eq!(state(&prompts(90), "unread_media"), CheckState::Passed);
        assert_eq!(state(&prompts(120), "unread_media"), CheckState::Invalid);
        assert!(text(&prompts(120), "unread_media").contains("100.0 % of 120 requests"));
        let none = images(|_, record| {
            record.image_tokens.as_mut().expect("counted").tokens = 0;
        });
        assert_eq!(state(&none, "unread_media"), CheckState::Invalid);
    }
}
