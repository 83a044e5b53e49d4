//! The folder of an experiment of genai-bench: `experiment_metadata.json`, and a file for each level.
//!
//! Its readers go by the files' names and by the metadata: `genai-bench excel` and `plot` take the folder.
//! Times are in seconds, which the files say and its readers convert. A failure without an HTTP status has
//! no code.

use super::fields::{number, set_each, times, value};
use super::{Export, Exported, Writer, asked, serving};
use crate::import::GENAI_BENCH_PER_TOKEN;
use ifm_core::Metric;
use ifm_core::sheet::meaning::{INPUT_OF_A_REQUEST, OUTPUT_LATENCY, OUTPUT_OF_A_REQUEST};
use ifm_core::sheet::{Factors, Row, SheetRequest, Statistic, StdKind, key};
use ifm_core::spec::{Api, LoadSpec};
use ifm_core::{RunData, Sheet};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const EXPORT: Export = Export {
    id: "genai-bench",
    title: "genai-bench, a folder of JSON",
    definitions: Some("genai-bench"),
    write: Writer::Results(write),
    holds: "loads of so many users",
    lacks: "loads by a rate; inter-token latency and times to the first answer token; percentiles but 25, 50, 75, 90, 95 and 99; deviations of a sample; requests in flight, goodput and peaks; figures of media; of single requests their starts, gaps and time in the client's queue; labels of rows; definitions, places and printed digits",
};

/// Version of the tool whose files these are.
const VERSION: &str = "0.0.5";
/// The name of the scenario where lengths are not given.
const DATASET: &str = "dataset";
/// Output that took less, seconds, is too short for a speed.
const SHORT_S: f64 = 1e-3;

/// A level, as far as the folder's other files ask for it.
struct Level {
    scenario: String,
    users: u32,
    /// Duration, seconds: as asked, else as it lasted.
    seconds: Option<f64>,
    /// Requests: as asked, else as sent.
    requests: Option<f64>,
}

fn write(sheet: &Sheet, run: Option<&RunData>) -> Vec<Exported> {
    let task = task(run);
    let (mut files, mut levels, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut model = None;
    for (number, (row, factors)) in serving(sheet).enumerate() {
        let Some(level) = level(row, &factors, run, number) else { continue };
        let seconds = value(row, Metric::Duration).map_or(0.0, |ms| (ms / 1e3).ceil());
        let scenario = safe(&level.scenario);
        let users = level.users;
        let name = |again: &str| {
            format!("{scenario}{again}_{task}_num_concurrency_{users}_time_{seconds}s.json")
        };
        // A level that was measured twice has two files.
        let mut taken = name("");
        for again in 2.. {
            if names.insert(taken.clone()) {
                break;
            }
            taken = name(&format!("_{again}"));
        }
        let text = format!("{:#}\n", document(row, &factors, &level));
        files.push(Exported { name: Some(taken), stem: String::new(), ending: "json", text });
        model = model.or_else(|| factors.get(key::MODEL).map(str::to_owned));
        levels.push(level);
    }
    if files.is_empty() {
        return files;
    }
    let text = format!("{:#}\n", metadata(&levels, task, model.as_deref(), sheet, run));
    let name = Some("experiment_metadata.json".to_owned());
    files.insert(0, Exported { name, stem: String::new(), ending: "json", text });
    files
}

fn level(row: &Row, factors: &Factors, run: Option<&RunData>, number: usize) -> Option<Level> {
    let users = factors.number(key::CONCURRENCY).filter(|users| *users >= 1.0)? as u32;
    let asked: Option<&LoadSpec> = run.and_then(|run| asked(run, row, number));
    let workload = run.map(|run| &run.manifest.spec.workload);
    let typed = workload.and_then(|workload| workload.text.clone());
    let lengths = || {
        let of = |name| factors.number(name).map(|tokens: f64| tokens.to_string());
        Some(format!("D({},{})", of(key::INPUT_TOKENS)?, of(key::OUTPUT_TOKENS)?))
    };
    let is_scenario =
        |text: &String| text.starts_with(['D', 'N', 'U', 'E', 'I']) && text.contains('(');
    let scenario = typed.filter(is_scenario).or_else(lengths);
    let lasted = value(row, Metric::Duration).map(|ms| ms / 1e3);
    Some(Level {
        scenario: scenario
            .or_else(|| factors.get(key::WORKLOAD).map(str::to_owned))
            .unwrap_or_else(|| DATASET.to_owned()),
        users,
        seconds: asked.and_then(|load| load.duration_s).or(lasted),
        requests: asked
            .and_then(|load| load.requests.map(f64::from))
            .or_else(|| factors.number(key::REQUESTS))
            .or_else(|| value(row, Metric::RequestsOk)),
    })
}

/// A scenario as the tool writes it into names of files.
fn safe(scenario: &str) -> String {
    let plain = scenario.chars().filter(|sign| !matches!(sign, '(' | ')'));
    plain
        .map(|sign| if sign.is_ascii_alphanumeric() || "._-".contains(sign) { sign } else { '_' })
        .collect()
}

fn task(run: Option<&RunData>) -> &'static str {
    let Some(run) = run else { return "text-to-text" };
    let has_images = || {
        run.requests
            .iter()
            .any(|record| record.media.as_ref().is_some_and(|media| media.images > 0))
    };
    match run.manifest.spec.target.api {
        Api::Embeddings => "text-to-embeddings",
        Api::Rerank => "text-to-rerank",
        Api::Speech => "text-to-speech",
        _ if has_images() => "image-text-to-text",
        _ => "text-to-text",
    }
}

