//! Reranking, `POST /v1/rerank`: whole answers only, and nothing is generated.
//!
//! A request needs a query and documents. Where the request's own fields hold `documents`, the
//! prompt's text is the query (or its field `query` is). Otherwise the text is split: the first
//! line that is not empty is the query, each further one a document. A text of one line begins with
//! the query, its first 32 words but at most half of them, and the rest is one document.
//!
//! An answer is complete when it has a score for each document, or for `top_n` of them if the user
//! sets it. Tokens are counted as for embeddings.

use super::body::{put_field, refusal};
use super::embeddings::PromptUsage;
use super::json;
use super::list::{List, RESULTS_MAX};
use super::{ChunkFacts, Dialect, Endpoint, Generated, Memory, Usage};
use crate::ask::{Ask, RequestError};
use ifm_core::spec::Api;
use serde::Deserialize;
use serde_json::Value;

/// Most words of a query that is cut from a text of one line.
const QUERY_WORDS_MAX: usize = 32;

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    can_ignore_eos: false,
    prompt_fields: &["query", "documents"],
    results_max: Some("top_n"),
    write_prompt,
    ..Dialect::new(Api::Rerank, Endpoint::whole("/rerank"), read, read)
};

fn write_prompt(
    dialect: &Dialect,
    ask: &Ask<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<u32>, RequestError> {
    let field = |name: &str| ask.fields.and_then(|fields| fields.get(name));
    let text = || ask.prompt.as_text().ok_or_else(|| refusal(dialect, ask));
    let documents = match (field("query"), field("documents").and_then(Value::as_array)) {
        (Some(_), Some(documents)) => documents.len(),
        (None, Some(documents)) => {
            put_field("query", text()?, out);
            documents.len()
        }
        (Some(_), None) => {
            put_field("documents", &[text()?], out);
            1
        }
        (None, None) => {
            let (query, documents) = split(text()?);
            put_field("query", query, out);
            put_field("documents", &documents, out);
            documents.len()
        }
    };
    Ok(Some(u32::try_from(documents).unwrap_or(u32::MAX)))
}

fn read<'input>(
    data: &'input str,
    _memory: &mut Memory,
    _text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let answer: Answer = json::parse(data)?;
    if answer.error {
        return Ok(json::failure(data));
    }
    let scores = answer.results.or(answer.data);
    let scores = scores.map(|scores| scores.iter().filter(|it| it.is_full()).count());
    Ok(ChunkFacts {
        results: scores.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        usage: answer.usage.map(Usage::from),
        ..ChunkFacts::default()
    })
}

/// The query and the documents that a text holds: see the module. Never without a document.
fn split(text: &str) -> (&str, Vec<&str>) {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or(text);
    let documents: Vec<&str> = lines.collect();
    if !documents.is_empty() {
        return (first, documents);
    }
    let wanted = (first.split_whitespace().count() / 2).min(QUERY_WORDS_MAX);
    match word_starts(first).nth(wanted).and_then(|start| first.split_at_checked(start)) {
        Some((query, document)) if !query.is_empty() => (query.trim_end(), vec![document]),
        _ => (first, vec![first]),
    }
}

/// Where the words of a text begin, bytes.
fn word_starts(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut before = ' ';
    text.char_indices().filter_map(move |(place, character)| {
        let former = std::mem::replace(&mut before, character);
        (former.is_whitespace() && !character.is_whitespace()).then_some(place)
    })
}

#[derive(Deserialize)]
struct Answer {
    results: Option<List<Score, RESULTS_MAX>>,
    data: Option<List<Score, RESULTS_MAX>>,
    usage: Option<PromptUsage>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

#[derive(Deserialize)]
struct Score {
    relevance_score: Option<f64>,
    score: Option<f64>,
}

impl Score {
    fn is_full(&self) -> bool {
        self.relevance_score.or(self.score).is_some()
    }
}
