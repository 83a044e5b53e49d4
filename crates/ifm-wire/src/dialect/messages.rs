//! Anthropic's messages, `POST /v1/messages`.
//!
//! Accepts texts and messages, with images; the system prompt is a separate field. A stream ends
//! with the event `message_stop`; without it a stream is cut off, even after a stop reason. Prompt
//! tokens are the new ones and those that were read from or written to a cache. The count of output
//! tokens is that of `message_delta`; the one of `message_start` is not a count of anything yet.
//!
//! What the model thought does not go back: a `thinking` block is taken only with the signature that
//! the API gave it, which conversations do not keep.
//!
//! The API requires an output length: if the workload sets none, 4096 is sent. It has no field for
//! ignoring the end of the text, so none is sent; set a server's own field with `--extra-body`. A
//! temperature is sent only if the user sets one: Claude from Opus 4.7 on refuses a request that
//! has one. The key goes into `x-api-key`, and also into `Authorization` for servers that only
//! implement the API, unless it is one of Anthropic's own.

use super::body::{put_arguments, put_field, put_items, put_list, put_name, put_object};
use super::json::{self, Raw, Word};
use super::list::List;
use super::parts::{parts, put_block, put_content};
use super::text::{AnyText, Text};
use super::tools::Words;
use super::{
    ChoiceFacts, Choices, ChunkFacts, Dialect, Endpoint, Generated, LengthField, Media, Memory,
    Prompts, Usage,
};
use crate::ask::Ask;
use ifm_core::spec::Api;
use ifm_core::{MediumKind, Message, Role, ToolCall};
use serde::Deserialize;
use std::borrow::Cow;

/// The version of the API whose answers are read here.
const VERSION: &str = "2023-06-01";
/// Output length where the workload leaves it open, tokens.
const OUTPUT_TOKENS: u32 = 4096;
/// How Anthropic's own keys begin.
const KEY_PREFIX: &str = "sk-ant-";

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    can_ignore_eos: false,
    takes_temperature: false,
    headers,
    length: Some(LengthField {
        within: None,
        names: &["max_tokens"],
        default: Some(OUTPUT_TOKENS),
    }),
    prompts: Prompts { messages: Some(put_messages), ..Prompts::texts("messages") },
    media: Media { addresses: true, ..Media::of(&[MediumKind::Image]) },
    tools: Some(Words::Messages),
    form: Some(super::forms::messages),
    output_keys: &[b"text", b"thinking", b"partial_json"],
    ..Dialect::new(Api::Messages, Endpoint::versioned("/messages"), read_event, read_answer)
};

fn headers(authorization: Option<&str>) -> Vec<(&'static str, String)> {
    let mut headers = vec![("anthropic-version", VERSION.to_owned())];
    if let Some(value) = authorization {
        let key = value.strip_prefix("Bearer ").unwrap_or(value);
        headers.push(("x-api-key", key.to_owned()));
        if !key.starts_with(KEY_PREFIX) {
            headers.push(("Authorization", value.to_owned()));
        }
    }
    headers
}

fn read_event<'input>(
    data: &'input str,
    _memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    let kind = event.kind.as_ref().map_or("", |kind| kind.0.as_ref());
    let mut facts = ChunkFacts::default();
    match kind {
        "message_start" => {
            let usage = event.message.and_then(|message| message.usage);
            let usage = usage.map(Usage::from);
            facts.usage = usage.map(|usage| Usage { completion_tokens: None, ..usage });
        }
        "content_block_start" => {
            facts.choices = of_block(event.index, event.content_block, text);
        }
        "content_block_delta" => facts.choices = of_delta(event.index, event.delta, text),
        "message_delta" => {
            let reason = event.delta.and_then(|delta| delta.stop_reason);
            facts.choices = Choices::one(ended(reason));
            facts.usage = event.usage.map(Usage::from);
        }
        "message_stop" => facts.is_end = true,
        _ if kind == "error" || event.error => {
            facts.error = Some(json::error_in(data));
        }
        _ => {}
    }
    Ok(facts)
}

fn read_answer<'input>(
    data: &'input str,
    _memory: &mut Memory,
    mut text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let answer: Answer<'input> = json::parse(data)?;
    if answer.error {
        return Ok(json::failure(data));
    }
    let Some(content) = answer.content else { return Ok(ChunkFacts::default()) };
    for block in content {
        of_block(None, Some(block), text.as_deref_mut());
    }
    let choices = Choices::one(ended(answer.stop_reason));
    Ok(ChunkFacts { choices, usage: answer.usage.map(Usage::from), ..ChunkFacts::default() })
}

