//! The benchmark report of llm-d, version 0.2, a file for each level. JSON, which is YAML too.

use super::fields::{factor, labels, number, percentile_name, times, value};
use super::{Export, Exported, serving, stem};
use crate::import::{SGLANG_PER_TOKEN, VLLM_PER_TOKEN};
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Quantity, Row, Statistic, key};
use serde_json::{Map, Value, json};

pub(super) const EXPORT: Export = Export {
    id: "llm-d",
    title: "llm-d benchmark report 0.2, YAML",
    definitions: None,
    write,
    holds: "loads of a server",
    lacks: "which deviation it is; successful requests but as the difference of all and failed ones; input rate, duration, numbers of tokens, requests in flight; times to the first answer token; labels of rows; single requests; definitions, places and printed digits",
};

fn write(sheet: &Sheet) -> Vec<Exported> {
    let file = |(row, factors): (&Row, Factors)| Exported {
        stem: stem(&factors),
        ending: "yaml",
        text: format!("{:#}\n", document(sheet, row, &factors)),
    };
    serving(sheet).map(file).collect()
}

fn document(sheet: &Sheet, row: &Row, factors: &Factors) -> Value {
    let mut latency = Map::new();
    for (name, quantity, units, scale) in [
        ("time_to_first_token", Quantity::Ttft, "s", 1e-3),
        ("time_per_output_token", Quantity::Tpot, "s/token", 1e-3),
        ("inter_token_latency", Quantity::Itl, "s/token", 1e-3),
        ("request_latency", Quantity::E2e, "s", 1e-3),
    ] {
        let found = statistics(row, &quantity, units, scale);
        latency.extend(found.map(|statistics| (name.to_owned(), statistics)));
    }
    let mut throughput = Map::new();
    for (name, quantity, units) in [
        ("request_rate", Quantity::RequestRate, "queries/s"),
        ("output_token_rate", Quantity::OutputRate, "tokens/s"),
        ("total_token_rate", Quantity::TotalRate, "tokens/s"),
    ] {
        if let Some(mean) = value(row, &quantity) {
            throughput.insert(name.to_owned(), json!({"units": units, "mean": mean}));
        }
    }
    let count = |quantity| number(value(row, &quantity));
    without_nulls(json!({
        "version": "0.2",
        "run": {"eid": sheet.source.name, "uid": format!("{}{}", sheet.source.name,
            row.place.pointer.as_deref().unwrap_or_default())},
        "scenario": {
            "stack": [{"model": factor(factors, key::MODEL), "tool": factor(factors, key::ENGINE)}],
            "load": {
                "metadata": {"labels": labels(factors)},
                "standardized": {
                    "tool": "inferometer",
                    "rate_qps": factors.number(key::RATE),
                    "concurrency": factor(factors, key::CONCURRENCY),
                },
            },
        },
        "results": {
            "request_performance": {
                "aggregate": {
                    "requests": {
                        "total": count(Quantity::Requests),
                        "successes": count(Quantity::RequestsOk),
                        "failures": count(Quantity::RequestsFailed),
                    },
                    "latency": latency,
                    "throughput": throughput,
                },
            },
        },
    }))
}

/// Without the fields that nothing fills, whose place in a report says that they are known.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let filled = fields.into_iter().filter(|(_, field)| !field.is_null());
            Value::Object(filled.map(|(name, field)| (name, without_nulls(field))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

fn statistics(row: &Row, quantity: &Quantity, units: &str, scale: f64) -> Option<Value> {
    let mut found = Map::new();
    found.insert("units".to_owned(), json!(units));
    let own = [VLLM_PER_TOKEN, SGLANG_PER_TOKEN].concat();
    for figure in times(row, quantity, &own) {
        let name = match figure.statistic {
            Statistic::Mean => "mean".to_owned(),
            Statistic::Median => "p50".to_owned(),
            Statistic::Std(_) => "stddev".to_owned(),
            Statistic::Min => "min".to_owned(),
            Statistic::Max => "max".to_owned(),
            Statistic::Percentile(p) => percentile_name(p),
            _ => continue,
        };
        found.insert(name, number(figure.canonical().map(|value| value * scale)));
    }
    found.contains_key("mean").then_some(Value::from(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{Figure, Part, PartKind, Place, RowRole, Unit};

    #[test]
    fn what_is_not_known_is_absent() {
        let mut row = Row::new(RowRole::Measured, Place::line(1));
        let ok = Figure::new(Quantity::RequestsOk, Statistic::Value, 3.0, Unit::Count);
        row.figures.push(ok);
        let part = Part { rows: vec![row], ..Part::new(PartKind::Serving, Place::line(1)) };
        let sheet = Sheet { parts: vec![part], ..Sheet::default() };
        let files = write(&sheet);
        let report: Value = serde_json::from_str(&files[0].text).expect("JSON");
        let aggregate = &report["results"]["request_performance"]["aggregate"];
        assert_eq!(aggregate["requests"], json!({"successes": 3}));
        assert!(!files[0].text.contains("null"), "{}", files[0].text);
    }
}
