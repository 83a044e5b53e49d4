//! Factors that a file written by inferometer holds in addition to the fields of its format: as
//! labels, or as fields of its outermost level.
//!
//! Not here: how they are written (`export/fields`).

use ifm_core::sheet::Factors;
use serde_json::{Map, Value};

/// Prefix of a factor whose name could be mistaken for a field of its format.
pub(crate) const PREFIX: &str = "factor.";
/// Texts that an export writes and that are not factors.
const OTHERS: [&str; 4] = ["written_by", "tokenizer_id", "date", "endpoint_type"];

/// Sets the factors of an object of texts. They are the words that were exported: what the fields
/// of the format make of them gives way.
pub(crate) fn set(labels: Option<&Value>, factors: &mut Factors) {
    for (name, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        if let Value::String(text) = value {
            factors.set(name, text);
        }
    }
}

/// Takes the factors from the fields that no figure holds, where this program wrote them.
pub(crate) fn take(unknown: &mut Map<String, Value>, factors: &mut Factors) {
    if unknown.get("written_by").and_then(Value::as_str) != Some("inferometer") {
        return;
    }
    unknown.retain(|name, value| match value {
        Value::String(text) if !OTHERS.contains(&name.as_str()) => {
            factors.set(name.strip_prefix(PREFIX).unwrap_or(name), text);
            false
        }
        _ => true,
    });
}
