//! One benchmark of a GuideLLM file as a row.

use super::super::super::statistic::Measure;
use super::super::super::{json, labels};
use super::super::field::{self, Field, Means};
use super::words;
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Figure, Place, Remark, Row, RowRole, Statistic, StdKind, Unit, key,
};
use serde_json::{Map, Value};

/// What the time per output token of a benchmark is by its fields: up to 0.3.1 a benchmark has
/// `args` and `worker`, later ones have `config`.
pub(super) fn tpot_meaning(benchmark: &Map<String, Value>) -> Option<words::TpotMeaning> {
    let has = |name: &str| benchmark.contains_key(name);
    match (has("config"), has("args") || has("worker") || has("request_loader")) {
        (true, _) => Some(words::TpotMeaning::WithFirst),
        (false, true) => Some(words::TpotMeaning::ByAll),
        (false, false) => None,
    }
}

/// The row of a benchmark without its requests.
pub(super) fn row(
    mut benchmark: Map<String, Value>,
    pointer: &str,
    remarks: &mut Vec<Remark>,
) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::pointer(pointer));
    settings(&benchmark, &mut row);
    if let Some(Value::Object(metrics)) = benchmark.get_mut("metrics") {
        let base = format!("{pointer}/metrics");
        field::numbers(metrics, Some(&base), Statistic::Value, COUNTS, &mut row);
        let names: Vec<String> = metrics.keys().cloned().collect();
        for name in names {
            distribution(&name, metrics, pointer, &mut row);
        }
        let text = metrics.get("text");
        let text = text.and_then(|text| text.pointer("/tokens/input/successful/mean"));
        let text = json::number(text);
        for carried in words::CARRIED {
            media(&carried, metrics, &base, &mut row);
        }
        words::doubled(&mut row, text);
        metrics.retain(|_, metric| !is_empty(metric));
    }
    if let Some(seconds) = json::number(benchmark.get("duration")) {
        benchmark.remove("duration");
        let figure = Figure::new(Metric::Duration, Statistic::Value, seconds, Unit::S);
        let window = "the measured window, without warm-up and cool-down".to_owned();
        row.figures.push(figure.defined(Definition::Different(window)));
    }
    benchmark.retain(|_, field| !is_empty(field));
    remarks.extend(words::without_zeros(&mut row));
    row.unknown = benchmark;
    row
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        Value::Null => true,
        _ => false,
    }
}

/// Numbers of requests by what became of them.
const COUNTS: &[Field] = &[
    ("/request_totals/total", Metric::Requests, Unit::Count, Means::Same),
    ("/request_totals/successful", Metric::RequestsOk, Unit::Count, Means::Same),
    ("/request_totals/errored", Metric::RequestsFailed, Unit::Count, Means::Same),
    ("/request_totals/incomplete", Metric::RequestsIncomplete, Unit::Count, Means::Same),
];

/// The statistics of a metric over the requests that succeeded.
fn distribution(name: &str, metrics: &mut Map<String, Value>, pointer: &str, row: &mut Row) {
    let Some((quantity, unit)) = words::metric(name) else { return };
    let Some(Value::Object(metric)) = metrics.get_mut(name) else { return };
    // Some metrics are not split by what became of the requests.
    let split = metric.contains_key("successful");
    let statistics = match split {
        true => metric.get_mut("successful").and_then(Value::as_object_mut),
        false => Some(metric),
    };
    let Some(statistics) = statistics else { return };
    let successful = if split { "/successful" } else { "" };
    statistics_of(
        (quantity, unit),
        statistics,
        &format!("{pointer}/metrics/{name}{successful}"),
        row,
    );
}

