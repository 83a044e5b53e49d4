//! The report of SGLang's `bench_one_batch_server`: a table with a row for each batch, also as its
//! nightly tests print it. A batch size that comes again is a repeat.

use super::super::grid::{grid, stray};
use super::super::separated::misfit;
use super::super::text::{Line, Text};
use super::super::{Recognised, static_batch};
use super::{Block, Found};
use ifm_core::sheet::{Factors, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole};
use serde_json::{Map, Value};

pub(super) struct SglangBatch;

/// Columns that every variant has.
const COLUMNS: &[&str] =
    &["batch size", "latency (s)", "input throughput (tok/s)", "output throughput (tok/s)"];

impl Block for SglangBatch {
    fn about(&self) -> Recognised {
        Recognised { id: "sglang-batch-table", title: "SGLang bench_one_batch_server, report" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if !first.text.contains(COLUMNS[0]) {
            return None;
        }
        let table = grid(first, text)?;
        if !COLUMNS.iter().all(|column| table.head.iter().any(|name| name == column)) {
            return None;
        }
        let mut remarks: Vec<Remark> = table.strays.iter().copied().map(stray).collect();
        let mut rows = Vec::new();
        for (line, cells) in &table.rows {
            if cells.len() == table.head.len() {
                rows.push(row(&table.head, cells, *line));
                continue;
            }
            remarks.push(Remark {
                kind: RemarkKind::Skipped,
                place: Place::line(*line),
                text: misfit(cells.len(), table.head.len()),
            });
        }
        let part = Part {
            kind: PartKind::StaticBatch,
            tool: Some("sglang.bench_one_batch_server".to_owned()),
            headings: Vec::new(),
            place: Place::line(first.number),
            factors: Factors::default(),
            rows,
            unknown: Map::new(),
        };
        Some(Found { parts: vec![part], last_line: table.last_line, remarks })
    }
}

fn row(head: &[String], cells: &[String], line: u32) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    for (name, cell) in head.iter().zip(cells) {
        if let Some(factor) = static_batch::setting(name) {
            row.factors.set(factor, cell);
            continue;
        }
        let number = cell.parse().ok();
        match number.and_then(|number| static_batch::figure(name, number)) {
            Some(figure) => row.figures.push(figure.as_printed(cell)),
            None if cell.is_empty() || cell == "n/a" => {}
            None => {
                row.unknown.insert(name.clone(), Value::String(cell.clone()));
            }
        }
    }
    row
}
