//! A handful of different images, so that a cache was measured.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{LevelSummary, MediaSummary, SeenMedia};

/// Up to this share of media that had been sent before is no cause for concern.
const SEEN_MAX: f64 = 0.05;
/// A cached share of the prompt tokens above this, of requests with media, shows a cache.
const CACHED_MIN: f64 = 0.05;

pub(super) const CHECK: Check = Check {
    id: "few_media",
    title: "images, recordings and videos were new to the server",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    // A conversation is sent again with every turn, and is meant to be known to the cache.
    if super::cache::has_conversations(context) {
        return AtLevel::NotApplicable;
    }
    let Some(media) = level.media.as_deref() else { return AtLevel::NotApplicable };
    let seen = media.seen_share();
    if seen <= SEEN_MAX {
        return AtLevel::Silent;
    }
    let again = format!(
        "{} of the {} media had been sent before in this run",
        percent(seen),
        media.media()
    );
    match evidence(media) {
        Some(evidence) => AtLevel::Fires(
            Severity::Caution,
            format!(
                "{again}, and {evidence}: this is the speed of a cache as much as of the model"
            ),
        ),
        None => AtLevel::Fires(
            Severity::Note,
            format!("{again}; nothing shows that the server kept them"),
        ),
    }
}

/// What shows that the server knew them.
fn evidence(media: &MediaSummary) -> Option<String> {
    if let Some(found) = media.seen_or_new.as_ref().filter(|found| found.ratio.high < 1.0) {
        return Some(faster(found));
    }
    let cached = media.cached.share().filter(|share| *share > CACHED_MIN)?;
    Some(format!("{} of the prompt tokens came from the server's cache", percent(cached)))
}

fn faster(found: &SeenMedia) -> String {
    format!(
        "TTFT of those requests is {:.3} of the TTFT with new media (95 % interval {:.3} to \
         {:.3}; {} and {} requests)",
        found.ratio.value,
        found.ratio.low,
        found.ratio.high,
        found.seen_ttft_ns.n,
        found.new_ttft_ns.n
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::{images, sound_images};
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state, text};
    use ifm_core::RequestRecord;

    fn seen(record: &mut RequestRecord) {
        record.media.as_mut().expect("images").seen = 1;
    }

    #[test]
    fn fires_where_the_same_again_was_faster() {
        assert_eq!(state(&sound_run(), "few_media"), CheckState::NotApplicable);
        assert_eq!(state(&sound_images(), "few_media"), CheckState::Passed);
        let cached = images(|number, record| {
            if number >= 60 {
                seen(record);
                record.events.at_ns[0] -= (record.events.at_ns[0] - record.start_ns) * 9 / 10;
            }
        });
        assert_eq!(state(&cached, "few_media"), CheckState::Caution);
        let said = text(&cached, "few_media");
        assert!(said.starts_with("50.0 % of the 120 media") && said.contains("0.100 of"), "{said}");
    }

    #[test]
    fn without_evidence_it_is_a_note() {
        let again = images(|_, record| seen(record));
        assert_eq!(state(&again, "few_media"), CheckState::Passed);
        assert!(text(&again, "few_media").contains("nothing shows"));
        let told = images(|_, record| {
            seen(record);
            record.cached_tokens = Some(299);
        });
        assert!(text(&told, "few_media").contains("71.4 % of the prompt tokens"));
    }
}
