//! A run as MLflow tracks it: parameters, metrics and tags.
//!
//! One level is one run. Several levels are a parent run with a child for each: the children
//! compare as MLflow compares runs, and the parent's metrics are curves over the load, with the
//! number of users as the step. Metrics have the names of the columns of `csv`, with their units.
//!
//! The file contains the requests to the tracking server, in the terms of its REST API. Not here:
//! sending them, and the report that is attached (`inferometer`).

use super::{Export, Exported, Writer, column};
use ifm_core::sheet::{Factors, Row, RowRole, key};
use ifm_core::{RunData, RunState, Sheet};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(super) const EXPORT: Export = Export {
    id: "mlflow",
    title: "MLflow runs, JSON of its REST API",
    definitions: None,
    write: Writer::Results(write),
    holds: "measured rows",
    lacks: "it is not read as a result; single requests, definitions, places and printed digits, figures without a value",
};

/// Longest value of a parameter and of a tag that every version of the server takes, bytes.
const VALUE_BYTES_MAX: usize = 500;
const NS_PER_MS: u64 = 1_000_000;

/// A run to be tracked.
#[derive(Debug, Clone, PartialEq)]
pub struct Tracked {
    /// Run name.
    pub name: String,
    /// Milliseconds since 1970; absent where the results do not say.
    pub start_ms: Option<u64>,
    /// Likewise.
    pub end_ms: Option<u64>,
    /// Whether all was measured that was meant to be.
    pub is_complete: bool,
    /// What was set.
    pub params: BTreeMap<String, String>,
    /// What it is.
    pub tags: BTreeMap<String, String>,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// Its levels, where it has several.
    pub children: Vec<Tracked>,
}

/// A number at a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Name with unit: `ttft_p99_ms`.
    pub key: String,
    /// The number.
    pub value: f64,
    /// Milliseconds since 1970 at which it was known; absent where the results do not say.
    pub at_ms: Option<u64>,
    /// Users of a parent's level, or its place; 0 where there is one level.
    pub step: u64,
}

impl Tracked {
    /// The request that starts the run; `at_ms` replaces an unknown start time.
    pub fn create(&self, experiment: &str, parent: Option<&str>, at_ms: u64) -> Value {
        let mut tags = self.tags.clone();
        tags.insert("mlflow.runName".to_owned(), self.name.clone());
        if let Some(parent) = parent {
            tags.insert("mlflow.parentRunId".to_owned(), parent.to_owned());
        }
        json!({
            "experiment_id": experiment,
            "run_name": self.name,
            "start_time": self.start_ms.unwrap_or(at_ms),
            "tags": pairs(&tags),
        })
    }

    /// The request that ends the run.
    pub fn end(&self, run: &str, at_ms: u64) -> Value {
        json!({"run_id": run, "status": self.status(), "end_time": self.end_ms.unwrap_or(at_ms)})
    }

    /// Its parameters as the server takes them.
    pub fn params(&self) -> Vec<Value> {
        pairs(&self.params)
    }

    /// The metrics in the server's format; `at_ms` replaces unknown times.
    pub fn metrics(&self, at_ms: u64) -> Vec<Value> {
        let one = |metric: &Metric| {
            json!({
                "key": metric.key,
                "value": metric.value,
                "timestamp": metric.at_ms.unwrap_or(at_ms),
                "step": metric.step,
            })
        };
        self.metrics.iter().map(one).collect()
    }

