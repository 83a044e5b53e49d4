//! The frame that `vllm bench serve` prints, and that SGLang and TensorRT-LLM took over.

use super::super::Recognised;
use super::super::text::{Line, Text};
use super::{Block, Found};
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Quantity, Row, RowRole, Statistic, StdKind,
    Unit, key,
};
use serde_json::{Map, Value};

pub(super) struct Serving;

/// Lines that a frame has at most: one that never ends is none.
const LINES_MAX: usize = 200;

impl Block for Serving {
    fn about(&self) -> Recognised {
        Recognised { id: "serving-block", title: "vllm bench serve or SGLang, printed result" }
    }

    fn read(&self, first: Line<'_>, text: &Text) -> Option<Found> {
        if !is_frame(first.text) || !first.text.contains("Serving Benchmark Result") {
            return None;
        }
        let mut row = Row::new(RowRole::Measured, Place::line(first.number));
        let mut last_line = first.number;
        for line in text.from(first.number + 1).take(LINES_MAX) {
            last_line = line.number;
            if is_frame(line.text) {
                break;
            }
            let Some((label, printed)) = line.text.split_once(':') else { continue };
            take(label.trim(), printed.trim(), line.number, &mut row);
        }
        let part = Part {
            kind: PartKind::Serving,
            tool: Some("vllm bench serve".to_owned()),
            headings: Vec::new(),
            place: Place::line(first.number),
            factors: Factors::default(),
            rows: vec![row],
            unknown: Map::new(),
        };
        Some(Found { parts: vec![part], last_line, remarks: Vec::new() })
    }
}

fn is_frame(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("=====") && line.ends_with("=====")
}

fn take(label: &str, printed: &str, line: u32, row: &mut Row) {
    let setting = match label {
        "Maximum request concurrency" | "Max request concurrency" => Some(key::CONCURRENCY),
        "Request rate configured (RPS)" | "Traffic request rate" => Some(key::RATE),
        "Backend" => Some(key::ENGINE),
        _ => None,
    };
    if let Some(factor) = setting {
        // A whole number is printed as one, whatever stands behind the point.
        row.factors.set(factor, printed.strip_suffix(".00").unwrap_or(printed));
        return;
    }
    let value = printed.replace(',', "").parse::<f64>().ok();
    match (figure(label), value) {
        (Some((quantity, statistic, unit)), Some(value)) => {
            let mut figure = Figure::new(quantity, statistic, value, unit)
                .as_printed(printed)
                .defined(Definition::Same);
            figure.place = Some(Place::line(line));
            row.figures.push(figure);
        }
        _ => {
            row.unknown.insert(label.to_owned(), Value::String(printed.to_owned()));
        }
    }
}

fn figure(label: &str) -> Option<(Quantity, Statistic, Unit)> {
    use Quantity::{
        AcceptLength, Duration, Goodput, InFlight, InputRate, InputTokens, OutputRate,
        OutputTokens, PeakInFlight, PeakOutputRate, RequestRate, RequestsFailed, RequestsOk,
        TotalRate,
    };
    let (quantity, unit) = match label.to_ascii_lowercase().as_str() {
        "successful requests" => (RequestsOk, Unit::Count),
        "failed requests" => (RequestsFailed, Unit::Count),
        "benchmark duration (s)" => (Duration, Unit::S),
        "total input tokens" => (InputTokens, Unit::Count),
        "total generated tokens" => (OutputTokens, Unit::Count),
        "request throughput (req/s)" => (RequestRate, Unit::PerS),
        "request goodput (req/s)" => (Goodput, Unit::PerS),
        "input token throughput (tok/s)" => (InputRate, Unit::PerS),
        "output token throughput (tok/s)" => (OutputRate, Unit::PerS),
        "total token throughput (tok/s)" => (TotalRate, Unit::PerS),
        "peak output token throughput (tok/s)" => (PeakOutputRate, Unit::PerS),
        "peak concurrent requests" => (PeakInFlight, Unit::Count),
        "concurrency" => (InFlight, Unit::Count),
        "accept length" => (AcceptLength, Unit::Count),
        _ => return latency(label),
    };
    Some((quantity, Statistic::Value, unit))
}

/// `P99 TTFT (ms)`.
fn latency(label: &str) -> Option<(Quantity, Statistic, Unit)> {
    let (statistic, metric) = label.strip_suffix(" (ms)")?.split_once(' ')?;
    let statistic = match statistic {
        "Mean" => Statistic::Mean,
        "Median" => Statistic::Median,
        "Std" => Statistic::Std(StdKind::Population),
        "Max" => Statistic::Max,
        percentile => Statistic::percentile(percentile.strip_prefix('P')?.parse().ok()?),
    };
    let quantity = match metric {
        "TTFT" => Quantity::Ttft,
        "TPOT" => Quantity::Tpot,
        "ITL" => Quantity::Itl,
        "E2EL" | "E2E Latency" => Quantity::E2e,
        _ => return None,
    };
    Some((quantity, statistic, Unit::Ms))
}
