//! The tables that llama.cpp's benchmarks print.

use super::super::Recognised;
use super::super::grid::{grid, stray};
use super::super::html::begins_table;
use super::super::llama::{batched, bench};
use super::super::separated::misfit;
use super::super::text::{Line, Text};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{
    Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Statistic, Unit, key,
};
use serde_json::{Map, Value};

pub(super) struct LlamaBench;
pub(super) struct LlamaBatched;

/// Number of lines after a table that are searched for the build.
const LINES_BEHIND: usize = 4;

impl Block for LlamaBench {
    fn about(&self) -> Recognised {
        Recognised { id: "llama-bench-table", title: "llama-bench, printed table" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if !first.text.contains("t/s") && !begins_table(first.text) {
            return None;
        }
        let table = grid(first, text)?;
        let column = |name: &str| table.head.iter().any(|head| head == name);
        if !(column("model") && column("test") && column("t/s")) {
            return None;
        }
        let mut remarks: Vec<Remark> = table.strays.iter().copied().map(stray).collect();
        let rows = table.rows.iter().filter_map(|(line, cells)| {
            let row = row(&table.head, cells, *line);
            if let Err(reason) = &row {
                remarks.push(skipped(*line, reason));
            }
            row.ok()
        });
        let rows = rows.collect();
        let (build, last_line) = build_behind(table.last_line, text);
        let mut part = part(first, PartKind::Engine, bench::TOOL, rows);
        if let Some(build) = build {
            part.unknown.insert("build".to_owned(), Value::String(build));
        }
        Some(Found { parts: vec![part], last_line, remarks })
    }
}

impl Block for LlamaBatched {
    fn about(&self) -> Recognised {
        Recognised { id: "llama-batched-bench-table", title: "llama-batched-bench, printed table" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if !(first.text.contains("S_PP t/s") && first.text.contains("S_TG t/s")) {
            return None;
        }
        let table = grid(first, text)?;
        let field = |column: &String| {
            let known = batched::COLUMNS.iter().find(|(name, _)| name == column);
            known.map_or(column.clone(), |(_, field)| (*field).to_owned())
        };
        let mut remarks: Vec<Remark> = table.strays.iter().copied().map(stray).collect();
        let mut rows = Vec::new();
        for (line, cells) in &table.rows {
            if cells.len() != table.head.len() {
                remarks.push(skipped(*line, &misfit(cells.len(), table.head.len())));
                continue;
            }
            let named = table.head.iter().map(field).zip(cells);
            let fields = named.map(|(name, cell)| (name, Value::String(cell.clone()))).collect();
            let mut row = Row::new(RowRole::Measured, Place::line(*line));
            batched::fill(&mut row, fields);
            rows.push(row);
        }
        let part = part(first, PartKind::StaticBatch, batched::TOOL, rows);
        Some(Found { parts: vec![part], last_line: table.last_line, remarks })
    }
}

fn part(first: Line<'_>, kind: PartKind, tool: &str, rows: Vec<Row>) -> Part {
    Part {
        kind,
        tool: Some(tool.to_owned()),
        headings: Vec::new(),
        place: Place::line(first.number),
        factors: Factors::default(),
        rows,
        unknown: Map::new(),
    }
}

fn skipped(line: u32, reason: &str) -> Remark {
    Remark { kind: RemarkKind::Skipped, place: Place::line(line), text: reason.to_owned() }
}

fn row(head: &[String], cells: &[String], line: u32) -> Result<Row, String> {
    if cells.len() != head.len() {
        return Err(misfit(cells.len(), head.len()));
    }
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    row.factors.set(key::ENGINE, bench::ENGINE);
    let mut test = None;
    for (column, cell) in head.iter().zip(cells) {
        match column.as_str() {
            "test" => {
                let name = bench::Test::parse(cell).ok_or_else(|| format!("test `{cell}`"))?;
                name.set(&mut row);
                test = Some(name);
            }
            "t/s" => {}
            "size" => row.figures.extend(size(cell)),
            "params" => row.figures.extend(parameters(cell)),
            // The columns between are settings that were varied, including settings of forks.
            _ if !cell.is_empty() => row.factors.set(bench::factor_of_column(column), cell),
            _ => {}
        }
    }
    let rate = head.iter().zip(cells).find(|(column, _)| *column == "t/s");
    let (Some(test), Some((_, rate))) = (test, rate) else { return Err("no test".to_owned()) };
    let (mean, deviation) = match rate.split_once('±').or_else(|| rate.split_once("+/-")) {
        Some((mean, deviation)) => (mean.trim(), Some(deviation.trim())),
        None => (rate.as_str(), None),
    };
    let number = |printed: &str| printed.parse::<f64>().map_err(|_| format!("`{rate}` t/s"));
    let figure = test.rate_figure(Statistic::Mean, number(mean)?);
    row.figures.push(figure.as_printed(mean));
    if let Some(deviation) = deviation {
        let figure = test.rate_figure(bench::DEVIATION, number(deviation)?);
        row.figures.push(figure.as_printed(deviation));
    }
    Ok(row)
}

/// `3.56 GiB`.
fn size(cell: &str) -> Option<Figure> {
    let (number, unit) = cell.split_once(' ')?;
    let unit = match unit {
        "GiB" => Unit::GiB,
        "MiB" => Unit::MiB,
        other => Unit::Other(other.to_owned()),
    };
    Some(bench::model_size(number.parse().ok()?, unit).as_printed(number))
}

/// `6.74 B`.
fn parameters(cell: &str) -> Option<Figure> {
    let (number, unit) = cell.split_once(' ')?;
    let unit = match unit {
        "B" => Unit::Billion,
        "M" => Unit::Million,
        other => Unit::Other(other.to_owned()),
    };
    let value = number.parse().ok()?;
    Some(Figure::new(Metric::Parameters, Statistic::Value, value, unit).as_printed(number))
}

/// `build: 8cf427ff (5163)` behind a table, and the last line that belongs to it.
fn build_behind(table: u32, text: &Text) -> (Option<String>, u32) {
    for line in text.from(table + 1).take(LINES_BEHIND) {
        match line.text.trim().strip_prefix("build:") {
            Some(build) => return (Some(build.trim().to_owned()), line.number),
            None if line.text.trim().is_empty() => {}
            None => break,
        }
    }
    (None, table)
}

#[cfg(test)]
mod tests {
    use crate::{Input, read};
    use ifm_core::sheet::RemarkKind;

