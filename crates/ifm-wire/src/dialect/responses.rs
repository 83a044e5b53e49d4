//! OpenAI's Responses, `POST /v1/responses`.
//!
//! Takes texts and messages, with images and audio. A stream ends with the event `response.completed` or
//! `response.incomplete` (the output length was reached, or a filter cut the answer), which also
//! counts; the finish reason is the response's status, or why it is incomplete. `response.failed`,
//! `response.cancelled` and `error` are failures. Without one of these a stream is cut off. Every
//! event whose type ends with `.delta` carries output of the model, but for the output of its
//! tools. Answers are not left on the server: `store` is false.
//!
//! What the model thought goes back as an item of its own, with an id that is made up: servers that
//! put it into their template ask for one and do not look at it. OpenAI's own does not tell what its
//! models thought, and would refuse an item that it has not made.

use super::body::{put_field, put_list, put_name, put_object};
use super::details::PromptDetails;
use super::error::{bounded_sentence, error_message, is_report, small_value};
use super::json::{self, Raw, Word};
use super::list::List;
use super::parts::{put_content, put_input_part};
use super::text::{AnyText, Text};
use super::tools::Words;
use super::{
    ChoiceFacts, Choices, ChunkFacts, Dialect, Endpoint, Generated, LengthField, Media, Memory,
    Prompts, Usage,
};
use crate::ask::Ask;
use ifm_core::finish::Ending;
use ifm_core::spec::Api;
use ifm_core::{MediumKind, Message, Role, ToolCall};
use serde::Deserialize;

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    more_fields: |_, fields, _| {
        fields.insert("store".to_owned(), false.into());
    },
    length: Some(LengthField { within: None, names: &["max_output_tokens"], default: None }),
    prompts: Prompts { messages: Some(put_messages), ..Prompts::texts("input") },
    media: Media {
        addresses: true,
        details: true,
        ..Media::of(&[MediumKind::Image, MediumKind::Audio])
    },
    tools: Some(Words::Responses),
    form: Some(super::forms::responses),
    output_keys: &[b"delta"],
    ..Dialect::new(Api::Responses, Endpoint::versioned("/responses"), read_event, read_answer)
};

fn put_messages(messages: &[Message], _ask: &Ask<'_>, out: &mut Vec<u8>) {
    put_name("input", out);
    let numbered: Vec<(usize, &Message)> = messages.iter().enumerate().collect();
    put_list(&numbered, out, |(number, message), out| put_items(*number, message, out));
}

fn read_event<'input>(
    data: &'input str,
    _memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    if super::openai::is_done(data.as_bytes()) {
        // A mark that some servers send behind the last event, and which says nothing.
        return Ok(ChunkFacts::default());
    }
    let event: Event<'input> = json::parse(data)?;
    let Some(kind) = &event.kind else {
        let error = event.error.then(|| json::error_in(data));
        return Ok(ChunkFacts { error, ..ChunkFacts::default() });
    };
    match (kind.0.as_ref(), event.response) {
        ("response.completed" | "response.incomplete", Some(response)) => {
            Ok(ChunkFacts { is_end: true, ..response.facts(None) })
        }
        ("response.failed" | "response.cancelled", response) => {
            let error = response.and_then(|response| response.error);
            Ok(failure(error))
        }
        ("error", _) => {
            Ok(ChunkFacts { error: Some(json::error_in(data)), ..ChunkFacts::default() })
        }
        ("response.output_item.added", _) => {
            if let (Some(item), Some(kept)) = (&event.item, text) {
                item.keep_call(event.output_index, false, kept);
            }
            let name = event.item.and_then(|item| item.name);
            let has_answer = name.is_some_and(|name| name.0.is_some_and(|n| !n.is_empty()));
            let text_bytes = name.and_then(|name| name.0).map_or(0, Text::bytes);
            Ok(ChunkFacts {
                choices: output(ChoiceFacts { has_answer, text_bytes, ..ChoiceFacts::default() }),
                ..ChunkFacts::default()
            })
        }
        ("response.output_item.done", _) => {
            if let (Some(item), Some(kept)) = (&event.item, text) {
                item.keep_call(event.output_index, true, kept);
            }
            Ok(ChunkFacts::default())
        }
        (kind, _) => {
            let Some(delta) = event.delta.and_then(|delta| delta.0) else {
                return Ok(ChunkFacts::default());
            };
            Ok(of_delta(kind, event.output_index, delta, text))
        }
    }
}

fn read_answer<'input>(
    data: &'input str,
    _memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let response: Response<'input> = json::parse(data)?;
    if response.status.is_none() && response.failure().is_none() {
        return Ok(ChunkFacts::default());
    }
    Ok(response.facts(text))
}

