//! genai-bench: one JSON for each scenario and level, with all its requests.
//!
//! Its `error_rate` is 0 whatever happened: it is divided before it is counted. Times are in the
//! unit that the file names, but for the duration of the run, which is in seconds always.

use super::super::error::ImportError;
use super::super::json::{Number, Word};
use super::super::statistic::{Measure, different};
use super::super::{Head, Input, Likeness, Recognised, json, words};
use super::{Format, collect};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Place, Quantity, Remark, RemarkKind, Row, RowRole, SheetRequest,
    Statistic, StdKind, Unit, key,
};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) struct GenaiBench;

const ABOUT: Recognised = Recognised { id: "genai-bench", title: "genai-bench, JSON" };
const MARKS: &[&str] = &["aggregated_metrics", "individual_request_metrics", "_time_unit"];
const PATHS: &[&str] = &["/individual_request_metrics/*"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    ttft: Number,
    e2e_latency: Number,
    num_input_tokens: Number,
    num_output_tokens: Number,
    error_code: Word,
    error_message: Word,
}

impl Format for GenaiBench {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        match head.is_json() && head.has_keys(&["aggregated_metrics"]) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, mut input: Input<'_>) -> Result<Sheet, ImportError> {
        let (mut wires, mut object, mut remarks) = (Vec::new(), None, Vec::new());
        let gone = collect::pieces(&mut input, PATHS, &mut |piece| match piece.cut {
            Some(_) => match piece.value::<Wire>() {
                Ok(wire) => wires.push(wire),
                Err((line, reason)) => collect::skip(&mut remarks, line, &reason),
            },
            None => match piece.value::<Map<String, Value>>() {
                Ok(value) => object = object.take().or(Some(value)),
                Err((line, reason)) => collect::skip(&mut remarks, line, &reason),
            },
        })?;
        let Some(Value::Object(metrics)) =
            object.as_mut().and_then(|object| object.remove("aggregated_metrics"))
        else {
            return Err(gone.broken(ABOUT.title, "no aggregated_metrics in it", remarks));
        };
        let object = object.unwrap_or_default();
        let (unit, to_ms) = match object.get("_time_unit").and_then(Value::as_str) {
            Some("ms") => (Unit::Ms, 1.0),
            _ => (Unit::S, 1e3),
        };
        let mut row = row(metrics, &unit, &mut remarks);
        row.requests = wires.into_iter().map(|wire| request(wire, to_ms)).collect();
        row.unknown.extend(object);
        let mut sheet = collect::sheet(ABOUT, &gone, PartKind::Serving, vec![row]);
        sheet.source.tool = Some("genai-bench".to_owned());
        sheet.remarks.extend(remarks);
        Ok(sheet)
    }
}

fn row(mut metrics: Map<String, Value>, unit: &Unit, remarks: &mut Vec<Remark>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer("/aggregated_metrics"));
    settings(&mut metrics, &mut row);
    for (name, quantity, unit) in [
        ("run_duration", Quantity::Duration, Unit::S),
        ("mean_output_throughput_tokens_per_s", Quantity::OutputRate, Unit::PerS),
        ("mean_input_throughput_tokens_per_s", Quantity::InputRate, Unit::PerS),
        ("mean_total_tokens_throughput_tokens_per_s", Quantity::TotalRate, Unit::PerS),
        ("requests_per_second", Quantity::RequestRate, Unit::PerS),
        ("requests_per_minute", Quantity::RequestRate, Unit::PerMin),
        ("num_completed_requests", Quantity::RequestsOk, Unit::Count),
        ("num_error_requests", Quantity::RequestsFailed, Unit::Count),
        ("num_requests", Quantity::Requests, Unit::Count),
        ("error_rate", Quantity::ErrorRate, Unit::One),
    ] {
        let Some(value) = json::number(metrics.get(name)) else { continue };
        metrics.remove(name);
        let mut figure =
            Figure::new(quantity, Statistic::Value, value, unit).defined(Definition::Same);
        figure.place = Some(Place::pointer(format!("/aggregated_metrics/{name}")));
        row.figures.push(figure);
    }
    let failed = row.value(&Quantity::RequestsFailed, Statistic::Value).unwrap_or(0.0);
    let rate = row.figures.iter_mut().find(|figure| figure.quantity == Quantity::ErrorRate);
    if let Some(rate) = rate.filter(|rate| failed > 0.0 && rate.value == Some(0.0)) {
        rate.value = None;
        rate.printed = Some("0".to_owned());
        remarks.push(Remark {
            kind: RemarkKind::Missing,
            place: Place::pointer("/aggregated_metrics/error_rate"),
            text: format!("0 although {failed} requests failed: the tool always writes 0"),
        });
    }
    if let Some(Value::Object(stats)) = metrics.get_mut("stats") {
        distributions(stats, unit, &mut row);
        stats.retain(|_, stat| !stat.as_object().is_some_and(Map::is_empty));
    }
    row.unknown = metrics;
    row
}

