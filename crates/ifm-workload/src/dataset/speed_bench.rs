//! SPEED-Bench, questions by category for speculative decoding: its qualitative part, and prompts of
//! 1 to 32 thousand tokens with answers that are easy or hard to guess.
//!
//! A file holds one part, as NVIDIA's `prepare.py` writes it (`nemo_skills/dataset/speed-bench`). A
//! row is a question with `turns` and `category`; its first turn is the prompt, as in vLLM's
//! `SpeedBench`, or all are a conversation. On the hub many rows hold a note in place of text that may not be passed on: such a
//! row is malformed here, since sending the note would measure the note. Not here: judging answers, and
//! the sources of the missing text.

use super::{Dataset, DatasetKind, spec_bench};
use crate::{error::WorkloadError, opening::Opening, order, select::Limits};

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
    let asked = spec_bench::Asked::take(opening, category, output)?;
    let is_there = |text: &str| match text.starts_with(MISSING) {
        true => Err("the text is missing: NVIDIA's prepare.py fetches it from its source \
                     (nemo_skills/dataset/speed-bench)"
            .to_owned()),
        false => Ok(()),
    };
    order::fill(opening, rows, Limits::NONE, |columns, row| asked.read(columns, row, is_there))
}
