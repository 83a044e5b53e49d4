//! Counts of image tokens that cannot be right.
//!
//! Only requests with a single image are checked: with several, the individual sizes are unknown.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::image_tokens::{PIXELS_LARGE, TOKENS_MIN, of_model};
use crate::level::LevelSummary;
use ifm_core::RequestRecord;
use std::collections::BTreeMap;

/// Counts of images with the same number of pixels differ by up to this ratio where only their
/// sides do.
const RATIO_MAX: f64 = 1.5;

pub(super) const CHECK: Check = Check {
    id: "media_tokens",
    title: "image token counts fit the image sizes",
    run: Made::ByLevel(make),
};

/// An image as a request carried it alone.
struct Image {
    pixels: f64,
    tokens: f64,
}

fn alone(record: &&RequestRecord) -> Option<Image> {
    let media = record.media.as_ref().filter(|_| record.outcome.is_ok())?;
    let is_alone = media.images == 1 && media.videos == 0;
    let pixels = media.pixels.filter(|pixels| is_alone && *pixels > 0)? as f64;
    Some(Image { pixels, tokens: f64::from(record.image_tokens?.tokens) })
}

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let images: Vec<Image> = context.measured(level).iter().filter_map(alone).collect();
    if images.is_empty() {
        return AtLevel::NotApplicable;
    }
    let model = &context.run.manifest.spec.target.model;
    match too_few(&images).or_else(|| unlike(&images)).or_else(|| by_rule(&images, model)) {
        Some(text) => AtLevel::Fires(Severity::Caution, text),
        None => AtLevel::Silent,
    }
}

/// So few that no model could have read the image.
fn too_few(images: &[Image]) -> Option<String> {
    let is_too_few = |image: &&Image| image.pixels >= PIXELS_LARGE && image.tokens < TOKENS_MIN;
    let first = images.iter().find(is_too_few)?;
    let all = images.iter().filter(is_too_few).count();
    Some(format!(
        "an image of {:.0} pixels is reported as {:.0} tokens ({all} of {} requests with one \
         image): too few to hold it, so the count is wrong",
        first.pixels,
        first.tokens,
        images.len()
    ))
}

/// One size, and counts that do not go together.
fn unlike(images: &[Image]) -> Option<String> {
    let mut sizes: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for image in images {
        let (least, most) =
            sizes.entry(image.pixels as u64).or_insert((image.tokens, image.tokens));
        (*least, *most) = (least.min(image.tokens), most.max(image.tokens));
    }
    let (pixels, (least, most)) =
        sizes.into_iter().find(|(_, (least, most))| *most > least.max(1.0) * RATIO_MAX)?;
    Some(format!(
        "images of {pixels} pixels are reported as {least:.0} tokens and also as {most:.0}: one of \
         the counts is wrong"
    ))
}

/// Counts that the rule of the model does not allow.
fn by_rule(images: &[Image], model: &str) -> Option<String> {
    let rule = of_model(model)?;
    let most = images.iter().map(|image| image.tokens).fold(0.0, f64::max);
    let is_wrong = |image: &&Image| rule.contradicts(image.pixels, image.tokens, most);
    let first = images.iter().find(is_wrong)?;
    let all = images.iter().filter(is_wrong).count();
    Some(format!(
        "an image of {:.0} pixels is reported as {:.0} tokens ({all} of {} requests with one \
         image), by the rule of {model} it is {}",
        first.pixels,
        first.tokens,
        images.len(),
        rule.words(first.pixels)
    ))
}

#[cfg(test)]
mod tests {
    use crate::testing::{images, sound_images};
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state, text};
    use ifm_core::RunData;

    fn told(count: impl Fn(usize) -> u32) -> RunData {
        images(|number, record| {
            record.image_tokens.as_mut().expect("counted").tokens = count(number);
        })
    }

    #[test]
    fn fires_on_counts_that_cannot_be() {
        assert_eq!(state(&sound_run(), "media_tokens"), CheckState::NotApplicable);
        assert_eq!(state(&sound_images(), "media_tokens"), CheckState::Passed);
        assert!(text(&told(|_| 2), "media_tokens").contains("reported as 2 tokens (120 of 120"));
        let both = told(|number| if number % 2 == 0 { 64 } else { 299 });
        assert!(text(&both, "media_tokens").contains("64 tokens and also as 299"));
    }

    #[test]
    fn checks_counts_against_the_rule_of_the_model() {
        let of = |model: &str, tokens: u32| {
            let mut run = told(move |_| tokens);
            run.manifest.spec.target.model = model.to_owned();
            run
        };
        assert_eq!(state(&of("Qwen/Qwen2-VL-2B", 299), "media_tokens"), CheckState::Passed);
        let said = text(&of("Qwen/Qwen2-VL-2B", 400), "media_tokens");
        assert!(said.contains("each 28 x 28 pixels, 272 to 320"), "{said}");
        assert!(text(&of("google/gemma-3-4b-it", 81), "media_tokens").contains("256 an image"));
        assert_eq!(state(&of("another", 81), "media_tokens"), CheckState::Passed);
    }
}