/// Items of a conversation: a message with what was thought before it, the calls that it asks for, or
/// the output of a tool.
fn put_items(number: usize, message: &Message, out: &mut Vec<u8>) {
    if let (Role::Tool, Some(id)) = (message.role, &message.tool_call_id) {
        return put_object(out, |out| {
            put_field("type", "function_call_output", out);
            put_field("call_id", id, out);
            put_content("output", message, out, put_input_part);
        });
    }
    if let Some(reasoning) = &message.reasoning {
        put_reasoning(number, reasoning, out);
        out.push(b',');
    }
    let has_text =
        !message.content.is_empty() || !message.media.is_empty() || message.tool_calls.is_empty();
    if has_text {
        put_object(out, |out| {
            // What a tool says without a call is said by the user: there is no such role.
            let role = if message.role == Role::Tool { Role::User } else { message.role };
            put_field("role", role.word(), out);
            put_content("content", message, out, put_input_part);
        });
    }
    for (position, call) in message.tool_calls.iter().enumerate() {
        if has_text || position > 0 {
            out.push(b',');
        }
        put_call(call, out);
    }
}

fn put_reasoning(number: usize, reasoning: &str, out: &mut Vec<u8>) {
    put_object(out, |out| {
        put_field("type", "reasoning", out);
        put_field("id", &format!("rs_{number}"), out);
        put_name("summary", out);
        out.extend_from_slice(b"[]");
        put_name("content", out);
        put_list(&[reasoning], out, |text, out| {
            put_object(out, |out| {
                put_field("type", "reasoning_text", out);
                put_field("text", text, out);
            });
        });
    });
}

fn put_call(call: &ToolCall, out: &mut Vec<u8>) {
    put_object(out, |out| {
        put_field("type", "function_call", out);
        put_field("call_id", &call.id, out);
        put_field("name", &call.name, out);
        put_field("arguments", &call.arguments, out);
    });
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    #[serde(rename = "type")]
    kind: Option<Word<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    output_index: Option<u32>,
    delta: Option<AnyText<'input>>,
    item: Option<Item<'input>>,
    response: Option<Response<'input>>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Item<'input> {
    #[serde(rename = "type")]
    kind: Option<AnyText<'input>>,
    name: Option<AnyText<'input>>,
    call_id: Option<AnyText<'input>>,
    arguments: Option<AnyText<'input>>,
}

impl Item<'_> {
    /// Keeps the call that it is, if it is one: as it begins, or, when it is over, whole. One that is
    /// over is the one that began at its place: vLLM gives some of them another id then.
    fn keep_call(&self, index: Option<u32>, is_over: bool, kept: &mut Generated) {
        let meaning = |text: Option<AnyText<'_>>| {
            let mut out = String::new();
            text.and_then(|text| text.0).into_iter().for_each(|text| text.append_to(&mut out));
            out
        };
        if meaning(self.kind) != "function_call" {
            return;
        }
        let (id, arguments) = (meaning(self.call_id), meaning(self.arguments));
        let is_new = match kept.last_call(index) {
            None => true,
            Some(last) => last.id != id && !(is_over && index.is_some()),
        };
        let call = if is_new { kept.begin_call(index) } else { kept.last_call(index) };
        let Some(call) = call else { return };
        call.id = id;
        call.name = meaning(self.name);
        if !arguments.is_empty() {
            call.arguments = arguments;
        }
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Response<'input> {
    status: Option<Word<'input>>,
    error: Option<Raw<'input>>,
    incomplete_details: Option<IncompleteDetails<'input>>,
    usage: Option<RawUsage<'input>>,
    output: Option<Output<'input>>,
}

#[derive(Deserialize)]
struct IncompleteDetails<'input> {
    #[serde(borrow, default)]
    reason: Option<Word<'input>>,
}

/// The items of a whole answer, as written: they matter only where its text is kept.
#[derive(Deserialize)]
struct Output<'input>(#[serde(borrow)] &'input serde_json::value::RawValue);

/// What such an item holds of text; what else it is, [`Item`] says.
#[derive(Deserialize)]
struct OutputItem<'input> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Word<'input>>,
    #[serde(borrow, default)]
    content: Option<List<Part<'input>>>,
    #[serde(borrow, default)]
    summary: Option<List<Part<'input>>>,
}

