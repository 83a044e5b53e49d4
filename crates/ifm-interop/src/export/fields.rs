//! Fields of JSON files from figures.

use ifm_core::sheet::{Factors, Quantity, Row, Statistic, StdKind, key};
use serde_json::{Map, Number, Value, json};

pub(super) use crate::import::PREFIX;

/// A number, or null where there is none.
pub(super) fn number(value: Option<f64>) -> Value {
    let Some(value) = value else { return Value::Null };
    // Whole numbers are written as such: readers take them for counts.
    match value.fract() == 0.0 && value.abs() < 9e15 {
        true => Value::from(value as i64),
        false => Number::from_f64(value).map_or(Value::Null, Value::Number),
    }
}

/// Number of a row, in canonical units.
pub(super) fn value(row: &Row, quantity: &Quantity) -> Option<f64> {
    row.value(quantity, Statistic::Value).or_else(|| row.value(quantity, Statistic::Mean))
}

/// A factor: a number where it is one, else text, null where it is not set.
pub(super) fn factor(factors: &Factors, name: &str) -> Value {
    match (factors.number(name), factors.get(name)) {
        (Some(value), _) => number(Some(value)),
        (None, Some(word)) => Value::from(word),
        (None, None) => Value::Null,
    }
}

/// Names of factors that no reader of these formats takes for anything else.
const PLAIN: [&str; 13] = [
    key::GPU,
    key::QUANTIZATION,
    key::STRATEGY,
    key::REQUESTS,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
    key::BATCH_SIZE,
    key::DEPTH_TOKENS,
    key::WORKLOAD,
    key::POWER_LIMIT_W,
    key::CONDITION,
    key::TENSOR_PARALLEL,
    key::REPEAT,
];

/// All factors as texts, for formats with room for labels.
pub(super) fn labels(factors: &Factors) -> Value {
    factors
        .iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// Adds the factors as fields of the outermost level, as `--metadata` of vLLM's client does, but
/// for those that `fields` of the format hold as they are. Names that are not ours have a prefix,
/// so that none is taken for a field of the format.
pub(super) fn metadata(object: &mut Map<String, Value>, factors: &Factors, fields: &[&str]) {
    for (name, text) in factors.iter() {
        let is_field = fields.contains(&name);
        let written = match factor(factors, name) {
            Value::String(word) => word,
            number => number.to_string(),
        };
        if is_field && written == text {
            continue;
        }
        let name = match PLAIN.contains(&name) && !is_field {
            true => name.to_owned(),
            false => format!("{PREFIX}{name}"),
        };
        object.insert(name, json!(text));
    }
}

/// Sets a field if there is a number.
pub(super) fn set(object: &mut Map<String, Value>, name: impl Into<String>, value: Option<f64>) {
    if value.is_some() {
        object.insert(name.into(), number(value));
    }
}

/// `p99`, `p99.9`.
pub(super) fn percentile_name(p: f64) -> String {
    format!("p{p}")
}

/// Sets a field for each quantity of which the row has a number. Durations are in seconds.
pub(super) fn set_each(object: &mut Map<String, Value>, row: &Row, fields: &[(&str, Quantity)]) {
    for (name, quantity) in fields {
        let scale = if *quantity == Quantity::Duration { 1e-3 } else { 1.0 };
        set(object, *name, value(row, quantity).map(|value| value * scale));
    }
}

/// `mean`, `median`, `std`, `p99`: statistics as vLLM's fields name them. Its deviations are those
/// of a population: others have no field.
pub(super) fn statistic_name(statistic: Statistic) -> Option<String> {
    Some(match statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::Median => "median".to_owned(),
        Statistic::Std(StdKind::Population) => "std".to_owned(),
        Statistic::Percentile(p) if p > 50.0 => percentile_name(p),
        _ => return None,
    })
}