/// The messages, and the system prompt in its own field. Tool outputs have the role of the user,
/// and consecutive ones share one message.
fn put_messages(messages: &[Message], ask: &Ask<'_>, out: &mut Vec<u8>) {
    let mut system = String::new();
    for message in messages.iter().filter(|message| is_beside(message)) {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(&message.content);
    }
    let has_own = ask.fields.is_some_and(|fields| fields.contains_key("system"));
    if !system.is_empty() && !has_own {
        put_field("system", &system, out);
    }
    put_name("messages", out);
    let is_output = |message: &&Message| is_result(message);
    let said: Vec<&Message> = messages.iter().filter(|it| !is_beside(it)).collect();
    let turns: Vec<&[&Message]> =
        said.chunk_by(|former, next| is_output(former) && is_output(next)).collect();
    put_list(&turns, out, |turn, out| put_turn(turn, out));
}

/// Whether a message goes into the system field. That field accepts only texts, so a system message
/// with an image is sent with the role of the user.
fn is_beside(message: &Message) -> bool {
    message.role == Role::System && message.media.is_empty()
}

/// Whether a message is the output of a tool that was called.
fn is_result(message: &Message) -> bool {
    message.role == Role::Tool && message.tool_call_id.is_some()
}

/// The id of a call, as the API takes it: letters, digits, `_` and `-`. Other servers, whose recorded
/// ids may be sent, have dots and colons in them.
fn id_of(id: &str) -> Cow<'_, str> {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match id.chars().all(is_taken) {
        true => Cow::Borrowed(id),
        false => id.chars().map(|c| if is_taken(c) { c } else { '_' }).collect::<String>().into(),
    }
}

/// One message of the API: one of ours, or several outputs of tools.
fn put_turn(turn: &[&Message], out: &mut Vec<u8>) {
    let Some(first) = turn.first() else { return };
    put_object(out, |out| {
        if is_result(first) {
            put_field("role", "user", out);
            put_name("content", out);
            return put_list(turn, out, |message, out| put_tool_result(message, out));
        }
        let is_other = matches!(first.role, Role::System | Role::Tool);
        let role = if is_other { Role::User } else { first.role };
        put_field("role", role.word(), out);
        if first.tool_calls.is_empty() {
            return put_content("content", first, out, put_block);
        }
        put_name("content", out);
        out.push(b'[');
        let said = parts(first);
        put_items(&said, out, put_block);
        if !said.is_empty() {
            out.push(b',');
        }
        put_items(&first.tool_calls, out, put_tool_use);
        out.push(b']');
    });
}

fn put_tool_result(message: &Message, out: &mut Vec<u8>) {
    put_object(out, |out| {
        put_field("type", "tool_result", out);
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        put_field("tool_use_id", &id_of(id), out);
        put_content("content", message, out, put_block);
    });
}

fn put_tool_use(call: &ToolCall, out: &mut Vec<u8>) {
    put_object(out, |out| {
        put_field("type", "tool_use", out);
        put_field("id", &id_of(&call.id), out);
        put_field("name", &call.name, out);
        put_name("input", out);
        put_arguments(call, out);
    });
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    #[serde(rename = "type")]
    kind: Option<Word<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    index: Option<u32>,
    message: Option<Started>,
    content_block: Option<Block<'input>>,
    delta: Option<Delta<'input>>,
    usage: Option<RawUsage>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

/// The message of a stream that begins.
#[derive(Deserialize)]
struct Started {
    usage: Option<RawUsage>,
}

/// A whole answer.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Answer<'input> {
    content: Option<List<Block<'input>>>,
    stop_reason: Option<Word<'input>>,
    usage: Option<RawUsage>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Block<'input> {
    #[serde(rename = "type")]
    kind: Option<Word<'input>>,
    text: Option<Text<'input>>,
    thinking: Option<Text<'input>>,
    id: Option<AnyText<'input>>,
    name: Option<AnyText<'input>>,
    input: Option<Raw<'input>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Delta<'input> {
    text: Option<Text<'input>>,
    thinking: Option<Text<'input>>,
    partial_json: Option<Text<'input>>,
    stop_reason: Option<Word<'input>>,
}

#[derive(Deserialize)]
struct RawUsage {
    #[serde(default, deserialize_with = "json::count")]
    input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    cache_creation_input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    cache_read_input_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    output_tokens: Option<u32>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "json::count")]
    thinking_tokens: Option<u32>,
}

