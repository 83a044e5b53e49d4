//! The JSON of GuideLLM 0.8: one benchmark for each level.
//!
//! Not here: what the tool's own reader requires in addition to the numbers (`whole`).

mod whole;

use super::fields::{factor, labels, number, percentile_name, times, value};
use super::{Export, Exported, Writer, asked, serving};
use crate::import::{Carried, GUIDELLM_CARRIED, GUIDELLM_PER_TOKEN};
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Factors, Figure, Row, Statistic, StdKind, key};
use ifm_core::{RunData, Sheet};
use serde_json::{Map, Value, json};

pub(super) const EXPORT: Export = Export {
    id: "guidellm",
    title: "GuideLLM, JSON",
    definitions: Some("guidellm"),
    write: Writer::Results(write),
    holds: "loads of a server",
    lacks: "of rows of others statistics of rates but their mean, and numbers of tokens but those of media in a request; deviations of a sample; goodput; TTFA, RTF, silence and RTFx of a request; labels of rows; single requests; definitions, places and printed digits",
};

fn write(sheet: &Sheet, run: Option<&RunData>) -> Vec<Exported> {
    let rows: Vec<(&Row, Factors)> = serving(sheet).collect();
    let of = |(row, factors): &(&Row, Factors)| benchmark(row, factors, is_ours(sheet));
    let mut benchmarks: Vec<Value> = rows.iter().map(of).collect();
    if benchmarks.is_empty() {
        return Vec::new();
    }
    let mut config = json!({});
    if let Some(run) = run {
        let loads: Vec<_> =
            rows.iter().enumerate().map(|(number, (row, _))| asked(run, row, number)).collect();
        config = whole::config(run, &loads);
        let each = benchmarks.iter_mut().zip(&rows).zip(&loads).enumerate();
        for (number, ((benchmark, (row, _)), load)) in each {
            whole::fill(benchmark, run, (row, number), *load);
        }
    }
    let version = sheet.source.tool_version.clone();
    let document = json!({
        "metadata": {"version": 2, "written_by": "inferometer", "inferometer_version": version},
        "config": config,
        "benchmarks": benchmarks,
        "conclusions": [],
    });
    vec![Exported {
        name: None,
        stem: String::new(),
        ending: "json",
        text: format!("{document:#}\n"),
    }]
}

/// Whether the numbers were computed by us, for this format or by what the user chose.
fn is_ours(sheet: &Sheet) -> bool {
    sheet.source.tool.as_deref().is_none_or(|tool| tool == "inferometer")
}

fn benchmark(row: &Row, factors: &Factors, is_ours: bool) -> Value {
    let closed = factors.number(key::CONCURRENCY);
    let strategy = match (closed, factors.number(key::RATE)) {
        (_, Some(rate)) => json!({"type_": "constant", "rate": rate}),
        (Some(1.0), None) => json!({"type_": "synchronous"}),
        (Some(_), None) => {
            json!({"type_": "concurrent", "streams": factor(factors, key::CONCURRENCY)})
        }
        (None, None) => json!({"type_": "throughput"}),
    };
    let mut metrics = Map::new();
    for (name, quantity, scale) in [
        // Seconds; the others are in milliseconds, as in a sheet.
        ("request_latency", Metric::E2e, 1e-3),
        ("time_to_first_token_ms", Metric::Ttft, 1.0),
        ("time_to_first_output_token_ms", Metric::Ttfat, 1.0),
        ("inter_token_latency_ms", Metric::Itl, 1.0),
        ("time_per_output_token_ms", Metric::Tpot, 1.0),
    ] {
        if let Some(summary) = distribution(row, quantity, scale, is_ours) {
            metrics.insert(name.to_owned(), json!({"successful": summary}));
        }
    }
    for (name, quantity) in [
        ("requests_per_second", Metric::RequestRate),
        ("request_concurrency", Metric::InFlight),
        ("prompt_tokens_per_second", Metric::InputRate),
        ("output_tokens_per_second", Metric::OutputRate),
        ("tokens_per_second", Metric::TotalRate),
    ] {
        if let Some(mean) = value(row, quantity) {
            metrics.insert(name.to_owned(), json!({"successful": {"mean": mean}}));
        }
    }
    media(row, is_ours, &mut metrics);
    let count = |quantity| number(value(row, quantity));
    metrics.insert(
        "request_totals".to_owned(),
        json!({
            "successful": count(Metric::RequestsOk),
            "errored": count(Metric::RequestsFailed),
        }),
    );
    json!({
        "type_": "generative_benchmark",
        "config": {
            "metadata": {"labels": labels(factors)},
            "strategy": strategy,
            "model": factor(factors, key::MODEL),
        },
        "metrics": metrics,
        "duration": number(value(row, Metric::Duration).map(|ms| ms / 1e3)),
    })
}

/// Media in prompts: the full statistics per request, the mean per second.
fn media(row: &Row, is_ours: bool, metrics: &mut Map<String, Value>) {
    for Carried { kind, name, each: (quantity, unit), rate } in GUIDELLM_CARRIED {
        let mut shown = Map::new();
        let scale = unit.factor().map_or(1.0, f64::recip);
        if let Some(summary) = distribution(row, quantity, scale, is_ours) {
            shown.insert("input".to_owned(), json!({"successful": summary}));
        }
        let mean = rate.and_then(|(rate, _)| value(row, rate));
        if let Some(mean) = mean {
            shown.insert("input_per_second".to_owned(), json!({"successful": {"mean": mean}}));
        }
        if let Some(of_kind) = (!shown.is_empty())
            .then(|| metrics.entry(kind).or_insert_with(|| json!({})).as_object_mut())
            .flatten()
        {
            of_kind.insert(name.to_owned(), shown.into());
        }
    }
}

/// The statistics of a time. The TPOT of another tool is not exported as GuideLLM's TPOT, which
/// includes the time to the first token.
fn distribution(row: &Row, quantity: Metric, scale: f64, is_ours: bool) -> Option<Value> {
    let mut summary = Map::new();
    let mut percentiles = Map::new();
    let is_meant = |figure: &&Figure| match quantity {
        Metric::Tpot => {
            figure.quantity == quantity && (is_ours || figure.definition != Definition::Same)
        }
        _ => true,
    };
    for figure in times(row, quantity, GUIDELLM_PER_TOKEN).filter(is_meant) {
        let scaled = |scale: f64| number(figure.canonical().map(|value| value * scale));
        let name = match figure.statistic {
            Statistic::Mean => "mean",
            Statistic::Median => "median",
            Statistic::Std(StdKind::Population) => "std_dev",
            Statistic::Min => "min",
            Statistic::Max => "max",
            Statistic::Count => {
                summary.insert("count".to_owned(), scaled(1.0));
                continue;
            }
            Statistic::Percentile(p) => {
                // Two digits: p05.
                let name = if p < 10.0 { format!("p0{p}") } else { percentile_name(p) };
                percentiles.insert(name, scaled(scale));
                continue;
            }
            _ => continue,
        };
        summary.insert(name.to_owned(), scaled(scale));
    }
    if let Some(median) = summary.get("median").cloned() {
        percentiles.insert("p50".to_owned(), median);
    }
    summary.insert("percentiles".to_owned(), percentiles.into());
    summary.contains_key("mean").then_some(Value::from(summary))
}
