//! AIPerf and genai-perf: the summary as JSON (`profile_export_aiperf.json`,
//! `profile_export_genai_perf.json`). A metric is an object with its unit and its statistics; older
//! versions put all of them into `records`. Not here: the records of single requests (`records`),
//! CSV (`csv`), the console (`block/aiperf`).

pub(super) mod csv;
pub(super) mod records;
pub(crate) mod words;

use super::super::error::ImportError;
use super::super::statistic::Measure;
use super::super::{Input, Likeness, json, labels, measure};
use super::collect::Gathered;
use super::{Format, Like, collect, field};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Factors, Figure, PartKind, Place, Row, RowRole, Statistic, StdKind, Unit, key,
};
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "aiperf",
    title: "AIPerf or genai-perf, JSON",
    tool: Some("genai-perf"),
    kind: PartKind::Serving,
    like: Like::By(|head| {
        let named = head.has_keys(&["aiperf_version"]);
        let metrics = head.has_keys(&["request_throughput"]) || head.has_keys(&["request_latency"]);
        let settings = ["input_config", "schema_version"].iter().any(|key| head.has_keys(&[key]));
        match head.is_json() && (metrics || named) {
            true if named || settings => Likeness::Sure,
            true if head.text().contains("\"unit\"") => Likeness::Some,
            _ => Likeness::No,
        }
    }),
    marks: &["request_throughput", "request_latency", "input_config", "aiperf_version", "records"],
    read,
};

/// What was set, by the names of the present and of former versions.
const SETTINGS: &[(&str, &str)] = &[
    ("/models/items/0/name", key::MODEL),
    ("/endpoint/model_names/0", key::MODEL),
    ("/model_names/0", key::MODEL),
    ("/model/0", key::MODEL),
    ("/loadgen/concurrency", key::CONCURRENCY),
    ("/perf_analyzer/stimulus/concurrency", key::CONCURRENCY),
    ("/concurrency", key::CONCURRENCY),
    ("/loadgen/request_rate", key::RATE),
    ("/perf_analyzer/stimulus/request_rate", key::RATE),
    ("/loadgen/request_count", key::REQUESTS),
    ("/request_count", key::REQUESTS),
    ("/datasets/0/prompts/isl/mean", key::INPUT_TOKENS),
    ("/input/prompt/input_tokens/mean", key::INPUT_TOKENS),
    ("/input/synthetic_tokens/mean", key::INPUT_TOKENS),
    ("/datasets/0/prompts/osl/mean", key::OUTPUT_TOKENS),
    ("/input/prompt/output_tokens/mean", key::OUTPUT_TOKENS),
    ("/input/output_tokens/mean", key::OUTPUT_TOKENS),
    ("/datasets/0/type", key::WORKLOAD),
];
/// The same of the last phase, which counts.
const OF_PHASE: &[(&str, &str)] = &[
    ("/concurrency", key::CONCURRENCY),
    ("/rate", key::RATE),
    ("/request_rate", key::RATE),
    ("/type", key::STRATEGY),
    ("/requests", key::REQUESTS),
];

fn read(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut all = Gathered::default();
    let mut object: Option<Map<String, Value>> = None;
    let gone = collect::pieces(&mut input, &[], &mut |piece| {
        let value = all.value(&piece);
        object = object.take().or(value);
    })?;
    let version = object.as_ref().and_then(|object| json::word(object.get("aiperf_version")));
    all.rows.extend(object.map(row));
    let mut sheet = all.finish(format, gone, "no metrics in it")?;
    if version.is_some() {
        sheet.source.tool = Some("aiperf".to_owned());
    }
    sheet.source.tool_version = version;
    Ok(sheet)
}

fn row(mut object: Map<String, Value>) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(""));
    settings(&object, &mut row);
    if let Some(Value::Object(mut records)) = object.remove("records") {
        metrics(&mut records, "/records", &mut row);
        object.extend(records);
    }
    metrics(&mut object, "", &mut row);
    failures(&object, &mut row);
    row.unknown = object;
    row
}

/// Moves every metric of an object into figures.
fn metrics(object: &mut Map<String, Value>, pointer: &str, row: &mut Row) {
    let tags: Vec<String> = object.keys().cloned().collect();
    for tag in tags {
        let Some(Value::Object(metric)) = object.get_mut(&tag) else { continue };
        let Some(unit) = json::word(metric.get("unit")) else { continue };
        let numbers = metric.values().filter(|value| value.is_number()).count();
        let (quantity, statistic) = words::quantity(&tag, numbers == 1);
        let definition = words::definition(quantity);
        let measure = Measure {
            quantity,
            unit: measure::unit_field(&unit).unwrap_or(Unit::Other(unit)),
            definition: &|_| definition.clone(),
            std: StdKind::Population,
            pointer: format!("{pointer}/{tag}"),
        };
        metric.remove("unit");
        match (statistic, json::number(metric.get("avg"))) {
            (Some(statistic), Some(value)) => {
                let mut figure = measure.figure(statistic, value);
                figure.place = Some(Place::pointer(format!("{}/avg", measure.pointer)));
                row.figures.push(figure);
                metric.remove("avg");
            }
            _ => measure.take(metric, &mut row.figures),
        }
        if metric.values().all(Value::is_null) {
            object.remove(&tag);
        }
    }
}

/// Requests that failed, if only the list of errors contains them.
fn failures(object: &Map<String, Value>, row: &mut Row) {
    let counted = row.figures.iter().any(|figure| figure.quantity == Metric::RequestsFailed);
    let Some(Value::Array(errors)) = object.get("error_summary").filter(|_| !counted) else {
        return;
    };
    let failed: u64 = errors.iter().filter_map(|error| json::count(error.get("count"))).sum();
    let mut figure =
        Figure::new(Metric::RequestsFailed, Statistic::Value, failed as f64, Unit::Count)
            .defined(Definition::Same);
    figure.place = Some(Place::pointer("/error_summary"));
    row.figures.push(figure);
}

fn settings(object: &Map<String, Value>, row: &mut Row) {
    if let Some(Value::Object(config)) = object.get("input_config") {
        of_config(config, row);
    }
    // The factors of inferometer are outside: the tool's own reader rejects unknown fields in its
    // settings.
    labels::set(object.get("labels"), &mut row.factors);
}

fn of_config(config: &Map<String, Value>, row: &mut Row) {
    let mut set = Factors::default();
    field::settings(config, SETTINGS, &mut set);
    let phases = config.get("phases").and_then(Value::as_array);
    let phase = phases.and_then(|phases| phases.last()).and_then(Value::as_object);
    if let Some(phase) = phase {
        field::settings(phase, OF_PHASE, &mut set);
    }
    for (factor, word) in set.iter() {
        row.factors.set(factor, super::guidellm::words::whole(word));
    }
    labels::set(config.get("labels"), &mut row.factors);
}