fn distributions(stats: &mut Map<String, Value>, time: &Unit, row: &mut Row) {
    let names: Vec<String> = stats.keys().cloned().collect();
    for name in names {
        let Some(Value::Object(stat)) = stats.get_mut(&name) else { continue };
        let (quantity, unit, definition) = match name.as_str() {
            "ttft" => (Quantity::Ttft, time.clone(), different(words::CONNECTS_ALWAYS)),
            "tpot" => (Quantity::Tpot, time.clone(), different(words::TPOT_TO_THE_END)),
            "e2e_latency" => (Quantity::E2e, time.clone(), different(words::CONNECTS_TO_THE_END)),
            "output_inference_speed" => (
                Quantity::UserRate,
                Unit::PerS,
                Definition::Derivable("1000 / its time per output token".to_owned()),
            ),
            "num_input_tokens" => (Quantity::InputTokens, Unit::Count, Definition::Same),
            "num_output_tokens" => (Quantity::OutputTokens, Unit::Count, Definition::Same),
            "num_reasoning_tokens" => (Quantity::ReasoningTokens, Unit::Count, Definition::Same),
            "total_tokens" => (Quantity::TotalTokens, Unit::Count, Definition::Same),
            "output_latency" => (other(&name), time.clone(), Definition::Unstated),
            "input_throughput" | "output_throughput" => {
                (other(&name), Unit::PerS, Definition::Unstated)
            }
            _ => continue,
        };
        let definition = &|_| definition.clone();
        let pointer = format!("/aggregated_metrics/stats/{name}");
        Measure { quantity, unit, definition, std: StdKind::Population, pointer }
            .take(stat, &mut row.figures);
    }
}

fn other(name: &str) -> Quantity {
    Quantity::Other(format!("{name} of a request"))
}

fn settings(metrics: &mut Map<String, Value>, row: &mut Row) {
    let batch = metrics.get("iteration_type").and_then(Value::as_str) == Some("batch_size");
    for (name, factor) in [
        ("num_concurrency", key::CONCURRENCY),
        ("batch_size", if batch { key::BATCH_SIZE } else { "batch_size_of_a_request" }),
        ("scenario", key::WORKLOAD),
    ] {
        if let Some(word) = json::word(metrics.remove(name).as_ref()) {
            row.factors.set(factor, word);
        }
    }
    // `D(32,16)`: always these numbers of tokens.
    let lengths = row.factors.get(key::WORKLOAD).and_then(|scenario| {
        let (input, output) = scenario.strip_prefix("D(")?.strip_suffix(')')?.split_once(',')?;
        Some((input.trim().to_owned(), output.trim().to_owned()))
    });
    if let Some((input, output)) = lengths {
        row.factors.set(key::INPUT_TOKENS, input);
        row.factors.set(key::OUTPUT_TOKENS, output);
    }
}

fn request(wire: Wire, to_ms: f64) -> SheetRequest {
    let message = wire.error_message.0.filter(|message| !message.is_empty());
    let error = match (wire.error_code.0, message) {
        (Some(code), Some(message)) => Some(format!("{code} {message}")),
        (code, message) => code.or(message),
    };
    let ok = |number: Number| number.0.filter(|_| error.is_none());
    SheetRequest {
        ttft_ms: ok(wire.ttft).map(|time| time * to_ms),
        e2e_ms: ok(wire.e2e_latency).map(|time| time * to_ms),
        input_tokens: wire.num_input_tokens.count(),
        output_tokens: wire.num_output_tokens.count().filter(|_| error.is_none()),
        error,
        ..SheetRequest::default()
    }
}
