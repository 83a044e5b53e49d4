//! SGLang's `bench_one_batch` and `bench_one_batch_server`: JSON Lines, a line for each case.

use super::super::error::ImportError;
use super::super::{Head, Input, Likeness, Recognised, json, static_batch};
use super::{Format, records};
use ifm_core::Sheet;
use ifm_core::sheet::PartKind;

pub(super) struct SglangBatch;

const ABOUT: Recognised =
    Recognised { id: "sglang-batch", title: "SGLang bench_one_batch(_server), JSON Lines" };
const MARKS: &[&str] = &["run_name", "batch_size", "input_len", "output_len", "overall_throughput"];

impl Format for SglangBatch {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        match head.is_json() && head.has_keys(MARKS) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        let mut tool = "sglang.bench_one_batch";
        let mut sheet =
            records::read_small(input, ABOUT, PartKind::StaticBatch, |fields, draft| {
                if fields.contains_key("last_ttft") {
                    tool = "sglang.bench_one_batch_server";
                }
                let row = &mut draft.row;
                for (name, value) in fields {
                    let number = json::number(Some(&value));
                    if let Some(factor) = static_batch::setting(&name) {
                        if let Some(word) = json::word(Some(&value)) {
                            row.factors.set(factor, word);
                        }
                    } else if name == "run_name" {
                        row.label = json::word(Some(&value));
                    } else if let Some(figure) =
                        number.and_then(|number| static_batch::figure(&name, number))
                    {
                        row.figures.push(figure);
                    } else {
                        row.unknown.insert(name, value);
                    }
                }
            })?;
        sheet.source.tool = Some(tool.to_owned());
        Ok(sheet)
    }
}
