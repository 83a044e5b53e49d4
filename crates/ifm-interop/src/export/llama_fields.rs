//! The fields of `llama-bench`: its CSV, JSON, JSON Lines and SQL, which hold the same.
//!
//! A row for each mean, with the samples behind it where the format has room for them. Fields that
//! the sheet does not tell are empty, or `null`.

use super::{Export, Exported, Writer};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, PartKind, Row, RowRole, Statistic, StdKind, key};
use serde_json::{Value, json};

const HOLDS: &str = "prompt and generation speeds of an engine without a server";
const LACKS: &str = "figures that are none of its fields; factors that it has no field for; labels of rows; definitions and places";
const NO_SAMPLES: &str = "single repeats; figures that are none of its fields; factors that it has no field for; labels of rows; definitions and places";

pub(super) const CSV: Export =
    export("llama-bench-csv", "llama-bench, CSV", NO_SAMPLES, |sheet| file(sheet, "csv", csv));
pub(super) const JSON: Export =
    export("llama-bench-json", "llama-bench, JSON", LACKS, |sheet| file(sheet, "json", json_array));
pub(super) const JSONL: Export =
    export("llama-bench-jsonl", "llama-bench, JSON Lines", LACKS, |sheet| {
        file(sheet, "jsonl", json_lines)
    });
pub(super) const SQL: Export =
    export("llama-bench-sql", "llama-bench, SQL", NO_SAMPLES, |sheet| file(sheet, "sql", sql));

const fn export(
    id: &'static str,
    title: &'static str,
    lacks: &'static str,
    write: fn(&Sheet) -> Vec<Exported>,
) -> Export {
    Export { id, title, definitions: None, write: Writer::Sheet(write), holds: HOLDS, lacks }
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Text,
    Whole,
    Flag,
    Real,
}

/// The fields in the order of the tool.
const FIELDS: &[(&str, Is)] = &[
    ("build_commit", Is::Text),
    ("build_number", Is::Whole),
    ("cpu_info", Is::Text),
    ("gpu_info", Is::Text),
    ("backends", Is::Text),
    ("model_filename", Is::Text),
    ("model_type", Is::Text),
    ("model_size", Is::Whole),
    ("model_n_params", Is::Whole),
    ("n_batch", Is::Whole),
    ("n_ubatch", Is::Whole),
    ("n_threads", Is::Whole),
    ("cpu_mask", Is::Text),
    ("cpu_strict", Is::Flag),
    ("poll", Is::Whole),
    ("type_k", Is::Text),
    ("type_v", Is::Text),
    ("n_gpu_layers", Is::Whole),
    ("n_cpu_moe", Is::Whole),
    ("split_mode", Is::Text),
    ("main_gpu", Is::Whole),
    ("no_kv_offload", Is::Flag),
    ("flash_attn", Is::Whole),
    ("devices", Is::Text),
    ("tensor_split", Is::Text),
    ("tensor_buft_overrides", Is::Text),
    ("load_mode", Is::Text),
    ("lazy_mode", Is::Text),
    ("embeddings", Is::Flag),
    ("no_op_offload", Is::Whole),
    ("no_host", Is::Flag),
    ("repack", Is::Flag),
    ("fit_target", Is::Whole),
    ("fit_min_ctx", Is::Whole),
    ("n_prompt", Is::Whole),
    ("n_gen", Is::Whole),
    ("n_depth", Is::Whole),
    ("test_time", Is::Text),
    ("avg_ns", Is::Whole),
    ("stddev_ns", Is::Whole),
    ("avg_ts", Is::Real),
    ("stddev_ts", Is::Real),
];
/// The lists behind them, where a format has room.
const SAMPLES: [&str; 2] = ["samples_ns", "samples_ts"];

