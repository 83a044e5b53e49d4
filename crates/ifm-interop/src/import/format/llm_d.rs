//! llm-d's benchmark report, versions 0.2 and 0.2.1: YAML, one report for each stage of a load.
//!
//! Read are the statistics over all requests. Not here: series over time, sessions, the health and
//! the telemetry of the servers; they are kept as they are, and told.

use super::super::error::ImportError;
use super::super::statistic::Measure;
use super::super::{Input, json, labels, yaml};
use super::field::{self, Field, Means};
use super::{Format, Like, collect, sure};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole,
    Statistic, StdKind, Unit, key,
};
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "llm-d",
    title: "llm-d benchmark report 0.2 and 0.2.1, YAML",
    tool: Some("llm-d benchmark"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let text = head.text();
        let report = match head.is_json() {
            true => head.has_keys(&["results", "scenario"]),
            false => text.starts_with("results:") || text.contains("\nresults:"),
        };
        sure(report && text.contains("request_performance"))
    }),
    marks: &["results", "scenario", "version", "run"],
    read,
};

/// Path of the figures.
const AGGREGATE: &str = "/results/request_performance/aggregate";
/// The times of requests, seen from there, and what they measure.
const TIMES: &[(&str, Metric)] = &[
    ("latency/time_to_first_token", Metric::Ttft),
    ("latency/time_per_output_token", Metric::Tpot),
    ("latency/inter_token_latency", Metric::Itl),
    ("latency/normalized_time_per_output_token", Metric::E2ePerToken),
    ("latency/request_latency", Metric::E2e),
];
/// The other statistics; what 0.2.1 added has no name of ours.
const OTHERS: &[(&str, Metric)] = &[
    ("throughput/input_token_rate", Metric::InputRate),
    ("throughput/output_token_rate", Metric::OutputRate),
    ("throughput/total_token_rate", Metric::TotalRate),
    ("throughput/request_rate", Metric::RequestRate),
    ("requests/input_length", Metric::InputTokens),
    ("requests/output_length", Metric::OutputTokens),
    ("throughput/image_rate", field::OWN),
    ("throughput/video_rate", field::OWN),
    ("throughput/audio_rate", field::OWN),
    ("requests/request_size", field::OWN),
];
const COUNTS: &[Field] = &[
    ("/requests/total", Metric::Requests, Unit::Count, Means::Same),
    ("/requests/failures", Metric::RequestsFailed, Unit::Count, Means::Same),
    ("/requests/incomplete", Metric::RequestsIncomplete, Unit::Count, Means::Same),
];
/// Kinds of media, and their fields in 0.2.1 below `requests/multimodal`.
const MEDIA: &[&str] = &["image", "video", "audio"];
const MEDIA_FIELDS: [&str; 6] =
    ["count", "filesize", "pixels", "aspect_ratio", "frames", "duration"];
/// The load tool of reports that this program wrote.
const OURS: &str = "inferometer";
/// Versions whose fields are known.
const VERSIONS: &[&str] = &["0.2", "0.2.1"];
/// Sections of a report other than the statistics of its requests.
const NOT_READ: &[(&str, &str)] = &[
    ("/results/request_performance/time_series", "series over time"),
    ("/results/session_performance", "sessions"),
    ("/results/observability", "telemetry of the servers"),
    ("/results/component_health", "health of the servers"),
];
/// Paths of settings, and the factors that they become.
const SETTINGS: &[(&str, &str)] = &[
    ("/scenario/load/standardized/concurrency", key::CONCURRENCY),
    ("/scenario/load/standardized/rate_qps", key::RATE),
    ("/scenario/load/standardized/input_seq_len/value", key::INPUT_TOKENS),
    ("/scenario/load/standardized/output_seq_len/value", key::OUTPUT_TOKENS),
    ("/scenario/load/standardized/stage", "stage"),
    ("/scenario/load/metadata/treatment", key::CONDITION),
];
/// The same, under the first part of the stack that has them.
const STACK_SETTINGS: &[(&str, &str)] = &[
    ("/standardized/model/name", key::MODEL),
    ("/standardized/accelerator/model", key::GPU),
    ("/standardized/accelerator/parallelism/tp", key::TENSOR_PARALLEL),
    ("/standardized/tool", key::ENGINE),
];

