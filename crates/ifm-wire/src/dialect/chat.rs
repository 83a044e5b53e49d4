//! OpenAI's chat completions, `POST /v1/chat/completions`.
//!
//! A stream ends with `[DONE]`; from servers that leave it out it is complete with a finish reason
//! for every choice and the end of the response.

use super::body::{put_field, put_list, put_name, put_object, put_said};
use super::openai;
use super::parts::{put_chat_part, put_content};
use super::tools::Words;
use super::{Dialect, Media, Prompts};
use crate::ask::Ask;
use ifm_core::spec::Api;
use ifm_core::{MediumKind, Message, ToolCall};

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    prompts: Prompts {
        messages: Some(put_messages),
        message: Some(put_message),
        ..Prompts::texts("messages")
    },
    media: Media { addresses: true, names: true, details: true, ..Media::of(&MediumKind::ALL) },
    tools: Some(Words::Chat),
    form: Some(super::forms::chat),
    ..openai::usual(Api::Chat, "/chat/completions")
};

fn put_messages(messages: &[Message], ask: &Ask<'_>, out: &mut Vec<u8>) {
    put_said(messages, ask, out, put_message);
}

fn put_message(message: &Message, out: &mut Vec<u8>) {
    put_object(out, |out| {
        put_field("role", message.role.word(), out);
        put_content("content", message, out, put_chat_part);
        if let Some(reasoning) = &message.reasoning {
            put_field("reasoning_content", reasoning, out);
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
        put_field("id", &call.id, out);
        put_field("type", "function", out);
        put_name("function", out);
        put_object(out, |out| {
            put_field("name", &call.name, out);
            put_field("arguments", &call.arguments, out);
        });
    });
}