/// Fields and their values, in the tool's order. What is not known is `null`.
type Record = Vec<(&'static str, Value)>;

fn file(sheet: &Sheet, ending: &'static str, write: fn(&[Record]) -> String) -> Vec<Exported> {
    let records = records(sheet);
    if records.is_empty() {
        return Vec::new();
    }
    vec![Exported { name: None, stem: String::new(), ending, text: write(&records) }]
}

fn records(sheet: &Sheet) -> Vec<Record> {
    let mut records = Vec::new();
    for part in sheet.parts.iter().filter(|part| part.kind == PartKind::Engine) {
        let rows: Vec<(&Row, Factors)> =
            part.rows.iter().map(|row| (row, row.factors.within(&part.factors))).collect();
        let is_sample = |factors: &Factors| factors.get(key::REPEAT).is_some();
        let mut heads = rows.iter().enumerate().filter(|(_, (_, all))| !is_sample(all)).peekable();
        if heads.peek().is_none() {
            // Single measurements, each a row of its own.
            records.extend(rows.iter().filter_map(|(row, all)| record(row, all, &[])));
            continue;
        }
        for (at, (row, all)) in heads {
            let samples: Vec<&Row> = rows[at + 1..]
                .iter()
                .take_while(|(_, factors)| is_sample(factors))
                .map(|(row, _)| *row)
                .collect();
            records.extend(record(row, all, &samples));
        }
    }
    records
}

const RATES: [Metric; 3] = [Metric::PrefillRate, Metric::DecodeRate, Metric::TotalRate];
const TIMES: [Metric; 2] = [Metric::Prefill, Metric::Duration];

/// One of the statistics of one of the quantities, whichever there is; times in nanoseconds.
fn told(row: &Row, quantities: &[Metric], statistics: &[Statistic]) -> Option<f64> {
    let of = |quantity: &Metric| {
        statistics.iter().find_map(|statistic| {
            let figure = row.figure(*quantity, *statistic)?;
            let is_ns = figure.unit == ifm_core::sheet::Unit::Ns;
            let in_ns = if TIMES.contains(quantity) { 1e6 } else { 1.0 };
            // Nanoseconds are copied unchanged: converting them and back would round.
            if is_ns { figure.value } else { figure.canonical().map(|value| value * in_ns) }
        })
    };
    quantities.iter().find_map(of)
}

fn record(row: &Row, factors: &Factors, samples: &[&Row]) -> Option<Record> {
    let is_measured = row.role != RowRole::Stated && row.role != RowRole::Planned;
    let mean = [Statistic::Mean, Statistic::Value];
    told(row, &RATES, &mean).filter(|_| is_measured)?;
    let deviation = [Statistic::Std(StdKind::Sample)];
    let mut record = Record::new();
    for (name, is) in FIELDS {
        let figure = match *name {
            "avg_ns" => Some(told(row, &TIMES, &mean)),
            "stddev_ns" => Some(told(row, &TIMES, &deviation)),
            "avg_ts" => Some(told(row, &RATES, &mean)),
            "stddev_ts" => Some(told(row, &RATES, &deviation)),
            "model_size" => Some(row.value(Metric::other("model_size"), Statistic::Value)),
            "model_n_params" => Some(row.value(Metric::Parameters, Statistic::Value)),
            _ => None,
        };
        let value = match figure {
            Some(figure) => figure.map_or(Value::Null, |figure| number(figure, *is)),
            None => setting(name, *is, row, factors),
        };
        record.push((name, value));
    }
    for (name, quantities) in SAMPLES.into_iter().zip([&TIMES[..], &RATES[..]]) {
        let is = if name == "samples_ns" { Is::Whole } else { Is::Real };
        let all = samples.iter().filter_map(|row| told(row, quantities, &[Statistic::Value]));
        record.push((name, all.map(|value| number(value, is)).collect()));
    }
    Some(record)
}

/// What was set, or a field that no figure holds.
fn setting(name: &str, is: Is, row: &Row, factors: &Factors) -> Value {
    let factor = match name {
        "model_type" => factors.get(key::MODEL),
        "gpu_info" => factors.get(key::GPU).or(Some("")),
        "n_prompt" => factors.get(key::INPUT_TOKENS).or(Some("0")),
        "n_gen" => factors.get(key::OUTPUT_TOKENS).or(Some("0")),
        "n_depth" => factors.get(key::DEPTH_TOKENS).or(Some("0")),
        _ => factors.get(name),
    };
    let Some(word) = factor else {
        return row.unknown.get(name).map_or(Value::Null, |value| match (is, value) {
            (Is::Whole, Value::String(text)) => {
                text.parse::<i64>().map_or(Value::Null, Value::from)
            }
            _ => value.clone(),
        });
    };
    match is {
        Is::Text => Value::from(word),
        Is::Flag => Value::from(matches!(word, "1" | "true")),
        Is::Whole => word.parse::<i64>().map_or_else(|_| Value::from(word), Value::from),
        Is::Real => word.parse::<f64>().map_or(Value::Null, Value::from),
    }
}

fn number(value: f64, is: Is) -> Value {
    match is {
        Is::Whole => json!(value.round() as i64),
        _ => json!(value),
    }
}

/// A value as text, as the tool writes it between quotes.
fn text(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(flag) => u8::from(*flag).to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) if kind(name) == Some(Is::Real) => {
            number.as_f64().map_or_else(String::new, |value| format!("{value:.6}"))
        }
        other => other.to_string(),
    }
}

fn kind(name: &str) -> Option<Is> {
    FIELDS.iter().find(|(field, _)| *field == name).map(|(_, is)| *is)
}

/// The values that have a column: the lists have none.
fn cells(record: &Record, quote: char) -> Vec<String> {
    let columns = record.iter().filter(|(name, _)| kind(name).is_some());
    let double = format!("{quote}{quote}");
    let cell = |(name, value): &(&str, Value)| {
        format!("{quote}{}{quote}", text(name, value).replace(quote, &double))
    };
    columns.map(cell).collect()
}

fn names() -> Vec<&'static str> {
    FIELDS.iter().map(|(name, _)| *name).collect()
}

fn csv(records: &[Record]) -> String {
    let line = |record: &Record| format!("{}\n", cells(record, '"').join(","));
    format!("{}\n{}", names().join(","), records.iter().map(line).collect::<String>())
}

/// `"name": value`, each.
fn members(record: &Record) -> Vec<String> {
    record.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect()
}

fn json_array(records: &[Record]) -> String {
    let object = |record: &Record| format!("  {{\n    {}\n  }}", members(record).join(",\n    "));
    let objects: Vec<String> = records.iter().map(object).collect();
    format!("[\n{}\n]\n", objects.join(",\n"))
}

fn json_lines(records: &[Record]) -> String {
    records.iter().map(|record| format!("{{{}}}\n", members(record).join(", "))).collect()
}

fn sql(records: &[Record]) -> String {
    let column = |(name, is): &(&str, Is)| {
        let kind = match is {
            Is::Text => "TEXT",
            Is::Whole | Is::Flag => "INTEGER",
            Is::Real => "REAL",
        };
        format!("  {name} {kind}")
    };
    let columns: Vec<String> = FIELDS.iter().map(column).collect();
    let insert = |record: &Record| {
        let (names, values) = (names().join(", "), cells(record, '\'').join(", "));
        format!("INSERT INTO llama_bench ({names}) VALUES ({values});\n")
    };
    format!(
        "CREATE TABLE IF NOT EXISTS llama_bench (\n{}\n);\n\n{}",
        columns.join(",\n"),
        records.iter().map(insert).collect::<String>()
    )
}
