//! SGLang's `bench_one_batch` and `bench_one_batch_server`: JSON Lines, a line for each case.

use super::super::error::ImportError;
use super::super::{Input, json, static_batch};
use super::{Format, Like, records};
use ifm_core::Sheet;
use ifm_core::sheet::PartKind;

pub(super) const FORMAT: Format = Format {
    id: "sglang-batch",
    title: "SGLang bench_one_batch(_server), JSON Lines",
    tool: Some("sglang.bench_one_batch"),
    kind: PartKind::StaticBatch,
    like: Like::Json(&[MARKS]),
    marks: MARKS,
    read,
};
const MARKS: &[&str] = &["run_name", "batch_size", "input_len", "output_len", "overall_throughput"];

fn read(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut of_server = false;
    let mut sheet = records::read_small(format, input, |fields, draft| {
        of_server |= fields.contains_key("last_ttft");
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
    if of_server {
        sheet.source.tool = Some("sglang.bench_one_batch_server".to_owned());
    }
    Ok(sheet)
}
