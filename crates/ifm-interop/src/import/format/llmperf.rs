//! llmperf: a summary of flat names (`results_ttft_s_quantiles_p99`), and the records of single
//! requests. All times are in seconds; deviations are sample deviations (pandas).

use super::super::json::{self, Number, Word};
use super::super::statistic::{different, statistic};
use super::{Format, Like, collect, field, sure};
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Place, Row, RowRole, SheetRequest, Statistic, StdKind, Unit, key,
};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) const SUMMARY: Format = Format {
    id: "llmperf",
    title: "llmperf, summary",
    tool: Some("llmperf"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let own = head.keys().iter().any(|key| key.starts_with("results_ttft_s_"));
        sure(head.is_json() && own)
    }),
    marks: &["results_ttft_s_mean", "results_num_requests_started", "num_concurrent_requests"],
    read: |format, input| collect::summaries(format, input, "no summary in it", row),
};
pub(super) const REQUESTS: Format = Format {
    id: "llmperf-requests",
    title: "llmperf, single requests",
    like: Like::Json(&[&["ttft_s", "end_to_end_latency_s"]]),
    marks: &[],
    read: |format, input| collect::requests(format, input, None, request),
    ..SUMMARY
};

/// Fields that set something, and the factor that they are.
const SETTINGS: &[(&str, &str)] = &[
    ("model", key::MODEL),
    ("num_concurrent_requests", key::CONCURRENCY),
    ("mean_input_tokens", key::INPUT_TOKENS),
    ("mean_output_tokens", key::OUTPUT_TOKENS),
];

fn row(mut object: Map<String, Value>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(""));
    field::take_settings(&mut object, SETTINGS, &mut row.factors);
    let names: Vec<String> = object.keys().cloned().collect();
    for name in names {
        let Some(value) = json::number(object.get(&name)) else { continue };
        let Some((quantity, statistic, unit)) =
            name.strip_prefix("results_").and_then(|rest| whole(rest).or_else(|| latency(rest)))
        else {
            continue;
        };
        object.remove(&name);
        let definition = definition(quantity);
        let mut figure = Figure::new(quantity, statistic, value, unit).defined(definition);
        figure.place = Some(Place::pointer(format!("/{name}")));
        row.figures.push(figure);
    }
    row.unknown = object;
    row
}

fn definition(quantity: Metric) -> Definition {
    match quantity {
        Metric::Itl => different(
            "one mean per request, the time to the first token among the gaps, by its pieces",
        ),
        Metric::InputTokens | Metric::OutputTokens => {
            different("counted by one tokenizer of the client, whatever the model")
        }
        Metric::OutputRate => different("tokens by one tokenizer of the client"),
        Metric::UserSpeed => different("tokens by the end-to-end time: the first token is in it"),
        Metric::Ttft | Metric::E2e => different("connection set-up is in it"),
        _ => Definition::Same,
    }
}

fn whole(name: &str) -> Option<(Metric, Statistic, Unit)> {
    let (quantity, unit) = match name {
        "num_requests_started" => (Metric::Requests, Unit::Count),
        "num_completed_requests" => (Metric::RequestsOk, Unit::Count),
        "number_errors" => (Metric::RequestsFailed, Unit::Count),
        "error_rate" => (Metric::ErrorRate, Unit::One),
        "mean_output_throughput_token_per_s" => (Metric::OutputRate, Unit::PerS),
        "num_completed_requests_per_min" => (Metric::RequestRate, Unit::PerMin),
        _ => return None,
    };
    Some((quantity, Statistic::Value, unit))
}

/// `ttft_s_quantiles_p99`, `ttft_s_mean`.
fn latency(name: &str) -> Option<(Metric, Statistic, Unit)> {
    let (metric, word) = match name.split_once("_quantiles_") {
        Some(parts) => parts,
        None => name.rsplit_once('_')?,
    };
    let (quantity, unit) = match metric {
        "ttft_s" => (Metric::Ttft, Unit::S),
        "inter_token_latency_s" => (Metric::Itl, Unit::S),
        "end_to_end_latency_s" => (Metric::E2e, Unit::S),
        "request_output_throughput_token_per_s" => (Metric::UserSpeed, Unit::PerS),
        "number_input_tokens" => (Metric::InputTokens, Unit::Count),
        "number_output_tokens" => (Metric::OutputTokens, Unit::Count),
        _ => return None,
    };
    Some((quantity, statistic(word, StdKind::Sample)?, unit))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    error_code: Word,
    error_msg: Word,
    ttft_s: Number,
    end_to_end_latency_s: Number,
    number_input_tokens: Number,
    number_output_tokens: Number,
}

fn request(wire: Wire) -> SheetRequest {
    let error = collect::failure(wire.error_code, wire.error_msg);
    let ms = |time: Number| time.positive().filter(|_| error.is_none()).map(|time| time * 1e3);
    SheetRequest {
        ttft_ms: ms(wire.ttft_s),
        e2e_ms: ms(wire.end_to_end_latency_s),
        input_tokens: wire.number_input_tokens.count(),
        output_tokens: wire.number_output_tokens.count().filter(|_| error.is_none()),
        error,
        ..SheetRequest::default()
    }
}
