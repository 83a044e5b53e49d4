//! Ollama's own embeddings, `POST /api/embed`: whole answers only, and nothing is generated.
//!
//! Takes texts, one to a request, unless the request's own fields hold an `input` of several. An answer
//! is complete when it has a vector for each. Prompt tokens are counted; there are no output tokens.

use super::body::{put_field, refusal};
use super::embeddings::count;
use super::json;
use super::{Base, ChunkFacts, Dialect, Endpoint, Generated, LengthField, Memory, Usage};
use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::spec::Api;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// The dialect.
#[derive(Debug)]
pub(super) struct OllamaEmbed;

impl Dialect for OllamaEmbed {
    fn api(&self) -> Api {
        Api::OllamaEmbed
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint { base: Base::Root, stream: None, whole: "/api/embed" }
    }

    fn can_ignore_eos(&self) -> bool {
        false
    }

    fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Map<String, Value> {
        Map::from_iter([("model".to_owned(), spec.model.into())])
    }

    fn length_field(&self) -> Option<LengthField> {
        None
    }

    fn prompt_fields(&self) -> &'static [&'static str] {
        &["input"]
    }

    /// The fields may hold the input, but only [`Dialect::write_prompt`] counts it.
    fn has_prompt(&self, _fields: &Map<String, Value>) -> bool {
        false
    }

    fn write_prompt(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<Option<u32>, RequestError> {
        if let Some(input) = ask.fields.and_then(|fields| fields.get("input")) {
            return Ok(Some(count(input)));
        }
        let text = ask.prompt.as_text().ok_or_else(|| refusal(self, ask, "texts"))?;
        put_field("input", text, out);
        Ok(Some(1))
    }

    fn output_keys(&self) -> &'static [&'static [u8]] {
        &[]
    }

    fn read_event<'input>(
        &self,
        data: &'input str,
        _memory: &mut Memory,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        self.read_answer(data, text)
    }

    fn read_answer<'input>(
        &self,
        data: &'input str,
        _text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        let answer: Answer = json::parse(data)?;
        if answer.error.is_some() {
            return Ok(ChunkFacts { error: Some(json::error_in(data)), ..ChunkFacts::default() });
        }
        let is_full = |vector: &&Vec<IgnoredAny>| !vector.is_empty();
        let vectors = answer.embeddings.map(|all| all.iter().filter(is_full).count());
        Ok(ChunkFacts {
            results: vectors.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            usage: answer
                .prompt_eval_count
                .map(|count| Usage { prompt_tokens: Some(count), ..Usage::default() }),
            ..ChunkFacts::default()
        })
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    embeddings: Option<Vec<Vec<IgnoredAny>>>,
    #[serde(default, deserialize_with = "json::count")]
    prompt_eval_count: Option<u32>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}
