//! inference-perf: the summary of a run or of a stage, and the records of single requests. All
//! times are in seconds; what is empty is `null`.

use super::super::error::ImportError;
use super::super::json::{Number, Word};
use super::super::statistic::{Measure, different};
use super::super::{Head, Input, Likeness, Recognised, json, words};
use super::{Format, collect};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Place, Quantity, Row, RowRole, SheetRequest, Statistic, StdKind,
    Unit, key,
};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) struct InferencePerf;
pub(super) struct InferencePerfRequests;

const SUMMARY: Recognised = Recognised { id: "inference-perf", title: "inference-perf, summary" };
const REQUESTS: Recognised =
    Recognised { id: "inference-perf-requests", title: "inference-perf, single requests" };
const MARKS: &[&str] = &["load_summary", "successes", "failures", "benchmark_time_seconds"];

impl Format for InferencePerf {
    fn about(&self) -> Recognised {
        SUMMARY
    }

    fn likeness(&self, head: &Head) -> Likeness {
        match head.is_json() && head.has_keys(&["successes", "load_summary"]) {
            true => Likeness::Sure,
            false if head.is_json() && head.has_keys(&["successes", "failures"]) => Likeness::Some,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, mut input: Input<'_>) -> Result<Sheet, ImportError> {
        let stage = stage(input.name());
        let (mut rows, mut remarks) = (Vec::new(), Vec::new());
        let gone = collect::pieces(&mut input, &[], &mut |piece| match piece
            .value::<Map<String, Value>>()
        {
            Ok(object) => rows.push(row(object)),
            Err((line, reason)) => collect::skip(&mut remarks, line, &reason),
        })?;
        if rows.is_empty() {
            return Err(gone.broken(SUMMARY.title, "no summary in it", remarks));
        }
        for row in &mut rows {
            row.label.clone_from(&stage);
        }
        let mut sheet = collect::sheet(SUMMARY, &gone, PartKind::Serving, rows);
        sheet.source.tool = Some("inference-perf".to_owned());
        sheet.remarks.extend(remarks);
        Ok(sheet)
    }
}

/// `stage 0` of `…/stage_0_lifecycle_metrics.json`.
fn stage(name: &str) -> Option<String> {
    let file = name.rsplit('/').next()?;
    let number = file.strip_prefix("stage_")?.split('_').next()?;
    number.parse::<u32>().ok().map(|number| format!("stage {number}"))
}

fn row(mut object: Map<String, Value>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(""));
    if let Some(rate) =
        json::word(object.get("load_summary").and_then(|load| load.get("requested_rate")))
    {
        row.factors.set(key::RATE, rate);
    }
    for (pointer, quantity, unit, definition) in wholes() {
        let Some(value) = take(&mut object, pointer) else { continue };
        let mut figure = Figure::new(quantity, Statistic::Value, value, unit).defined(definition);
        figure.place = Some(Place::pointer(pointer));
        row.figures.push(figure);
    }
    for (pointer, quantity, unit, definition) in distributions() {
        let Some((parent, name)) = pointer.rsplit_once('/') else { continue };
        let Some(parent) = parent_of(&mut object, parent) else { continue };
        let Some(Value::Object(statistics)) = parent.get_mut(name) else { continue };
        let measure = Measure {
            quantity,
            unit,
            definition: &|_| definition.clone(),
            std: StdKind::Population,
            pointer: pointer.to_owned(),
        };
        measure.take(statistics, &mut row.figures);
    }
    row.unknown = object;
    row
}

fn parent_of<'a>(
    object: &'a mut Map<String, Value>,
    pointer: &str,
) -> Option<&'a mut Map<String, Value>> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(object, |object, name| object.get_mut(name)?.as_object_mut())
}

/// Takes the number at a pointer out.
fn take(object: &mut Map<String, Value>, pointer: &str) -> Option<f64> {
    let (parent, name) = pointer.rsplit_once('/')?;
    let parent = parent_of(object, parent)?;
    let value = json::number(parent.get(name))?;
    parent.remove(name);
    Some(value)
}

