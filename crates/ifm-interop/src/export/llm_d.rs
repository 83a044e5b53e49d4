//! The benchmark report of llm-d, version 0.2.1, a file for each level. JSON, which is YAML too.
//!
//! The schema forbids unknown fields: values without a field are written to the native settings of
//! the load. Where the number of prompt tokens is not known, the report lacks a field that the
//! schema requires: there is no number to write.

use super::fields::{factor, labels, number, percentile_name, times, value};
use super::{Export, Exported, Writer, serving, stem};
use crate::import::{SGLANG_PER_TOKEN, VLLM_PER_TOKEN};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Row, Statistic, key};
use serde_json::{Map, Value, json};

pub(super) const EXPORT: Export = Export {
    id: "llm-d",
    title: "llm-d benchmark report 0.2.1, YAML",
    definitions: None,
    write: Writer::Sheet(write),
    holds: "loads of a server",
    lacks: "which deviation it is; successful requests but as the difference of all and failed ones; input rate, duration, numbers of tokens, requests in flight; times to the first answer token; labels of rows; single requests; figures of media; definitions, places and printed digits",
};

fn write(sheet: &Sheet) -> Vec<Exported> {
    let file = |(row, factors): (&Row, Factors)| Exported {
        name: None,
        stem: stem(&factors),
        ending: "yaml",
        text: format!("{:#}\n", document(sheet, row, &factors)),
    };
    serving(sheet).map(file).collect()
}

fn document(sheet: &Sheet, row: &Row, factors: &Factors) -> Value {
    let mut latency = Map::new();
    for (name, quantity, units, scale) in [
        ("time_to_first_token", Metric::Ttft, "s", 1e-3),
        ("time_per_output_token", Metric::Tpot, "s/token", 1e-3),
        ("inter_token_latency", Metric::Itl, "s/token", 1e-3),
        ("request_latency", Metric::E2e, "s", 1e-3),
    ] {
        let found = statistics(row, quantity, units, scale);
        latency.extend(found.map(|statistics| (name.to_owned(), statistics)));
    }
    let mut throughput = Map::new();
    for (name, quantity, units) in [
        ("request_rate", Metric::RequestRate, "queries/s"),
        ("output_token_rate", Metric::OutputRate, "tokens/s"),
        ("total_token_rate", Metric::TotalRate, "tokens/s"),
    ] {
        if let Some(mean) = value(row, quantity) {
            throughput.insert(name.to_owned(), json!({"units": units, "mean": mean}));
        }
    }
    let count = |quantity| number(value(row, quantity));
    // The schema has no requests without their total.
    let requests = value(row, Metric::Requests).map(
        |total| json!({"total": number(Some(total)), "failures": count(Metric::RequestsFailed)}),
    );
    let length = |name: &str| {
        factors
            .number(name)
            .map(|_| json!({"distribution": "other", "value": factor(factors, name)}))
    };
    without_nulls(json!({
        "version": "0.2.1",
        "run": {"eid": sheet.source.name, "uid": format!("{}{}", sheet.source.name,
            row.place.pointer.as_deref().unwrap_or_default())},
        "scenario": {
            "stack": stack(factors),
            "load": {
                "metadata": {},
                "standardized": {
                    "tool": "inferometer",
                    "tool_version": env!("CARGO_PKG_VERSION"),
                    "source": "unknown",
                    "input_seq_len": length(key::INPUT_TOKENS),
                    "output_seq_len": length(key::OUTPUT_TOKENS),
                    "rate_qps": factors.number(key::RATE),
                    "concurrency": factors.number(key::CONCURRENCY),
                },
                "native": {"config": {"labels": labels(factors)}},
            },
        },
        "results": {
            "request_performance": {
                "aggregate": {"requests": requests, "latency": latency, "throughput": throughput},
            },
        },
    }))
}

