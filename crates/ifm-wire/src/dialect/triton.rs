//! Triton's generate extension, `POST /v2/models/MODEL/generate_stream` and `…/generate`.
//!
//! Takes texts, under the names that the backends of vLLM and TensorRT-LLM share: `text_input`,
//! `max_tokens`, `temperature`, `stream`, and vLLM's `ignore_eos`. TensorRT-LLM goes on past the
//! end of the text only with an `end_id` that never comes (`--extra-body`).
//!
//! The API has neither an end mark nor a reason why an answer ended, so a stream is complete when
//! the response says by its own framing where it ends, and got there without an error. It counts
//! only if it is asked to, in fields that not every backend knows: with `--extra-body
//! '{"return_num_input_tokens":true,"return_num_output_tokens":true}'` each event says how many
//! tokens it holds. Errors are events with the field `error`.

use super::body::{put_field, refusal};
use super::json::{self, Word};
use super::text::Text;
use super::{
    Base, ChoiceFacts, Choices, ChunkFacts, Dialect, End, Endpoint, Generated, LengthField, Memory,
    Usage,
};
use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::Prompt;
use ifm_core::spec::Api;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

/// The dialect.
#[derive(Debug)]
pub(super) struct Triton;

impl Dialect for Triton {
    fn api(&self) -> Api {
        Api::Triton
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            base: Base::Root,
            stream: Some("/v2/models/{model}/generate_stream"),
            whole: "/v2/models/{model}/generate",
        }
    }

    fn end(&self) -> End {
        End::Response
    }

    fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("stream".to_owned(), spec.stream.into());
        if spec.ignore_eos {
            fields.insert("ignore_eos".to_owned(), true.into());
        }
        if let Some(temperature) = spec.temperature {
            fields.insert("temperature".to_owned(), json!(temperature));
        }
        fields
    }

    fn length_field(&self) -> Option<LengthField> {
        Some(LengthField { within: None, names: &["max_tokens"], default: None })
    }

    fn prompt_fields(&self) -> &'static [&'static str] {
        &["text_input"]
    }

    fn write_prompt(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<Option<u32>, RequestError> {
        match ask.prompt {
            Prompt::Text(text) => put_field("text_input", text, out),
            _ => return Err(refusal(self, ask, "texts")),
        }
        Ok(None)
    }

    fn output_keys(&self) -> &'static [&'static [u8]] {
        &[b"text_output"]
    }

    fn read_event<'input>(
        &self,
        data: &'input str,
        memory: &mut Memory,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        let event: Event<'input> = json::parse(data)?;
        if event.error.is_some() {
            return Ok(ChunkFacts { error: Some(json::error_in(data)), ..ChunkFacts::default() });
        }
        let Some(output) = event.text_output else { return Ok(ChunkFacts::default()) };
        if let Some(kept) = text {
            output.append_to(&mut kept.text);
        }
        let has_text = !output.is_empty();
        let held = event.num_output_tokens;
        let sequence = memory.sequence(0);
        sequence.tokens = sequence.tokens.saturating_add(held.unwrap_or(0));
        let has_empty_text = !has_text && held != Some(0);
        let counts = held.is_some() && (has_text || has_empty_text);
        let usage = counts.then_some(Usage {
            prompt_tokens: event.num_input_tokens,
            completion_tokens: Some(sequence.tokens),
            ..Usage::default()
        });
        let choice = ChoiceFacts {
            has_answer: has_text,
            has_empty_text,
            finish_reason: event.finish_reason.and_then(said),
            ..ChoiceFacts::default()
        };
        Ok(ChunkFacts { choices: Choices::one(choice), usage, ..ChunkFacts::default() })
    }

    /// The shape is that of an event.
    fn read_answer<'input>(
        &self,
        data: &'input str,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        let facts = self.read_event(data, &mut Memory::default(), text)?;
        Ok(ChunkFacts { is_end: !facts.choices.is_empty(), ..facts })
    }
}

/// The reason why an answer ended. vLLM's backend writes `None` while it goes on.
fn said(reason: Word<'_>) -> Option<std::borrow::Cow<'_, str>> {
    Some(reason.0).filter(|word| word != "None")
}

#[derive(Deserialize)]
struct Event<'input> {
    #[serde(borrow, default)]
    text_output: Option<Text<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    num_output_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    num_input_tokens: Option<u32>,
    #[serde(borrow, default)]
    finish_reason: Option<Word<'input>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}