type Field = (&'static str, Quantity, Unit, Definition);

/// Numbers of the whole run.
fn wholes() -> Vec<Field> {
    let rate = || different(words::WHOLE_RUN);
    let tokens = || different(words::WHOLE_RUN_CLIENT_COUNTS);
    vec![
        ("/benchmark_time_seconds", Quantity::Duration, Unit::S, Definition::Same),
        ("/load_summary/count", Quantity::Requests, Unit::Count, Definition::Same),
        ("/successes/count", Quantity::RequestsOk, Unit::Count, Definition::Same),
        ("/failures/count", Quantity::RequestsFailed, Unit::Count, Definition::Same),
        ("/successes/throughput/requests_per_sec", Quantity::RequestRate, Unit::PerS, rate()),
        ("/successes/throughput/input_tokens_per_sec", Quantity::InputRate, Unit::PerS, tokens()),
        ("/successes/throughput/output_tokens_per_sec", Quantity::OutputRate, Unit::PerS, tokens()),
        ("/successes/throughput/total_tokens_per_sec", Quantity::TotalRate, Unit::PerS, tokens()),
        ("/successes/goodput_metrics/request_goodput", Quantity::Goodput, Unit::PerS, rate()),
        (
            "/successes/goodput_metrics/goodput_percentage",
            Quantity::Attainment,
            Unit::Percent,
            different("share of the successes: requests that failed are not in it"),
        ),
        ("/successes/prompt_tokens/cached", Quantity::CachedTokens, Unit::Count, Definition::Same),
    ]
}

/// Distributions over requests.
fn distributions() -> Vec<Field> {
    let own = || different(words::CLIENT_COUNTS);
    let servers = || different(words::SERVER_COUNTS_ELSE_CLIENT);
    vec![
        (
            "/successes/latency/request_latency",
            Quantity::E2e,
            Unit::S,
            different("until the client has tokenized the answer: its own time is in it"),
        ),
        (
            "/successes/latency/normalized_time_per_output_token",
            Quantity::NormalizedLatency,
            Unit::S,
            different("until the client has tokenized the answer: its own time is in it"),
        ),
        (
            "/successes/latency/time_per_output_token",
            Quantity::Tpot,
            Unit::S,
            different("by tokens that the client counted, unless told to take the server's"),
        ),
        (
            "/successes/latency/time_to_first_token",
            Quantity::Ttft,
            Unit::S,
            different("first content, no reasoning or tool call; only of answers of two or more"),
        ),
        (
            "/successes/latency/inter_token_latency",
            Quantity::Itl,
            Unit::S,
            different("tokens of one piece share a stamp: gaps of zero between them"),
        ),
        ("/load_summary/schedule_delay", Quantity::ClientQueue, Unit::S, Definition::Same),
        ("/successes/prompt_tokens", Quantity::InputTokens, Unit::Count, own()),
        ("/successes/prompt_len", Quantity::InputTokens, Unit::Count, own()),
        ("/successes/output_tokens", Quantity::OutputTokens, Unit::Count, servers()),
        ("/successes/output_len", Quantity::OutputTokens, Unit::Count, own()),
    ]
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    start_time: Number,
    end_time: Number,
    info: Info,
    error: Option<Failure>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Info {
    input_tokens: Number,
    /// Where the answer stands from 0.7 on; `null` where there was none.
    response_metrics: Option<Answer>,
    /// Where it stood before.
    #[serde(flatten)]
    answer: Answer,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    output_tokens: Number,
    output_token_times: Vec<Number>,
    server_usage: Option<Usage>,
}

impl Answer {
    /// Output tokens: as the server counted, or else the client.
    fn tokens(&self) -> Option<u64> {
        let usage = self.server_usage.as_ref();
        let told = usage.and_then(|usage| usage.completion_tokens.count());
        told.or_else(|| usage?.output_tokens.count()).or_else(|| self.output_tokens.count())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    completion_tokens: Number,
    output_tokens: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure {
    error_type: Word,
    error_msg: Word,
}

impl Format for InferencePerfRequests {
    fn about(&self) -> Recognised {
        REQUESTS
    }

    fn likeness(&self, head: &Head) -> Likeness {
        match head.is_json() && head.has_keys(&["start_time", "end_time", "info", "request"]) {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn read(&self, mut input: Input<'_>) -> Result<Sheet, ImportError> {
        let mut row = Row::new(RowRole::Measured, Place::pointer(""));
        let mut remarks = Vec::new();
        let gone = collect::pieces(&mut input, &["/*"], &mut |piece| {
            // What remains of the array is empty.
            if piece.cut.is_none() {
                return;
            }
            match piece.value::<Wire>() {
                Ok(wire) => row.requests.push(request(&wire)),
                Err((line, reason)) => collect::skip(&mut remarks, line, &reason),
            }
        })?;
        if row.requests.is_empty() {
            return Err(gone.broken(REQUESTS.title, "no request in it", remarks));
        }
        collect::from_first_start(&mut row.requests);
        let mut sheet = collect::sheet(REQUESTS, &gone, PartKind::Serving, vec![row]);
        sheet.source.tool = Some("inference-perf".to_owned());
        sheet.remarks.push(collect::lost("", "texts of requests and answers are not kept"));
        sheet.remarks.extend(remarks);
        Ok(sheet)
    }
}

fn request(wire: &Wire) -> SheetRequest {
    let error = wire.error.as_ref().map(|error| {
        let words = [&error.error_type.0, &error.error_msg.0];
        words.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    });
    let start_s = wire.start_time.0;
    let input_tokens = wire.info.input_tokens.count();
    if error.is_some() {
        return SheetRequest { start_s, input_tokens, error, ..SheetRequest::default() };
    }
    let answer = wire.info.response_metrics.as_ref().unwrap_or(&wire.info.answer);
    let times: Vec<f64> = answer.output_token_times.iter().filter_map(|time| time.0).collect();
    let since = |time: Option<f64>| time.zip(start_s).map(|(time, start)| (time - start) * 1e3);
    let gaps = times.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?));
    SheetRequest {
        start_s,
        client_queue_ms: None,
        ttft_ms: since(times.first().copied()),
        e2e_ms: since(wire.end_time.0),
        gaps: u32::try_from(times.len().saturating_sub(1)).ok().filter(|_| !times.is_empty()),
        gaps_sum_ms: times.first().zip(times.last()).map(|(first, last)| (last - first) * 1e3),
        gap_max_ms: gaps.reduce(f64::max).map(|gap| gap * 1e3),
        input_tokens,
        output_tokens: answer.tokens(),
        error: None,
    }
}
