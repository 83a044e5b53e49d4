//! Prompt tokens by kind, as servers report them in addition to the total.
//!
//! Two ways of saying it are known: a number by the name of each kind (`image_tokens`: OpenAI, SGLang,
//! newer vLLM), and an object of them (`multimodal_tokens`: vLLM).

use super::PromptKinds;
use super::json::{self, Raw};
use serde::Deserialize;

/// The details of a prompt's count: `prompt_tokens_details`, `input_tokens_details`.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
pub(super) struct PromptDetails<'input> {
    #[serde(default, deserialize_with = "json::count")]
    pub(super) cached_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    text_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    image_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    audio_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    video_tokens: Option<u32>,
    multimodal_tokens: Option<Raw<'input>>,
}

/// vLLM's object of them; a kind that the prompt has none of is left out.
#[derive(Deserialize)]
struct MultimodalTokens {
    #[serde(default, deserialize_with = "json::count")]
    image: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    audio: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    video: Option<u32>,
}

impl PromptDetails<'_> {
    /// What they say of the kinds.
    pub(super) fn kinds(&self) -> PromptKinds {
        let named = PromptKinds {
            text: self.text_tokens,
            image: self.image_tokens,
            audio: self.audio_tokens,
            video: self.video_tokens,
        };
        let object = self.multimodal_tokens.and_then(Raw::object::<MultimodalTokens>);
        named.or(object.map_or(PromptKinds::default(), |tokens| PromptKinds {
            text: None,
            image: tokens.image,
            audio: tokens.audio,
            video: tokens.video,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_by_their_names_and_from_an_object() {
        let image = |image| PromptKinds { image, ..PromptKinds::default() };
        let all = PromptKinds { text: Some(9), image: Some(4), audio: Some(0), video: Some(32) };
        for (details, expect) in [
            (r#"{"cached_tokens":1}"#, PromptKinds::default()),
            (r#"{"image_tokens":4,"text_tokens":9,"audio_tokens":0,"video_tokens":32}"#, all),
            (r#"{"multimodal_tokens":{"image":299},"created_cache_tokens":7}"#, image(Some(299))),
            (r#"{"image_tokens":5,"multimodal_tokens":{"image":4}}"#, image(Some(5))),
            (r#"{"image_tokens":null,"multimodal_tokens":{"image":4.0}}"#, image(Some(4))),
            (r#"{"multimodal_tokens":null}"#, PromptKinds::default()),
            (r#"{"multimodal_tokens":12,"image_tokens":"many"}"#, PromptKinds::default()),
        ] {
            let read: PromptDetails<'_> = serde_json::from_str(details).unwrap();
            assert_eq!(read.kinds(), expect, "{details}");
        }
    }
}
