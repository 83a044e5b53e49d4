//! What GuideLLM's own reader requires in addition to the numbers of a benchmark: the settings of a
//! run, its start time, and every statistic of every metric. Only a run of inferometer has all of
//! them.
//!
//! What the tool measures of itself (the delays of its scheduler, round trips of a websocket) is -1
//! or a statistic of 0 values, as the tool writes unknown values. The same applies to requests that
//! failed. A run over an API or with arrivals that the tool does not support lacks the field, and
//! the reader reports that. Single requests stay in the run.

use super::super::steady;
use ifm_core::Metric;
use ifm_core::RunData;
use ifm_core::sheet::{Row, Spread, Statistic};
use ifm_core::spec::{Api, ArrivalLaw, LoadSpec};
use serde_json::{Map, Value, json};

const NS_PER_S: f64 = 1e9;
/// What the tool writes for a delay that it has not.
const NONE: f64 = -1.0;
/// Delays of its scheduler.
const DELAYS: [&str; 9] = [
    "queued_time_avg",
    "resolve_start_delay_avg",
    "resolve_targeted_start_delay_avg",
    "request_start_delay_avg",
    "request_targeted_start_delay_avg",
    "resolve_end_delay_avg",
    "resolve_time_avg",
    "finalized_delay_avg",
    "processed_delay_avg",
];
/// Metrics that a benchmark has in any case.
const METRICS: [&str; 18] = [
    "requests_per_second",
    "request_concurrency",
    "request_latency",
    "request_streaming_iterations_count",
    "prompt_token_count",
    "output_token_count",
    "total_token_count",
    "time_to_first_token_ms",
    "time_to_first_output_token_ms",
    "time_per_output_token_ms",
    "inter_token_latency_ms",
    "time_to_last_round_trip_ms",
    "avg_round_trip_time_ms",
    "prompt_tokens_per_second",
    "output_tokens_per_second",
    "tokens_per_second",
    "output_tokens_per_iteration",
    "iter_tokens_per_iteration",
];
/// What became of the requests of a metric.
const OUTCOMES: [&str; 4] = ["successful", "errored", "incomplete", "total"];
/// Statistics but for the count.
const STATISTICS: [&str; 8] =
    ["mean", "median", "mode", "variance", "std_dev", "min", "max", "total_sum"];
