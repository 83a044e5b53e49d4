//! Prompts of the user's own: JSON, JSON lines, CSV or Parquet, with columns of any name.
//!
//! A row is a prompt with the images, recordings and videos that its columns name, or a list of messages that
//! goes out as one request. The length to ask for is a column's, or that of a recorded answer, or vLLM's
//! default for such files.
//!
//! Not here: conversations of several turns (`sharegpt_chat`).

use std::borrow::Cow;

use ifm_core::{Message, Prompt, Role};
use serde_json::Value;

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    media::Reader,
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Columns, Row, kind},
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "custom",
    aliases: &["file"],
    usage: "custom:FILE",
    summary: "prompts from JSON, JSON lines, CSV or Parquet, with columns=prompt:NAME,...",
    ignore_eos: false,
    hub: &[],
    open,
};

/// Tokens to ask for where a row says nothing: vLLM's `--custom-output-len`.
const OUTPUT_TOKENS: u32 = 256;

/// Columns that can replace a text: a request may consist of audio only.
const MEDIA: [&str; 4] = ["image", "audio", "video", "image_uuids"];

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows =
        opening.rows(None, &[&["prompt", "messages", "image", "audio", "video", "image_uuids"]])?;
    let mut media = Reader::new(opening.request);
    let output = opening.options.value::<u32>("output", "a number of tokens")?;
    let output = output.unwrap_or(OUTPUT_TOKENS);
    opening.rule(format!("{output} output tokens where a row says nothing"));
    order::fill(opening, rows, Limits::NONE, |columns, row| read(columns, row, output, &mut media))
}

fn read(columns: &Columns, row: &Row, output: u32, media: &mut Reader) -> Result<Step, String> {
    let get = |name: &str| columns.get(&row.fields, name);
    let messages = get("messages").filter(|_| !columns.is_mapped("prompt"));
    let prompt = match (get("prompt"), messages) {
        (_, Some(Value::Array(list))) => {
            let mut messages = media.messages(list, &row.folder)?;
            while messages.last().is_some_and(|last| last.role == Role::Assistant) {
                messages.pop();
            }
            if messages.is_empty() {
                return Err("the messages hold answers alone".to_owned());
            }
            Prompt::Messages(messages)
        }
        (Some(prompt), _) => {
            let text = text_of(prompt);
            let text = text.ok_or_else(|| format!("the prompt is {}", kind(prompt)))?;
            let text = text.as_ref();
            if text.is_empty() {
                return Err("the prompt is empty".to_owned());
            }
            match get("system").and_then(value::text).filter(|text| !text.is_empty()) {
                Some(system) => Prompt::Messages(vec![
                    Message::text(Role::System, system),
                    Message::text(Role::User, text),
                ]),
                None => Prompt::Text(text.to_owned()),
            }
        }
        // A recording may be all that is asked.
        _ if MEDIA.iter().any(|name| get(name).is_some()) => Prompt::Text(String::new()),
        _ => return Err(columns.missing(&["prompt", "messages"], row)),
    };
    let prompt = media.put(prompt, columns, row)?;
    let output = match (get("output_tokens"), get("answer").and_then(value::text)) {
        (Some(tokens), _) => {
            let tokens = value::tokens(tokens).filter(|&tokens| tokens > 0);
            Output::Tokens(tokens.ok_or("the output tokens are not a number above 0")?)
        }
        (None, Some(answer)) => Output::Answer(answer.into()),
        (None, None) => Output::Tokens(output),
    };
    Ok(Step::Take(Candidate::new(prompt, output)))
}

/// A text, or the lines of a list of texts (AIPerf's `texts`).
fn text_of(prompt: &Value) -> Option<Cow<'_, str>> {
    match prompt {
        Value::Array(texts) if !texts.is_empty() => {
            let texts = texts.iter().map(value::text).collect::<Option<Vec<_>>>()?;
            Some(texts.join("\n").into())
        }
        text => value::text(text).map(Cow::Borrowed),
    }
}
