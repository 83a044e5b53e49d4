//! genai-bench: one JSON for each scenario and level, with all its requests.
//!
//! Its `error_rate` is 0 whatever happened: it is divided before it is counted. Times are in the
//! unit that the file names, but for the duration of the run, which is in seconds always.

use super::super::error::ImportError;
use super::super::json::{Number, Word};
use super::super::{Input, labels, words};
use super::collect::Gathered;
use super::field::{self, Field, Means};
use super::{Format, Like, collect};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    PartKind, Place, Remark, RemarkKind, Row, RowRole, SheetRequest, Statistic, StdKind, Unit, key,
    meaning,
};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "genai-bench",
    title: "genai-bench, JSON",
    tool: Some("genai-bench"),
    kind: PartKind::Serving,
    like: Like::Json(&[&["aggregated_metrics"]]),
    marks: &["aggregated_metrics", "individual_request_metrics", "_time_unit"],
    read,
};

const METRICS: &str = "/aggregated_metrics";
const WHOLE: &[Field] = &[
    ("/run_duration", Metric::Duration, Unit::S, Means::Same),
    ("/mean_output_throughput_tokens_per_s", Metric::OutputRate, Unit::PerS, Means::Same),
    ("/mean_input_throughput_tokens_per_s", Metric::InputRate, Unit::PerS, Means::Same),
    ("/mean_total_tokens_throughput_tokens_per_s", Metric::TotalRate, Unit::PerS, Means::Same),
    ("/requests_per_second", Metric::RequestRate, Unit::PerS, Means::Same),
    ("/requests_per_minute", Metric::RequestRate, Unit::PerMin, Means::Same),
    ("/num_completed_requests", Metric::RequestsOk, Unit::Count, Means::Same),
    ("/num_error_requests", Metric::RequestsFailed, Unit::Count, Means::Same),
    ("/num_requests", Metric::Requests, Unit::Count, Means::Same),
    ("/error_rate", Metric::ErrorRate, Unit::One, Means::Same),
];

/// Distributions over requests; those without a name of ours could be taken for rates of the run.
fn distributions(time: &Unit) -> [Field; 11] {
    use Means::{Derivable, Different, Same, Unstated};
    let other = |name: &str| Metric::other(name);
    let time = || time.clone();
    [
        ("/stats/e2e_latency", Metric::E2e, time(), Different(words::CONNECTS_TO_THE_END)),
        ("/stats/input_throughput", other(meaning::INPUT_OF_A_REQUEST), Unit::PerS, Unstated),
        ("/stats/num_input_tokens", Metric::InputTokens, Unit::Count, Same),
        ("/stats/num_output_tokens", Metric::OutputTokens, Unit::Count, Same),
        ("/stats/num_reasoning_tokens", Metric::ReasoningTokens, Unit::Count, Same),
        (
            "/stats/output_inference_speed",
            Metric::UserSpeed,
            Unit::PerS,
            Derivable("1000 / its time per output token"),
        ),
        ("/stats/output_latency", other(meaning::OUTPUT_LATENCY), time(), Unstated),
        ("/stats/output_throughput", other(meaning::OUTPUT_OF_A_REQUEST), Unit::PerS, Unstated),
        ("/stats/total_tokens", Metric::TotalTokens, Unit::Count, Same),
        ("/stats/tpot", Metric::Tpot, time(), Different(words::TPOT_TO_THE_END)),
        ("/stats/ttft", Metric::Ttft, time(), Different(words::CONNECTS_ALWAYS)),
    ]
}

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

fn read(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let (mut all, mut wires) = (Gathered::default(), Vec::new());
    let mut object: Option<Map<String, Value>> = None;
    let paths = ["/individual_request_metrics/*"];
    let gone = collect::pieces(&mut input, &paths, &mut |piece| match piece.cut {
        Some(_) => wires.extend(all.value::<Wire>(&piece)),
        None => {
            let value = all.value(&piece);
            object = object.take().or(value);
        }
    })?;
    let mut object = object.unwrap_or_default();
    if let Some(Value::Object(metrics)) = object.remove("aggregated_metrics") {
        let (unit, to_ms) = match object.get("_time_unit").and_then(Value::as_str) {
            Some("ms") => (Unit::Ms, 1.0),
            _ => (Unit::S, 1e3),
        };
        let mut row = row(metrics, &unit, &mut all.remarks);
        if let Some(labels) = object.remove("labels") {
            // A file that inferometer wrote: the labels contain the settings. The workload field
            // exists only because the format requires one.
            row.factors = row.factors.without(&[key::WORKLOAD]);
            labels::set(Some(&labels), &mut row.factors);
        }
        row.requests = wires.into_iter().map(|wire| request(wire, to_ms)).collect();
        row.unknown.extend(object);
        all.push(row);
    }
    all.finish(format, gone, "no aggregated_metrics in it")
}

fn row(mut metrics: Map<String, Value>, unit: &Unit, remarks: &mut Vec<Remark>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(METRICS));
    settings(&mut metrics, &mut row);
    field::numbers(&mut metrics, Some(METRICS), Statistic::Value, WHOLE, &mut row);
    let failed = row.value(Metric::RequestsFailed, Statistic::Value).unwrap_or(0.0);
    let rate = row.figures.iter_mut().find(|figure| figure.quantity == Metric::ErrorRate);
    if let Some(rate) = rate.filter(|rate| failed > 0.0 && rate.value == Some(0.0)) {
        rate.value = None;
        rate.printed = Some("0".to_owned());
        remarks.push(Remark {
            kind: RemarkKind::Missing,
            place: Place::pointer("/aggregated_metrics/error_rate"),
            text: format!("0 although {failed} requests failed: the tool always writes 0"),
        });
    }
    field::spreads(&mut metrics, METRICS, StdKind::Population, &distributions(unit), &mut row);
    if let Some(Value::Object(stats)) = metrics.get_mut("stats") {
        stats.retain(|_, stat| !stat.as_object().is_some_and(Map::is_empty));
    }
    row.unknown = metrics;
    row
}

fn settings(metrics: &mut Map<String, Value>, row: &mut Row) {
    let batch = metrics.get("iteration_type").and_then(Value::as_str) == Some("batch_size");
    let fields = [
        ("num_concurrency", key::CONCURRENCY),
        ("batch_size", if batch { key::BATCH_SIZE } else { "batch_size_of_a_request" }),
        ("scenario", key::WORKLOAD),
    ];
    field::take_settings(metrics, &fields, &mut row.factors);
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
    let error = collect::failure(wire.error_code, wire.error_message);
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