/// What served, where its engine is known: a component has a tool.
fn stack(factors: &Factors) -> Option<Value> {
    let tool = factors.get(key::ENGINE)?;
    let model = factors.get(key::MODEL).map(|name| json!({"name": name}));
    Some(json!([{
        "metadata": {"label": "server", "cfg_id": ""},
        "standardized": {"kind": "generic", "tool": tool, "tool_version": "unknown", "model": model},
        "native": {},
    }]))
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

fn statistics(row: &Row, quantity: Metric, units: &str, scale: f64) -> Option<Value> {
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
            // `p99p9`.
            Statistic::Percentile(p) => percentile_name(p).replace('.', "p"),
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
        let ok = Figure::new(Metric::RequestsOk, Statistic::Value, 3.0, Unit::Count);
        let rate = Figure::new(Metric::RequestRate, Statistic::Value, 2.0, Unit::PerS);
        row.figures.extend([ok, rate]);
        let part = Part { rows: vec![row], ..Part::new(PartKind::Serving, Place::line(1)) };
        let sheet = Sheet { parts: vec![part], ..Sheet::default() };
        let files = write(&sheet);
        let report: Value = serde_json::from_str(&files[0].text).expect("JSON");
        let aggregate = &report["results"]["request_performance"]["aggregate"];
        assert_eq!(aggregate.get("requests"), None, "no number of all requests, none of them");
        assert_eq!(aggregate["throughput"]["request_rate"]["mean"], 2.0);
        assert_eq!(report["scenario"].get("stack"), None);
        assert!(!files[0].text.contains("null"), "{}", files[0].text);
    }

    /// The names that the schema of 0.2.1 allows at a place; it forbids all others.
    fn allowed(pointer: &str) -> &'static [&'static str] {
        match pointer {
            "" => &["version", "run", "scenario", "results"],
            "/run" => &["uid", "eid"],
            "/scenario" => &["stack", "load"],
            "/scenario/stack/0" | "/scenario/load" => &["metadata", "standardized", "native"],
            "/scenario/load/metadata" => &["schema_version", "cfg_id", "description"],
            "/scenario/load/native" => &["args", "envars", "config"],
            "/scenario/load/standardized" => &[
                "tool",
                "tool_version",
                "source",
                "input_seq_len",
                "output_seq_len",
                "rate_qps",
                "concurrency",
            ],
            "/results/request_performance/aggregate" => &["requests", "latency", "throughput"],
            "/results/request_performance/aggregate/requests" => &["total", "failures"],
            "/results/request_performance/aggregate/latency/request_latency" => {
                &["units", "mean", "p50", "p99", "p99p9"]
            }
            other => panic!("no names of {other}"),
        }
    }

    #[test]
    fn a_report_has_no_name_that_its_schema_forbids() {
        let mut row = Row::new(RowRole::Measured, Place::line(1));
        for (name, word) in [
            (key::ENGINE, "vLLM"),
            (key::MODEL, "m"),
            (key::CONCURRENCY, "4"),
            (key::INPUT_TOKENS, "32"),
            ("condition", "warm"),
        ] {
            row.factors.set(name, word);
        }
        let count = |quantity| Figure::new(quantity, Statistic::Value, 3.0, Unit::Count);
        row.figures.extend([count(Metric::Requests), count(Metric::RequestsOk)]);
        for statistic in [Statistic::Mean, Statistic::Median, Statistic::Percentile(99.9)] {
            row.figures.push(Figure::new(Metric::E2e, statistic, 7.0, Unit::Ms));
        }
        let part = Part { rows: vec![row], ..Part::new(PartKind::Serving, Place::line(1)) };
        let sheet = Sheet { parts: vec![part], ..Sheet::default() };
        let report: Value = serde_json::from_str(&write(&sheet)[0].text).expect("JSON");
        for pointer in [
            "",
            "/run",
            "/scenario",
            "/scenario/stack/0",
            "/scenario/load",
            "/scenario/load/metadata",
            "/scenario/load/native",
            "/scenario/load/standardized",
            "/results/request_performance/aggregate",
            "/results/request_performance/aggregate/requests",
            "/results/request_performance/aggregate/latency/request_latency",
        ] {
            let names = report.pointer(pointer).and_then(Value::as_object).expect(pointer).keys();
            for name in names {
                assert!(allowed(pointer).contains(&name.as_str()), "{pointer}: {name}");
            }
        }
        assert_eq!(report["version"], "0.2.1");
        let latency = "/results/request_performance/aggregate/latency/request_latency/p99p9";
        assert_eq!(report.pointer(latency), Some(&json!(0.007)));
    }
}
