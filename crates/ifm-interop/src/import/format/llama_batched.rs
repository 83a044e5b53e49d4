//! `llama-batched-bench --output-format jsonl`: a line for each case.

use super::super::error::ImportError;
use super::super::llama::batched;
use super::super::{Head, Input, Likeness, Recognised};
use super::{Format, records};
use ifm_core::Sheet;
use ifm_core::sheet::PartKind;

pub(super) struct LlamaBatched;

const ABOUT: Recognised =
    Recognised { id: "llama-batched-bench", title: "llama-batched-bench, JSON Lines" };
const MARKS: &[&str] = &["n_kv_max", "pp", "tg", "pl", "speed_pp", "speed_tg"];

impl Format for LlamaBatched {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        match head.has_keys(MARKS) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        let mut sheet =
            records::read_small(input, ABOUT, PartKind::StaticBatch, |fields, draft| {
                batched::fill(&mut draft.row, fields);
            })?;
        sheet.source.tool = Some(batched::TOOL.to_owned());
        Ok(sheet)
    }
}
