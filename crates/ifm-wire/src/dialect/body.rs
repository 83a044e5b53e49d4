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

/// Appends a text as JSON, as [`put`] does. Stretches in which nothing has to be escaped are copied as a
/// whole: a prompt of 500,000 tokens is one of them.
pub(crate) fn put_text(text: &str, out: &mut Vec<u8>) {
    /// Bytes that are looked at together; few enough that one escape costs little.
    const STRETCH: usize = 256;
    /// Bytes that are copied together; few enough that they need not be fetched twice.
    const PART: usize = 16 * STRETCH;
    // Without an early end, so that many bytes are looked at with one instruction.
    let is_plain =
        |stretch: &[u8]| !stretch.iter().fold(false, |any, byte| any | is_escaped(*byte));
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let part = rest.get(..PART).unwrap_or(rest);
        let plain = part.chunks(STRETCH).take_while(|stretch| is_plain(stretch)).map(<[u8]>::len);
        let (stretch, behind) = rest.split_at(plain.sum());
        out.extend_from_slice(stretch);
        let is_mixed = stretch.len() < part.len();
        let mixed = if is_mixed { behind.len().min(STRETCH) } else { 0 };
        let (mixed, behind) = behind.split_at(mixed);
        for run in mixed.split_inclusive(|byte| is_escaped(*byte)) {
            match run.split_last() {
                Some((last, before)) if is_escaped(*last) => {
                    out.extend_from_slice(before);
                    put_escaped(*last, out);
                }
                _ => out.extend_from_slice(run),
            }
        }
        rest = behind;
    }
    out.push(b'"');
}

/// Whether a byte of a text is not written as it is inside a JSON string.
fn is_escaped(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Appends such a byte.
fn put_escaped(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => return out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
    };
    out.extend_from_slice(&[b'\\', short]);
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

/// Appends a field with a text that may be long.
pub(crate) fn put_text_field(name: &str, text: &str, out: &mut Vec<u8>) {
    put_name(name, out);
    put_text(text, out);
}

/// Appends a field with a list of one message: what the user says.
fn put_user_message(name: &str, text: &str, out: &mut Vec<u8>) {
    put_name(name, out);
    out.extend_from_slice(br#"[{"role":"user","content":"#);
    put_text(text, out);
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

/// Writes a prompt in the field that the dialect defines for its kind.
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
        (Prompt::Text(text), ..) => put_text_field(prompts.text, text, out),
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

/// Appends the arguments of a call, which are JSON as text, as a JSON object. Appends an empty
/// object if the text is not an object.
pub(super) fn put_arguments(call: &ToolCall, out: &mut Vec<u8>) {
    match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(arguments) => put(&arguments, out),
        Err(_) => out.extend_from_slice(b"{}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_json_that_others_write() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        let long = "word ".repeat(1000);
        for text in ["", "a", &all, &long, &format!("{long}\n{long}\"{all}"), &all.repeat(3)] {
            let (mut own, mut expect) = (b"before".to_vec(), b"before".to_vec());
            put_text(text, &mut own);
            put(text, &mut expect);
            assert!(own == expect, "{}", text.len());
        }
    }
}