/// The settings of the run, as the tool's reader checks them. A required limit that was not set is
/// filled with the value that was reached.
fn metadata(
    levels: &[Level],
    task: &str,
    model: Option<&str>,
    sheet: &Sheet,
    run: Option<&RunData>,
) -> Value {
    let most = |of: fn(&Level) -> Option<f64>| {
        number(levels.iter().filter_map(of).reduce(f64::max).map(f64::ceil))
    };
    let distinct = |values: Vec<Value>| {
        let mut seen: Vec<Value> = Vec::new();
        values.into_iter().for_each(|value| match seen.contains(&value) {
            true => {}
            false => seen.push(value),
        });
        seen
    };
    let scenarios = levels.iter().map(|level| json!(level.scenario)).collect();
    let users = levels.iter().map(|level| json!(level.users)).collect();
    let manifest = run.map(|run| &run.manifest);
    let tag = |name: &str| manifest.and_then(|manifest| manifest.tags.get(name).cloned());
    let server = manifest.map(|manifest| &manifest.server);
    json!({
        "written_by": "inferometer",
        "cmd": manifest.map_or_else(|| sheet.source.name.clone(), |manifest| manifest.command.join(" ")),
        "benchmark_version": VERSION,
        "api_backend": "openai",
        "auth_config": {},
        "api_model_name": model.unwrap_or_default(),
        "server_model_tokenizer": manifest.map(|manifest| &manifest.spec.workload.tokenizer),
        "model": model.unwrap_or_default(),
        "task": task,
        "num_concurrency": distinct(users),
        "batch_size": null,
        "iteration_type": "num_concurrency",
        "traffic_scenario": distinct(scenarios),
        "additional_request_params": {},
        "server_engine": tag(key::ENGINE).or_else(|| server?.kind.clone()),
        "server_version": tag("server_version").or_else(|| server?.version.clone()),
        "server_gpu_type": tag(key::GPU),
        "server_gpu_count": tag("gpu_count"),
        "max_time_per_run_s": most(|level| level.seconds),
        "max_requests_per_run": most(|level| level.requests),
        "experiment_folder_name": manifest.and_then(|manifest| manifest.name.as_ref()).unwrap_or(&sheet.source.name),
        "metrics_time_unit": "s",
        "dataset_path": null,
    })
}

fn document(row: &Row, factors: &Factors, level: &Level) -> Value {
    let mut metrics = Map::new();
    metrics.insert("scenario".to_owned(), json!(level.scenario));
    metrics.insert("num_concurrency".to_owned(), json!(level.users));
    metrics.insert("batch_size".to_owned(), json!(1));
    metrics.insert("iteration_type".to_owned(), json!("num_concurrency"));
    let whole = [
        ("run_duration", Metric::Duration),
        ("mean_output_throughput_tokens_per_s", Metric::OutputRate),
        ("mean_input_throughput_tokens_per_s", Metric::InputRate),
        ("mean_total_tokens_throughput_tokens_per_s", Metric::TotalRate),
        ("requests_per_second", Metric::RequestRate),
        ("num_error_requests", Metric::RequestsFailed),
        ("num_completed_requests", Metric::RequestsOk),
    ];
    set_each(&mut metrics, row, &whole);
    let failed = value(row, Metric::RequestsFailed);
    let both = value(row, Metric::RequestsOk).zip(failed).map(|(ok, failed)| ok + failed);
    let all = value(row, Metric::Requests).or(both);
    let rate = failed.zip(all).filter(|(_, all)| *all > 0.0).map(|(failed, all)| failed / all);
    for (name, told) in [("num_requests", all), ("error_rate", rate)] {
        if told.is_some() {
            metrics.insert(name.to_owned(), number(told));
        }
    }
    let mut codes: BTreeMap<String, u64> = BTreeMap::new();
    for status in row.requests.iter().filter_map(|request| request.status) {
        *codes.entry(status.to_string()).or_default() += 1;
    }
    metrics.insert("error_codes_frequency".to_owned(), json!(codes));
    metrics.insert("stats".to_owned(), stats(row).into());
    let requests: Vec<Value> = row.requests.iter().map(request).collect();
    json!({
        "aggregated_metrics": metrics,
        "individual_request_metrics": requests,
        "_time_unit": "s",
        "written_by": "inferometer",
        "labels": super::fields::labels(factors),
    })
}

