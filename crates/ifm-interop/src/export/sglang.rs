//! The JSON Lines of SGLang's `bench_serving`, a line for each level.

use super::fields::{factor, metadata, set_each};
use super::vllm::latencies;
use super::{Export, Exported, Writer, serving};
use crate::import::SGLANG_PER_TOKEN;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Quantity, Row, key};
use serde_json::{Map, Value};

pub(super) const EXPORT: Export = Export {
    id: "sglang",
    title: "SGLang bench_serving, JSON Lines",
    definitions: Some("sglang"),
    write: Writer::Sheet(write),
    holds: "loads of a server",
    lacks: "smallest, largest and lower percentiles of times; deviations of a sample; times to the first answer token; failed requests, goodput and peaks; single requests; figures of media but tokens of text and images; definitions, places and printed digits",
};

/// Factors that the format has fields for.
const FIELDS: [&str; 6] = [
    key::WORKLOAD,
    key::CONCURRENCY,
    key::RATE,
    key::ENGINE,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
];

fn write(sheet: &Sheet) -> Vec<Exported> {
    let lines: Vec<String> = serving(sheet)
        .map(|(row, factors)| Value::from(object(row, &factors)).to_string())
        .collect();
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Exported {
        name: None,
        stem: String::new(),
        ending: "jsonl",
        text: lines.join("\n") + "\n",
    }]
}

fn object(row: &Row, factors: &Factors) -> Map<String, Value> {
    let mut object = Map::new();
    metadata(&mut object, factors, &FIELDS);
    object.insert("tag".to_owned(), Value::from(row.label.clone()));
    object.insert("backend".to_owned(), factor(factors, key::ENGINE));
    object.insert("written_by".to_owned(), Value::from("inferometer"));
    object.insert("dataset_name".to_owned(), factor(factors, key::WORKLOAD));
    object.insert("request_rate".to_owned(), factor(factors, key::RATE));
    object.insert("max_concurrency".to_owned(), factor(factors, key::CONCURRENCY));
    object.insert("random_input_len".to_owned(), factor(factors, key::INPUT_TOKENS));
    object.insert("random_output_len".to_owned(), factor(factors, key::OUTPUT_TOKENS));
    let whole = [
        ("duration", Quantity::Duration),
        ("completed", Quantity::RequestsOk),
        ("total_input_tokens", Quantity::InputTokens),
        ("total_input_text_tokens", Quantity::TextTokens),
        ("total_input_vision_tokens", Quantity::ImageTokens),
        ("total_output_tokens", Quantity::OutputTokens),
        ("request_throughput", Quantity::RequestRate),
        ("input_throughput", Quantity::InputRate),
        ("output_throughput", Quantity::OutputRate),
        ("total_throughput", Quantity::TotalRate),
        ("concurrency", Quantity::InFlight),
        ("accept_length", Quantity::AcceptLength),
    ];
    set_each(&mut object, row, &whole);
    latencies(row, &mut object, "e2e_latency", SGLANG_PER_TOKEN);
    object
}