impl From<RawUsage> for Usage {
    fn from(raw: RawUsage) -> Usage {
        let cached = raw.cache_read_input_tokens;
        let beside =
            cached.unwrap_or(0).saturating_add(raw.cache_creation_input_tokens.unwrap_or(0));
        let prompt_tokens = raw.input_tokens.map(|tokens| tokens.saturating_add(beside));
        let prompt_tokens = prompt_tokens.filter(|tokens| *tokens > 0);
        Usage {
            // No prompt is empty: proxies say zero where they do not know yet.
            prompt_tokens,
            completion_tokens: raw.output_tokens,
            reasoning_tokens: raw.output_tokens_details.and_then(|details| details.thinking_tokens),
            cached_tokens: cached.filter(|_| prompt_tokens.is_some()),
            ..Usage::default()
        }
    }
}

/// A choice that ended for this reason, or not yet.
fn ended(reason: Option<Word<'_>>) -> ChoiceFacts<'_> {
    let finish_reason = reason.map(|reason| reason.0);
    let has_refusal = finish_reason.as_deref() == Some("refusal");
    ChoiceFacts { has_refusal, finish_reason, ..ChoiceFacts::default() }
}

fn keep(thinking: Option<Text<'_>>, text: Option<Text<'_>>, kept: &mut Generated) {
    thinking.into_iter().for_each(|text| kept.add_reasoning(text));
    text.into_iter().for_each(|text| text.append_to(&mut kept.text));
}

/// Keeps a call of one of the client's tools, whose input may follow in pieces.
fn keep_call(index: Option<u32>, block: &Block<'_>, kept: &mut Generated) {
    let Some(call) = kept.begin_call(index) else { return };
    let text = |text: &Option<AnyText<'_>>, out: &mut String| {
        text.and_then(|text| text.0).into_iter().for_each(|text| text.append_to(out));
    };
    text(&block.id, &mut call.id);
    text(&block.name, &mut call.name);
    // A stream begins with an empty input, and then writes it.
    block
        .input
        .filter(|it| it.holds())
        .into_iter()
        .for_each(|it| it.append_to(&mut call.arguments));
}

/// What the beginning of a block, or a whole one, carries. The name of a tool to call was
/// generated; thoughts that are not shown were, too.
fn of_block<'input>(
    index: Option<u32>,
    block: Option<Block<'_>>,
    text: Option<&mut Generated>,
) -> Choices<'input> {
    let Some(block) = block else { return Choices::default() };
    let kind = block.kind.as_ref().map_or("", |kind| kind.0.as_ref());
    let full = |text: &Option<Text<'_>>| text.is_some_and(|text| !text.is_empty());
    if let Some(kept) = text {
        keep(block.thinking, block.text, kept);
        if kind == "tool_use" {
            keep_call(index, &block, kept);
        }
    }
    let choice = ChoiceFacts {
        has_answer: full(&block.text) || kind.ends_with("tool_use"),
        text_bytes: bytes([block.text, block.thinking, block.name.and_then(|name| name.0)]),
        has_reasoning: full(&block.thinking) || kind == "redacted_thinking",
        ..ChoiceFacts::default()
    };
    carried(choice)
}

fn of_delta<'input>(
    index: Option<u32>,
    delta: Option<Delta<'_>>,
    text: Option<&mut Generated>,
) -> Choices<'input> {
    let Some(delta) = delta else { return Choices::default() };
    let full = |text: &Option<Text<'_>>| text.is_some_and(|text| !text.is_empty());
    if let Some(kept) = text {
        keep(delta.thinking, delta.text, kept);
        if let (Some(piece), Some(call)) = (delta.partial_json, kept.last_call(index)) {
            piece.append_to(&mut call.arguments);
        }
    }
    let choice = ChoiceFacts {
        has_answer: full(&delta.text) || full(&delta.partial_json),
        text_bytes: bytes([delta.text, delta.thinking, delta.partial_json]),
        has_reasoning: full(&delta.thinking),
        ..ChoiceFacts::default()
    };
    // An empty piece is not a token here: calls begin with one. Signatures and citations are not
    // generated.
    carried(choice)
}

/// Bytes of texts in UTF-8.
fn bytes(texts: [Option<Text<'_>>; 3]) -> u32 {
    texts.into_iter().flatten().map(Text::bytes).fold(0, u32::saturating_add)
}

/// The choice, if it carries output.
fn carried(choice: ChoiceFacts<'_>) -> Choices<'_> {
    let carries = choice.has_answer || choice.has_reasoning;
    if carries { Choices::one(choice) } else { Choices::default() }
}