    #[test]
    fn a_stray_line_anywhere_costs_no_row() {
        let real = include_str!("../../../tests/data/llama-bench-0c1e570/sweep.md");
        let lines: Vec<&str> = real.lines().collect();
        let read = |text: &str| read(Input::new("x", text.as_bytes())).expect("a table");
        let rows = read(real).parts[0].rows.len();
        let last = lines.iter().rposition(|line| line.starts_with('|')).expect("a row");
        for at in 2..=last {
            for stray in ["load: a warning", "| red 7B | 3.5", "x | y"] {
                let mut damaged = lines.clone();
                damaged.insert(at, stray);
                let sheet = read(&damaged.join("\n"));
                assert_eq!(sheet.parts[0].rows.len(), rows, "{stray} on line {}", at + 1);
                let told = sheet.remarks.iter().map(|remark| remark.place.line);
                assert_eq!(told.collect::<Vec<_>>(), [u32::try_from(at + 1).ok()], "{stray}");
            }
        }
    }

    #[test]
    fn a_stray_line_costs_no_row() {
        let row = "| red 7B | 3.56 GiB | 6.74 B | CPU | pp512 | 10.00 ± 0.10 |\n";
        let head = "| model | size | params | backend | test | t/s |\n|-|-:|-:|-|-:|-:|\n";
        let damaged = "| red 7B | 3.56 GiB | 6.74 B | CPU | pp512 | 1o.00 ± 0.10 |\n";
        let text = format!("{head}{row}ggml: a warning\n{row}{damaged}{row}\nbuild: 1 (2)\n");
        let sheet = read(Input::new("x", text.as_bytes())).expect("a table");
        assert_eq!(sheet.parts[0].rows.len(), 3);
        let told: Vec<_> = sheet.remarks.iter().map(|r| (r.kind, r.place.line)).collect();
        assert_eq!(told, [(RemarkKind::Skipped, Some(4)), (RemarkKind::Skipped, Some(6))]);
        assert_eq!(sheet.parts[0].unknown["build"], "1 (2)");
    }
}