/// Statistics over requests.
fn stats(row: &Row) -> Map<String, Value> {
    let other = |name: &str| Metric::other(name);
    let mut stats = Map::new();
    for (field, quantity, scale) in [
        ("ttft", Metric::Ttft, 1e-3),
        ("tpot", Metric::Tpot, 1e-3),
        ("e2e_latency", Metric::E2e, 1e-3),
        ("output_latency", other(OUTPUT_LATENCY), 1e-3),
        ("output_inference_speed", Metric::UserSpeed, 1.0),
        ("num_input_tokens", Metric::InputTokens, 1.0),
        ("num_output_tokens", Metric::OutputTokens, 1.0),
        ("num_reasoning_tokens", Metric::ReasoningTokens, 1.0),
        ("total_tokens", Metric::TotalTokens, 1.0),
        ("input_throughput", other(INPUT_OF_A_REQUEST), 1.0),
        ("output_throughput", other(OUTPUT_OF_A_REQUEST), 1.0),
    ] {
        let mut stat = Map::new();
        for figure in times(row, quantity, GENAI_BENCH_PER_TOKEN) {
            let name = match figure.statistic {
                Statistic::Min => "min".to_owned(),
                Statistic::Max => "max".to_owned(),
                Statistic::Mean => "mean".to_owned(),
                Statistic::Std(StdKind::Population) => "stddev".to_owned(),
                Statistic::Sum => "sum".to_owned(),
                Statistic::Median => "p50".to_owned(),
                Statistic::Percentile(p) if [25.0, 75.0, 90.0, 95.0, 99.0].contains(&p) => {
                    format!("p{p}")
                }
                _ => continue,
            };
            stat.insert(name, number(figure.canonical().map(|value| value * scale)));
        }
        if !stat.is_empty() {
            stats.insert(field.to_owned(), stat.into());
        }
    }
    stats
}

/// One request, times in seconds; of one that failed nothing but why.
fn request(request: &SheetRequest) -> Value {
    let s = |ms: Option<f64>| ms.map(|ms| ms / 1e3);
    let count = |tokens: Option<u64>| tokens.map(|tokens| tokens as f64);
    let is_ok = request.error.is_none();
    let ttft = s(request.ttft_ms).filter(|_| is_ok);
    let e2e = s(request.e2e_ms).filter(|_| is_ok);
    let (input, output) =
        (count(request.input_tokens), count(request.output_tokens).filter(|_| is_ok));
    let latency = e2e.zip(ttft).map(|(e2e, ttft)| e2e - ttft);
    let behind = output.map(|tokens| tokens - 1.0).filter(|tokens| *tokens > 0.0);
    let over = |amount: Option<f64>, seconds: Option<f64>| {
        amount
            .zip(seconds.filter(|seconds| *seconds > 0.0))
            .map(|(amount, seconds)| amount / seconds)
    };
    let long = latency.filter(|seconds| *seconds >= SHORT_S);
    json!({
        "ttft": ttft,
        "tpot": over(long, behind),
        "e2e_latency": e2e,
        "output_latency": latency,
        "output_inference_speed": over(behind, long),
        "num_input_tokens": number(input.filter(|_| is_ok)),
        "num_output_tokens": number(output),
        "num_reasoning_tokens": null,
        "total_tokens": number(input.zip(output).map(|(input, output)| input + output)),
        "input_throughput": over(input, ttft),
        "output_throughput": over(behind, latency),
        "audio_throughput": null,
        "error_code": request.status,
        "error_message": request.error,
    })
}
