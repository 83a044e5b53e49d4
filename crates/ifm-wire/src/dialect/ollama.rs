//! Ollama's own APIs, `POST /api/chat` (texts and messages) and `POST /api/generate` (texts).
//!
//! Streams are JSON objects, one to a line. There is no end mark beside them: a stream is complete
//! with the object that says `"done": true`, which also counts prompt and output. An object with
//! the field `error` is a failure. A prompt count that is missing is unknown: older servers leave
//! it out for a prompt that they had cached. The API has no word for going on past the end of the
//! text.

use super::body::{
    put_arguments, put_field, put_list, put_name, put_object, put_user_message, refusal,
};
use super::json::{self, Presence, Word};
use super::text::Text;
use super::{
    Base, ChoiceFacts, Choices, ChunkFacts, Dialect, Endpoint, Framing, Generated, LengthField,
    Memory, Usage,
};
use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::spec::Api;
use ifm_core::{Message, Prompt, ToolCall};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

/// The dialect of either API.
#[derive(Debug)]
pub(super) struct Ollama {
    /// Whether the API takes and gives messages.
    pub(super) is_chat: bool,
}

/// The object that holds how to sample, the output length among it.
const OPTIONS: &str = "options";

impl Dialect for Ollama {
    fn api(&self) -> Api {
        if self.is_chat { Api::OllamaChat } else { Api::OllamaGenerate }
    }

    fn endpoint(&self) -> Endpoint {
        let path = if self.is_chat { "/api/chat" } else { "/api/generate" };
        Endpoint { base: Base::Root, stream: Some(path), whole: path }
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn can_ignore_eos(&self) -> bool {
        false
    }

    fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Map<String, Value> {
        let mut options = Map::new();
        if let Some(temperature) = spec.temperature {
            options.insert("temperature".to_owned(), json!(temperature));
        }
        let mut fields = Map::new();
        fields.insert("model".to_owned(), spec.model.into());
        fields.insert(OPTIONS.to_owned(), options.into());
        fields.insert("stream".to_owned(), spec.stream.into());
        fields
    }

    fn length_field(&self) -> Option<LengthField> {
        Some(LengthField { within: Some(OPTIONS), names: &["num_predict"], default: None })
    }

    fn prompt_fields(&self) -> &'static [&'static str] {
        if self.is_chat { &["messages"] } else { &["prompt"] }
    }

    fn write_prompt(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<Option<u32>, RequestError> {
        match (ask.prompt, self.is_chat) {
            (Prompt::Text(text), true) => put_user_message("messages", text, out),
            (Prompt::Messages(messages), true) => {
                put_name("messages", out);
                put_list(messages, out, put_message);
            }
            (_, true) => return Err(refusal(self, ask, "texts and messages")),
            (Prompt::Text(text), false) => put_field("prompt", text, out),
            (_, false) => return Err(refusal(self, ask, "texts")),
        }
        Ok(None)
    }

    fn output_keys(&self) -> &'static [&'static [u8]] {
        &[b"content", b"response", b"thinking"]
    }

    fn read_event<'input>(
        &self,
        data: &'input str,
        _memory: &mut Memory,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        read(data, text)
    }

    /// The shape is that of the last object of a stream, with the whole text.
    fn read_answer<'input>(
        &self,
        data: &'input str,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        read(data, text)
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
        put_name("function", out);
        put_object(out, |out| {
            put_field("name", &call.name, out);
            put_name("arguments", out);
            put_arguments(call, out);
        });
    });
}

#[derive(Deserialize)]
struct Event<'input> {
    #[serde(borrow, default)]
    message: Option<Said<'input>>,
    #[serde(borrow, default)]
    response: Option<Text<'input>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'input>>,
    #[serde(default)]
    tool_calls: Option<Presence>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(borrow, default)]
    done_reason: Option<Word<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    prompt_eval_count: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    eval_count: Option<u32>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
struct Said<'input> {
    #[serde(borrow, default)]
    content: Option<Text<'input>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'input>>,
    #[serde(default)]
    tool_calls: Option<Presence>,
}

fn read<'input>(
    data: &'input str,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    if event.error.is_some() {
        return Ok(ChunkFacts { error: Some(json::error_in(data)), ..ChunkFacts::default() });
    }
    let said = event.message.unwrap_or_default();
    let answer = said.content.or(event.response);
    let thinking = said.thinking.or(event.thinking);
    let calls = said.tool_calls.or(event.tool_calls).is_some_and(|calls| calls.0);
    let is_end = event.done.unwrap_or(false);
    if answer.is_none() && thinking.is_none() && !calls && !is_end {
        return Ok(ChunkFacts::default());
    }
    if let Some(kept) = text {
        thinking.into_iter().for_each(|text| kept.add_reasoning(text));
        answer.into_iter().for_each(|text| text.append_to(&mut kept.text));
    }
    let full = |text: Option<Text<'_>>| text.is_some_and(|text| !text.is_empty());
    let choice = ChoiceFacts {
        has_answer: full(answer) || calls,
        has_reasoning: full(thinking),
        has_empty_text: !is_end || answer.is_some(),
        finish_reason: event.done_reason.map(|reason| reason.0).filter(|_| is_end),
        ..ChoiceFacts::default()
    };
    let usage = is_end.then_some(Usage {
        prompt_tokens: event.prompt_eval_count,
        completion_tokens: event.eval_count,
        ..Usage::default()
    });
    Ok(ChunkFacts { choices: Choices::one(choice), usage, is_end, ..ChunkFacts::default() })
}
