//! inference-benchmarker: one JSON with a result for each executor, the warm-up among them.

use super::super::error::ImportError;
use super::super::{Input, json};
use super::collect::Gathered;
use super::field::{self, Field, Means};
use super::guidellm::words as strategies;
use super::{Format, Like, collect, sure};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, PartKind, Place, Row, RowRole, Statistic, StdKind, Unit, key, meaning,
};
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "inference-benchmarker",
    title: "inference-benchmarker, JSON",
    tool: Some("inference-benchmarker"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let own = head.has_keys(&["results", "max_vus", "benchmark_kind"])
            || head.text().contains("\"token_throughput_secs\"");
        sure(head.is_json() && own)
    }),
    marks: &["results", "config", "executor_type", "token_throughput_secs", "max_vus"],
    read,
};

const SPAN: Means = Means::Different(
    "from the start of the request that ended first to the end of the last; tokens by the client's \
     tokenizer",
);
const COUNTED: Means = Means::Different("counted by the client's tokenizer, piece by piece");
const REQUESTS: &[Field] = &[
    ("/total_requests", Metric::Requests, Unit::Count, Means::Same),
    ("/successful_requests", Metric::RequestsOk, Unit::Count, Means::Same),
    ("/failed_requests", Metric::RequestsFailed, Unit::Count, Means::Same),
];
const TOKENS: &[Field] = &[
    ("/total_tokens", Metric::OutputTokens, Unit::Count, COUNTED),
    ("/total_tokens_sent", Metric::InputTokens, Unit::Count, COUNTED),
];
const RATES: &[Field] = &[
    ("/token_throughput_secs", Metric::OutputRate, Unit::PerS, SPAN),
    ("/request_rate", Metric::RequestRate, Unit::PerS, SPAN),
    ("/duration_ms", Metric::Duration, Unit::Ms, SPAN),
];
const TIMES: &[Field] = &[
    ("/time_to_first_token_ms", Metric::Ttft, Unit::Ms, Means::Same),
    ("/inter_token_latency_ms", Metric::Itl, Unit::Ms, Means::Different(meaning::ITL_PER_REQUEST)),
    (
        "/e2e_latency_ms",
        Metric::E2e,
        Unit::Ms,
        Means::Different("to the closing event, not to the last token"),
    ),
];
/// What was set for all executors.
const SETTINGS: &[(&str, &str)] = &[
    ("/config/model_name", key::MODEL),
    ("/config/prompt_options/num_tokens", key::INPUT_TOKENS),
    ("/config/decode_options/num_tokens", key::OUTPUT_TOKENS),
];

/// What the tool means by a quantity.
pub(crate) fn definition(quantity: Metric) -> Definition {
    let fields = [TOKENS, RATES, TIMES];
    let mut fields = fields.iter().flat_map(|fields| fields.iter());
    fields.find(|(_, own, ..)| *own == quantity).map_or(Definition::Same, |field| field.3.into())
}

fn read(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut all = Gathered::default();
    let gone = collect::pieces(&mut input, &["/results/*"], &mut |piece| {
        let Some(object) = all.value(&piece) else { return };
        match piece.cut {
            Some(_) => all.push(row(object, &piece.pointer())),
            None => all.rest = object,
        }
    })?;
    for row in &mut all.rows {
        field::settings(&all.rest, SETTINGS, &mut row.factors);
    }
    all.finish(format, gone, "no result in it")
}

fn row(mut result: Map<String, Value>, pointer: &str) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(pointer));
    if let Some(id) = json::word(result.remove("id").as_ref()) {
        strategies::strategy(id.trim_end_matches("req/s"), &mut row.factors);
        row.label = Some(id);
    }
    let config = result.get("config");
    let of = |name: &str| json::word(config.and_then(|config| config.get(name)));
    if let Some(rate) = of("rate") {
        row.factors.set(key::RATE, strategies::whole(&rate));
    } else if let Some(users) = of("max_vus") {
        row.factors.set(key::CONCURRENCY, users);
    }
    let base = Some(pointer);
    field::numbers(&mut result, base, Statistic::Value, REQUESTS, &mut row);
    field::numbers(&mut result, base, Statistic::Sum, TOKENS, &mut row);
    field::numbers(&mut result, base, Statistic::Value, RATES, &mut row);
    field::spreads(&mut result, pointer, StdKind::Unknown, TIMES, &mut row);
    field::drop_empty(&mut result, TIMES);
    row.unknown = result;
    row
}
