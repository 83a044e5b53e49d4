//! Problems of mathematics with solutions: NuminaMath and the AIMO validation set.
//!
//! Not here: checking answers.

use ifm_core::Prompt;

use super::{Dataset, DatasetKind};
use crate::{
    count::HuggingFace,
    error::WorkloadError,
    hub::HubSet,
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Columns, Row},
};

/// NuminaMath's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "numina-math",
    aliases: &["numina", "numinamath"],
    usage: "numina-math:FILE",
    summary: "problems of mathematics, answers as long as their solutions (NuminaMath)",
    ignore_eos: false,
    hub: &[
        HubSet { repository: "AI-MO/NuminaMath-1.5", file: None },
        HubSet { repository: "AI-MO/NuminaMath-CoT", file: None },
    ],
    open,
};

/// The entry of the AIMO validation set in the registry.
pub const KIND_AIMO: DatasetKind = DatasetKind {
    name: "aimo",
    aliases: &["aimo-validation-aime"],
    usage: "aimo:FILE",
    summary: "problems of the AIME competitions, answers as long as their solutions",
    ignore_eos: false,
    hub: &[HubSet { repository: "AI-MO/aimo-validation-aime", file: None }],
    open,
};

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let home = if opening.facts.kind == KIND.name { KIND.hub } else { KIND_AIMO.hub };
    let needed: [&[&str]; 2] = [&["problem"], &["solution"]];
    let rows = opening.rows(home.first(), &needed)?;
    let special_tokens = HuggingFace::of(opening.tokenizer)?.special_tokens;
    // vLLM filters only where lengths come from the solutions.
    let limits = match opening.request.output_tokens.is_some() {
        true => Limits { special_tokens, ..Limits::NONE },
        false => Limits {
            prompt_min: 4,
            prompt_max: 2048,
            output_min: 4,
            total_max: 32_000,
            output_min_always: false,
            special_tokens,
        },
    };
    opening.rule("vLLM 0.33 AIMO filter, no chat template");
    order::fill(opening, rows, limits, read)
}

fn read(columns: &Columns, row: &Row) -> Result<Step, String> {
    Ok(Step::Take(Candidate {
        prompt: Prompt::Text(columns.text(row, "problem")?.to_owned()),
        output: Output::Answer(columns.text(row, "solution")?.into()),
        at_ns: None,
        fields: None,
        later: Vec::new(),
    }))
}
