//! llm-d's benchmark report, versions 0.2 and 0.2.1: YAML, one report for each stage of a load.
//!
//! Read are the statistics over all requests. Not here: series over time, sessions, the health and
//! the telemetry of the servers; they are kept as they are, and told.

use super::super::error::ImportError;
use super::super::statistic::Measure;
use super::super::{Head, Input, Likeness, Recognised, json, labels, yaml};
use super::Format;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Quantity, Remark, RemarkKind, Row, RowRole,
    Source, Statistic, StdKind, Unit, key,
};
use serde_json::{Map, Value};

pub(super) struct LlmD;

const ABOUT: Recognised =
    Recognised { id: "llm-d", title: "llm-d benchmark report 0.2 and 0.2.1, YAML" };
/// Fields of the outermost level.
const MARKS: &[&str] = &["results", "scenario", "version", "run"];
/// Where the figures stand.
const AGGREGATE: &str = "/results/request_performance/aggregate";
/// The statistics of these, and what they measure.
const LATENCY: &[(&str, Quantity)] = &[
    ("time_to_first_token", Quantity::Ttft),
    ("time_per_output_token", Quantity::Tpot),
    ("inter_token_latency", Quantity::Itl),
    ("normalized_time_per_output_token", Quantity::NormalizedLatency),
    ("request_latency", Quantity::E2e),
];
const THROUGHPUT: &[(&str, Quantity)] = &[
    ("input_token_rate", Quantity::InputRate),
    ("output_token_rate", Quantity::OutputRate),
    ("total_token_rate", Quantity::TotalRate),
    ("request_rate", Quantity::RequestRate),
];
const LENGTHS: &[(&str, Quantity)] =
    &[("input_length", Quantity::InputTokens), ("output_length", Quantity::OutputTokens)];
/// What 0.2.1 added, by its own names: rates of pictures, videos and sounds, bytes of a request.
const MEDIA_RATES: &[&str] = &["image_rate", "video_rate", "audio_rate"];
const REQUEST_SIZE: &str = "request_size";
/// The same for each kind of media, below `multimodal`.
const MEDIA: &[&str] = &["image", "video", "audio"];
const MEDIA_FIELDS: &[&str] =
    &["count", "filesize", "pixels", "aspect_ratio", "frames", "duration"];
/// The load tool of reports that this program wrote.
const OURS: &str = "inferometer";
/// Versions whose fields are known.
const VERSIONS: &[&str] = &["0.2", "0.2.1"];
/// What a report can hold beside the statistics of its requests.
const NOT_READ: &[(&str, &str)] = &[
    ("/results/request_performance/time_series", "series over time"),
    ("/results/session_performance", "sessions"),
    ("/results/observability", "telemetry of the servers"),
    ("/results/component_health", "health of the servers"),
];
/// Where settings stand, and the factors that they are.
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

impl Format for LlmD {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        let text = head.text();
        let report = match head.is_json() {
            true => head.has_keys(&["results", "scenario"]),
            false => text.starts_with("results:") || text.contains("\nresults:"),
        };
        match report && text.contains("request_performance") {
            true => Likeness::Sure,
            false => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, input: Input<'_>) -> Result<Sheet, ImportError> {
        let name = input.name().to_owned();
        let bytes = input.all()?;
        let broken = |line: u32, reason: String| ImportError::Broken {
            name: name.clone(),
            title: ABOUT.title,
            reason: format!("line {line}: {reason}"),
        };
        let (text, damage) = yaml::to_json(&String::from_utf8_lossy(&bytes));
        if let Some((line, reason)) = damage {
            return Err(broken(line, reason));
        }
        let report: Map<String, Value> = serde_json::from_str(&text)
            .map_err(|error| broken(error.line() as u32, json::reason(&error)))?;
        let source = Source {
            name: name.clone(),
            format: ABOUT.id.to_owned(),
            bytes: bytes.len() as u64,
            ..Source::default()
        };
        let mut sheet = Sheet { source, ..Sheet::default() };
        read(Value::Object(report), &mut sheet);
        match sheet.parts.iter().any(|part| !part.rows.is_empty()) {
            true => Ok(sheet),
            false => Err(broken(1, "no results of requests in it".to_owned())),
        }
    }
}

