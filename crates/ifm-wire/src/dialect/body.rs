//! Writing a body: fields one after another into an object that is open.

use super::Dialect;
use crate::ask::{Ask, RequestError};
use ifm_core::{Message, Prompt, Role, ToolCall};
use serde::Serialize;
use serde_json::{Map, Value};

/// Appends a value as JSON.
pub(crate) fn put(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value)
        .expect("invariant: texts, lists and numbers always serialise into a vector");
}

/// Appends the name of a field and its colon, behind a comma unless it is the first.
pub(crate) fn put_name(name: &str, out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    put(name, out);
    out.push(b':');
}

/// Appends a field.
pub(crate) fn put_field(name: &str, value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    put_name(name, out);
    put(value, out);
}

/// Appends a field with a list of one message: what the user says.
fn put_user_message(name: &str, text: &str, out: &mut Vec<u8>) {
    put_name(name, out);
    out.extend_from_slice(br#"[{"role":"user","content":"#);
    put(text, out);
    out.extend_from_slice(b"}]");
}

/// The refusal of a kind of prompt that an API does not take.
pub(super) fn refusal(dialect: &Dialect, ask: &Ask<'_>) -> RequestError {
    let kind = match ask.prompt {
        Prompt::Text(_) => "texts",
        Prompt::Tokens(_) => "token ids",
        Prompt::Messages(_) => "messages",
    };
    let prompts = &dialect.prompts;
    let takes = match (prompts.tokens, prompts.messages) {
        (Some(_), _) => "texts and token ids",
        (None, Some(_)) => "texts and messages",
        (None, None) => "texts",
    };
    RequestError::Prompt { api: dialect.api.word(), kind, takes }
}

/// Writes a prompt where the dialect says that its kind stands.
pub(super) fn write_prompt(
    dialect: &Dialect,
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<u32>, RequestError> {
    let prompts = &dialect.prompts;
    match (ask.prompt, prompts.tokens, prompts.messages) {
        (Prompt::Text(text), ..) if prompts.text == "messages" => {
            put_user_message(prompts.text, text, out);
        }
        (Prompt::Text(text), ..) => put_field(prompts.text, text, out),
        (Prompt::Tokens(ids), Some(name), _) => put_field(name, ids, out),
        (Prompt::Messages(messages), _, Some(put)) => put(messages, ask, out),
        (Prompt::Messages(messages), _, None) => match (prompts.single, single(messages, ask)) {
            (Some(put), Some(message)) => put(message, out),
            _ => return Err(refusal(dialect, ask)),
        },
        _ => return Err(refusal(dialect, ask)),
    }
    Ok(None)
}

/// The one message that a prompt is, as an API of texts can send it: what the user says.
fn single<'ask>(messages: &'ask [Message], ask: &Ask<'_>) -> Option<&'ask Message> {
    let [message] = messages else { return None };
    let is_plain = message.role == Role::User && message.tool_calls.is_empty();
    (is_plain && ask.said.is_empty()).then_some(message)
}

/// Appends the field with the messages of a conversation: those that were written before, and
/// these behind them.
pub(super) fn put_said(
    messages: &[Message],
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
    put_message: impl Fn(&Message, &mut Vec<u8>),
) {
    put_name("messages", out);
    out.push(b'[');
    out.extend_from_slice(ask.said);
    if !ask.said.is_empty() && !messages.is_empty() {
        out.push(b',');
    }
    put_items(messages, out, put_message);
    out.push(b']');
}

/// Appends a list, each item by `put_item`.
pub(super) fn put_list<T>(items: &[T], out: &mut Vec<u8>, put_item: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    put_items(items, out, put_item);
    out.push(b']');
}

/// Appends the items of a list that is open.
pub(super) fn put_items<T>(items: &[T], out: &mut Vec<u8>, put_item: impl Fn(&T, &mut Vec<u8>)) {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        put_item(item, out);
    }
}

/// Appends an object with the fields that `put_fields` writes.
pub(super) fn put_object(out: &mut Vec<u8>, put_fields: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'{');
    put_fields(out);
    out.push(b'}');
}

/// Appends the arguments of a call, which are JSON as text, as JSON: an object, or an empty one
/// where the text is none.
pub(super) fn put_arguments(call: &ToolCall, out: &mut Vec<u8>) {
    match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(arguments) => put(&arguments, out),
        Err(_) => out.extend_from_slice(b"{}"),
    }
}
