//! `profile_export_aiperf.json` of AIPerf, a file for each level.

use super::fields::{labels, number, percentile_name, times, value};
use super::{Export, Exported, Writer, asked, serving, steady, stem};
use crate::import::AIPERF_PER_TOKEN;
use ifm_core::Metric;
use ifm_core::sheet::meaning::{
    CHUNK_GAP, DECODE_DURATION, IMAGES_OF_A_REQUEST, OUTPUT_RATE_OF_A_REQUEST,
    PREFILL_RATE_OF_A_REQUEST, TIME_OF_AN_IMAGE, TIME_TO_SECOND_CHUNK,
};
use ifm_core::sheet::{Factors, Row, Statistic, StdKind, key};
use ifm_core::spec::{Api, ArrivalLaw, LoadSpec};
use ifm_core::{RunData, Sheet};
use serde_json::{Map, Value, json};

pub(super) const EXPORT: Export = Export {
    id: "aiperf",
    title: "AIPerf, JSON",
    definitions: Some("aiperf"),
    write: Writer::Results(write),
    holds: "loads of a server",
    lacks: "time per output token, which the tool calls ITL; deviations of a sample; requests in flight, goodput; figures of media but images, seconds of audio and RTFx of a request; labels of rows; single requests; definitions, places and printed digits",
};

fn write(sheet: &Sheet, run: Option<&RunData>) -> Vec<Exported> {
    let file = |(number, (row, factors)): (usize, (&Row, Factors))| {
        let mut document = document(row, &factors);
        if let (Some(run), Some(labels)) = (run, document.get_mut("labels")) {
            let workload = &run.manifest.spec.workload;
            labels[key::WORKLOAD] = json!(workload.text.as_ref().unwrap_or(&workload.kind));
        }
        let config = run.and_then(|run| config(run, asked(run, row, number)?, &factors));
        document.extend(config.map(|config| ("input_config".to_owned(), config)));
        let text = format!("{:#}\n", Value::from(document));
        Exported { name: None, stem: stem(&factors), ending: "json", text }
    };
    serving(sheet).enumerate().map(file).collect()
}

/// What was asked, as the tool's own reader checks it: whole or not at all. A run over an API that the tool
/// does not speak has none, nor one with arrivals that it has no phase for.
fn config(run: &RunData, load: &LoadSpec, factors: &Factors) -> Option<Value> {
    let spec = &run.manifest.spec;
    let api = match spec.target.api {
        Api::Chat => "chat",
        Api::Completions => "completions",
        Api::Responses => "responses",
        Api::Messages => "messages",
        Api::Tgi => "huggingface_generate",
        Api::Transcriptions => "audio_transcription",
        _ => return None,
    };
    let mut phase = match &load.arrivals {
        None => json!({"type": "concurrency", "concurrency": load.concurrency}),
        Some(_) => match steady(load)? {
            (rate, ArrivalLaw::Constant, _) => json!({"type": "constant", "rate": rate}),
            (rate, ArrivalLaw::Poisson, _) => json!({"type": "poisson", "rate": rate}),
            (rate, ArrivalLaw::Gamma(shape), _) => {
                json!({"type": "gamma", "rate": rate, "smoothness": shape})
            }
            (_, ArrivalLaw::Burst(_) | ArrivalLaw::Replay(_), _) => return None,
        },
    };
    phase["name"] = json!("profiling");
    for (name, bound) in [
        ("requests", load.requests.map(Value::from)),
        ("duration", load.duration_s.map(Value::from)),
        ("sessions", load.sessions.map(Value::from)),
    ] {
        if let Some(bound) = bound {
            phase[name] = bound;
        }
    }
    let mut prompts = Map::new();
    for (name, factor) in [("isl", key::INPUT_TOKENS), ("osl", key::OUTPUT_TOKENS)] {
        let mean = factors.number(factor).map(|mean| (name.to_owned(), json!({"mean": mean})));
        prompts.extend(mean);
    }
    let mut data = json!({"name": "main", "type": "synthetic"});
    if !prompts.is_empty() {
        data["prompts"] = prompts.into();
    }
    Some(json!({
        "models": {"items": [{"name": spec.target.model}]},
        "endpoint": {
            "urls": [spec.target.base_url],
            "type": api,
            "streaming": spec.target.stream,
        },
        "datasets": [data],
        "phases": [phase],
    }))
}