    fn status(&self) -> &'static str {
        if self.is_complete { "FINISHED" } else { "KILLED" }
    }

    fn document(&self) -> Value {
        let metric = |metric: &Metric| {
            let mut one = Map::new();
            one.insert("key".to_owned(), json!(metric.key));
            one.insert("value".to_owned(), json!(metric.value));
            one.insert("step".to_owned(), json!(metric.step));
            if let Some(at_ms) = metric.at_ms {
                one.insert("timestamp".to_owned(), json!(at_ms));
            }
            Value::Object(one)
        };
        let metrics: Vec<Value> = self.metrics.iter().map(metric).collect();
        let children: Vec<Value> = self.children.iter().map(Tracked::document).collect();
        let mut document = json!({
            "info": {"run_name": self.name, "status": self.status()},
            "data": {"params": pairs(&self.params), "metrics": metrics, "tags": pairs(&self.tags)},
        });
        for (name, time) in [("start_time", self.start_ms), ("end_time", self.end_ms)] {
            if let (Some(time), Some(info)) = (time, document["info"].as_object_mut()) {
                info.insert(name.to_owned(), json!(time));
            }
        }
        if !children.is_empty() {
            document["children"] = Value::Array(children);
        }
        document
    }
}

fn pairs(pairs: &BTreeMap<String, String>) -> Vec<Value> {
    pairs.iter().map(|(key, value)| json!({"key": key, "value": value})).collect()
}

/// A document or a run as one run of MLflow; absent where nothing was measured.
pub fn tracked(sheet: &Sheet, run: Option<&RunData>) -> Option<Tracked> {
    let measured: Vec<(&Row, Factors)> = super::rows(sheet, |_| true).collect();
    let common = sheet.parts.first().map(|part| &part.factors).filter(|_| sheet.parts.len() == 1);
    let mut whole = Tracked {
        name: sheet.source.name.clone(),
        start_ms: None,
        end_ms: None,
        is_complete: true,
        params: params(&common.cloned().unwrap_or_default()),
        tags: BTreeMap::new(),
        metrics: Vec::new(),
        children: Vec::new(),
    };
    tag(&mut whole, "mlflow.source.name", "inferometer");
    tag(&mut whole, "mlflow.source.type", "LOCAL");
    if let Some(tool) = sheet.source.tool.as_ref().filter(|_| run.is_none()) {
        tag(&mut whole, "tool", tool);
    }
    if let Some(run) = run {
        about(run, &mut whole);
    }
    let [(row, factors)] = &measured[..] else {
        if measured.is_empty() {
            return None;
        }
        several(&measured, run, &mut whole);
        return Some(whole);
    };
    whole.params.extend(params(factors));
    whole.metrics = metrics(row, 0, whole.end_ms);
    Some(whole)
}

/// What a run says of itself.
fn about(run: &RunData, whole: &mut Tracked) {
    let manifest = &run.manifest;
    whole.name = manifest.name.clone().unwrap_or_else(|| manifest.run_id.clone());
    whole.start_ms = Some(manifest.clock.origin_unix_ns / NS_PER_MS);
    whole.end_ms = manifest.levels.iter().filter_map(|info| at_ms(run, info.end_ns)).max();
    whole.is_complete = manifest.state == RunState::Complete;
    let spec = &manifest.spec;
    let known = [
        ("api", Some(spec.target.api_words())),
        ("workload", spec.workload.text.clone().or(Some(spec.workload.kind.clone()))),
        ("seed", Some(spec.workload.seed.to_string())),
        ("stream", Some(spec.target.stream.to_string())),
        ("temperature", spec.workload.temperature.map(|value| value.to_string())),
        ("ignore_eos", Some(spec.workload.ignore_eos.to_string())),
        ("tokenizer", Some(spec.workload.tokenizer.clone())),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            whole.params.insert(name.to_owned(), cut(&value));
        }
    }
    tag(whole, "inferometer.run_id", &manifest.run_id);
    tag(whole, "inferometer.version", &manifest.tool.version);
    tag(whole, "inferometer.server", &spec.target.base_url);
    if let Some(version) = &manifest.server.version {
        tag(whole, "inferometer.server_version", version);
    }
    if manifest.predicted.is_some() {
        tag(whole, "inferometer.numbers", key::PREDICTED);
    }
    if let Some(reason) = &manifest.stop_reason {
        tag(whole, "inferometer.stop_reason", reason);
    }
    for (name, value) in &manifest.tags {
        tag(whole, &safe(name), value);
    }
}

