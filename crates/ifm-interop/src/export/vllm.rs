//! The JSON of `vllm bench serve --save-result`, several levels as `--append-result` writes them.

use super::fields::{
    factor, float, mean_tpot_ms, metadata, number, percentile_name, set, set_float, statistic_name,
    times, value,
};
use super::{Export, ExportOptions, Exported, Writer, asked, level, serving};
use crate::import::VLLM_PER_TOKEN;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, Row, SheetRequest, Statistic, key};
use ifm_core::spec::{Api, ArrivalLaw, LoadSpec};
use ifm_core::{Outcome, Phase, RequestRecord, RunData, Sheet};
use serde_json::{Map, Value, json};

pub(super) const EXPORT: Export = Export {
    id: "vllm",
    title: "vllm bench serve, JSON",
    definitions: Some("vllm"),
    write: Writer::Asked(write),
    holds: "loads of a server",
    lacks: "smallest, largest and lower percentiles of times; deviations of a sample; times to the first answer token; requests in flight, input rate, time in the client's queue; the gaps of single requests; figures of media but RTFx of the level; definitions, places and printed digits",
};

/// Factors that the format has fields for.
const FIELDS: [&str; 4] = [key::MODEL, key::CONCURRENCY, key::RATE, key::REQUESTS];

/// Times by the client's names.
const TIMES: [(&str, Metric); 4] =
    [("ttft", Metric::Ttft), ("tpot", Metric::Tpot), ("itl", Metric::Itl), ("e2el", Metric::E2e)];

