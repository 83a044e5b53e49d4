//! VisionArena: what people asked about images of their own (LMArena).
//!
//! As in vLLM, a row's first question and its first image are one request with 128 tokens to ask
//! for.
//!
//! Not here: the further turns of such a conversation.

use ifm_core::{MediumKind, Prompt};
use serde_json::Value;

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    hub::HubSet,
    media::{Reader, with_media},
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Columns, Row},
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "vision-arena",
    aliases: &["visionarena"],
    usage: "vision-arena:FILE",
    summary: "questions of people about their images (VisionArena)",
    ignore_eos: false,
    hub: &[
        HubSet { repository: "lmarena-ai/VisionArena-Chat", file: None },
        HubSet { repository: "lmarena-ai/vision-arena-bench-v0.1", file: None },
    ],
    open,
};

/// Tokens to ask for: vLLM's default for it.
const OUTPUT_TOKENS: u32 = 128;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows = opening.rows(KIND.hub.first(), &[&["image"], &["messages", "turns"]])?;
    let output = opening.options.value::<u32>("output", "a number of tokens")?;
    let output = output.unwrap_or(OUTPUT_TOKENS);
    let mut media = Reader::new(opening.request);
    opening.rule(format!("the first question and image of a row, {output} output tokens"));
    order::fill(opening, rows, Limits::NONE, |columns, row| read(columns, row, output, &mut media))
}

fn read(columns: &Columns, row: &Row, output: u32, media: &mut Reader) -> Result<Step, String> {
    let get = |name: &str| columns.get(&row.fields, name);
    let talk = get("messages").or(get("turns"));
    let talk = talk.ok_or_else(|| columns.missing(&["messages", "turns"], row))?;
    let text = first_text(talk).filter(|text| !text.is_empty());
    let text = text.ok_or("the conversation has no first question")?;
    let mut pictures = media.field(columns.found(row, "image")?, MediumKind::Image, &row.folder)?;
    pictures.truncate(1);
    if pictures.is_empty() {
        return Err("the row has no image".to_owned());
    }
    let prompt = with_media(Prompt::Text(text.to_owned()), pictures)?;
    Ok(Step::Take(Candidate::new(prompt, Output::Tokens(output))))
}

/// The first text in turns that may be lists of messages.
fn first_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(list) => first_text(list.first()?),
        Value::Object(fields) => first_text(fields.get("content").or(fields.get("value"))?),
        _ => None,
    }
}