fn read(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    let name = input.name().to_owned();
    let bytes = input.all()?;
    let broken = |line: u32, reason: String| ImportError::Broken {
        name: name.clone(),
        title: format.title,
        reason: format!("line {line}: {reason}"),
    };
    let (text, damage) = yaml::to_json(&String::from_utf8_lossy(&bytes));
    if let Some((line, reason)) = damage {
        return Err(broken(line, reason));
    }
    let report: Map<String, Value> = json::lenient(text.as_bytes())
        .map_err(|error| broken((error.line() as u32).max(1), json::reason(&error)))?;
    let mut source = collect::source(format, name.clone(), bytes.len() as u64);
    source.tool_version = json::word(report.get("version"));
    let mut remarks = Vec::new();
    let part = part(format, report, &mut remarks);
    match part.rows.is_empty() {
        true => Err(broken(1, "no results of requests in it".to_owned())),
        false => Ok(Sheet { source, parts: vec![part], remarks }),
    }
}

fn part(format: &Format, report: Map<String, Value>, remarks: &mut Vec<Remark>) -> Part {
    let place = Place { line: Some(1), pointer: Some(AGGREGATE.to_owned()) };
    let mut row = Row::new(RowRole::Measured, place);
    row.factors = factors(&report);
    let mut report = Value::Object(report);
    let load =
        |field: &str| json::word(report.pointer(&format!("/scenario/load/standardized/{field}")));
    let definition = match load("tool") {
        Some(tool) => {
            let version = load("tool_version").map(|version| format!(" {version}"));
            row.factors.set("load_tool", format!("{tool}{}", version.unwrap_or_default()));
            Definition::Different(format!("as {tool} defines it"))
        }
        None => Definition::Unstated,
    };
    for (field, quantity) in TIMES.iter().chain(OTHERS) {
        let name = field.rsplit('/').next().unwrap_or(field);
        let pointer = format!("{AGGREGATE}/{field}");
        take(&mut report, &pointer, field::named(*quantity, name), &definition, &mut row);
    }
    for (kind, field) in MEDIA.iter().flat_map(|kind| MEDIA_FIELDS.map(|field| (kind, field))) {
        let pointer = format!("{AGGREGATE}/requests/multimodal/{kind}/{field}");
        let quantity = Metric::other(format!("{kind}_{field}"));
        take(&mut report, &pointer, quantity, &definition, &mut row);
    }
    if let Some(Value::Object(aggregate)) = report.pointer_mut(AGGREGATE) {
        field::numbers(aggregate, None, Statistic::Value, COUNTS, &mut row);
    }
    zeros(&mut row, remarks);
    unread(&report, remarks);
    let duration = json::word(report.pointer("/run/time/duration"));
    if let Some(seconds) = duration.as_deref().and_then(seconds) {
        let figure = Figure::new(Metric::Duration, Statistic::Value, seconds, Unit::S);
        row.figures.push(figure.defined(Definition::Different(
            "of the whole run, all stages of the load in it".to_owned(),
        )));
    }
    let mut part = Part::new(format.kind, Place::line(1));
    if let Value::Object(report) = report {
        part.unknown = report;
    }
    part.rows.extend(Some(row).filter(|row| !row.figures.is_empty()));
    part
}

/// Reports the contents that become no figure.
fn unread(report: &Value, remarks: &mut Vec<Remark>) {
    let mut tell = |kind, pointer: &str, text: String| {
        remarks.push(Remark { kind, place: Place::pointer(pointer), text });
    };
    if let Some(version) =
        json::word(report.get("version")).filter(|word| !VERSIONS.contains(&word.as_str()))
    {
        let known = VERSIONS.join(" and ");
        let text = format!("version {version}, read by the fields of {known}");
        tell(RemarkKind::Assumed, "/version", text);
    }
    for (pointer, what) in NOT_READ {
        if report.pointer(pointer).is_some_and(|part| !part.is_null()) {
            tell(RemarkKind::Lost, pointer, format!("{what}: kept as written, not as figures"));
        }
    }
    for group in ["latency", "throughput", "requests", "requests/multimodal"] {
        let pointer = format!("{AGGREGATE}/{group}");
        let fields = report.pointer(&pointer).and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            if field.get("units").is_some() && field.get("mean").is_some() {
                let text = format!("{name}: not known here, kept as written");
                tell(RemarkKind::Lost, &format!("{pointer}/{name}"), text);
            }
        }
    }
}