fn write(sheet: &Sheet, run: Option<&RunData>, options: &ExportOptions) -> Vec<Exported> {
    let line = |(number, (row, factors)): (usize, (&Row, Factors))| {
        let mut object = object(row, &factors, options);
        if let Some(run) = run {
            of_run(&mut object, run, asked(run, row, number), options);
        }
        if options.detailed != Some(false) {
            details(run, row, number, &mut object);
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

fn object(row: &Row, factors: &Factors, options: &ExportOptions) -> Map<String, Value> {
    let mut object = Map::new();
    metadata(&mut object, factors, &FIELDS);
    let model = factor(factors, key::MODEL);
    let backend = options.backend.clone().map_or_else(|| factor(factors, key::ENGINE), Value::from);
    object.insert("backend".to_owned(), backend.clone());
    // The client writes it twice, for readers of its older files.
    object.insert("endpoint_type".to_owned(), backend);
    object.insert("label".to_owned(), Value::from(row.label.clone()));
    let tokenizer = options.tokenizer.clone().map_or_else(|| model.clone(), Value::from);
    object.insert("tokenizer_id".to_owned(), tokenizer);
    object.insert("model_id".to_owned(), model);
    object.insert("written_by".to_owned(), Value::from("inferometer"));
    object.insert("num_prompts".to_owned(), factor(factors, key::REQUESTS));
    let rate = factors.number(key::RATE).filter(|rate| rate.is_finite());
    object.insert(
        "request_rate".to_owned(),
        rate.map_or_else(|| factor(factors, key::RATE), |rate| float(Some(rate))),
    );
    object.insert("max_concurrency".to_owned(), factor(factors, key::CONCURRENCY));
    for (name, quantity) in [
        ("completed", Metric::RequestsOk),
        ("failed", Metric::RequestsFailed),
        ("total_input_tokens", Metric::InputTokens),
        ("total_output_tokens", Metric::OutputTokens),
        ("max_concurrent_requests", Metric::PeakInFlight),
    ] {
        set(&mut object, name, value(row, quantity));
    }
    for (name, quantity, scale) in [
        ("duration", Metric::Duration, 1e-3),
        ("request_throughput", Metric::RequestRate, 1.0),
        ("output_throughput", Metric::OutputRate, 1.0),
        ("total_token_throughput", Metric::TotalRate, 1.0),
        ("max_output_tokens_per_s", Metric::PeakOutputRate, 1.0),
        ("rtfx", Metric::LevelRtfx, 1.0),
    ] {
        set_float(&mut object, name, value(row, quantity).map(|value| value * scale));
    }
    let goodput = value(row, Metric::Goodput).filter(|_| !options.has_default_target);
    object.insert("request_goodput".to_owned(), float(goodput));
    set_times(row, &mut object, options);
    object
}

/// The times that are asked for, or all, with the percentiles that are asked for, or all that the format
/// has names for.
fn set_times(row: &Row, object: &mut Map<String, Value>, options: &ExportOptions) {
    for (name, quantity) in TIMES {
        if options.metrics.as_ref().is_some_and(|asked| !asked.iter().any(|word| word == name)) {
            continue;
        }
        let figures: Vec<_> = times(row, quantity, VLLM_PER_TOKEN).collect();
        let of =
            |statistic: Statistic| figures.iter().find(|it| it.statistic == statistic)?.canonical();
        for figure in &figures {
            let is_percentile = matches!(figure.statistic, Statistic::Percentile(_));
            if is_percentile && options.percentiles.is_some() {
                continue;
            }
            let Some(statistic) = statistic_name(figure.statistic) else { continue };
            set_float(object, format!("{statistic}_{name}_ms"), figure.canonical());
        }
        if name == "tpot" && !object.contains_key("mean_tpot_ms") {
            set_float(object, "mean_tpot_ms", mean_tpot_ms(row));
        }
        // The median is a percentile too, where those are asked for or nothing is.
        for p in options.percentiles.as_deref().unwrap_or(&[50.0]) {
            let value = match *p == 50.0 {
                true => of(Statistic::Median).or_else(|| of(Statistic::Percentile(50.0))),
                false => of(Statistic::Percentile(*p)),
            };
            set_float(object, format!("{}_{name}_ms", percentile_name(*p)), value);
        }
    }
}

/// The client's word for an API.
fn backend_of(api: Api) -> &'static str {
    match api {
        Api::Chat => "openai-chat",
        Api::Completions => "openai",
        Api::Responses => "openai-responses",
        Api::Transcriptions => "openai-audio",
        Api::Embeddings => "openai-embeddings",
        Api::Rerank => "vllm-rerank",
        Api::Triton => "tensorrt-llm",
        other => other.word(),
    }
}

/// Fields that are not in the rows: the start time, in UTC where the client writes local time; the
/// arrival process, where the client has a number for it; and the tags, as the client writes
/// `--metadata`.
fn of_run(
    object: &mut Map<String, Value>,
    run: &RunData,
    load: Option<&LoadSpec>,
    options: &ExportOptions,
) {
    let utc = run.manifest.created_utc.get(..19).unwrap_or_default();
    let date = utc.replace(['-', ':'], "").replace('T', "-");
    // The client's default, which has no effect where all requests are sent at once.
    let burstiness = match load.and_then(|load| load.arrivals.as_ref()).map(|it| &it.law) {
        None | Some(ArrivalLaw::Poisson) => Some(1.0),
        Some(ArrivalLaw::Gamma(shape)) => Some(*shape),
        Some(ArrivalLaw::Constant | ArrivalLaw::Burst(_) | ArrivalLaw::Replay(_)) => None,
    };
    object.insert("date".to_owned(), Value::from(date));
    object.insert("burstiness".to_owned(), float(burstiness));
    if options.backend.is_none() {
        let backend = backend_of(run.manifest.spec.target.api);
        object.insert("backend".to_owned(), Value::from(backend));
        object.insert("endpoint_type".to_owned(), Value::from(backend));
    }
    // The client has 0 where no prompt holds audio.
    let has_audio =
        run.requests.iter().any(|record| record.media.as_ref().is_some_and(|it| it.audios > 0));
    if !has_audio {
        object.entry("rtfx").or_insert_with(|| json!(0.0));
    }
    // A figure keeps its name.
    for (name, value) in &run.manifest.tags {
        object.entry(name.as_str()).or_insert_with(|| Value::from(value.as_str()));
    }
}

/// `mean_ttft_ms` and its like, which SGLang names likewise but for the end-to-end latency. `own`
/// is what the format means by times per token.
pub(super) fn latencies(row: &Row, object: &mut Map<String, Value>, e2e: &str, own: &[&str]) {
    for (name, quantity) in TIMES {
        let name = if name == "e2el" { e2e } else { name };
        for figure in times(row, quantity, own) {
            let Some(statistic) = statistic_name(figure.statistic) else { continue };
            set_float(object, format!("{statistic}_{name}_ms"), figure.canonical());
        }
    }
}

/// The arrays of `--save-detailed`.
pub(super) fn details(
    run: Option<&RunData>,
    row: &Row,
    number: usize,
    object: &mut Map<String, Value>,
) {
    if row.requests.is_empty() {
        return;
    }
    details_of_sheet(&row.requests, object);
    if let Some(run) = run {
        details_of_run(&records(run, row, number), &row.requests, object);
    }
}

/// Those that a sheet has.
fn details_of_sheet(requests: &[SheetRequest], object: &mut Map<String, Value>) {
    let column = |of: &dyn Fn(&SheetRequest) -> Value| requests.iter().map(of).collect::<Vec<_>>();
    // Where a request failed the format has zeros, and a text in `errors`; what was not counted or
    // not streamed is null.
    let seconds = |r: &SheetRequest, ms: Option<f64>| match (ms, &r.error) {
        (None, Some(_)) => json!(0.0),
        (ms, _) => float(ms.map(|ms| ms / 1e3)),
    };
    let count = |r: &SheetRequest, tokens: Option<u64>| match (tokens, &r.error) {
        (None, Some(_)) => json!(0),
        (tokens, _) => number(tokens.map(|tokens| tokens as f64)),
    };
    object.insert("input_lens".to_owned(), column(&|r| count(r, r.input_tokens)).into());
    object.insert("output_lens".to_owned(), column(&|r| count(r, r.output_tokens)).into());
    object.insert("ttfts".to_owned(), column(&|r| seconds(r, r.ttft_ms)).into());
    object.insert("latencies".to_owned(), column(&|r| seconds(r, r.e2e_ms)).into());
    object.insert("start_times".to_owned(), column(&|r| float(r.start_s)).into());
    object.insert(
        "errors".to_owned(),
        column(&|r| json!(r.error.clone().unwrap_or_default())).into(),
    );
}

/// The records of a row's requests, in the order of their starts.
fn records<'r>(run: &'r RunData, row: &Row, number: usize) -> Vec<&'r RequestRecord> {
    let of_level = level(row, number);
    let is_of_row = |record: &&RequestRecord| {
        Some(record.level) == of_level
            && record.phase == Phase::Measure
            && record.outcome != Outcome::Dropped
    };
    let mut records: Vec<&RequestRecord> = run.requests.iter().filter(is_of_row).collect();
    records.order_by_key(|record| record.start_ns);
    records
}

