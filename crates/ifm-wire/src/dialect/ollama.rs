//! Ollama's own APIs, `POST /api/chat` (texts and messages) and `POST /api/generate` (texts).
//!
//! Streams are JSON objects, one per line. There is no separate end mark: a stream is complete with
//! the object that contains `"done": true`, which also counts prompt and output. An object with the
//! field `error` is a failure. A missing prompt count is unknown: older servers omit it for a
//! cached prompt. The API has no field for ignoring the end of the text. Images are in a separate
//! field of their message, in base64 and in order: the API cannot express their position in the
//! text.

use super::body::{
    put_arguments, put_field, put_list, put_name, put_object, put_said, put_text_field,
};
use super::calls;
use super::json::{self, Raw, Word};
use super::parts::put_media;
use super::text::Text;
use super::tools::Words;
use super::{
    ChoiceFacts, Choices, ChunkFacts, Dialect, Endpoint, Framing, Generated, LengthField, Media,
    Memory, Prompts, ServerTimes, Usage,
};
use crate::ask::Ask;
use ifm_core::spec::Api;
use ifm_core::{MediumKind, Message, ToolCall};
use serde::Deserialize;

/// The dialect of chats.
pub(super) static CHAT: Dialect = Dialect {
    prompts: Prompts {
        messages: Some(put_messages),
        message: Some(put_message),
        ..Prompts::texts("messages")
    },
    tools: Some(Words::Chat),
    ..usual(Api::OllamaChat, "/api/chat")
};

/// The dialect of texts.
pub(super) static GENERATE: Dialect = Dialect {
    prompts: Prompts { single: Some(put_single), ..Prompts::texts("prompt") },
    ..usual(Api::OllamaGenerate, "/api/generate")
};

const fn usual(api: Api, path: &'static str) -> Dialect {
    Dialect {
        framing: Framing::Lines,
        media: Media::of(&[MediumKind::Image]),
        can_ignore_eos: false,
        length: Some(LengthField {
            within: Some("options"),
            names: &["num_predict"],
            default: None,
        }),
        form: Some(super::forms::ollama),
        output_keys: &[b"content", b"response", b"thinking"],
        ..Dialect::new(api, Endpoint::root(path, path), read, read)
    }
}

fn put_messages(messages: &[Message], ask: &Ask<'_>, out: &mut Vec<u8>) {
    put_said(messages, ask, out, put_message);
}

fn put_single(message: &Message, out: &mut Vec<u8>) {
    put_text_field("prompt", &message.content, out);
    put_media("images", message.media.iter(), |_| String::new(), out);
}

fn put_message(message: &Message, out: &mut Vec<u8>) {
    put_object(out, |out| {
        put_field("role", message.role.word(), out);
        put_text_field("content", &message.content, out);
        put_media("images", message.media.iter(), |_| String::new(), out);
        if let Some(reasoning) = &message.reasoning {
            put_field("thinking", reasoning, out);
        }
        if !message.tool_calls.is_empty() {
            put_name("tool_calls", out);
            put_list(&message.tool_calls, out, put_call);
        }
        if let Some(id) = &message.tool_call_id {
            put_field("tool_call_id", id, out);
        }
    });
}

fn put_call(call: &ToolCall, out: &mut Vec<u8>) {
    put_object(out, |out| {
        // Older servers give none.
        if !call.id.is_empty() {
            put_field("id", &call.id, out);
        }
        put_name("function", out);
        put_object(out, |out| {
            put_field("name", &call.name, out);
            put_name("arguments", out);
            put_arguments(call, out);
        });
    });
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    message: Option<Said<'input>>,
    response: Option<Text<'input>>,
    thinking: Option<Text<'input>>,
    tool_calls: Option<Raw<'input>>,
    done: Option<bool>,
    done_reason: Option<Word<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    prompt_eval_count: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    eval_count: Option<u32>,
    /// From the arrival until the model was at hand: with what waits for it.
    #[serde(default, deserialize_with = "json::ns")]
    load_duration: Option<u64>,
    #[serde(default, deserialize_with = "json::ns")]
    prompt_eval_duration: Option<u64>,
    #[serde(default, deserialize_with = "json::ns")]
    eval_duration: Option<u64>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

#[derive(Deserialize, Default)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Said<'input> {
    content: Option<Text<'input>>,
    thinking: Option<Text<'input>>,
    tool_calls: Option<Raw<'input>>,
}

fn read<'input>(
    data: &'input str,
    _memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    if event.error {
        return Ok(json::failure(data));
    }
    let said = event.message.unwrap_or_default();
    let answer = said.content.or(event.response);
    let thinking = said.thinking.or(event.thinking);
    let tool_calls = said.tool_calls.or(event.tool_calls);
    let calls = tool_calls.is_some_and(Raw::holds);
    let is_end = event.done.unwrap_or(false);
    if answer.is_none() && thinking.is_none() && !calls && !is_end {
        return Ok(ChunkFacts::default());
    }
    if let Some(kept) = text {
        thinking.into_iter().for_each(|text| kept.add_reasoning(text));
        answer.into_iter().for_each(|text| text.append_to(&mut kept.text));
        tool_calls.into_iter().for_each(|list| calls::keep(list, kept));
    }
    let full = |text: Option<Text<'_>>| text.is_some_and(|text| !text.is_empty());
    let bytes = |text: Option<Text<'_>>| text.map_or(0, Text::bytes);
    let of_calls = tool_calls.map_or(0, calls::text_bytes);
    let choice = ChoiceFacts {
        has_answer: full(answer) || calls,
        text_bytes: bytes(answer).saturating_add(bytes(thinking)).saturating_add(of_calls),
        has_reasoning: full(thinking),
        has_empty_text: !is_end || answer.is_some(),
        finish_reason: event.done_reason.map(|reason| reason.0).filter(|_| is_end),
        ..ChoiceFacts::default()
    };
    let usage = is_end.then_some(Usage {
        prompt_tokens: event.prompt_eval_count,
        completion_tokens: event.eval_count,
        times: ServerTimes {
            queue_ns: event.load_duration,
            first_token_ns: event.prompt_eval_duration,
            decode_ns: event.eval_duration,
        },
        ..Usage::default()
    });
    Ok(ChunkFacts { choices: Choices::one(choice), usage, is_end, ..ChunkFacts::default() })
}
