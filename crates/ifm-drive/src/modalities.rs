//! Of what kinds the tokens of a prompt are, for its record: what the server told, as far as the prompt
//! has such media.
//!
//! Not here: what is measured by pairs of prompts (the session).

use ifm_core::SentMedia;
use ifm_core::record::{CountSource, Counted};
use ifm_wire::dialect::PromptKinds;

/// Prompt tokens by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Modalities {
    pub text: Option<Counted>,
    pub image: Option<Counted>,
    pub audio: Option<Counted>,
    pub video: Option<Counted>,
}

/// What the server told of a prompt of `prompt_tokens`. A count of none for what the prompt does not
/// carry is no news. Text is what is left where the server told of each kind that the prompt carries.
pub(crate) fn told(
    kinds: PromptKinds,
    prompt_tokens: Option<Counted>,
    media: Option<SentMedia>,
) -> Modalities {
    let sent = media.unwrap_or_default();
    let rows = [(sent.images, kinds.image), (sent.audios, kinds.audio), (sent.videos, kinds.video)];
    let [image, audio, video] =
        rows.map(|(count, told)| told.filter(|tokens| count > 0 || *tokens > 0));
    let is_all = media.is_some() && rows.iter().all(|(count, told)| *count == 0 || told.is_some());
    let rest = || {
        let of_media = [image, audio, video].into_iter().flatten().map(u64::from).sum::<u64>();
        let prompt = prompt_tokens.filter(|prompt| !prompt.from.is_estimate() && is_all)?;
        u32::try_from(u64::from(prompt.tokens).checked_sub(of_media)?).ok()
    };
    let text = kinds.text.or_else(rest);
    let counted = |tokens: Option<u32>| {
        tokens.map(|tokens| Counted { tokens, from: CountSource::FinalUsage })
    };
    Modalities {
        text: counted(text),
        image: counted(image),
        audio: counted(audio),
        video: counted(video),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_tokens_is_text_when_all_kinds_are_reported() {
        let prompt = |tokens| Some(Counted { tokens, from: CountSource::FinalUsage });
        let both = SentMedia { images: 1, videos: 1, ..SentMedia::default() };
        let image = SentMedia { images: 2, ..SentMedia::default() };
        let told_image = PromptKinds { image: Some(299), ..PromptKinds::default() };
        let tokens = |it: Modalities| {
            [it.text, it.image, it.audio, it.video].map(|counted| counted.map(|it| it.tokens))
        };
        let of = |kinds, prompt, media| tokens(told(kinds, prompt, media));
        assert_eq!(of(told_image, prompt(310), Some(image)), [Some(11), Some(299), None, None]);
        // The video's tokens are not reported, so the rest is not only text.
        assert_eq!(of(told_image, prompt(310), Some(both)), [None, Some(299), None, None]);
        assert_eq!(of(told_image, None, Some(image)), [None, Some(299), None, None]);
        assert_eq!(of(told_image, prompt(200), Some(image)), [None, Some(299), None, None]);
        let zero = PromptKinds { audio: Some(0), text: Some(7), ..told_image };
        assert_eq!(of(zero, prompt(310), Some(image)), [Some(7), Some(299), None, None]);
        let nothing = PromptKinds { audio: Some(0), ..PromptKinds::default() };
        assert_eq!(of(nothing, prompt(9), None), [None; 4]);
        let estimate = Some(Counted { tokens: 310, from: CountSource::Events });
        assert_eq!(of(told_image, estimate, Some(image)), [None, Some(299), None, None]);
    }
}
