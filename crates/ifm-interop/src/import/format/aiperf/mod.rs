//! AIPerf and genai-perf: the summary as JSON (`profile_export_aiperf.json`,
//! `profile_export_genai_perf.json`). A metric is an object with its unit and its statistics; older
//! versions put all of them into `records`. Not here: the records of single requests (`records`),
//! CSV (`csv`), the console (`block/aiperf`).

pub(super) mod csv;
pub(super) mod records;
pub(crate) mod words;

use super::super::error::ImportError;
use super::super::statistic::Measure;
use super::super::{Head, Input, Likeness, Recognised, json, labels, measure};
use super::{Format, collect};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Definition, Figure, PartKind, Place, Quantity, Row, RowRole, Statistic, StdKind, Unit, key,
};
use serde_json::{Map, Value};

pub(super) struct Aiperf;

const ABOUT: Recognised = Recognised { id: "aiperf", title: "AIPerf or genai-perf, JSON" };
const MARKS: &[&str] =
    &["request_throughput", "request_latency", "input_config", "aiperf_version", "records"];

impl Format for Aiperf {
    fn about(&self) -> Recognised {
        ABOUT
    }

    fn likeness(&self, head: &Head) -> Likeness {
        let named = head.has_keys(&["aiperf_version"]);
        let metrics = head.has_keys(&["request_throughput"]) || head.has_keys(&["request_latency"]);
        let settings = head.has_keys(&["input_config"]);
        match head.is_json() && (metrics || named) {
            true if named || settings => Likeness::Sure,
            true if head.text().contains("\"unit\"") => Likeness::Some,
            _ => Likeness::No,
        }
    }

    fn marks(&self) -> &'static [&'static str] {
        MARKS
    }

    fn read(&self, mut input: Input<'_>) -> Result<Sheet, ImportError> {
        let (mut object, mut remarks) = (None, Vec::new());
        let gone = collect::pieces(&mut input, &[], &mut |piece| match piece
            .value::<Map<String, Value>>()
        {
            Ok(value) => object = object.take().or(Some(value)),
            Err((line, reason)) => collect::skip(&mut remarks, line, &reason),
        })?;
        let Some(mut object) = object else {
            return Err(gone.broken(ABOUT.title, "no metrics in it", remarks));
        };
        let version = json::word(object.get("aiperf_version"));
        let mut row = Row::new(RowRole::Measured, Place::pointer(""));
        settings(&object, &mut row);
        if let Some(Value::Object(mut records)) = object.remove("records") {
            metrics(&mut records, "/records", &mut row);
            object.extend(records);
        }
        metrics(&mut object, "", &mut row);
        failures(&object, &mut row);
        row.unknown = object;
        let mut sheet = collect::sheet(ABOUT, &gone, PartKind::Serving, vec![row]);
        let tool = if version.is_some() { "aiperf" } else { "genai-perf" };
        sheet.source.tool = Some(tool.to_owned());
        sheet.source.tool_version = version;
        sheet.remarks.extend(remarks);
        Ok(sheet)
    }
}

/// Moves every metric of an object into figures.
fn metrics(object: &mut Map<String, Value>, pointer: &str, row: &mut Row) {
    let tags: Vec<String> = object.keys().cloned().collect();
    for tag in tags {
        let Some(Value::Object(metric)) = object.get_mut(&tag) else { continue };
        let Some(unit) = json::word(metric.get("unit")) else { continue };
        let numbers = metric.values().filter(|value| value.is_number()).count();
        let (quantity, statistic) = words::quantity(&tag, numbers == 1);
        let definition = words::definition(&quantity);
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

/// Requests that failed, where only the list of errors tells them.
fn failures(object: &Map<String, Value>, row: &mut Row) {
    let counted = row.figures.iter().any(|figure| figure.quantity == Quantity::RequestsFailed);
    let Some(Value::Array(errors)) = object.get("error_summary").filter(|_| !counted) else {
        return;
    };
    let failed: u64 = errors.iter().filter_map(|error| json::count(error.get("count"))).sum();
    let mut figure =
        Figure::new(Quantity::RequestsFailed, Statistic::Value, failed as f64, Unit::Count)
            .defined(Definition::Same);
    figure.place = Some(Place::pointer("/error_summary"));
    row.figures.push(figure);
}

/// What was set, by the names of the present and of former versions.
fn settings(object: &Map<String, Value>, row: &mut Row) {
    let Some(config) = object.get("input_config") else { return };
    let first =
        |pointers: &[&str]| pointers.iter().find_map(|pointer| json::word(config.pointer(pointer)));
    let phases = config.get("phases").and_then(Value::as_array);
    let phase = phases.and_then(|phases| phases.last());
    let of_phase = |name: &str| json::word(phase.and_then(|phase| phase.get(name)));
    for (factor, word) in [
        (
            key::MODEL,
            first(&[
                "/models/items/0/name",
                "/endpoint/model_names/0",
                "/model_names/0",
                "/model/0",
            ]),
        ),
        (
            key::CONCURRENCY,
            of_phase("concurrency").or_else(|| {
                first(&[
                    "/loadgen/concurrency",
                    "/perf_analyzer/stimulus/concurrency",
                    "/concurrency",
                ])
            }),
        ),
        (
            key::RATE,
            of_phase("rate").or_else(|| of_phase("request_rate")).or_else(|| {
                first(&["/loadgen/request_rate", "/perf_analyzer/stimulus/request_rate"])
            }),
        ),
        (key::STRATEGY, of_phase("type")),
        (
            key::REQUESTS,
            of_phase("requests").or_else(|| first(&["/loadgen/request_count", "/request_count"])),
        ),
        (
            key::INPUT_TOKENS,
            first(&[
                "/datasets/0/prompts/isl/mean",
                "/input/prompt/input_tokens/mean",
                "/input/synthetic_tokens/mean",
            ]),
        ),
        (
            key::OUTPUT_TOKENS,
            first(&[
                "/datasets/0/prompts/osl/mean",
                "/input/prompt/output_tokens/mean",
                "/input/output_tokens/mean",
            ]),
        ),
        (key::WORKLOAD, first(&["/datasets/0/type"])),
    ] {
        if let Some(word) = word {
            row.factors.set(factor, super::guidellm::words::whole(&word));
        }
    }
    labels::set(config.get("labels"), &mut row.factors);
}
