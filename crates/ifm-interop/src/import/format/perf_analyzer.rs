//! genai-perf's raw records, `profile_export.json` of perf_analyzer: for each experiment its
//! requests with the stamps of every piece of the answer, nanoseconds. Everything follows from
//! them; the texts tell which pieces hold content.

use super::super::error::ImportError;
use super::super::json::{Number, Word, count};
use super::super::{Input, json};
use super::collect::Gathered;
use super::{Format, Like, collect, sure};
use ifm_core::Sheet;
use ifm_core::sheet::{PartKind, Place, Row, RowRole, SheetRequest, key};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "perf-analyzer",
    title: "genai-perf, raw records of perf_analyzer",
    tool: Some("genai-perf"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let own = head.text().contains("\"response_timestamps\"");
        sure(head.is_json() && head.has_keys(&["experiments"]) && own)
    }),
    marks: &["experiments", "service_kind", "response_timestamps"],
    read,
};
const PATHS: &[&str] = &["/experiments/*", "/experiments/*/requests/*"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wire {
    timestamp: Number,
    response_timestamps: Vec<Number>,
    response_outputs: Vec<Output>,
    success: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output {
    response: Word,
}

fn read(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let (mut all, mut requests) = (Gathered::default(), Vec::new());
    all.remarks.push(collect::lost("/experiments", "texts of requests are not kept"));
    let gone = collect::pieces(&mut input, PATHS, &mut |piece| {
        if piece.cut == Some(1) {
            return requests.extend(all.value::<Wire>(&piece).map(|wire| request(&wire)));
        }
        let Some(object) = all.value(&piece) else { return };
        if piece.cut.is_none() {
            all.rest = object;
            return;
        }
        let mut row = experiment_row(object, &piece.pointer());
        row.requests = std::mem::take(&mut requests);
        collect::from_first_start(&mut row.requests);
        all.push(row);
    })?;
    let version = json::word(all.rest.get("version"));
    let mut sheet = all.finish(format, gone, "no experiment in it")?;
    sheet.source.tool_version = version;
    Ok(sheet)
}

fn experiment_row(mut experiment: Map<String, Value>, pointer: &str) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(pointer));
    let of = |name: &str| experiment.get("experiment").and_then(|setting| setting.get(name));
    let level = json::word(of("value"));
    match (of("mode").and_then(Value::as_str), level) {
        (Some("concurrency"), Some(level)) => row.factors.set(key::CONCURRENCY, level),
        (Some("request_rate"), Some(level)) => row.factors.set(key::RATE, level),
        _ => {}
    }
    experiment.remove("requests");
    row.unknown = experiment;
    row
}

fn request(wire: &Wire) -> SheetRequest {
    let start_s = wire.timestamp.0.map(|ns| ns / 1e9);
    if wire.success == Some(false) || wire.response_timestamps.is_empty() {
        let error = Some("failed".to_owned());
        return SheetRequest { start_s, error, ..SheetRequest::default() };
    }
    let mut output_tokens = None;
    let mut stamps: Vec<f64> = Vec::with_capacity(wire.response_timestamps.len());
    for (at, stamp) in wire.response_timestamps.iter().enumerate() {
        let text = wire.response_outputs.get(at).and_then(|output| output.response.0.as_deref());
        let (content, tokens) = text.map_or((true, None), content);
        output_tokens = tokens.or(output_tokens);
        stamps.extend(stamp.0.filter(|_| content));
    }
    let gaps = stamps.windows(2).filter_map(|pair| Some((pair.get(1)? - pair.first()?) / 1e6));
    let since = |stamp: Option<&f64>| Some((stamp? - wire.timestamp.0?) / 1e6);
    SheetRequest {
        start_s,
        client_queue_ms: None,
        ttft_ms: since(stamps.first()),
        e2e_ms: since(stamps.last()),
        gaps: u32::try_from(stamps.len().saturating_sub(1)).ok(),
        gaps_sum_ms: stamps.first().zip(stamps.last()).map(|(first, last)| (last - first) / 1e6),
        gap_max_ms: gaps.reduce(f64::max),
        input_tokens: None,
        output_tokens,
        error: None,
        status: None,
    }
}

/// Whether a piece holds content, and the output tokens that it reports. A piece that cannot be
/// read as an event counts as content, except for the closing one.
fn content(text: &str) -> (bool, Option<u64>) {
    let text = text.trim().trim_start_matches("data:").trim();
    let Ok(event) = serde_json::from_str::<Value>(text) else {
        return (!text.is_empty() && text != "[DONE]", None);
    };
    let tokens = count(event.pointer("/usage/completion_tokens"));
    let choice = event.pointer("/choices/0");
    let fields = ["/delta/content", "/delta/reasoning_content", "/delta/reasoning", "/text"];
    let filled = |pointer: &str| {
        let text = choice.and_then(|choice| choice.pointer(pointer)).and_then(Value::as_str);
        text.is_some_and(|text| !text.is_empty())
    };
    let calls = choice.and_then(|choice| choice.pointer("/delta/tool_calls")).is_some();
    (calls || fields.iter().any(|pointer| filled(pointer)), tokens)
}
