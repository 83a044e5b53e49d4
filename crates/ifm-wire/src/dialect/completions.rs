//! OpenAI's completions, `POST /v1/completions`: texts and token ids, no messages.
//!
//! Ends as [`super::chat`] does.

use super::body::{put_field, refusal};
use super::{Base, ChunkFacts, Dialect, End, Endpoint, Generated, LengthField, Memory, openai};
use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::Prompt;
use ifm_core::spec::Api;
use serde_json::{Map, Value};

/// The dialect.
#[derive(Debug)]
pub(super) struct Completions;

impl Dialect for Completions {
    fn api(&self) -> Api {
        Api::Completions
    }

    fn endpoint(&self) -> Endpoint {
        let path = "/completions";
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
        &["prompt"]
    }

    fn write_prompt(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<Option<u32>, RequestError> {
        match ask.prompt {
            Prompt::Text(text) => put_field("prompt", text, out),
            Prompt::Tokens(ids) => put_field("prompt", ids, out),
            Prompt::Messages(_) => return Err(refusal(self, ask, "texts and token ids")),
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

    fn read_answer<'input>(
        &self,
        data: &'input str,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        openai::read(data, text)
    }
}