/// Media in successful requests, per request and per second.
fn media(carried: &words::Carried, metrics: &mut Map<String, Value>, base: &str, row: &mut Row) {
    let words::Carried { kind, name, each, rate } = carried;
    let shown = [("input", Some(each)), ("input_per_second", rate.as_ref())];
    for (of, meant) in shown.into_iter().filter_map(|(of, meant)| Some((of, meant?))) {
        let path = format!("/{kind}/{name}/{of}/successful");
        let found = metrics.get_mut(*kind).and_then(|kind| kind.get_mut(*name)?.get_mut(of));
        let found = found.and_then(|of| of.get_mut("successful")?.as_object_mut());
        if let Some(statistics) = found {
            statistics_of(meant.clone(), statistics, &format!("{base}{path}"), row);
        }
    }
}

/// Moves statistics into figures; statistics of no values are dropped.
fn statistics_of(
    (quantity, unit): (Metric, Unit),
    statistics: &mut Map<String, Value>,
    pointer: &str,
    row: &mut Row,
) {
    if json::number(statistics.get("count")) == Some(0.0) {
        statistics.clear();
        return;
    }
    let defined = quantity;
    let measure = Measure {
        quantity,
        unit,
        definition: &|statistic| words::definition(defined, statistic),
        std: StdKind::Population,
        pointer: pointer.to_owned(),
    };
    measure.take(statistics, &mut row.figures);
    if let Some(Value::Object(percentiles)) = statistics.get_mut("percentiles") {
        let pointer = format!("{pointer}/percentiles");
        Measure { pointer, ..measure }.take(percentiles, &mut row.figures);
    }
}

/// What was set for this benchmark.
fn settings(benchmark: &Map<String, Value>, row: &mut Row) {
    let own = |path: &[&str]| {
        ["config", "args"].iter().find_map(|top| json::word(deep(benchmark.get(*top), path)))
    };
    let strategy = own(&["strategy", "type_"]);
    // Of a rate it is a limit that is never meant to be reached.
    let limited = matches!(strategy.as_deref(), Some("concurrent" | "throughput"));
    let streams = own(&["strategy", "streams"])
        .or_else(|| own(&["strategy", "max_concurrency"]))
        .filter(|_| limited);
    let prompts = own(&["constraints", "max_requests", "args", "count"])
        .or_else(|| own(&["constraints", "max_requests", "max_num"]))
        .or_else(|| own(&["max_number"]));
    for (factor, word) in [
        (key::STRATEGY, strategy),
        (key::RATE, own(&["strategy", "rate"])),
        (key::CONCURRENCY, streams),
        (key::REQUESTS, prompts),
        (key::MODEL, own(&["backend", "model"])),
    ] {
        if let Some(word) = word {
            row.factors.set(factor, words::whole(&word));
        }
    }
    let of_worker = json::word(deep(benchmark.get("worker"), &["backend_model"]));
    if let Some(model) = of_worker.filter(|_| row.factors.get(key::MODEL).is_none()) {
        row.factors.set(key::MODEL, model);
    }
    labels::set(deep(benchmark.get("config"), &["metadata", "labels"]), &mut row.factors);
}

/// What was set for all benchmarks of the file.
pub(super) fn spread_settings(rest: &Map<String, Value>, rows: &mut [Row]) {
    let spec = deep(rest.get("config"), &["spec"]).or(rest.get("args"));
    let data = spec.and_then(|spec| spec.get("data")).map(|data| match data {
        Value::Array(items) => items.first().unwrap_or(data),
        other => other,
    });
    let model = json::word(deep(spec, &["backend", "model"]))
        .or_else(|| json::word(deep(spec, &["model"])));
    // Older versions have the data as text: `prompt_tokens=256,output_tokens=128`.
    let named = |name: &str| match data? {
        Value::String(text) => text.split(',').find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        }),
        other => json::word(other.get(name)),
    };
    for (factor, word) in [
        (key::MODEL, model),
        (key::WORKLOAD, named("kind")),
        (key::INPUT_TOKENS, named("prompt_tokens")),
        (key::OUTPUT_TOKENS, named("output_tokens")),
    ] {
        let Some(word) = word else { continue };
        for row in rows.iter_mut().filter(|row| row.factors.get(factor).is_none()) {
            row.factors.set(factor, &word);
        }
    }
}

fn deep<'a>(value: Option<&'a Value>, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value?, |value, step| value.get(*step))
}
