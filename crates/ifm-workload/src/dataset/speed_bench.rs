//! SPEED-Bench, questions by category for speculative decoding: its qualitative part, and prompts of
//! 1 to 32 thousand tokens with answers that are easy or hard to guess.
//!
//! A file holds one part, as NVIDIA's `prepare.py` writes it (`nemo_skills/dataset/speed-bench`). A
//! row is a question with `turns` and `category`; its first turn is the prompt, as in vLLM's
//! `SpeedBench`. On the hub many rows hold a note in place of text that may not be passed on: such a
//! row is malformed here, since sending the note would measure the note. Not here: judging answers,
//! further turns, which refer to an answer, and the sources of the missing text.

use serde_json::Value;

use super::{Dataset, DatasetKind, spec_bench};
use crate::{error::WorkloadError, opening::Opening, order, order::Step, select::Limits, value};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "speed-bench",
    aliases: &["speed_bench", "speedbench"],
    usage: "speed-bench:FILE",
    summary: "questions by category, and long prompts, for speculative decoding (SPEED-Bench)",
    ignore_eos: false,
    hub: &[],
    open,
};

/// Tokens to ask for: vLLM's `--speed-bench-output-len`.
const OUTPUT_TOKENS: u32 = 4096;
/// How a turn begins whose text has to be fetched from its source.
const MISSING: &str = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE";

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let rows = opening.rows(None, &[&["turns"]])?;
    let category = opening.options.text("category");
    let output = opening.options.value::<u32>("output", "a number of tokens")?;
    let output = output.unwrap_or(OUTPUT_TOKENS);
    opening.rule(format!("the first turn of each question, {output} output tokens"));
    order::fill(opening, rows, Limits::NONE, |columns, row| {
        let step = spec_bench::read(columns, row, category.as_deref(), output)?;
        let turns = columns.get(&row.fields, "turns").and_then(Value::as_array);
        let first = turns.and_then(|turns| turns.first()).and_then(value::text);
        match (&step, first) {
            (Step::Take(_), Some(first)) if first.starts_with(MISSING) => {
                Err("the text is missing: NVIDIA's prepare.py fetches it from its source \
                     (nemo_skills/dataset/speed-bench)"
                    .to_owned())
            }
            _ => Ok(step),
        }
    })
}
