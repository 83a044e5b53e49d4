//! `sglang.bench_serving`: JSON Lines, one line for each run. The client in Rust writes the same
//! and says which protocol it spoke.

use super::super::Input;
use super::super::error::ImportError;
use super::super::serving::{Dialect, Fields};
use super::{Format, Like, records, sure};
use ifm_core::Sheet;
use ifm_core::sheet::PartKind;

pub(super) const FORMAT: Format = Format {
    id: "sglang-serve",
    title: "SGLang bench_serving, JSON Lines",
    tool: None,
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let own = OWN.iter().any(|field| head.has_keys(&[field]));
        sure(head.is_json() && own && head.has_keys(MARKS))
    }),
    marks: MARKS,
    read,
};
/// Fields that together only this tool writes.
const MARKS: &[&str] =
    &["backend", "dataset_name", "request_rate", "completed", "total_output_tokens"];
/// Fields of which it writes one and the others none.
const OWN: &[&str] =
    &["total_throughput", "total_output_tokens_retokenized", "mean_e2e_latency_ms"];

fn read(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut tool = Dialect::Sglang;
    let mut sheet = records::read(format, input, |reader, draft| {
        let mut fields = Fields::default();
        let end = reader.object(|field, reader| match fields.take(field, reader, draft)? {
            true => Ok(()),
            false => draft.keep(field, reader),
        });
        tool = match draft.row.unknown.contains_key("protocol") {
            true => Dialect::SglangRust,
            false => Dialect::Sglang,
        };
        fields.settle(tool, draft);
        end
    })?;
    sheet.source.tool = Some(tool.tool().to_owned());
    Ok(sheet)
}
