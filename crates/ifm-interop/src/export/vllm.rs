//! The JSON of `vllm bench serve --save-result`, several levels as `--append-result` writes them.

use super::fields::{
    factor, mean_tpot_ms, metadata, number, set, set_each, statistic_name, times, value,
};
use super::{Export, Exported, Writer, asked, serving};
use crate::import::VLLM_PER_TOKEN;
use ifm_core::sheet::{Factors, Quantity, Row, SheetRequest, key};
use ifm_core::spec::{ArrivalLaw, LoadSpec};
use ifm_core::{RunData, Sheet};
use serde_json::{Map, Value, json};

pub(super) const EXPORT: Export = Export {
    id: "vllm",
    title: "vllm bench serve, JSON",
    definitions: Some("vllm"),
    write: Writer::Results(write),
    holds: "loads of a server",
    lacks: "smallest, largest and lower percentiles of times; deviations of a sample; times to the first answer token; requests in flight, input rate, time in the client's queue; the gaps of single requests; figures of media but RTFx of the level; definitions, places and printed digits",
};

/// Factors that the format has fields for.
const FIELDS: [&str; 5] = [key::MODEL, key::CONCURRENCY, key::RATE, key::REQUESTS, key::ENGINE];

fn write(sheet: &Sheet, run: Option<&RunData>) -> Vec<Exported> {
    let line = |(number, (row, factors)): (usize, (&Row, Factors))| {
        let mut object = object(row, &factors);
        if let Some(run) = run {
            of_run(&mut object, run, asked(run, row, number));
        }
        Value::from(object).to_string()
    };
    let lines: Vec<String> = serving(sheet).enumerate().map(line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let text = lines.join("\n") + "\n";
    vec![Exported { name: None, stem: String::new(), ending: "json", text }]
}

fn object(row: &Row, factors: &Factors) -> Map<String, Value> {
    let mut object = Map::new();
    metadata(&mut object, factors, &FIELDS);
    let model = factor(factors, key::MODEL);
    object.insert("backend".to_owned(), factor(factors, key::ENGINE));
    // The client writes it twice, for readers of its older files.
    object.insert("endpoint_type".to_owned(), factor(factors, key::ENGINE));
    object.insert("label".to_owned(), Value::from(row.label.clone()));
    object.insert("tokenizer_id".to_owned(), model.clone());
    object.insert("model_id".to_owned(), model);
    object.insert("written_by".to_owned(), Value::from("inferometer"));
    object.insert("num_prompts".to_owned(), factor(factors, key::REQUESTS));
    object.insert("request_rate".to_owned(), factor(factors, key::RATE));
    object.insert("max_concurrency".to_owned(), factor(factors, key::CONCURRENCY));
    let whole = [
        ("duration", Quantity::Duration),
        ("completed", Quantity::RequestsOk),
        ("failed", Quantity::RequestsFailed),
        ("total_input_tokens", Quantity::InputTokens),
        ("total_output_tokens", Quantity::OutputTokens),
        ("request_throughput", Quantity::RequestRate),
        ("output_throughput", Quantity::OutputRate),
        ("total_token_throughput", Quantity::TotalRate),
        ("max_output_tokens_per_s", Quantity::PeakOutputRate),
        ("max_concurrent_requests", Quantity::PeakInFlight),
        ("rtfx", Quantity::AudioRate),
    ];
    set_each(&mut object, row, &whole);
    object.insert("request_goodput".to_owned(), number(value(row, &Quantity::Goodput)));
    latencies(row, &mut object, "e2el", VLLM_PER_TOKEN);
    medians(&mut object);
    let has_tpot = object.contains_key("mean_tpot_ms");
    set(&mut object, "mean_tpot_ms", mean_tpot_ms(row).filter(|_| !has_tpot));
    if !row.requests.is_empty() {
        details(&row.requests, &mut object);
    }
    object
}

/// What the run knows beside its rows: when it began, UTC where the client writes local time; how its arrivals
/// were spaced, where the client has a number for that; and its tags, as the client writes what `--metadata` says.
fn of_run(object: &mut Map<String, Value>, run: &RunData, load: Option<&LoadSpec>) {
    let utc = run.manifest.created_utc.get(..19).unwrap_or_default();
    let date = utc.replace(['-', ':'], "").replace('T', "-");
    let burstiness = load.and_then(|load| match load.arrivals.as_ref()?.law {
        ArrivalLaw::Poisson => Some(1.0),
        ArrivalLaw::Gamma(shape) => Some(shape),
        ArrivalLaw::Constant | ArrivalLaw::Burst(_) | ArrivalLaw::Replay(_) => None,
    });
    object.insert("date".to_owned(), Value::from(date));
    object.insert("burstiness".to_owned(), number(burstiness));
    // A figure keeps its name.
    for (name, value) in &run.manifest.tags {
        object.entry(name.as_str()).or_insert_with(|| Value::from(value.as_str()));
    }
}

/// `mean_ttft_ms` and its like, which SGLang names likewise but for the end-to-end latency. `own`
/// is what the format means by times per token.
pub(super) fn latencies(row: &Row, object: &mut Map<String, Value>, e2e: &str, own: &[&str]) {
    for (name, quantity) in [
        ("ttft", Quantity::Ttft),
        ("tpot", Quantity::Tpot),
        ("itl", Quantity::Itl),
        (e2e, Quantity::E2e),
    ] {
        for figure in times(row, &quantity, own) {
            let Some(statistic) = statistic_name(figure.statistic) else { continue };
            set(object, format!("{statistic}_{name}_ms"), figure.canonical());
        }
    }
}

/// The medians as the client names them among percentiles that were asked for.
fn medians(object: &mut Map<String, Value>) {
    for name in ["ttft", "tpot", "itl", "e2el"] {
        if let Some(median) = object.get(&format!("median_{name}_ms")).cloned() {
            object.insert(format!("p50_{name}_ms"), median);
        }
    }
}

/// The arrays of `--save-detailed` that a sheet has: the gaps are not among them.
fn details(requests: &[SheetRequest], object: &mut Map<String, Value>) {
    let column = |of: &dyn Fn(&SheetRequest) -> Value| requests.iter().map(of).collect::<Vec<_>>();
    // Where a request failed the format has zeros, and a text in `errors`; what was not counted or
    // not streamed is null.
    let known = |r: &SheetRequest, value: Option<f64>| match (value, &r.error) {
        (None, Some(_)) => json!(0),
        (value, _) => number(value),
    };
    let seconds = |r: &SheetRequest, ms: Option<f64>| known(r, ms.map(|ms| ms / 1e3));
    let count = |r: &SheetRequest, tokens: Option<u64>| known(r, tokens.map(|n| n as f64));
    object.insert("input_lens".to_owned(), column(&|r| count(r, r.input_tokens)).into());
    object.insert("output_lens".to_owned(), column(&|r| count(r, r.output_tokens)).into());
    object.insert("ttfts".to_owned(), column(&|r| seconds(r, r.ttft_ms)).into());
    object.insert("latencies".to_owned(), column(&|r| seconds(r, r.e2e_ms)).into());
    object.insert("start_times".to_owned(), column(&|r| json!(r.start_s)).into());
    object.insert(
        "errors".to_owned(),
        column(&|r| json!(r.error.clone().unwrap_or_default())).into(),
    );
}
