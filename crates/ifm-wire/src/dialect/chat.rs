//! OpenAI's chat completions, `POST /v1/chat/completions`.
//!
//! A stream ends with `[DONE]`; from servers that leave it out it is complete with a finish reason
//! for every choice and the end of the response.

use super::body::{put_field, put_list, put_name, put_object, put_user_message, refusal};
use super::{Base, ChunkFacts, Dialect, End, Endpoint, Generated, LengthField, Memory, openai};
use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::spec::Api;
use ifm_core::{Message, Prompt, ToolCall};
use serde_json::{Map, Value};

/// The dialect.
#[derive(Debug)]
pub(super) struct Chat;

impl Dialect for Chat {
    fn api(&self) -> Api {
        Api::Chat
    }

    fn endpoint(&self) -> Endpoint {
        let path = "/chat/completions";
        Endpoint { base: Base::Versioned, stream: Some(path), whole: path }
    }

    fn end(&self) -> End {
        End::MarkOrFinish
    }

    fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Map<String, Value> {
        openai::fixed_fields(spec)
    }

    fn length_field(&self) -> Option<LengthField> {
        Some(openai::LENGTH)
    }

    fn prompt_fields(&self) -> &'static [&'static str] {
        &["messages"]
    }

    fn write_prompt(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<Option<u32>, RequestError> {
        match ask.prompt {
            Prompt::Text(text) => put_user_message("messages", text, out),
            Prompt::Messages(messages) => {
                put_name("messages", out);
                put_list(messages, out, put_message);
            }
            Prompt::Tokens(_) => return Err(refusal(self, ask, "texts and messages")),
        }
        Ok(None)
    }

    fn output_keys(&self) -> &'static [&'static [u8]] {
        openai::OUTPUT_KEYS
    }

    fn is_end_mark(&self, data: &[u8]) -> bool {
        openai::is_done(data)
    }

    fn read_event<'input>(
        &self,
        data: &'input str,
        _memory: &mut Memory,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        openai::read(data, text)
    }

    /// The shape is that of an event, with `message` in the place of `delta`.
    fn read_answer<'input>(
        &self,
        data: &'input str,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        openai::read(data, text)
    }
}

fn put_message(message: &Message, out: &mut Vec<u8>) {
    put_object(out, |out| {
        put_field("role", message.role.word(), out);
        put_field("content", &message.content, out);
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
