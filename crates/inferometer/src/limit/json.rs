//! The answer as one JSON document.

use super::{Answer, FormatOrigin};
use ifm_roofline::Bound;
use serde_json::{Value, json as object};

/// Version of the document.
pub const VERSION: u32 = 1;

/// The document.
pub fn json(answer: &Answer) -> String {
    let setup = &answer.setup;
    let levels: Vec<Value> = answer
        .levels
        .iter()
        .map(|level| {
            object!({
                "users": level.users,
                "step": bound(&level.step),
                "closed_loop": bound(&level.closed_loop),
            })
        })
        .collect();
    let measured: Vec<Value> = answer
        .held
        .iter()
        .map(|held| object!({"given": held.text, "bound": bound(&held.bound), "share": held.share}))
        .collect();
    let document = object!({
        "kind": "inferometer_limit",
        "version": VERSION,
        "machine": setup.machine(),
        "gpus": setup.gpus(),
        "model": setup.model(),
        "parameters": setup.model().parameters(),
        "active_parameters": setup.model().active_parameters(),
        "precision": setup.precision(),
        "weight_format_from": match answer.origin {
            FormatOrigin::Asked => "flag",
            FormatOrigin::Name => "name",
            FormatOrigin::Published => "published",
        },
        "weight_bytes": setup.weight_bytes(),
        "kv_bytes_per_token": setup.kv_bytes_per_token(),
        "input_tokens": answer.request.input,
        "output_tokens": answer.request.output,
        "capacity": answer.capacity,
        "ridge_tokens": answer.ridge_tokens,
        "prefill": bound(&answer.prefill),
        "levels": levels,
        "measured": measured,
    });
    format!("{document:#}\n")
}

/// A bound with its rates.
fn bound(bound: &Bound) -> Value {
    let mut value = object!(bound);
    value["strict"]["tokens_per_s"] = object!(bound.tokens_per_s(bound.strict));
    value["balanced"]["tokens_per_s"] = object!(bound.tokens_per_s(bound.balanced));
    value["serial"]["tokens_per_s"] = object!(bound.tokens_per_s(bound.serial));
    value
}