const PERCENTILES: [&str; 11] =
    ["p001", "p01", "p05", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999"];
/// What prompts and answers are made of, and how each is measured.
const KINDS: [(&str, &[&str]); 5] = [
    ("text", &["tokens", "words", "characters"]),
    ("image", &["tokens", "images", "pixels", "bytes"]),
    ("video", &["tokens", "frames", "seconds", "bytes"]),
    ("audio", &["tokens", "samples", "seconds", "bytes"]),
    ("tool_call", &["tokens", "mixed_tokens", "count"]),
];
/// The statistics of each kind.
const OF_KIND: [&str; 9] = [
    "input",
    "input_per_second",
    "input_concurrency",
    "output",
    "output_per_second",
    "output_concurrency",
    "total",
    "total_per_second",
    "total_concurrency",
];

/// What was set for all benchmarks.
pub(super) fn config(run: &RunData, loads: &[Option<&LoadSpec>]) -> Value {
    let mut spec = Map::new();
    let workload = &run.manifest.spec.workload;
    let data = match (workload.kind.as_str(), workload.prompt_tokens) {
        ("random", Some(prompt)) => json!({
            "kind": "synthetic_text",
            "prompt_tokens": prompt,
            "output_tokens": workload.output_tokens,
        }),
        // The prompts themselves are in no file of results.
        _ => json!({"kind": "in_memory_item_list", "data": []}),
    };
    let first = loads.first().copied().flatten();
    spec.insert("backend".to_owned(), backend(run).unwrap_or_else(|| json!({})));
    spec.insert("data".to_owned(), json!([data]));
    spec.insert("metrics".to_owned(), json!({"kind": "generative", "sample_size": 0}));
    if let Some(profile) = profile(loads) {
        spec.insert("profile".to_owned(), profile);
    }
    if let Some(load) = first {
        let bounds =
            bounds(load).into_iter().map(|(kind, name, value)| json!({"kind": kind, name: value}));
        spec.insert("constraints".to_owned(), bounds.collect());
    }
    json!({"metadata": {"labels": {}}, "spec": spec})
}

/// The server, if the tool speaks its API.
fn backend(run: &RunData) -> Option<Value> {
    let target = &run.manifest.spec.target;
    let path = match target.api {
        Api::Chat => "/v1/chat/completions",
        Api::Completions => "/v1/completions",
        Api::Responses => "/v1/responses",
        Api::Transcriptions => "/v1/audio/transcriptions",
        Api::Translations => "/v1/audio/translations",
        _ => return None,
    };
    let url = target.base_url.strip_suffix("/v1").unwrap_or(&target.base_url);
    Some(json!({
        "kind": "openai_http",
        "target": url,
        "model": target.model,
        "request_format": path,
        "stream": target.stream,
    }))
}

/// The loads as one of the tool's profiles, if there is one that has them all.
fn profile(loads: &[Option<&LoadSpec>]) -> Option<Value> {
    let loads = loads.iter().copied().collect::<Option<Vec<&LoadSpec>>>()?;
    if loads.iter().all(|load| load.arrivals.is_none()) {
        let streams: Vec<u32> = loads.iter().map(|load| load.concurrency).collect();
        return Some(match streams.as_slice() {
            [1] => json!({"kind": "synchronous"}),
            _ => json!({"kind": "concurrent", "streams": streams}),
        });
    }
    let rates = loads.iter().map(|load| steady(load)).collect::<Option<Vec<_>>>()?;
    let kinds = rates.iter().map(|(_, law, _)| spaced(*law)).collect::<Option<Vec<_>>>()?;
    let kind = kinds.first().filter(|first| kinds.iter().all(|kind| kind == *first))?;
    Some(json!({"kind": kind, "rate": rates.iter().map(|(rate, ..)| rate).collect::<Vec<_>>()}))
}

/// How requests are spaced, in the tool's word.
fn spaced(law: ArrivalLaw) -> Option<&'static str> {
    match law {
        ArrivalLaw::Constant => Some("constant"),
        ArrivalLaw::Poisson => Some("poisson"),
        ArrivalLaw::Gamma(_) | ArrivalLaw::Burst(_) | ArrivalLaw::Replay(_) => None,
    }
}

/// What ends a benchmark: kind, name of its number, number.
fn bounds(load: &LoadSpec) -> Vec<(&'static str, &'static str, Value)> {
    let requests = load.requests.map(|count| ("max_requests", "count", json!(count)));
    let seconds = load.duration_s.map(|seconds| ("max_duration", "seconds", json!(seconds)));
    requests.into_iter().chain(seconds).collect()
}