/// A child for each row, and the parent's curves.
fn several(measured: &[(&Row, Factors)], run: Option<&RunData>, whole: &mut Tracked) {
    let users: Option<Vec<u64>> =
        measured.iter().map(|(_, factors)| factors.get(key::CONCURRENCY)?.parse().ok()).collect();
    let is_rising = |users: &Vec<u64>| users.windows(2).all(|pair| pair[0] < pair[1]);
    let steps = users.filter(is_rising).unwrap_or_else(|| (0..measured.len() as u64).collect());
    for (number, ((row, factors), step)) in measured.iter().zip(steps).enumerate() {
        let info = run.and_then(|run| Some((run, level_of(run, row, number)?)));
        let end_ms = info.and_then(|(run, info)| at_ms(run, info.end_ns));
        let mut child = Tracked {
            name: format!(
                "{}: {}",
                whole.name,
                row.label.clone().unwrap_or_else(|| load(factors, number))
            ),
            start_ms: info.and_then(|(run, info)| at_ms(run, info.start_ns)),
            end_ms,
            is_complete: info.is_none_or(|(_, info)| info.complete),
            params: whole.params.clone(),
            tags: whole.tags.clone(),
            metrics: metrics(row, 0, end_ms),
            children: Vec::new(),
        };
        child.params.extend(params(factors));
        whole.metrics.extend(metrics(row, step, end_ms));
        whole.children.push(child);
    }
}

/// When the level of a row ran.
fn level_of<'run>(
    run: &'run RunData,
    row: &Row,
    number: usize,
) -> Option<&'run ifm_core::LevelInfo> {
    let level = super::level(row, number)?;
    run.manifest.levels.iter().find(|info| info.level == level)
}

fn at_ms(run: &RunData, since_origin_ns: u64) -> Option<u64> {
    Some(run.manifest.clock.origin_unix_ns.checked_add(since_origin_ns)? / NS_PER_MS)
}

/// `8 users`, `2.5 req/s`, or which row it is.
fn load(factors: &Factors, number: usize) -> String {
    match (factors.get(key::CONCURRENCY), factors.get(key::RATE)) {
        (Some("1"), _) => "1 user".to_owned(),
        (Some(users), _) => format!("{users} users"),
        (None, Some(rate)) => format!("{rate} req/s"),
        (None, None) => format!("row {}", number + 1),
    }
}

fn params(factors: &Factors) -> BTreeMap<String, String> {
    factors.iter().map(|(name, value)| (safe(name), cut(value))).collect()
}

/// The figures of a row; of two that are called the same, the first.
fn metrics(row: &Row, step: u64, at_ms: Option<u64>) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    for figure in row.figures.iter().filter(|_| row.role == RowRole::Measured) {
        let key = safe(&column(figure));
        let Some(value) = figure.value else { continue };
        if metrics.iter().all(|other| other.key != key) {
            metrics.push(Metric { key, value, at_ms, step });
        }
    }
    metrics
}

fn tag(run: &mut Tracked, name: &str, value: &str) {
    run.tags.insert(name.to_owned(), cut(value));
}

/// A name as the server takes it.
fn safe(name: &str) -> String {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '/');
    name.chars().map(|c| if is_taken(c) { c } else { '_' }).collect()
}

/// A value that is not too long for the server.
fn cut(value: &str) -> String {
    const MORE: &str = "…";
    if value.len() <= VALUE_BYTES_MAX {
        return value.to_owned();
    }
    let mut end = VALUE_BYTES_MAX - MORE.len();
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MORE}", &value[..end])
}

fn write(sheet: &Sheet, run: Option<&RunData>) -> Vec<Exported> {
    let Some(whole) = tracked(sheet, run) else { return Vec::new() };
    let text = format!("{:#}\n", json!({"runs": [whole.document()]}));
    vec![Exported { name: None, stem: String::new(), ending: "json", text }]
}
