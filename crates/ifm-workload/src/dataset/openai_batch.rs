//! Batch files of the OpenAI API, and plain lists of request bodies.
//!
//! Messages and lengths become the prompt; every other field of the body goes out with
//! its own request, tools and sampling among them, but for the model and for what the
//! load generator has to decide (streaming).
//!
//! Not here: sending batches; embeddings.

use std::sync::Arc;

use ifm_core::Prompt;
use serde_json::{Map, Value};

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    facts::DropReason,
    media::Reader,
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Row, kind},
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "openai-batch",
    aliases: &["openai", "openai_batch"],
    usage: "openai-batch:FILE",
    summary: "request bodies of the OpenAI API, one a line, with their tools and lengths",
    ignore_eos: false,
    hub: &[],
    open,
};

/// Fields that do not go out as they are.
const TAKEN: [&str; 8] = [
    "messages",
    "prompt",
    "model",
    "max_tokens",
    "max_completion_tokens",
    "stream",
    "stream_options",
    "user",
];

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows = opening.rows(None, &[])?;
    opening.rule("bodies as recorded, without model, stream and user");
    let mut media = Reader::new(opening.request);
    order::fill(opening, rows, Limits::NONE, |_, row| read(row, &mut media))
}

fn read(row: &Row, media: &mut Reader) -> Result<Step, String> {
    let body = match row.fields.get("body") {
        Some(Value::Object(body)) => body,
        Some(other) => return Err(format!("'body' is {}", kind(other))),
        None => &row.fields,
    };
    let prompt = match (body.get("messages"), body.get("prompt")) {
        (Some(Value::Array(list)), _) => Prompt::Messages(media.messages(list, &row.folder)?),
        (None, Some(Value::String(text))) if !text.is_empty() => Prompt::Text(text.clone()),
        (None, Some(Value::Array(ids))) if !ids.is_empty() => {
            let ids = ids.iter().map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok()));
            let ids = ids.collect::<Option<Vec<_>>>();
            Prompt::Tokens(ids.ok_or("'prompt' is a list, but not of token ids")?)
        }
        (Some(other), _) => return Err(format!("'messages' is {}", kind(other))),
        (None, Some(_)) => return Err("'prompt' is empty or no text".to_owned()),
        (None, None) if body.contains_key("input") => return Ok(Step::Drop(DropReason::NotText)),
        (None, None) => return Err("there are no 'messages' and no 'prompt'".to_owned()),
    };
    let tokens = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| body.get(*name));
    let output = match tokens.filter(|tokens| !tokens.is_null()) {
        Some(tokens) => {
            let tokens = value::tokens(tokens).filter(|&tokens| tokens > 0);
            Output::Tokens(tokens.ok_or("'max_tokens' is not a number above 0")?)
        }
        None => Output::Open,
    };
    let fields = body.iter().filter(|(name, _)| !TAKEN.contains(&name.as_str()));
    let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
    let fields = fields.collect::<Map<_, _>>();
    let fields = (!fields.is_empty()).then(|| Arc::new(fields));
    Ok(Step::Take(Candidate { fields, ..Candidate::new(prompt, output) }))
}