/// Adds to a benchmark what its reader asks for.
pub(super) fn fill(
    benchmark: &mut Value,
    run: &RunData,
    (row, number): (&Row, usize),
    load: Option<&LoadSpec>,
) {
    let count = |quantity| row.value(quantity, Statistic::Value).map(|value| value as u64);
    let (ok, failed) = (count(Metric::RequestsOk), count(Metric::RequestsFailed));
    // Every request that was sent is waited for.
    let counts = json!({
        "successful": ok,
        "errored": failed,
        "incomplete": 0,
        "total": ok.zip(failed).map(|(ok, failed)| ok + failed),
    });
    if let Some(config) = benchmark.get_mut("config").and_then(Value::as_object_mut) {
        settings(config, run, number, load);
    }
    let strategy = benchmark.pointer("/config/strategy/type_").cloned();
    if let Some(metrics) = benchmark.get_mut("metrics").and_then(Value::as_object_mut) {
        metrics.insert("request_totals".to_owned(), counts.clone());
        row.spreads.iter().for_each(|spread| add(metrics, spread));
        for name in METRICS {
            let metric = metrics.entry(name).or_insert_with(|| json!({}));
            OUTCOMES.iter().for_each(|outcome| {
                if metric[*outcome].is_null() {
                    metric[*outcome] = nothing();
                }
            });
        }
        kinds(metrics);
    }
    let times = times(run, row, number);
    if let Some(benchmark) = benchmark.as_object_mut() {
        let nobody: [Value; 0] = [];
        benchmark.insert(
            "requests".to_owned(),
            json!({"successful": nobody, "incomplete": nobody, "errored": nobody}),
        );
        if let Some((start_s, end_s)) = times {
            benchmark.insert(
                "scheduler_state".to_owned(),
                json!({
                    "start_time": start_s,
                    "end_time": end_s,
                    "start_requests_time": start_s,
                    "end_requests_time": end_s,
                    "created_requests": counts["total"],
                    "processed_requests": counts["total"],
                    "successful_requests": ok,
                    "errored_requests": failed,
                }),
            );
            let took = row.spreads.iter().find(|spread| spread.name == "request_latency");
            let mut metrics = json!({
                "start_time": start_s,
                "request_start_time": start_s,
                "measure_start_time": start_s,
                "measure_end_time": end_s,
                "request_end_time": end_s,
                "end_time": end_s,
                "requests_made": counts,
                "request_time_avg": took.map_or(NONE, |spread| spread.mean),
                "strategy_type": strategy,
            });
            DELAYS.iter().for_each(|name| metrics[*name] = json!(NONE));
            benchmark.insert("scheduler_metrics".to_owned(), metrics);
        }
    }
}

/// What was set for one benchmark.
fn settings(
    config: &mut Map<String, Value>,
    run: &RunData,
    number: usize,
    load: Option<&LoadSpec>,
) {
    let spec = &run.manifest.spec;
    let workload = spec.workload.text.as_ref().unwrap_or(&spec.workload.kind);
    if let Some(labels) = config.get_mut("metadata").and_then(|metadata| metadata.get_mut("labels"))
    {
        labels[ifm_core::sheet::key::WORKLOAD] = json!(workload);
    }
    if let Some((rate, law, seed)) = load.and_then(steady) {
        // A law that the tool has no word for keeps its own, which its reader refuses.
        let (word, seed) = match law {
            ArrivalLaw::Poisson => ("poisson", Some(seed)),
            ArrivalLaw::Constant => ("constant", None),
            ArrivalLaw::Gamma(_) => ("gamma", None),
            ArrivalLaw::Burst(_) => ("burst", None),
            ArrivalLaw::Replay(_) => ("replay", None),
        };
        let mut strategy = json!({"type_": word, "rate": rate});
        if let Some(seed) = seed {
            strategy["random_seed"] = json!(seed);
        }
        config.insert("strategy".to_owned(), strategy);
    }
    let bounds = load.map(bounds).unwrap_or_default();
    let bounds: Map<String, Value> = bounds
        .into_iter()
        .map(|(kind, name, value)| {
            (kind.to_owned(), json!({"type_": kind, "args": {"kind": kind, name: value}}))
        })
        .collect();
    for (name, value) in [
        ("run_id", json!(run.manifest.run_id)),
        ("run_index", json!(number)),
        ("constraints", bounds.into()),
        ("sample_size", json!(0)),
        ("confidence", Value::Null),
        ("profile", profile(&[load]).unwrap_or_else(|| json!({}))),
        ("requests", json!({})),
        ("backend", backend(run).unwrap_or_else(|| json!({}))),
        ("environment", json!({})),
    ] {
        config.insert(name.to_owned(), value);
    }
}

