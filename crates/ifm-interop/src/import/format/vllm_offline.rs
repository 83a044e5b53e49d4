//! `vllm bench latency` and `vllm bench throughput`: an engine called without a server.

use super::super::error::ImportError;
use super::super::statistic::{different, statistic};
use super::super::{Head, Input, Likeness, Recognised, json};
use super::{Format, records};
use ifm_core::Sheet;
use ifm_core::sheet::{Figure, PartKind, Quantity, Row, RowRole, Statistic, StdKind, Unit, key};
use serde_json::{Map, Value};

pub(super) struct VllmLatency;
pub(super) struct VllmThroughput;

const LATENCY: Recognised = Recognised { id: "vllm-latency", title: "vllm bench latency, JSON" };
const LATENCY_MARKS: &[&str] = &["avg_latency", "latencies", "percentiles"];
const THROUGHPUT: Recognised =
    Recognised { id: "vllm-throughput", title: "vllm bench throughput, JSON" };
const THROUGHPUT_MARKS: &[&str] =
    &["elapsed_time", "num_requests", "total_num_tokens", "tokens_per_second"];
/// Repeats that become rows at most.
const REPEATS_MAX: usize = 1_000;

fn like(head: &Head, marks: &[&str]) -> Likeness {
    match head.is_json() && head.has_keys(marks) {
        true => Likeness::Sure,
        false => Likeness::No,
    }
}

impl Format for VllmLatency {
    fn about(&self) -> Recognised {
        LATENCY
    }

    fn likeness(&self, head: &Head) -> Likeness {
        like(head, LATENCY_MARKS)
    }

    fn marks(&self) -> &'static [&'static str] {
        LATENCY_MARKS
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        let mut sheet =
            records::read_small(input, LATENCY, PartKind::StaticBatch, |fields, draft| {
                let rows = latency(fields, &draft.row);
                draft.fill(rows);
            })?;
        sheet.source.tool = Some("vllm bench latency".to_owned());
        Ok(sheet)
    }
}

/// The mean, and behind it every repeat.
fn latency(mut fields: Map<String, Value>, draft: &Row) -> Vec<Row> {
    let figure = |statistic, value| {
        Figure::new(Quantity::E2e, statistic, value, Unit::S)
            .defined(different("of a whole batch, in the engine without a server"))
    };
    let mut row = draft.clone();
    if let Some(model) = json::word(fields.remove("model_id").as_ref()) {
        row.factors.set(key::MODEL, model);
    }
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

impl Format for VllmThroughput {
    fn about(&self) -> Recognised {
        THROUGHPUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        like(head, THROUGHPUT_MARKS)
    }

    fn marks(&self) -> &'static [&'static str] {
        THROUGHPUT_MARKS
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        let kind = PartKind::StaticBatch;
        let mut sheet = records::read_small(input, THROUGHPUT, kind, |mut fields, draft| {
            if let Some(model) = json::word(fields.remove("model_id").as_ref()) {
                draft.row.factors.set(key::MODEL, model);
            }
            for (name, quantity, unit) in [
                ("elapsed_time", Quantity::Duration, Unit::S),
                ("num_requests", Quantity::RequestsOk, Unit::Count),
                ("total_num_tokens", Quantity::TotalTokens, Unit::Count),
                ("requests_per_second", Quantity::RequestRate, Unit::PerS),
                ("tokens_per_second", Quantity::TotalRate, Unit::PerS),
            ] {
                let Some(value) = json::number(fields.get(name)) else { continue };
                fields.remove(name);
                let definition = different("in the engine without a server, over the whole run");
                let figure = Figure::new(quantity, Statistic::Value, value, unit);
                draft.row.figures.push(figure.defined(definition));
            }
            draft.row.unknown = fields;
        })?;
        sheet.source.tool = Some("vllm bench throughput".to_owned());
        Ok(sheet)
    }
}
