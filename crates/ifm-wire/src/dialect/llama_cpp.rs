//! llama.cpp's own API, `POST /completion`.
//!
//! Accepts texts, token ids, and one message with images and audio, each with a marker in the text.
//! Each event counts the tokens so far (`tokens_predicted`; older servers count only at the end).
//! There is no separate end mark: a stream is complete when every sequence seen reported `"stop":
//! true`. Errors are events with the field `error`.

use super::body::{put_field, put_name, put_object, put_text_field};
use super::json::{self, Raw, Word};
use super::openai::timings_beside;
use super::parts::{put_media, with_placeholders};
use super::text::Text;
use super::{
    ChoiceFacts, Choices, ChunkFacts, Dialect, Endpoint, Generated, LengthField, Media, Memory,
    Prompts, Usage,
};
use ifm_core::spec::Api;
use ifm_core::{MediumKind, Message};
use serde::Deserialize;

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    length: Some(LengthField { within: None, names: &["n_predict", "max_tokens"], default: None }),
    prompts: Prompts {
        tokens: Some("prompt"),
        single: Some(put_single),
        ..Prompts::texts("prompt")
    },
    media: Media::of(&[MediumKind::Image, MediumKind::Audio]),
    form: Some(super::forms::llama_cpp),
    output_keys: &[b"content"],
    ..Dialect::new(
        Api::LlamaCpp,
        Endpoint::root("/completion", "/completion"),
        read_event,
        read_answer,
    )
};

/// Placeholder for a medium in a text. A server configured with another marker accepts this one if
/// its variable `LLAMA_MEDIA_MARKER` is set to it.
const MARKER: &str = "<__media__>";

/// The text, or an object of it and its media in base64.
fn put_single(message: &Message, out: &mut Vec<u8>) {
    if message.media.is_empty() {
        return put_text_field("prompt", &message.content, out);
    }
    put_name("prompt", out);
    put_object(out, |out| {
        put_field("prompt_string", &with_placeholders(message, |_| MARKER), out);
        put_media("multimodal_data", message.media.iter(), |_| String::new(), out);
    });
}

fn read_event<'input>(
    data: &'input str,
    memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    if event.error {
        return Ok(json::failure(data));
    }
    if let (Some(kept), Some(text)) = (text, event.content) {
        text.append_to(&mut kept.text);
    }
    let index = event.index.unwrap_or(0);
    let has_stopped = event.stop.unwrap_or(false);
    let has_text = event.content.is_some_and(|text| !text.is_empty());
    let sequence = memory.sequence(index);
    let has_grown = match event.tokens_predicted {
        Some(tokens) => tokens > sequence.tokens,
        None => event.content.is_some(),
    };
    sequence.tokens = sequence.tokens.max(event.tokens_predicted.unwrap_or(0));
    sequence.has_ended |= has_stopped;
    let is_end = has_stopped && memory.has_ended();
    if !has_text && !has_grown && !has_stopped {
        return Ok(ChunkFacts::default()); // How far the prompt is, for example.
    }
    let usage = event.usage();
    let choice = ChoiceFacts {
        index,
        has_answer: has_text,
        text_bytes: event.content.map_or(0, Text::bytes),
        has_empty_text: !has_text && (has_grown || !has_stopped),
        finish_reason: event.stop_type.map(|word| word.0).filter(|_| has_stopped),
        ..ChoiceFacts::default()
    };
    Ok(ChunkFacts { choices: Choices::one(choice), usage, is_end, ..ChunkFacts::default() })
}

fn read_answer<'input>(
    data: &'input str,
    _memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let answer: Event<'input> = json::parse(data)?;
    if answer.error {
        return Ok(json::failure(data));
    }
    if answer.stop != Some(true) {
        return Ok(ChunkFacts::default());
    }
    if let (Some(kept), Some(text)) = (text, answer.content) {
        text.append_to(&mut kept.text);
    }
    let usage = answer.usage();
    let finish_reason = answer.stop_type.map(|word| word.0);
    let choice = ChoiceFacts { finish_reason, ..ChoiceFacts::default() };
    let choices = Choices::one(choice);
    Ok(ChunkFacts { choices, usage, is_end: true, ..ChunkFacts::default() })
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    #[serde(default, deserialize_with = "json::index")]
    index: Option<u16>,
    content: Option<Text<'input>>,
    stop: Option<bool>,
    stop_type: Option<Word<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    tokens_predicted: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    tokens_evaluated: Option<u32>,
    timings: Option<Raw<'input>>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

impl Event<'_> {
    /// What the server counted and measured, if it did.
    fn usage(&self) -> Option<Usage> {
        let usage = self.tokens_predicted.map(|tokens| Usage {
            prompt_tokens: self.tokens_evaluated,
            completion_tokens: Some(tokens),
            ..Usage::default()
        });
        usage.map(|usage| self.timings.map_or(usage, |timings| timings_beside(timings, usage)))
    }
}
