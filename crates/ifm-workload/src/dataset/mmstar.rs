//! MMStar: questions that cannot be answered without their image.
//!
//! As in vLLM, the question as it stands and its image are one request with 128 tokens to ask for.
//!
//! Not here: judging answers.

use ifm_core::Prompt;

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    hub::HubSet,
    media::Reader,
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Columns, Row},
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "mmstar",
    aliases: &[],
    usage: "mmstar:FILE",
    summary: "questions that need their image (MMStar)",
    ignore_eos: false,
    hub: &[HubSet { repository: "Lin-Chen/MMStar", file: None }],
    open,
};

/// Tokens to ask for: vLLM's default for it.
const OUTPUT_TOKENS: u32 = 128;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows = opening.rows(KIND.hub.first(), &[&["prompt"], &["image"]])?;
    let output = opening.options.value::<u32>("output", "a number of tokens")?;
    let output = output.unwrap_or(OUTPUT_TOKENS);
    let mut media = Reader::new(opening.request);
    opening.rule(format!("the question and its image, {output} output tokens"));
    order::fill(opening, rows, Limits::NONE, |columns, row| read(columns, row, output, &mut media))
}

fn read(columns: &Columns, row: &Row, output: u32, media: &mut Reader) -> Result<Step, String> {
    let question = columns.text(row, "prompt")?;
    columns.found(row, "image")?;
    let prompt = media.put(Prompt::Text(question.to_owned()), columns, row)?;
    Ok(Step::Take(Candidate::new(prompt, Output::Tokens(output))))
}
