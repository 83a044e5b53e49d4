//! Recordings to text: OpenAI's `POST /v1/audio/transcriptions`, and `/v1/audio/translations`.
//!
//! A request is a form with one recording. Streams have two formats, distinguished by their events:
//! vLLM's chat-style chunks, which end with `[DONE]`, and OpenAI's `transcript.text.delta`, which
//! end with `transcript.text.done`. A whole answer is one JSON object with a `text`, which may be
//! empty for a silent recording. Its usage counts tokens, or reports the seconds of the recording,
//! which are not tokens.

use super::body::refusal;
use super::details::PromptDetails;
use super::json::{self, Word};
use super::text::Text;
use super::{
    ChoiceFacts, Choices, ChunkFacts, Dialect, End, Endpoint, Generated, LengthField, Media,
    Memory, Usage, openai,
};
use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::MediumKind;
use ifm_core::spec::Api;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The dialect of transcriptions.
pub(super) static TRANSCRIPTIONS: Dialect = usual(Api::Transcriptions, "/audio/transcriptions");

/// The dialect of translations.
pub(super) static TRANSLATIONS: Dialect = usual(Api::Translations, "/audio/translations");

const fn usual(api: Api, path: &'static str) -> Dialect {
    Dialect {
        end: End::MarkOrFinish,
        end_mark: Some(openai::DONE),
        can_ignore_eos: false,
        is_multipart: true,
        media: Media::of(&[MediumKind::Audio]),
        prompt_fields: &["file"],
        length: Some(LengthField {
            within: None,
            names: &["max_completion_tokens"],
            default: None,
        }),
        more_fields,
        write_prompt,
        output_keys: &[b"content", b"delta"],
        ..Dialect::new(api, Endpoint::versioned(path), read_event, read_answer)
    }
}

/// vLLM reports the usage of a stream only on request. Without a stream the field is left out: some
/// servers read any text in a form as true.
fn more_fields(
    spec: &TemplateSpec<'_>,
    fields: &mut Map<String, Value>,
    _: &mut Map<String, Value>,
) {
    if spec.stream {
        fields.insert("stream_include_usage".to_owned(), true.into());
    } else {
        fields.remove("stream");
    }
}

/// A recording has no place in JSON; [`form`](super::form) writes it.
fn write_prompt(
    dialect: &Dialect,
    ask: &Ask<'_>,
    _: &mut Vec<u8>,
) -> Result<Option<u32>, RequestError> {
    Err(refusal(dialect, ask))
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    #[serde(rename = "type")]
    kind: Option<Word<'input>>,
    delta: Option<&'input serde_json::value::RawValue>,
    text: Option<Text<'input>>,
    #[serde(borrow)]
    usage: Option<RawUsage<'input>>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

fn read_event<'input>(
    data: &'input str,
    memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    let Some(kind) = &event.kind else { return openai::read(data, memory, text) };
    if event.error {
        return Ok(json::failure(data));
    }
    match kind.0.as_ref() {
        "transcript.text.delta" => {
            let raw = event.delta.map_or("null", serde_json::value::RawValue::get);
            let delta: Option<Text<'input>> = json::parse(raw)?;
            Ok(said(delta, text))
        }
        "transcript.text.done" => {
            let usage = event.usage.map(Usage::from);
            let choices = Choices::one(ChoiceFacts::default());
            Ok(ChunkFacts { choices, usage, is_end: true, ..ChunkFacts::default() })
        }
        _ => Ok(ChunkFacts::default()),
    }
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
    if answer.text.is_none() {
        return Ok(ChunkFacts::default());
    }
    let usage = answer.usage.map(Usage::from);
    Ok(ChunkFacts { usage, is_end: true, ..said(answer.text, text) })
}

fn said<'input>(words: Option<Text<'input>>, text: Option<&mut Generated>) -> ChunkFacts<'input> {
    if let (Some(words), Some(kept)) = (words, text) {
        words.append_to(&mut kept.text);
    }
    let is_empty = words.is_none_or(Text::is_empty);
    let choice = ChoiceFacts {
        has_answer: !is_empty,
        text_bytes: words.map_or(0, Text::bytes),
        has_empty_text: is_empty && words.is_some(),
        ..ChoiceFacts::default()
    };
    ChunkFacts { choices: Choices::one(choice), ..ChunkFacts::default() }
}

/// The usage of a whole answer and of OpenAI's streams: by tokens, or by `seconds`.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
pub(super) struct RawUsage<'input> {
    #[serde(default, deserialize_with = "json::count")]
    input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    output_tokens: Option<u32>,
    /// Text and audio apart.
    #[serde(borrow)]
    input_token_details: Option<PromptDetails<'input>>,
}

impl From<RawUsage<'_>> for Usage {
    fn from(raw: RawUsage<'_>) -> Usage {
        let details = raw.input_token_details;
        Usage {
            prompt_tokens: raw.input_tokens,
            completion_tokens: raw.output_tokens,
            cached_tokens: details.as_ref().and_then(|details| details.cached_tokens),
            prompt_kinds: details.map(|details| details.kinds()).unwrap_or_default(),
            ..Usage::default()
        }
    }
}
