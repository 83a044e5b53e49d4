//! Edits of code (blazedit): a file and a request go in, the whole new file comes out.
//!
//! Not here: other tasks.

use ifm_core::Prompt;

use super::{Dataset, DatasetKind};
use crate::{
    error::WorkloadError,
    facts::DropReason,
    hub::HubSet,
    opening::Opening,
    order::{self, Step},
    select::{Candidate, Limits, Output},
    source::{Columns, Row},
    value,
};

/// The entry of the longer edits in the registry.
pub const KIND_10K: DatasetKind = DatasetKind {
    name: "edit-10k-chars",
    aliases: &["edit-10k-char", "edit-10k", "edit_10k_char"],
    usage: "edit-10k-chars:FILE",
    summary: "change requests for code of ten thousand characters (blazedit)",
    ignore_eos: false,
    hub: &[HubSet { repository: "vdaita/edit_10k_char", file: None }],
    open,
};

/// The entry of the shorter edits in the registry.
pub const KIND_5K: DatasetKind = DatasetKind {
    name: "edit-5k-chars",
    aliases: &["edit-5k-char", "edit-5k", "edit_5k_char"],
    usage: "edit-5k-chars:FILE",
    summary: "change requests for code of five thousand characters (blazedit)",
    ignore_eos: false,
    hub: &[HubSet { repository: "vdaita/edit_5k_char", file: None }],
    open,
};

/// Tokens to ask for where nothing else is said: vLLM's default.
const OUTPUT_TOKENS: u32 = 4000;

fn open(opening: &mut Opening<'_>) -> Result<Box<dyn Dataset>, WorkloadError> {
    let what = "a number from 0 to 1";
    let min = opening.options.value("min_distance", what)?.unwrap_or(0.0);
    let max = opening.options.value("max_distance", what)?.unwrap_or(1.0);
    let home = if opening.facts.kind == KIND_5K.name { KIND_5K.hub } else { KIND_10K.hub };
    let needed: [&[&str]; 2] = [&["code"], &["change_request"]];
    let rows = opening.rows(home.first(), &needed)?;
    opening.rule(format!(
        "vLLM 0.33 blazedit prompt, no chat template, distance {min} to {max}, {OUTPUT_TOKENS} \
         output tokens unless others are asked for"
    ));
    order::fill(opening, rows, Limits::NONE, |columns, row| read(columns, row, min, max))
}

fn read(columns: &Columns, row: &Row, min: f64, max: f64) -> Result<Step, String> {
    let (code, change) = (columns.text(row, "code")?, columns.text(row, "change_request")?);
    let distance = columns.get(&row.fields, "norm_distance").and_then(value::number);
    if distance.is_some_and(|distance| !(min..=max).contains(&distance)) {
        return Ok(Step::Drop(DropReason::DistanceOutside));
    }
    // The wording is vLLM's, which is blazedit's: results compare only with the same one.
    let prompt = format!(
        "Given a code file, please apply the change requests and generate the new file.\n\n\
         Original file:\n```python\n{code}\n```\n\nChange request:\n{change}\n\n\
         Please generate the new code file in the \"New file\" section below."
    );
    Ok(Step::Take(Candidate {
        prompt: Prompt::Text(prompt),
        output: Output::Tokens(OUTPUT_TOKENS),
        at_ns: None,
        fields: None,
        later: Vec::new(),
    }))
}
