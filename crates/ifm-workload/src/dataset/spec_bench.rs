//! Questions with turns by category: Spec-Bench and MT-Bench, the usual prompts for speculative
//! decoding, whose gain depends on what is asked.
//!
//! A row is a question; its first turn is the prompt, as in vLLM. Not here: judging answers, and the
//! further turns, which refer to an answer.

use ifm_core::Prompt;
use serde_json::Value;

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    facts::DropReason,
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Columns, Row},
    value,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "spec-bench",
    aliases: &["spec_bench", "mt-bench", "mt_bench"],
    usage: "spec-bench:FILE",
    summary: "questions by category, for speculative decoding (Spec-Bench, MT-Bench)",
    ignore_eos: false,
    hub: &[],
    open,
};

/// Tokens to ask for: vLLM's `--spec-bench-output-len`.
const OUTPUT_TOKENS: u32 = 256;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows = opening.rows(None, &[&["turns"]])?;
    let category = opening.options.text("category");
    let output = opening.options.value::<u32>("output", "a number of tokens")?;
    let output = output.unwrap_or(OUTPUT_TOKENS);
    opening.rule(format!("the first turn of each question, {output} output tokens"));
    order::fill(opening, rows, Limits::NONE, |columns, row| {
        read(columns, row, category.as_deref(), output)
    })
}

/// One question, unless it is of another category than `only`.
pub(super) fn read(
    columns: &Columns,
    row: &Row,
    only: Option<&str>,
    output: u32,
) -> Result<Step, String> {
    let category = columns.get(&row.fields, "category").and_then(value::text);
    if only.is_some_and(|only| category != Some(only)) {
        return Ok(Step::Drop(DropReason::NotDrawn));
    }
    let turns = columns.get(&row.fields, "turns").and_then(Value::as_array);
    let first = turns.and_then(|turns| turns.first()).and_then(value::text);
    let first = first.filter(|text| !text.is_empty()).ok_or("the question has no first turn")?;
    Ok(Step::Take(Candidate {
        prompt: Prompt::Text(first.to_owned()),
        output: Output::Tokens(output),
        at_ns: None,
        fields: None,
    }))
}
