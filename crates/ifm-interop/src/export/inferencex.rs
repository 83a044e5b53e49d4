//! Aggregates of InferenceX, a file for each level: latencies in seconds, throughputs per GPU.

use super::fields::{factor, metadata, number, set, statistic_name, times, value};
use super::{Export, Exported, Writer, serving, stem};
use crate::import::{INFERENCE_X_FIELDS as FIELDS, VLLM_PER_TOKEN};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Row, key};
use serde_json::{Map, Value, json};

pub(super) const EXPORT: Export = Export {
    id: "inferencex",
    title: "InferenceX aggregate, JSON",
    definitions: Some("vllm"),
    write: Writer::Sheet(write),
    holds: "loads of a server",
    lacks: "rates where the number of GPUs is not known, and else all but those of one GPU; numbers of requests and tokens, duration; smallest, largest and lower percentiles of times; deviations of a sample; labels of rows; single requests; figures of media; definitions, places and printed digits",
};

fn write(sheet: &Sheet) -> Vec<Exported> {
    let file = |(row, factors): (&Row, Factors)| Exported {
        name: None,
        stem: stem(&factors),
        ending: "json",
        text: format!("{:#}\n", Value::from(object(row, &factors))),
    };
    serving(sheet).map(file).collect()
}

fn object(row: &Row, factors: &Factors) -> Map<String, Value> {
    let mut object = Map::new();
    metadata(&mut object, factors, &FIELDS.map(|(_, factor)| factor));
    for (name, source) in FIELDS {
        object.insert(name.to_owned(), factor(factors, source));
    }
    object.insert("written_by".to_owned(), json!("inferometer"));
    // Rates per GPU need the number of GPUs: without it they are left out.
    if let Some(gpus) = factors.number(key::TENSOR_PARALLEL).filter(|gpus| *gpus >= 1.0) {
        for (name, quantity) in [
            ("tput_per_gpu", Metric::TotalRate),
            ("output_tput_per_gpu", Metric::OutputRate),
            ("input_tput_per_gpu", Metric::InputRate),
        ] {
            set(&mut object, name, value(row, quantity).map(|rate| rate / gpus));
        }
    }
    for (name, quantity) in [
        ("ttft", Metric::Ttft),
        ("tpot", Metric::Tpot),
        ("itl", Metric::Itl),
        ("e2el", Metric::E2e),
    ] {
        for figure in times(row, quantity, VLLM_PER_TOKEN) {
            let Some(statistic) = statistic_name(figure.statistic) else { continue };
            let Some(ms) = figure.canonical() else { continue };
            object.insert(format!("{statistic}_{name}"), number(Some(ms / 1e3)));
            // Tokens per second per user. The format also has this for the standard deviation,
            // where the reciprocal is meaningless.
            if quantity == Metric::Tpot && ms > 0.0 && statistic != "std" {
                object.insert(format!("{statistic}_intvty"), number(Some(1e3 / ms)));
            }
        }
    }
    object
}
