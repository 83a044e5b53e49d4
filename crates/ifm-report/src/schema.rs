//! What the schemas of documents have in common. Not here: which documents there are.

use schemars::Schema;
use serde_json::{Map, Value, json};

/// Fields that are not known are left out: none of them is null, and none is required.
pub(crate) fn leave_out_unknown(schema: &mut Schema) {
    let Some(Value::Object(fields)) = schema.get_mut("properties") else { return };
    let optional: Vec<String> = fields
        .iter_mut()
        .filter_map(|(name, field)| {
            is_stripped_of_null(field.as_object_mut()?).then(|| name.clone())
        })
        .collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !optional.iter().any(|optional| name == optional));
        if required.is_empty() {
            schema.remove("required");
        }
    }
}

/// Takes the possibility of null away. Gives whether there was one.
fn is_stripped_of_null(field: &mut Map<String, Value>) -> bool {
    let null = json!({"type": "null"});
    if let Some(Value::Array(types)) = field.get_mut("type") {
        let before = types.len();
        types.retain(|kind| kind != "null");
        let is_shorter = types.len() < before;
        if let [only] = types.as_slice() {
            let only = only.clone();
            field.insert("type".to_owned(), only);
        }
        return is_shorter;
    }
    let Some(Value::Array(mut kinds)) = field.get("anyOf").cloned() else { return false };
    let before = kinds.len();
    kinds.retain(|kind| *kind != null);
    let is_shorter = kinds.len() < before;
    match kinds.as_slice() {
        [Value::Object(only)] => {
            field.remove("anyOf");
            field.extend(only.clone());
        }
        _ => _ = field.insert("anyOf".to_owned(), Value::Array(kinds)),
    }
    is_shorter
}

/// The percentiles of a distribution are fields of their own: `p50`, `p99.9`.
pub(crate) fn percentiles_are_fields(schema: &mut Schema) {
    schema.remove("additionalProperties");
    let about = "A percentile, by linear interpolation between order statistics.";
    let percentile = json!({"description": about, "type": "number"});
    schema.insert("patternProperties".to_owned(), json!({"^p[0-9.]+$": percentile}));
}