/// The start of the first request of a row and the end of the last, seconds since 1970.
fn times(run: &RunData, row: &Row, number: usize) -> Option<(f64, f64)> {
    let level = super::super::level(row, number)?;
    let starts = run.requests.iter().filter(|record| {
        let is_sent = record.outcome != ifm_core::Outcome::Dropped;
        record.level == level && record.phase == ifm_core::Phase::Measure && is_sent
    });
    let start_ns = starts.map(|record| record.start_ns).min()?;
    let start_s = run.manifest.clock.origin_unix_ns.saturating_add(start_ns) as f64 / NS_PER_S;
    // A duration is in milliseconds in a sheet.
    let lasts_s = row.value(Metric::Duration, Statistic::Value)? / 1e3;
    Some((start_s, start_s + lasts_s))
}

/// Completes the statistics of a metric; `image/pixels/input` is a nested path. Existing numbers
/// are kept.
fn add(metrics: &mut Map<String, Value>, spread: &Spread) {
    let mut at = metrics;
    let mut path = spread.name.split('/').peekable();
    while let Some(name) = path.next() {
        let entry = at.entry(name).or_insert_with(|| json!({}));
        let Some(inner) = entry.as_object_mut() else { return };
        if path.peek().is_none() {
            statistics(inner, spread);
            return;
        }
        at = inner;
    }
}

fn statistics(metric: &mut Map<String, Value>, spread: &Spread) {
    let summary = metric.entry("successful").or_insert_with(|| json!({}));
    let Some(summary) = summary.as_object_mut() else { return };
    let mut put = |name: &str, value: f64| {
        summary.entry(name).or_insert_with(|| json!(value));
    };
    put("mean", spread.mean);
    put("mode", spread.mode);
    put("variance", spread.variance);
    put("std_dev", spread.variance.sqrt());
    put("min", spread.min);
    put("max", spread.max);
    let median = spread.percentiles.iter().find(|(p, _)| *p == 50.0);
    put("median", median.map_or(spread.mean, |(_, value)| *value));
    let mean = summary.get("mean").and_then(Value::as_f64).unwrap_or(spread.mean);
    summary.insert("count".to_owned(), json!(spread.count));
    summary.insert("total_sum".to_owned(), json!(mean * spread.count as f64));
    let percentiles = summary.entry("percentiles").or_insert_with(|| json!({}));
    if let Some(percentiles) = percentiles.as_object_mut() {
        for (p, value) in &spread.percentiles {
            percentiles.entry(short(*p)).or_insert_with(|| json!(value));
        }
    }
    // There are none of requests that failed.
    let all = Value::from(summary.clone());
    metric.insert("total".to_owned(), all);
    metric.insert("incomplete".to_owned(), nothing());
    metric.insert("errored".to_owned(), nothing());
}

/// The statistics of no value, as the tool writes them: its reader asks for numbers, and the count says that
/// they are none.
fn nothing() -> Value {
    let percentiles = PERCENTILES.map(|name| (name.to_owned(), json!(0.0)));
    let mut none: Map<String, Value> =
        STATISTICS.iter().map(|name| ((*name).to_owned(), json!(0.0))).collect();
    none.insert("count".to_owned(), json!(0));
    none.insert("percentiles".to_owned(), percentiles.into_iter().collect::<Map<_, _>>().into());
    none.into()
}

/// `p05`, `p50`, and without its point `p999` and `p001`.
fn short(p: f64) -> String {
    let digits = format!("{p}");
    match digits.split_once('.') {
        Some((whole, part)) => format!("p{whole:0>2}{part}"),
        None => format!("p{digits:0>2}"),
    }
}

/// Every kind of content with all of its statistics, empty where nothing is known.
fn kinds(metrics: &mut Map<String, Value>) {
    for (kind, names) in KINDS {
        let of_kind = metrics.entry(kind).or_insert_with(|| json!({}));
        for name in names {
            let told = of_kind[*name].as_object().cloned();
            of_kind[*name] = told.map_or(Value::Null, |mut told| {
                for part in OF_KIND {
                    told.entry(part).or_insert(Value::Null);
                }
                told.into()
            });
        }
    }
}
