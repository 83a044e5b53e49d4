//! `llama-batched-bench`: prompts and then answers of several sequences at once.

use super::super::json;
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Figure, Row, Statistic, Unit, key};
use serde_json::{Map, Value};

/// Its name.
pub(crate) const TOOL: &str = "llama-batched-bench";

/// Names of printed columns, and of the fields that they are.
pub(crate) const COLUMNS: &[(&str, &str)] = &[
    ("PP", "pp"),
    ("TG", "tg"),
    ("B", "pl"),
    ("N_KV", "n_kv"),
    ("T_PP s", "t_pp"),
    ("S_PP t/s", "speed_pp"),
    ("T_TG s", "t_tg"),
    ("S_TG t/s", "speed_tg"),
    ("T s", "t"),
    ("S t/s", "speed"),
];
/// Fields that set something, and the factor that they are.
const SETTINGS: &[(&str, &str)] = &[
    ("pp", key::INPUT_TOKENS),
    ("tg", key::OUTPUT_TOKENS),
    ("pl", key::BATCH_SIZE),
    ("n_kv", "n_kv"),
    ("n_kv_max", "n_kv_max"),
    ("n_batch", "n_batch"),
    ("n_ubatch", "n_ubatch"),
    ("flash_attn", "flash_attn"),
    ("is_pp_shared", "is_pp_shared"),
    ("n_gpu_layers", "n_gpu_layers"),
    ("n_threads", "n_threads"),
    ("n_threads_batch", "n_threads_batch"),
];
/// Fields that measure something.
const FIGURES: &[(&str, Metric, Unit)] = &[
    ("t_pp", Metric::Prefill, Unit::S),
    ("speed_pp", Metric::PrefillRate, Unit::PerS),
    ("speed_tg", Metric::DecodeRate, Unit::PerS),
    ("t", Metric::Duration, Unit::S),
    ("speed", Metric::TotalRate, Unit::PerS),
];

/// Fills a row from its fields, whose values may be text as printed.
pub(crate) fn fill(row: &mut Row, mut fields: Map<String, Value>) {
    row.factors.set(key::ENGINE, super::bench::ENGINE);
    for (field, factor) in SETTINGS {
        if let Some(word) = json::word(fields.remove(*field).as_ref()) {
            row.factors.set(*factor, word);
        }
    }
    for (field, quantity, unit) in FIGURES {
        let Some(value) = json::number(fields.get(*field)) else { continue };
        row.figures.push(figure(*quantity, value, unit.clone(), fields.get(*field)));
        fields.remove(*field);
    }
    if let Some(value) = json::number(fields.get("t_tg")) {
        let quantity = Metric::other("generation_time");
        row.figures.push(figure(quantity, value, Unit::S, fields.get("t_tg")));
        fields.remove("t_tg");
    }
    row.unknown = fields;
}

fn figure(quantity: Metric, value: f64, unit: Unit, written: Option<&Value>) -> Figure {
    let definition = match quantity {
        Metric::Prefill => Definition::Different(
            "all prompts of the batch together: each waits for all of them".to_owned(),
        ),
        Metric::DecodeRate => Definition::Derivable(
            "of all sequences together; time per output token: 1000 × sequences / this, in ms"
                .to_owned(),
        ),
        _ => Definition::Same,
    };
    let figure = Figure::new(quantity, Statistic::Value, value, unit).defined(definition);
    match written {
        Some(Value::String(printed)) => figure.as_printed(printed),
        _ => figure,
    }
}