/// The arrays that only the run has: gaps, texts where they were kept, and times in the client's queue.
fn details_of_run(
    records: &[&RequestRecord],
    requests: &[SheetRequest],
    object: &mut Map<String, Value>,
) {
    const NS_PER_S: f64 = 1e9;
    if records.len() != requests.len() {
        return;
    }
    let gaps = |record: &&RequestRecord| -> Value {
        let pairs = record.events.at_ns.windows(2);
        let gap = |pair: &[u64]| match pair {
            [before, after] => float(Some(after.saturating_sub(*before) as f64 / NS_PER_S)),
            _ => Value::Null,
        };
        match record.streamed {
            true => pairs.map(gap).collect(),
            false => Value::Array(Vec::new()),
        }
    };
    // Without a rate the client issues all requests at once, and each waits for a free place.
    let is_open = records.iter().any(|record| record.due_ns != record.start_ns);
    let issued_ns = records.iter().map(|record| record.start_ns).min().unwrap_or_default();
    let queued = |record: &&RequestRecord| {
        let from_ns = if is_open { record.due_ns } else { issued_ns };
        float(Some(record.start_ns.saturating_sub(from_ns) as f64 / NS_PER_S))
    };
    object.insert("itls".to_owned(), records.iter().map(gaps).collect());
    object.insert("queue_times".to_owned(), records.iter().map(queued).collect());
    if records.iter().any(|record| record.text.is_some()) {
        let text = |record: &&RequestRecord| Value::from(record.text.clone().unwrap_or_default());
        object.insert("generated_texts".to_owned(), records.iter().map(text).collect());
    }
}
