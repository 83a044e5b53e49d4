//! inference-perf: the summary of a run or of a stage, and the records of single requests. All
//! times are in seconds; what is empty is `null`.

use super::super::json::{self, Number, Word};
use super::super::{Likeness, words};
use super::field::{self, Field, Means};
use super::{Format, Like, collect};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Place, Row, RowRole, SheetRequest, Statistic, StdKind, Unit, key};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) const SUMMARY: Format = Format {
    id: "inference-perf",
    title: "inference-perf, summary",
    tool: Some("inference-perf"),
    kind: PartKind::Serving,
    like: Like::By(|head| match head.is_json() && head.has_keys(&["successes"]) {
        true if head.has_keys(&["load_summary"]) => Likeness::Sure,
        true if head.has_keys(&["failures"]) => Likeness::Some,
        _ => Likeness::No,
    }),
    marks: &["load_summary", "successes", "failures", "benchmark_time_seconds"],
    read: |format, input| {
        let stage = stage(input.name());
        let row = |object| Row { label: stage.clone(), ..row(object) };
        collect::summaries(format, input, "no summary in it", row)
    },
};
pub(super) const REQUESTS: Format = Format {
    id: "inference-perf-requests",
    title: "inference-perf, single requests",
    like: Like::Json(&[&["start_time", "end_time", "info", "request"]]),
    marks: &[],
    read: |format, input| {
        let lost = Some("texts of requests and answers are not kept");
        collect::requests(format, input, lost, |wire| request(&wire))
    },
    ..SUMMARY
};

/// Its own counts, and the server's.
const RATE: Means = Means::Different(words::WHOLE_RUN);
const TOKEN_RATE: Means = Means::Different(words::WHOLE_RUN_CLIENT_COUNTS);
const TOKENS: Means = Means::Different(words::CLIENT_COUNTS);
const SERVER_TOKENS: Means = Means::Different(words::SERVER_COUNTS_ELSE_CLIENT);
const TOKENIZED: Means =
    Means::Different("until the client has tokenized the answer: its own time is in it");

/// Numbers of the whole run.
const WHOLE: &[Field] = &[
    ("/benchmark_time_seconds", Metric::Duration, Unit::S, Means::Same),
    ("/load_summary/count", Metric::Requests, Unit::Count, Means::Same),
    ("/successes/count", Metric::RequestsOk, Unit::Count, Means::Same),
    ("/failures/count", Metric::RequestsFailed, Unit::Count, Means::Same),
    ("/successes/throughput/requests_per_sec", Metric::RequestRate, Unit::PerS, RATE),
    ("/successes/throughput/input_tokens_per_sec", Metric::InputRate, Unit::PerS, TOKEN_RATE),
    ("/successes/throughput/output_tokens_per_sec", Metric::OutputRate, Unit::PerS, TOKEN_RATE),
    ("/successes/throughput/total_tokens_per_sec", Metric::TotalRate, Unit::PerS, TOKEN_RATE),
    ("/successes/goodput_metrics/request_goodput", Metric::Goodput, Unit::PerS, RATE),
    (
        "/successes/goodput_metrics/goodput_percentage",
        Metric::Attainment,
        Unit::Percent,
        Means::Different("share of the successes: requests that failed are not in it"),
    ),
    ("/successes/prompt_tokens/cached", Metric::CachedTokens, Unit::Count, Means::Same),
];

/// Distributions over requests.
const DISTRIBUTIONS: &[Field] = &[
    ("/successes/latency/request_latency", Metric::E2e, Unit::S, TOKENIZED),
    (
        "/successes/latency/normalized_time_per_output_token",
        Metric::E2ePerToken,
        Unit::S,
        TOKENIZED,
    ),
    (
        "/successes/latency/time_per_output_token",
        Metric::Tpot,
        Unit::S,
        Means::Different("by tokens that the client counted, unless told to take the server's"),
    ),
    (
        "/successes/latency/time_to_first_token",
        Metric::Ttft,
        Unit::S,
        Means::Different(
            "first content, no reasoning or tool call; only of answers of two or more",
        ),
    ),
    (
        "/successes/latency/inter_token_latency",
        Metric::Itl,
        Unit::S,
        Means::Different("tokens of one piece share a stamp: gaps of zero between them"),
    ),
    ("/load_summary/schedule_delay", Metric::ClientQueue, Unit::S, Means::Same),
    ("/successes/prompt_tokens", Metric::InputTokens, Unit::Count, TOKENS),
    ("/successes/prompt_len", Metric::InputTokens, Unit::Count, TOKENS),
    ("/successes/output_tokens", Metric::OutputTokens, Unit::Count, SERVER_TOKENS),
    ("/successes/output_len", Metric::OutputTokens, Unit::Count, TOKENS),
];

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
    field::numbers(&mut object, Some(""), Statistic::Value, WHOLE, &mut row);
    field::spreads(&mut object, "", StdKind::Population, DISTRIBUTIONS, &mut row);
    row.unknown = object;
    row
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
    /// The answer, from 0.7 on; `null` if there was none.
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
        status: None,
    }
}
