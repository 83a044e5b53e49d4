//! Embeddings, `POST /v1/embeddings`: whole answers only, and nothing is generated.
//!
//! Takes texts and token ids, one to a request, unless the request's own fields hold an `input` of
//! several. An answer is complete when it has a vector for each: as numbers, or as text in base 64.
//! There is no first token; prompt tokens are counted, and output tokens are zero where the server
//! says so by its sum of both.

use super::body::{self};
use super::json;
use super::list::{List, RESULTS_MAX};
use super::{ChunkFacts, Dialect, Endpoint, Generated, Memory, Prompts, Usage};
use crate::ask::{Ask, RequestError};
use ifm_core::spec::Api;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    can_ignore_eos: false,
    prompts: Prompts { tokens: Some("input"), ..Prompts::texts("input") },
    write_prompt,
    ..Dialect::new(Api::Embeddings, Endpoint::whole("/embeddings"), read, read)
};

pub(super) fn write_prompt(
    dialect: &Dialect,
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<u32>, RequestError> {
    match ask.fields.and_then(|fields| fields.get("input")) {
        Some(input) => Ok(Some(count(input))),
        None => body::write_prompt(dialect, ask, out).map(|_| Some(1)),
    }
}

fn read<'input>(
    data: &'input str,
    _memory: &mut Memory,
    _text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let answer: Answer<'input> = json::parse(data)?;
    if answer.error {
        return Ok(json::failure(data));
    }
    let vectors = answer.data.map(|entries| entries.iter().filter(|it| it.is_full()).count());
    Ok(ChunkFacts {
        results: vectors.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        usage: answer.usage.map(Usage::from),
        ..ChunkFacts::default()
    })
}

/// Vectors that an input asks for: one for a text or a list of token ids, one for each item of a
/// list of those.
pub(super) fn count(input: &Value) -> u32 {
    match input.as_array() {
        Some(items) if !items.iter().all(Value::is_number) => {
            u32::try_from(items.len()).unwrap_or(u32::MAX)
        }
        _ => 1,
    }
}

#[derive(Deserialize)]
struct Answer<'input> {
    #[serde(borrow, default)]
    data: Option<List<Entry<'input>, RESULTS_MAX>>,
    usage: Option<PromptUsage>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

#[derive(Deserialize)]
struct Entry<'input> {
    #[serde(borrow, default)]
    embedding: Option<&'input RawValue>,
}

impl Entry<'_> {
    /// Whether it holds a vector of at least one number.
    fn is_full(&self) -> bool {
        let raw = self.embedding.map_or("", RawValue::get);
        !raw.trim_matches(|c: char| "[]\"".contains(c) || c.is_ascii_whitespace()).is_empty()
    }
}

/// The usage of an API that generates nothing.
#[derive(Deserialize)]
pub(super) struct PromptUsage {
    #[serde(default, deserialize_with = "json::count")]
    prompt_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    total_tokens: Option<u32>,
}

impl From<PromptUsage> for Usage {
    fn from(raw: PromptUsage) -> Usage {
        Usage {
            prompt_tokens: raw.prompt_tokens.or(raw.total_tokens),
            // Servers say with the sum that they generated nothing.
            completion_tokens: raw
                .total_tokens
                .zip(raw.prompt_tokens)
                .and_then(|(total, prompt)| total.checked_sub(prompt)),
            ..Usage::default()
        }
    }
}
