//! GuideLLM's CSV: three header rows (group, metric with unit, statistic), then a row for each
//! benchmark. A cell of percentiles is a list in a fixed order.

use super::super::super::error::ImportError;
use super::super::super::statistic::{Measure, statistic};
use super::super::super::{Input, json, separated};
use super::super::collect::Gathered;
use super::super::{Format, Like, collect, sure};
use super::{benchmark, words};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Place, Remark, Row, RowRole, Statistic, StdKind, key,
};
use serde_json::{Map, Value};
use std::io;

pub(in super::super) const FORMAT: Format = Format {
    id: "guidellm-csv",
    title: "GuideLLM, CSV",
    tool: Some("guidellm"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let text = head.text();
        let mut lines = text.lines();
        let (first, second) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        let groups = first.contains("Run Info,") && first.contains("Benchmark,");
        sure(groups && second.contains("Strategy"))
    }),
    marks: &[],
    read,
};

/// Rows of names above the benchmarks.
const HEADER_ROWS: usize = 3;
/// The statistics in a cell of percentiles: minimum and maximum around them, and no median.
const PERCENTILES: [Statistic; 11] = [
    Statistic::Min,
    Statistic::Percentile(0.1),
    Statistic::Percentile(1.0),
    Statistic::Percentile(5.0),
    Statistic::Percentile(10.0),
    Statistic::Percentile(25.0),
    Statistic::Percentile(75.0),
    Statistic::Percentile(90.0),
    Statistic::Percentile(95.0),
    Statistic::Percentile(99.0),
    Statistic::Max,
];

fn read(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let (gone, all) = collect::counted(&mut input, rows)?;
    let mut sheet = all.finish(format, gone, "no benchmark below its three header rows")?;
    sheet.source.tool_version = sheet.parts.first().and_then(|part| {
        let metadata = part.rows.first()?.unknown.get("Runtime Info / Metadata")?;
        json::word(metadata.get("guidellm_version"))
    });
    Ok(sheet)
}

/// The three names of a column.
struct Column {
    group: String,
    metric: String,
    statistic: String,
}

impl Column {
    fn name(&self) -> String {
        let parts = [&self.group, &self.metric, &self.statistic];
        let parts: Vec<&str> =
            parts.iter().map(|part| part.as_str()).filter(|part| !part.is_empty()).collect();
        parts.join(" / ")
    }
}

fn rows(reader: &mut dyn io::BufRead) -> io::Result<Gathered> {
    let mut records = separated::records(reader, b',');
    let mut header = Vec::with_capacity(HEADER_ROWS);
    for record in records.by_ref().take(HEADER_ROWS) {
        header.push(separated::trimmed(&record?.1));
    }
    let name = |row: usize, at: usize| {
        header.get(row).and_then(|names| names.get(at)).cloned().unwrap_or_default()
    };
    let columns: Vec<Column> = (0..header.first().map_or(0, Vec::len))
        .map(|at| Column { group: name(0, at), metric: name(1, at), statistic: name(2, at) })
        .collect();
    let mut all = Gathered::default();
    for record in records {
        let (line, cells) = record?;
        match cells.len() == columns.len() {
            true => {
                let row = row(&columns, &separated::trimmed(&cells), line, &mut all.remarks);
                all.push(row);
            }
            false => {
                let reason = separated::misfit(cells.len(), columns.len());
                collect::skip(&mut all.remarks, line, &reason);
            }
        }
    }
    Ok(all)
}

fn row(columns: &[Column], cells: &[String], line: u32, remarks: &mut Vec<Remark>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    for (column, cell) in columns.iter().zip(cells) {
        let place = Place { line: Some(line), pointer: Some(column.name()) };
        if let Some(figures) = figures(column, cell) {
            row.figures.extend(figures.into_iter().map(|mut figure| {
                figure.place = Some(place.clone());
                figure
            }));
        } else if !cell.is_empty() {
            let value = match cell.starts_with(['{', '[']) {
                true => {
                    json::lenient(cell.as_bytes()).unwrap_or_else(|_| Value::from(cell.as_str()))
                }
                false => Value::from(cell.as_str()),
            };
            row.unknown.insert(column.name(), value);
        }
    }
    remarks.extend(words::without_zeros(&mut row));
    settings(&mut row);
    row
}

/// The figures of a cell, if its column is known.
fn figures(column: &Column, cell: &str) -> Option<Vec<Figure>> {
    let (quantity, unit) = words::column(&column.group, &column.metric)?;
    let defined = quantity;
    let definition = |statistic| match defined {
        Metric::Duration => {
            Definition::Different("the measured window, without warm-up and cool-down".to_owned())
        }
        _ => words::definition(defined, statistic),
    };
    let (std, pointer) = (StdKind::Population, String::new());
    let measure = Measure { quantity, unit, definition: &definition, std, pointer };
    if column.statistic == "Percentiles" {
        let values: Vec<json::Number> = json::lenient(cell.as_bytes()).ok()?;
        let pairs = PERCENTILES.iter().zip(values);
        return Some(
            pairs
                .filter_map(|(statistic, value)| Some(measure.figure(*statistic, value.0?)))
                .collect(),
        );
    }
    let statistic = match column.statistic.as_str() {
        "" | "Sec" => Statistic::Value,
        name => statistic(name, std)?,
    };
    Some(vec![measure.figure(statistic, cell.parse().ok()?)])
}

/// What was set, from the columns that hold it.
fn settings(row: &mut Row) {
    if let Some(strategy) = json::word(row.unknown.remove("Benchmark / Strategy").as_ref()) {
        words::strategy(&strategy, &mut row.factors);
    }
    let model = row.unknown.get("Run Info / Backend").and_then(|backend| backend.get("model"));
    if let Some(model) = json::word(model) {
        row.factors.set(key::MODEL, model);
    }
    let count = row.unknown.get("Benchmark / Constraints").and_then(|constraints| {
        constraints.pointer("/max_requests/args/count").or(constraints.pointer("/max_number"))
    });
    if let Some(count) = json::word(count) {
        row.factors.set(key::REQUESTS, count);
    }
    if let Some(arguments) = row.unknown.get("Runtime Info / Arguments").cloned() {
        let rest = Map::from_iter([("config".to_owned(), arguments)]);
        benchmark::spread_settings(&rest, std::slice::from_mut(row));
    }
}