impl OutputItem<'_> {
    fn append_to(&self, kept: &mut Generated) {
        let is_reasoning = self.kind.as_ref().is_some_and(|kind| kind.0 == "reasoning");
        let summary = self.summary.iter().flatten().filter(|_| is_reasoning);
        let parts = self.content.iter().flatten().chain(summary);
        for text in parts.filter_map(|part| part.text.and_then(|text| text.0)) {
            match is_reasoning {
                true => kept.add_reasoning(text),
                false => text.append_to(&mut kept.text),
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Part<'input> {
    text: Option<AnyText<'input>>,
    refusal: Option<AnyText<'input>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct RawUsage<'input> {
    #[serde(default, deserialize_with = "json::count")]
    input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    output_tokens: Option<u32>,
    input_tokens_details: Option<PromptDetails<'input>>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "json::count")]
    reasoning_tokens: Option<u32>,
}

impl<'input> Response<'input> {
    /// Why the response failed, if it did. A server may end such a stream like a sound one.
    fn failure(&self) -> Option<String> {
        if let Some(error) = self.error.and_then(reported) {
            return Some(error);
        }
        let status = self.status.as_ref()?.0.as_ref();
        (Ending::from_reason(status) == Ending::Failure).then(|| UNEXPLAINED.to_owned())
    }

    /// What a response says that is over.
    fn facts(self, text: Option<&mut Generated>) -> ChunkFacts<'input> {
        let error = self.failure();
        let status = self.status.map(|status| status.0);
        let is_over = matches!(status.as_deref(), Some("completed" | "incomplete"));
        let details = self.incomplete_details.and_then(|details| details.reason);
        let finish_reason = details.map(|reason| reason.0).or(status).filter(|_| is_over);
        let mut has_refusal = false;
        if let Some(output) = self.output {
            let items: List<OutputItem<'_>> =
                serde_json::from_str(output.0.get()).unwrap_or_default();
            let parts = || items.iter().flat_map(|item| item.content.iter().flatten());
            has_refusal = parts().any(|part| part.refusal.is_some_and(|text| text.0.is_some()));
            if let Some(kept) = text {
                items.iter().for_each(|item| item.append_to(kept));
                let items: List<Item<'_>> =
                    serde_json::from_str(output.0.get()).unwrap_or_default();
                items.iter().for_each(|item| item.keep_call(None, false, kept));
            }
        }
        let usage = self.usage.map(|usage| Usage {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            cached_tokens: usage
                .input_tokens_details
                .as_ref()
                .and_then(|details| details.cached_tokens),
            prompt_kinds: usage
                .input_tokens_details
                .map(|details| details.kinds())
                .unwrap_or_default(),
            reasoning_tokens: usage
                .output_tokens_details
                .and_then(|details| details.reasoning_tokens),
            ..Usage::default()
        });
        let choice = ChoiceFacts { has_refusal, finish_reason, ..ChoiceFacts::default() };
        ChunkFacts { choices: Choices::one(choice), usage, error, ..ChunkFacts::default() }
    }
}

/// What a delta of this type carries.
fn of_delta<'input>(
    kind: &str,
    index: Option<u32>,
    delta: Text<'input>,
    text: Option<&mut Generated>,
) -> ChunkFacts<'input> {
    let Some(what) = kind.strip_prefix("response.").and_then(|what| what.strip_suffix(".delta"))
    else {
        return ChunkFacts::default();
    };
    if what == "shell_call_output_content" {
        return ChunkFacts::default();
    }
    let is_reasoning = what.starts_with("reasoning");
    if let Some(kept) = text {
        match what {
            _ if is_reasoning => kept.add_reasoning(delta),
            "output_text" => delta.append_to(&mut kept.text),
            "function_call_arguments" => {
                let call = kept.last_call(index);
                call.into_iter().for_each(|call| delta.append_to(&mut call.arguments));
            }
            _ => {}
        }
    }
    let is_full = !delta.is_empty();
    let choice = ChoiceFacts {
        has_answer: is_full && !is_reasoning,
        text_bytes: delta.bytes(),
        has_reasoning: is_full && is_reasoning,
        has_empty_text: !is_full,
        has_refusal: what == "refusal",
        ..ChoiceFacts::default()
    };
    ChunkFacts { choices: Choices::one(choice), ..ChunkFacts::default() }
}

/// The choice, if it carries output.
fn output(choice: ChoiceFacts<'_>) -> Choices<'_> {
    if choice.has_answer { Choices::one(choice) } else { Choices::default() }
}

fn failure<'input>(error: Option<Raw<'_>>) -> ChunkFacts<'input> {
    let sentence = error.and_then(reported).unwrap_or_else(|| UNEXPLAINED.to_owned());
    ChunkFacts { error: Some(sentence), ..ChunkFacts::default() }
}

/// The sentence of a field `error` that reports one.
fn reported(error: Raw<'_>) -> Option<String> {
    match small_value(error.0) {
        Some(value) => is_report(&value).then(|| error_message(&value)),
        None => Some(bounded_sentence(error.0)),
    }
}

/// The sentence for a failed response without a message.
const UNEXPLAINED: &str = "the response failed, and the server does not say why";
