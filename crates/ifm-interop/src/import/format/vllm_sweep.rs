//! The files that `vllm bench sweep` writes in addition to the runs: the table of all of them, and
//! a note for each that failed.

use super::super::error::ImportError;
use super::super::serving::{Dialect, names};
use super::super::{Input, json};
use super::{Format, Like, records, sure};
use ifm_core::Sheet;
use ifm_core::sheet::{PartKind, Remark, RemarkKind, key};
use serde_json::Value;

pub(super) const TABLE: Format = Format {
    id: "vllm-sweep-csv",
    title: "vllm bench sweep, summary.csv",
    tool: Some("vllm bench sweep"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let text = head.text();
        let columns: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
        let own = ["completed", "request_throughput", "total_token_throughput"];
        sure(!head.is_json() && own.iter().all(|column| columns.contains(column)))
    }),
    marks: &[],
    read: table,
};
pub(super) const FAILURE: Format = Format {
    id: "vllm-sweep-failure",
    title: "vllm bench sweep, failure",
    like: Like::Json(&[FAILURE_MARKS]),
    marks: FAILURE_MARKS,
    read: failure,
    ..TABLE
};
const FAILURE_MARKS: &[&str] = &["error_type", "error", "serve_overrides"];

fn table(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    records::read_csv(format, input, |cells, draft| {
        let mut swept = false;
        for (name, cell) in cells {
            let number: Option<f64> = cell.trim().parse().ok();
            if cell.is_empty() || name.is_empty() {
                // A cell of another run's column, or pandas' number of the row.
            } else if let Some(factor) = names::setting(&name) {
                draft.row.factors.set(factor, cell.strip_suffix(".0").unwrap_or(&cell));
            } else if name == "label" {
                draft.row.label = Some(cell);
            } else if name == "run_number" {
                swept = true;
                let repeat = number.filter(|number| *number >= 0.0).map(|number| number + 1.0);
                if let Some(repeat) = repeat {
                    draft.row.factors.set(key::REPEAT, repeat);
                }
            } else if let Some(figure) = number.and_then(|value| names::figure(&name, value)) {
                draft.row.figures.push(figure);
            } else if swept {
                draft.row.factors.set(name, cell);
            } else {
                draft.row.unknown.insert(name, Value::String(cell));
            }
        }
        Dialect::Vllm.define(&mut draft.row, draft.remarks);
    })
}

fn failure(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    records::read_small(format, input, |mut fields, draft| {
        let row = &mut draft.row;
        for overrides in ["serve_overrides", "bench_overrides"] {
            let Some(Value::Object(overrides)) = fields.remove(overrides) else { continue };
            for (name, value) in &overrides {
                if let Some(word) = json::word(Some(value)) {
                    row.factors.set(names::setting(name).unwrap_or(name), word);
                }
            }
        }
        let repeat = json::number(fields.remove("run_number").as_ref());
        row.factors.set(key::REPEAT, repeat.map_or(1.0, |number| number + 1.0));
        let word = |name: &str| json::word(fields.get(name)).unwrap_or_default();
        let text = format!("the run failed: {}: {}", word("error_type"), word("error"));
        row.text = Some(text.clone());
        row.unknown = fields;
        let place = row.place.clone();
        draft.remarks.push(Remark { kind: RemarkKind::Missing, place, text });
    })
}
