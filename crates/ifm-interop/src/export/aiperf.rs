//! `profile_export_aiperf.json` of AIPerf, a file for each level.

use super::fields::{factor, labels, number, percentile_name, times, value};
use super::{Export, Exported, Writer, serving, stem};
use crate::import::AIPERF_PER_TOKEN;
use ifm_core::Sheet;
use ifm_core::sheet::meaning::{IMAGES_OF_A_REQUEST, TIME_OF_AN_IMAGE};
use ifm_core::sheet::{Factors, Quantity, Row, Statistic, StdKind, key};
use serde_json::{Map, Value, json};

pub(super) const EXPORT: Export = Export {
    id: "aiperf",
    title: "AIPerf, JSON",
    definitions: Some("aiperf"),
    write: Writer::Sheet(write),
    holds: "loads of a server",
    lacks: "time per output token, which the tool calls ITL; deviations of a sample; input rate, numbers of tokens, requests in flight, goodput; figures of media but images, seconds of audio and RTFx of a request; labels of rows; single requests; definitions, places and printed digits",
};

fn write(sheet: &Sheet) -> Vec<Exported> {
    let file = |(row, factors): (&Row, Factors)| Exported {
        stem: stem(&factors),
        ending: "json",
        text: format!("{:#}\n", document(row, &factors)),
    };
    serving(sheet).map(file).collect()
}

fn document(row: &Row, factors: &Factors) -> Value {
    let mut document = Map::new();
    document.insert("schema_version".to_owned(), json!("1.4"));
    document.insert("written_by".to_owned(), json!("inferometer"));
    document.insert(
        "input_config".to_owned(),
        json!({
            "endpoint": {"model_names": [factor(factors, key::MODEL)]},
            "loadgen": {
                "concurrency": factor(factors, key::CONCURRENCY),
                "request_rate": factors.number(key::RATE),
            },
            "labels": labels(factors),
        }),
    );
    for (name, quantity) in [
        ("time_to_first_token", Quantity::Ttft),
        ("time_to_first_output_token", Quantity::Ttfot),
        ("request_latency", Quantity::E2e),
        ("inter_token_latency", Quantity::Itl),
    ] {
        let metric = distribution(row, &quantity, ("ms", 1.0));
        document.extend(metric.map(|metric| (name.to_owned(), metric)));
    }
    let own = |name: &str| Quantity::Other(name.to_owned());
    for (name, quantity, unit) in [
        ("num_images", Quantity::Images, ("images", 1.0)),
        (IMAGES_OF_A_REQUEST, own(IMAGES_OF_A_REQUEST), ("images/sec", 1.0)),
        (TIME_OF_AN_IMAGE, own(TIME_OF_AN_IMAGE), ("ms/image", 1.0)),
        ("audio_duration", Quantity::AudioLength, ("sec", 1e-3)),
        ("rtfx", Quantity::Rtfx, ("ratio", 1.0)),
    ] {
        let metric = distribution(row, &quantity, unit);
        document.extend(metric.map(|metric| (name.to_owned(), metric)));
    }
    for (name, quantity, unit, scale) in [
        ("request_throughput", Quantity::RequestRate, "requests/sec", 1.0),
        ("output_token_throughput", Quantity::OutputRate, "tokens/sec", 1.0),
        ("total_token_throughput", Quantity::TotalRate, "tokens/sec", 1.0),
        ("request_count", Quantity::RequestsOk, "requests", 1.0),
        ("error_request_count", Quantity::RequestsFailed, "requests", 1.0),
        ("benchmark_duration", Quantity::Duration, "sec", 1e-3),
    ] {
        if let Some(avg) = value(row, &quantity) {
            document.insert(name.to_owned(), json!({"unit": unit, "avg": avg * scale}));
        }
    }
    document.into()
}

/// The statistics of values of requests, in a unit of which so many are one of ours.
fn distribution(row: &Row, quantity: &Quantity, (unit, scale): (&str, f64)) -> Option<Value> {
    let mut metric = Map::new();
    metric.insert("unit".to_owned(), json!(unit));
    for figure in times(row, quantity, AIPERF_PER_TOKEN) {
        let name = match figure.statistic {
            Statistic::Mean => "avg".to_owned(),
            Statistic::Median => "p50".to_owned(),
            Statistic::Std(StdKind::Population) => "std".to_owned(),
            Statistic::Min => "min".to_owned(),
            Statistic::Max => "max".to_owned(),
            Statistic::Count => "count".to_owned(),
            Statistic::Percentile(p) => percentile_name(p),
            _ => continue,
        };
        let scale = if figure.statistic == Statistic::Count { 1.0 } else { scale };
        metric.insert(name, number(figure.canonical().map(|value| value * scale)));
    }
    metric.contains_key("avg").then_some(Value::from(metric))
}