fn document(row: &Row, factors: &Factors) -> Map<String, Value> {
    let mut document = Map::new();
    document.insert("schema_version".to_owned(), json!("1.4"));
    document.insert("written_by".to_owned(), json!("inferometer"));
    // AIPerf's reader allows unknown fields here, but not within its settings.
    document.insert("labels".to_owned(), labels(factors));
    for (name, quantity) in [
        ("time_to_first_token", Metric::Ttft),
        ("time_to_first_output_token", Metric::Ttfat),
        ("request_latency", Metric::E2e),
        ("inter_token_latency", Metric::Itl),
    ] {
        let metric = distribution(row, quantity, ("ms", 1.0));
        document.extend(metric.map(|metric| (name.to_owned(), metric)));
    }
    let own = |name: &str| Metric::other(name);
    let per_user = ("tokens/sec/user", 1.0);
    for (name, quantity, unit) in [
        (TIME_TO_SECOND_CHUNK, own(TIME_TO_SECOND_CHUNK), ("ms", 1.0)),
        (CHUNK_GAP, own(CHUNK_GAP), ("ms", 1.0)),
        (DECODE_DURATION, own(DECODE_DURATION), ("ms", 1.0)),
        ("output_token_throughput_per_user", Metric::UserSpeed, per_user),
        (PREFILL_RATE_OF_A_REQUEST, own(PREFILL_RATE_OF_A_REQUEST), per_user),
        (OUTPUT_RATE_OF_A_REQUEST, own(OUTPUT_RATE_OF_A_REQUEST), per_user),
        ("input_sequence_length", Metric::InputTokens, ("tokens", 1.0)),
        ("output_sequence_length", Metric::OutputTokens, ("tokens", 1.0)),
        ("reasoning_token_count", Metric::ReasoningTokens, ("tokens", 1.0)),
        ("num_images", Metric::Images, ("images", 1.0)),
        (IMAGES_OF_A_REQUEST, own(IMAGES_OF_A_REQUEST), ("images/sec", 1.0)),
        (TIME_OF_AN_IMAGE, own(TIME_OF_AN_IMAGE), ("ms/image", 1.0)),
        ("audio_duration", Metric::AudioLength, ("sec", 1e-3)),
        ("rtfx", Metric::Rtfx, ("ratio", 1.0)),
    ] {
        let metric = distribution(row, quantity, unit);
        document.extend(metric.map(|metric| (name.to_owned(), metric)));
    }
    for (name, quantity, unit, scale) in [
        ("request_throughput", Metric::RequestRate, "requests/sec", 1.0),
        ("input_token_throughput", Metric::InputRate, "tokens/sec", 1.0),
        ("output_token_throughput", Metric::OutputRate, "tokens/sec", 1.0),
        ("total_token_throughput", Metric::TotalRate, "tokens/sec", 1.0),
        ("request_count", Metric::RequestsOk, "requests", 1.0),
        ("error_request_count", Metric::RequestsFailed, "requests", 1.0),
        ("request_error_rate", Metric::ErrorRate, "%", 100.0),
        ("total_isl", Metric::InputTokens, "tokens", 1.0),
        ("total_osl", Metric::OutputTokens, "tokens", 1.0),
        ("benchmark_duration", Metric::Duration, "sec", 1e-3),
    ] {
        if let Some(avg) = value(row, quantity) {
            document.insert(name.to_owned(), json!({"unit": unit, "avg": avg * scale}));
        }
    }
    document
}

/// The statistics of per-request values. `scale` is the number of the format's units in one
/// canonical unit.
fn distribution(row: &Row, quantity: Metric, (unit, scale): (&str, f64)) -> Option<Value> {
    let mut metric = Map::new();
    metric.insert("unit".to_owned(), json!(unit));
    for figure in times(row, quantity, AIPERF_PER_TOKEN) {
        let name = match figure.statistic {
            Statistic::Mean => "avg".to_owned(),
            Statistic::Median => "p50".to_owned(),
            Statistic::Std(StdKind::Population) => "std".to_owned(),
            Statistic::Min => "min".to_owned(),
            Statistic::Max => "max".to_owned(),
            Statistic::Count => "count".to_owned(),
            Statistic::Percentile(p) => percentile_name(p),
            _ => continue,
        };
        let scale = if figure.statistic == Statistic::Count { 1.0 } else { scale };
        metric.insert(name, number(figure.canonical().map(|value| value * scale)));
    }
    let of = |name: &str| metric.get(name).and_then(Value::as_f64);
    if let Some((mean, count)) = of("avg").zip(of("count")) {
        metric.insert("sum".to_owned(), number(Some(mean * count)));
    }
    metric.contains_key("avg").then_some(Value::from(metric))
}
