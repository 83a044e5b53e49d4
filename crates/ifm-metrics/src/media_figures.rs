//! Media figures of a level, as numbers of a document: sums and rates.
//!
//! Exports and reports take them from here, so that a run of ours states the same figures in both.
//! Not here: how they are computed (`measured`), and which of them another tool has
//! (`definitions`).

use crate::level::{KindTokens, LevelSummary, TokenKind};
use ifm_core::Metric;
use ifm_core::sheet::Unit;

const NS_PER_S: f64 = 1e9;
const PER_MEGA: f64 = 1e6;

/// Name of the share of its TTFT that a request took to upload, over all requests of a level.
pub const UPLOAD_SHARE: &str = "upload as a share of TTFT";
/// Name of the share of the media that an earlier request of the run had carried.
pub const SEEN_SHARE: &str = "share of media sent before";
/// Name of the geometric mean of the TTFT of media sent before over that of new media.
pub const SEEN_RATIO: &str = "TTFT of media sent before over that of new";
/// Name of the TTFT of requests that carried something new.
pub const NEW_TTFT: &str = "TTFT of new media";
/// Name of the TTFT of requests whose media had all been sent before.
pub const SEEN_TTFT: &str = "TTFT of media sent before";

/// One number of a level, with the unit that it is written in.
pub(crate) type Total = (Metric, f64, Unit);

/// Prompt tokens by kind.
pub(crate) const KINDS: [(TokenKind, Metric); 4] = [
    (TokenKind::Text, Metric::TextTokens),
    (TokenKind::Image, Metric::ImageTokens),
    (TokenKind::Audio, Metric::AudioTokens),
    (TokenKind::Video, Metric::VideoTokens),
];

/// The numbers of which a level has one each. A sum that some requests did not tell is not there.
pub fn totals(level: &LevelSummary) -> Vec<Total> {
    let mut found = Vec::new();
    let mut add = |quantity, value: Option<f64>, unit| {
        found.extend(value.map(|value| (quantity, value, unit)));
    };
    if let Some(media) = &level.media {
        let images = (media.images > 0).then_some(media.images as f64);
        add(Metric::Images, images, Unit::Count);
        add(Metric::Pixels, media.pixels.map(|pixels| pixels as f64), Unit::Count);
        add(Metric::AudioLength, media.audio_ns.map(|ns| ns as f64 / NS_PER_S), Unit::S);
        for (kind, quantity) in KINDS {
            let tokens = media.tokens_of(kind).and_then(KindTokens::total);
            add(quantity, tokens.map(|tokens| tokens as f64), Unit::Count);
        }
    }
    if let Some(rates) = level.window().and_then(|window| window.media) {
        add(Metric::ImageRate, rates.images_per_s, Unit::PerS);
        let pixels = rates.megapixels_per_s.map(|megapixels| megapixels * PER_MEGA);
        add(Metric::PixelRate, pixels, Unit::PerS);
        add(Metric::LevelRtfx, rates.audio_s_per_s, Unit::One);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sound_images;

    #[test]
    fn incomplete_counts_have_no_sum() {
        let value = |run: &ifm_core::RunData, of: Metric| {
            let summary = crate::summarize(run);
            let found = totals(&summary.levels[0]);
            found.iter().find(|(quantity, ..)| *quantity == of).map(|(_, value, _)| *value)
        };
        let mut run = sound_images();
        assert_eq!(value(&run, Metric::ImageTokens), Some(120.0 * 299.0));
        assert_eq!(value(&run, Metric::Images), Some(120.0));
        assert_eq!(value(&run, Metric::Pixels), Some(120.0 * 640.0 * 360.0));
        assert_eq!(value(&run, Metric::AudioLength), None, "there was no audio");
        run.requests[3].image_tokens = None;
        assert_eq!(value(&run, Metric::ImageTokens), None);
        let rate = value(&run, Metric::ImageRate).expect("a window");
        let pixels = value(&run, Metric::PixelRate).expect("a window");
        assert!((pixels / rate - 640.0 * 360.0).abs() < 1e-6, "{pixels} {rate}");
    }
}