fn read(mut report: Value, sheet: &mut Sheet) {
    let place = Place { line: Some(1), pointer: Some(AGGREGATE.to_owned()) };
    let mut row = Row::new(RowRole::Measured, place);
    row.factors = factors(&report);
    let load =
        |field: &str| json::word(report.pointer(&format!("/scenario/load/standardized/{field}")));
    let tool = load("tool");
    sheet.source.tool_version = json::word(report.get("version"));
    sheet.source.tool = Some("llm-d benchmark".to_owned());
    if let Some(tool) = &tool {
        let with = load("tool_version").map_or(tool.clone(), |version| format!("{tool} {version}"));
        row.factors.set("load_tool", with);
    }
    let definition = tool.map_or(Definition::Unstated, |tool| {
        Definition::Different(format!("as {tool} defines it"))
    });
    for (group, measures) in
        [("latency", LATENCY), ("throughput", THROUGHPUT), ("requests", LENGTHS)]
    {
        for (field, quantity) in measures {
            let pointer = format!("{AGGREGATE}/{group}/{field}");
            take(&mut report, &pointer, quantity, &definition, &mut row);
        }
    }
    media(&mut report, &definition, &mut row);
    if let Some(Value::Object(requests)) = report.pointer_mut(&format!("{AGGREGATE}/requests")) {
        for (field, quantity) in [
            ("total", Quantity::Requests),
            ("failures", Quantity::RequestsFailed),
            ("incomplete", Quantity::RequestsIncomplete),
        ] {
            let Some(value) = json::number(requests.get(field)) else { continue };
            requests.remove(field);
            let figure = Figure::new(quantity, Statistic::Value, value, Unit::Count);
            row.figures.push(figure.defined(Definition::Same));
        }
    }
    zeros(&mut row, &mut sheet.remarks);
    unread(&report, &mut sheet.remarks);
    let duration = json::word(report.pointer("/run/time/duration"));
    if let Some(seconds) = duration.as_deref().and_then(seconds) {
        let figure = Figure::new(Quantity::Duration, Statistic::Value, seconds, Unit::S);
        row.figures.push(figure.defined(Definition::Different(
            "of the whole run, all stages of the load in it".to_owned(),
        )));
    }
    let rows = match row.figures.is_empty() {
        true => Vec::new(),
        false => vec![row],
    };
    let unknown = match report {
        Value::Object(report) => report,
        _ => Map::new(),
    };
    sheet.parts.push(Part {
        kind: PartKind::Serving,
        tool: None,
        headings: Vec::new(),
        place: Place::line(1),
        factors: Factors::default(),
        rows,
        unknown,
    });
}

/// What 0.2.1 tells of pictures, videos and sounds.
fn media(report: &mut Value, definition: &Definition, row: &mut Row) {
    let other = |name: &str| Quantity::Other(name.to_owned());
    for rate in MEDIA_RATES {
        let pointer = format!("{AGGREGATE}/throughput/{rate}");
        take(report, &pointer, &other(rate), definition, row);
    }
    let pointer = format!("{AGGREGATE}/requests/{REQUEST_SIZE}");
    take(report, &pointer, &other(REQUEST_SIZE), definition, row);
    for kind in MEDIA {
        for field in MEDIA_FIELDS {
            let pointer = format!("{AGGREGATE}/requests/multimodal/{kind}/{field}");
            take(report, &pointer, &other(&format!("{kind}_{field}")), definition, row);
        }
    }
}

/// Tells what a report holds that no figure does.
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

fn factors(report: &Value) -> Factors {
    let mut factors = Factors::default();
    for (pointer, factor) in SETTINGS {
        if let Some(word) = json::word(report.pointer(pointer)) {
            factors.set(*factor, word);
        }
    }
    let stack = report.pointer("/scenario/stack").and_then(Value::as_array);
    for (pointer, factor) in STACK_SETTINGS {
        let words =
            stack.into_iter().flatten().filter_map(|part| json::word(part.pointer(pointer)));
        if let Some(word) = words.into_iter().next() {
            factors.set(*factor, word);
        }
    }
    // Ours stood in the metadata while the version was 0.2.
    for labels in ["/scenario/load/metadata/labels", "/scenario/load/native/config/labels"] {
        if report.pointer("/scenario/load/standardized/tool").and_then(Value::as_str) == Some(OURS)
        {
            labels::set(report.pointer(labels), &mut factors);
        }
    }
    factors
}

/// Moves the statistics at a place into figures.
fn take(
    report: &mut Value,
    pointer: &str,
    quantity: &Quantity,
    definition: &Definition,
    row: &mut Row,
) {
    let Some(Value::Object(statistics)) = report.pointer_mut(pointer) else { return };
    let written = json::word(statistics.remove("units").as_ref()).unwrap_or_default();
    let measure = Measure {
        quantity: quantity.clone(),
        unit: unit(&written),
        definition: &|_| definition.clone(),
        std: StdKind::Unknown,
        pointer: pointer.to_owned(),
    };
    measure.take(statistics, &mut row.figures);
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
    for (field, quantity) in LATENCY {
        let mut figures: Vec<_> =
            row.figures.iter_mut().filter(|figure| figure.quantity == *quantity).collect();
        if figures.is_empty() || figures.iter().any(|figure| figure.value != Some(0.0)) {
            continue;
        }
        figures.iter_mut().for_each(|figure| figure.value = None);
        remarks.push(Remark {
            kind: RemarkKind::Missing,
            place: Place::pointer(format!("{AGGREGATE}/latency/{field}")),
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