fn factors(report: &Map<String, Value>) -> Factors {
    let mut factors = Factors::default();
    field::settings(report, SETTINGS, &mut factors);
    let scenario = report.get("scenario");
    let of = |pointer: &str| scenario.and_then(|scenario| scenario.pointer(pointer));
    let stack = of("/stack").and_then(Value::as_array).into_iter().flatten();
    // The first part that has a setting counts.
    for part in stack.rev().filter_map(Value::as_object) {
        field::settings(part, STACK_SETTINGS, &mut factors);
    }
    if of("/load/standardized/tool").and_then(Value::as_str) == Some(OURS) {
        // Ours stood in the metadata while the version was 0.2.
        for labels in ["/load/metadata/labels", "/load/native/config/labels"] {
            labels::set(of(labels), &mut factors);
        }
    }
    factors
}

/// Moves the statistics at a place into figures, in the unit that is given next to them.
fn take(
    report: &mut Value,
    pointer: &str,
    quantity: Metric,
    definition: &Definition,
    row: &mut Row,
) {
    let Some(Value::Object(statistics)) = report.pointer_mut(pointer) else { return };
    let unit = unit(&json::word(statistics.remove("units").as_ref()).unwrap_or_default());
    let definition = &|_| definition.clone();
    let (std, pointer) = (StdKind::Unknown, pointer.to_owned());
    Measure { quantity, unit, definition, std, pointer }.take(statistics, &mut row.figures);
}

fn unit(written: &str) -> Unit {
    match written {
        "s" | "s/token" | "seconds" => Unit::S,
        "ms" | "ms/token" => Unit::Ms,
        "us" => Unit::Us,
        "ns" => Unit::Ns,
        "count" | "tokens" | "pixels" => Unit::Count,
        "tokens/s" | "queries/s" | "requests/s" | "images/s" | "videos/s" | "audios/s" => {
            Unit::PerS
        }
        "percent" => Unit::Percent,
        "ratio" | "fraction" => Unit::One,
        "bytes" => Unit::Bytes,
        other => Unit::Other(other.to_owned()),
    }
}

/// Some converters write zeros for times that were not measured.
fn zeros(row: &mut Row, remarks: &mut Vec<Remark>) {
    for (field, quantity) in TIMES {
        let mut figures: Vec<_> =
            row.figures.iter_mut().filter(|figure| figure.quantity == *quantity).collect();
        if figures.is_empty() || figures.iter().any(|figure| figure.value != Some(0.0)) {
            continue;
        }
        figures.iter_mut().for_each(|figure| figure.value = None);
        remarks.push(Remark {
            kind: RemarkKind::Missing,
            place: Place::pointer(format!("{AGGREGATE}/{field}")),
            text: "nothing was measured, and 0 is written".to_owned(),
        });
    }
}

/// Seconds of an ISO 8601 duration such as `PT1H2M49.97S`.
fn seconds(duration: &str) -> Option<f64> {
    let mut rest = duration.strip_prefix("PT")?;
    let mut sum = 0.0;
    for (letter, factor) in [('H', 3600.0), ('M', 60.0), ('S', 1.0)] {
        if let Some((number, behind)) = rest.split_once(letter) {
            sum += number.parse::<f64>().ok()? * factor;
            rest = behind;
        }
    }
    rest.is_empty().then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations() {
        assert_eq!(seconds("PT49.5S"), Some(49.5));
        assert_eq!(seconds("PT1H2M3S"), Some(3723.0));
        assert_eq!(seconds("49"), None);
        assert_eq!(seconds("PT5X"), None);
    }
}
