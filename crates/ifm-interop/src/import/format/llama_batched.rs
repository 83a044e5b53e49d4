//! `llama-batched-bench --output-format jsonl`: a line for each case.

use super::super::llama::batched;
use super::{Format, Like, records, sure};
use ifm_core::sheet::PartKind;

pub(super) const FORMAT: Format = Format {
    id: "llama-batched-bench",
    title: "llama-batched-bench, JSON Lines",
    tool: Some(batched::TOOL),
    kind: PartKind::StaticBatch,
    like: Like::By(|head| sure(head.has_keys(MARKS))),
    marks: MARKS,
    read: |format, input| {
        records::read_small(format, input, |fields, draft| batched::fill(&mut draft.row, fields))
    },
};
const MARKS: &[&str] = &["n_kv_max", "pp", "tg", "pl", "speed_pp", "speed_tg"];
