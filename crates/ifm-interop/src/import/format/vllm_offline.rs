//! `vllm bench latency` and `vllm bench throughput`: an engine called without a server.

use super::super::json;
use super::super::statistic::{different, statistic};
use super::field::{self, Field, Means};
use super::{Format, Like, records};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, PartKind, Row, RowRole, Statistic, StdKind, Unit, key};
use serde_json::{Map, Value};

pub(super) const LATENCY: Format = Format {
    id: "vllm-latency",
    title: "vllm bench latency, JSON",
    tool: Some("vllm bench latency"),
    kind: PartKind::StaticBatch,
    like: Like::Json(&[LATENCY_MARKS]),
    marks: LATENCY_MARKS,
    read: |format, input| {
        records::read_small(format, input, |fields, draft| {
            let rows = latency(fields, &draft.row);
            draft.fill(rows);
        })
    },
};
const LATENCY_MARKS: &[&str] = &["avg_latency", "latencies", "percentiles"];
pub(super) const THROUGHPUT: Format = Format {
    id: "vllm-throughput",
    title: "vllm bench throughput, JSON",
    tool: Some("vllm bench throughput"),
    kind: PartKind::StaticBatch,
    like: Like::Json(&[THROUGHPUT_MARKS]),
    marks: THROUGHPUT_MARKS,
    read: |format, input| {
        records::read_small(format, input, |mut fields, draft| {
            field::take_settings(&mut fields, MODEL, &mut draft.row.factors);
            field::numbers(&mut fields, None, Statistic::Value, WHOLE, &mut draft.row);
            draft.row.unknown = fields;
        })
    },
};
const THROUGHPUT_MARKS: &[&str] =
    &["elapsed_time", "num_requests", "total_num_tokens", "tokens_per_second"];
const MODEL: &[(&str, &str)] = &[("model_id", key::MODEL)];
const OFFLINE: Means = Means::Different("in the engine without a server, over the whole run");
const WHOLE: &[Field] = &[
    ("/elapsed_time", Metric::Duration, Unit::S, OFFLINE),
    ("/num_requests", Metric::RequestsOk, Unit::Count, OFFLINE),
    ("/total_num_tokens", Metric::TotalTokens, Unit::Count, OFFLINE),
    ("/requests_per_second", Metric::RequestRate, Unit::PerS, OFFLINE),
    ("/tokens_per_second", Metric::TotalRate, Unit::PerS, OFFLINE),
];
/// Repeats that become rows at most.
const REPEATS_MAX: usize = 1_000;

/// The mean, and behind it every repeat.
fn latency(mut fields: Map<String, Value>, draft: &Row) -> Vec<Row> {
    let figure = |statistic, value| {
        Figure::new(Metric::E2e, statistic, value, Unit::S)
            .defined(different("of a whole batch, in the engine without a server"))
    };
    let mut row = draft.clone();
    field::take_settings(&mut fields, MODEL, &mut row.factors);
    if let Some(mean) = json::number(fields.remove("avg_latency").as_ref()) {
        row.figures.push(figure(Statistic::Mean, mean));
    }
    if let Some(Value::Object(percentiles)) = fields.remove("percentiles") {
        let named = percentiles.iter().filter_map(|(percent, value)| {
            let statistic = statistic(&format!("p{percent}"), StdKind::Unknown)?;
            Some(figure(statistic, json::number(Some(value))?))
        });
        row.figures.extend(named);
    }
    let mut repeats = Vec::new();
    if let Some(Value::Array(times)) = fields.get("latencies")
        && times.len() <= REPEATS_MAX
    {
        let times = times.iter().filter_map(|time| json::number(Some(time)));
        repeats.extend((1..).zip(times).map(|(number, time)| {
            let mut repeat = Row::new(RowRole::Measured, row.place.clone());
            repeat.factors = row.factors.clone().with(key::REPEAT, number);
            repeat.figures.push(figure(Statistic::Value, time));
            repeat
        }));
        fields.remove("latencies");
        row.role = RowRole::Summary;
    }
    row.unknown = fields;
    std::iter::once(row).chain(repeats).collect()
}
