//! Ollama's own embeddings, `POST /api/embed`: whole answers only, and nothing is generated.
//!
//! Takes texts, one to a request, unless the request's own fields hold an `input` of several. An answer
//! is complete when it has a vector for each. Prompt tokens are counted; there are no output tokens.

use super::list::{List, RESULTS_MAX};
use super::{Base, ChunkFacts, Dialect, Endpoint, Generated, Memory, Prompts, Usage};
use super::{embeddings, json};
use ifm_core::spec::Api;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    can_ignore_eos: false,
    prompts: Prompts::texts("input"),
    write_prompt: embeddings::write_prompt,
    ..Dialect::new(Api::OllamaEmbed, ENDPOINT, read, read)
};

const ENDPOINT: Endpoint = Endpoint { base: Base::Root, stream: None, whole: "/api/embed" };

fn read<'input>(
    data: &'input str,
    _memory: &mut Memory,
    _text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let answer: Answer = json::parse(data)?;
    if answer.error {
        return Ok(json::failure(data));
    }
    let is_full = |vector: &&Vec<IgnoredAny>| !vector.is_empty();
    let vectors = answer.embeddings.map(|all| all.iter().filter(is_full).count());
    let usage = |count| Usage { prompt_tokens: Some(count), ..Usage::default() };
    Ok(ChunkFacts {
        results: vectors.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        usage: answer.prompt_eval_count.map(usage),
        ..ChunkFacts::default()
    })
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    embeddings: Option<List<Vec<IgnoredAny>, RESULTS_MAX>>,
    #[serde(default, deserialize_with = "json::count")]
    prompt_eval_count: Option<u32>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}
