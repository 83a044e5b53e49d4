//! inference-benchmarker's table on the console: a benchmark to a line, the unit in each cell.

use super::super::Recognised;
use super::super::format::guidellm::words as strategies;
use super::super::format::inference_benchmarker::definition;
use super::super::grid::{grid, stray};
use super::super::measure;
use super::super::text::{Line, Text};
use super::{Block, Found};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, Figure, Part, PartKind, Place, Row, RowRole, Statistic, Unit};
use serde_json::{Map, Value};

pub(super) struct InferenceBenchmarker;

impl Block for InferenceBenchmarker {
    fn about(&self) -> Recognised {
        Recognised {
            id: "inference-benchmarker-table",
            title: "inference-benchmarker, printed table",
        }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if !first.text.contains(['┌', '│']) {
            return None;
        }
        let table = grid(first, text)?.with_whole_labels();
        let has = |name: &str| table.head.iter().any(|head| head == name);
        if !(has("Benchmark") && has("QPS")) || table.rows.is_empty() {
            return None;
        }
        let rows = table.rows.iter().map(|(line, cells)| row(&table.head, cells, *line));
        let part = Part {
            kind: PartKind::Serving,
            tool: Some("inference-benchmarker".to_owned()),
            headings: Vec::new(),
            place: Place::line(table.head_line),
            factors: Factors::default(),
            rows: rows.collect(),
            unknown: Map::new(),
        };
        let remarks = table.strays.iter().copied().map(stray).collect();
        Some(Found { parts: vec![part], last_line: table.last_line, remarks })
    }
}

fn row(headings: &[String], cells: &[String], line: u32) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    for (heading, cell) in headings.iter().zip(cells) {
        let place = Place { line: Some(line), pointer: Some(heading.clone()) };
        let mut push = |quantity, statistic, value, unit, printed: &str| {
            let definition = definition(quantity);
            let mut figure = Figure::new(quantity, statistic, value, unit)
                .as_printed(printed)
                .defined(definition);
            figure.place = Some(place.clone());
            row.figures.push(figure);
        };
        if heading == "Benchmark" {
            strategies::strategy(cell.trim_end_matches("req/s"), &mut row.factors);
            row.label = Some(cell.clone());
        } else if let Some((ok, all)) = cell.split_once('/').and_then(counts) {
            push(Metric::RequestsOk, Statistic::Value, ok.0, Unit::Count, ok.1);
            push(Metric::Requests, Statistic::Value, all.0, Unit::Count, all.1);
        } else if let (Some((quantity, statistic, unit)), Some((value, printed, own))) =
            (figure_of(heading), measure::printed(cell))
        {
            push(quantity, statistic, value, own.unwrap_or(unit), &printed);
        } else {
            row.unknown.insert(heading.clone(), Value::from(cell.as_str()));
        }
    }
    row
}

type Printed<'a> = (f64, &'a str);

/// `61/61`.
fn counts<'a>((ok, all): (&'a str, &'a str)) -> Option<(Printed<'a>, Printed<'a>)> {
    Some(((ok.trim().parse().ok()?, ok.trim()), (all.trim().parse().ok()?, all.trim())))
}

fn figure_of(heading: &str) -> Option<(Metric, Statistic, Unit)> {
    Some(match heading {
        "QPS" => (Metric::RequestRate, Statistic::Value, Unit::PerS),
        "E2E Latency (avg)" => (Metric::E2e, Statistic::Mean, Unit::S),
        "TTFT (avg)" => (Metric::Ttft, Statistic::Mean, Unit::Ms),
        "ITL (avg)" => (Metric::Itl, Statistic::Mean, Unit::Ms),
        "Throughput" => (Metric::OutputRate, Statistic::Value, Unit::PerS),
        "Error Rate" => (Metric::ErrorRate, Statistic::Value, Unit::Percent),
        "Prompt tokens per req (avg)" => (Metric::InputTokens, Statistic::Mean, Unit::Count),
        "Decoded tokens per req (avg)" => (Metric::OutputTokens, Statistic::Mean, Unit::Count),
        _ => return None,
    })
}
