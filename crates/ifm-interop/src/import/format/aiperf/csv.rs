//! AIPerf's and genai-perf's CSV: a block of distributions, a block of single values, and, where a
//! GPU was watched, a block of its telemetry. Each begins with its own header.

use super::super::super::error::ImportError;
use super::super::super::statistic::{self, Measure};
use super::super::super::{Input, measure, separated};
use super::super::collect::Gathered;
use super::super::{Format, Like, collect, sure};
use super::words;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Figure, Part, PartKind, Place, Remark, Row, RowRole, Statistic, StdKind, Unit, key,
};
use serde_json::Value;
use std::io;

pub(in super::super) const FORMAT: Format = Format {
    id: "aiperf-csv",
    title: "AIPerf or genai-perf, CSV",
    tool: Some("aiperf"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let text = head.text();
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        sure(first.starts_with("Metric,avg") || first.starts_with("Metric,Value"))
    }),
    marks: &[],
    read,
};

fn read(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let (gone, Blocks { row, gpus, remarks, keyed }) = collect::counted(&mut input, blocks)?;
    let rows = Some(row).filter(|row| !row.figures.is_empty()).into_iter().collect();
    let all = Gathered { rows, remarks, ..Gathered::default() };
    let mut sheet = all.finish(format, gone, "no metric below its header")?;
    if !keyed.iter().any(|name| name == "std") {
        sheet.source.tool = Some("genai-perf".to_owned());
    }
    if let Some(first) = gpus.first() {
        let place = first.place.clone();
        sheet.parts.push(Part { rows: gpus, ..Part::new(PartKind::Other, place) });
    }
    Ok(sheet)
}

/// What the blocks hold.
struct Blocks {
    row: Row,
    gpus: Vec<Row>,
    remarks: Vec<Remark>,
    /// Names of the statistics of the first block.
    keyed: Vec<String>,
}

/// Lines of metrics of a file.
const LINES_MAX: usize = 20_000;

fn blocks(reader: &mut dyn io::BufRead) -> io::Result<Blocks> {
    let mut header: Vec<String> = Vec::new();
    let mut read = Blocks {
        row: Row::new(RowRole::Measured, Place::line(1)),
        gpus: Vec::new(),
        remarks: Vec::new(),
        keyed: Vec::new(),
    };
    let mut lines = 0;
    for record in separated::records(reader, b',') {
        let (line, cells) = record?;
        let cells = separated::trimmed(&cells);
        match cells.first().map(String::as_str) {
            Some("Metric" | "Endpoint") => {
                header = cells;
                if read.keyed.is_empty() {
                    read.keyed.clone_from(&header);
                }
            }
            _ if cells.len() != header.len() => {
                let reason = separated::misfit(cells.len(), header.len());
                collect::skip(&mut read.remarks, line, &reason);
            }
            _ if lines == LINES_MAX => {
                let reason = format!("the rest: more than {LINES_MAX} metrics");
                collect::skip(&mut read.remarks, line, &reason);
                break;
            }
            _ if header.first().is_some_and(|name| name == "Endpoint") => {
                read.gpus.push(gpu(&header, &cells, line));
                lines += 1;
            }
            _ => {
                metric(&header, &cells, line, &mut read.row);
                lines += 1;
            }
        }
    }
    Ok(read)
}

/// A line of a metric.
fn metric(header: &[String], cells: &[String], line: u32, row: &mut Row) {
    let Some((label, cells)) = cells.split_first() else { return };
    let (name, unit) = measure::name_and_unit(label);
    let whole = header.get(1).is_some_and(|name| name == "Value");
    let (quantity, single) = words::quantity(&words::tag(name), whole);
    let definition = words::definition(quantity);
    let unit = unit.unwrap_or(Unit::Count);
    let measure = Measure {
        quantity,
        unit,
        definition: &|_| definition.clone(),
        std: StdKind::Population,
        pointer: String::new(),
    };
    for (column, cell) in header.iter().skip(1).zip(cells) {
        let statistic = single.or_else(|| statistic::statistic(column, measure.std));
        if let (Some(statistic), Some((value, printed, _))) = (statistic, measure::printed(cell)) {
            let mut figure = measure.figure(statistic, value).as_printed(printed);
            figure.place =
                Some(Place { line: Some(line), pointer: Some(format!("{label} / {column}")) });
            row.figures.push(figure);
        } else if !cell.is_empty() {
            row.unknown.insert(format!("{label} / {column}"), Value::from(cell.as_str()));
        }
    }
}

/// A line of a GPU's telemetry.
fn gpu(header: &[String], cells: &[String], line: u32) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    let metric = header.iter().position(|name| name == "Metric").and_then(|at| cells.get(at));
    let (name, unit) = metric.map(|metric| measure::name_and_unit(metric)).unwrap_or_default();
    let quantity = match words::tag(name) {
        tag if tag.contains("power_usage") => Metric::Power,
        tag if tag.contains("energy") => Metric::Energy,
        tag if tag.contains("memory_used") => Metric::Memory,
        tag => Metric::other(tag),
    };
    row.label = metric.cloned();
    for (column, cell) in header.iter().zip(cells) {
        let number = statistic::statistic(column, StdKind::Population).zip(measure::printed(cell));
        match (number, column.as_str()) {
            (Some((statistic, (value, printed, _))), _) => {
                let unit = match statistic {
                    Statistic::Count => Unit::Count,
                    _ => unit.clone().unwrap_or(Unit::Other(String::new())),
                };
                let mut figure = Figure::new(quantity, statistic, value, unit).as_printed(printed);
                figure.place = Some(Place { line: Some(line), pointer: Some(column.clone()) });
                row.figures.push(figure);
            }
            (None, "GPU_Name" | "GPU Name") => row.factors.set(key::GPU, cell),
            (None, "Metric") => {}
            (None, name) if !cell.is_empty() => row.factors.set(name, cell),
            (None, _) => {}
        }
    }
    row
}
