//! The JSON Lines of SGLang's `bench_serving`, a line for each level.

use super::fields::{factor, float, metadata, set_each, set_float, value};
use super::vllm::{details, latencies};
use super::{Export, ExportOptions, Exported, Writer, serving};
use crate::import::SGLANG_PER_TOKEN;
use ifm_core::Metric;
use ifm_core::sheet::{Factors, Row, key};
use ifm_core::{RunData, Sheet};
use serde_json::{Map, Value};

pub(super) const EXPORT: Export = Export {
    id: "sglang",
    title: "SGLang bench_serving, JSON Lines",
    definitions: Some("sglang"),
    write: Writer::Asked(write),
    holds: "loads of a server",
    lacks: "smallest, largest and lower percentiles of times; deviations of a sample; times to the first answer token; failed requests, goodput and peaks; single requests; figures of media but tokens of text and images; definitions, places and printed digits",
};

/// Fields that are null where nothing fills them: what another data set would set, what the client asks the
/// server for, and counts by its own tokenizer.
const UNKNOWN: [&str; 5] = [
    "sharegpt_output_len",
    "random_range_ratio",
    "server_info",
    "total_output_tokens_retokenized",
    "accept_length",
];

/// The lists of `--output-details`.
const LISTS: [&str; 6] =
    ["input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors"];

/// Factors that the format has fields for.
const FIELDS: [&str; 6] = [
    key::WORKLOAD,
    key::CONCURRENCY,
    key::RATE,
    key::ENGINE,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
];

fn write(sheet: &Sheet, run: Option<&RunData>, options: &ExportOptions) -> Vec<Exported> {
    let line = |(number, (row, factors)): (usize, (&Row, Factors))| {
        let mut object = object(row, &factors, options);
        if options.detailed == Some(true) {
            let mut lists = Map::new();
            details(run, row, number, &mut lists);
            let known = lists.into_iter().filter(|(name, _)| LISTS.contains(&name.as_str()));
            object.extend(known);
        }
        Value::from(object).to_string()
    };
    let lines: Vec<String> = serving(sheet).enumerate().map(line).collect();
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

fn object(row: &Row, factors: &Factors, options: &ExportOptions) -> Map<String, Value> {
    let mut object = Map::new();
    metadata(&mut object, factors, &FIELDS);
    object.insert("tag".to_owned(), Value::from(row.label.clone()));
    let backend = options.backend.clone().map_or_else(|| factor(factors, key::ENGINE), Value::from);
    object.insert("backend".to_owned(), backend);
    object.insert("written_by".to_owned(), Value::from("inferometer"));
    object.insert("dataset_name".to_owned(), factor(factors, key::WORKLOAD));
    let rate = factors.number(key::RATE).filter(|rate| rate.is_finite());
    object.insert(
        "request_rate".to_owned(),
        rate.map_or_else(|| factor(factors, key::RATE), |rate| float(Some(rate))),
    );
    object.insert("max_concurrency".to_owned(), factor(factors, key::CONCURRENCY));
    object.insert("random_input_len".to_owned(), factor(factors, key::INPUT_TOKENS));
    object.insert("random_output_len".to_owned(), factor(factors, key::OUTPUT_TOKENS));
    let whole = [
        ("completed", Metric::RequestsOk),
        ("total_input_tokens", Metric::InputTokens),
        ("total_input_text_tokens", Metric::TextTokens),
        ("total_input_vision_tokens", Metric::ImageTokens),
        ("total_output_tokens", Metric::OutputTokens),
        ("max_concurrent_requests", Metric::PeakInFlight),
    ];
    set_each(&mut object, row, &whole);
    for (name, quantity, scale) in [
        ("duration", Metric::Duration, 1e-3),
        ("request_throughput", Metric::RequestRate, 1.0),
        ("input_throughput", Metric::InputRate, 1.0),
        ("output_throughput", Metric::OutputRate, 1.0),
        ("total_throughput", Metric::TotalRate, 1.0),
        ("concurrency", Metric::InFlight, 1.0),
        ("max_output_tokens_per_s", Metric::PeakOutputRate, 1.0),
        ("accept_length", Metric::AcceptanceLength, 1.0),
    ] {
        set_float(&mut object, name, value(row, quantity).map(|value| value * scale));
    }
    // The client has null for these where it does not know them, and so has every line of its readers.
    for name in UNKNOWN {
        object.entry(name).or_insert(Value::Null);
    }
    latencies(row, &mut object, "e2e_latency", SGLANG_PER_TOKEN);
    object
}
