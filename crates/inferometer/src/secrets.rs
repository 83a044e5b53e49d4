//! What is stored in the place of secrets: headers, body fields and command lines without them.
//!
//! Not here: which names are secret (`ifm-wire`).

use ifm_wire::request::{is_secret_field, is_secret_header};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Headers as they are stored.
pub fn masked(headers: &[(String, String)]) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| {
            let shown = if is_secret_header(name) { "***" } else { value.as_str() };
            (name.clone(), shown.to_owned())
        })
        .collect()
}

/// Fields of the body as they are stored: texts under names that speak of a secret are masked, at
/// any depth.
pub fn masked_fields(fields: &Map<String, Value>) -> Map<String, Value> {
    fields.iter().map(|(name, value)| (name.clone(), masked_value(name, value))).collect()
}

fn masked_value(name: &str, value: &Value) -> Value {
    match value {
        Value::String(_) if is_secret_field(name) => Value::from("***"),
        Value::Object(fields) => Value::Object(masked_fields(fields)),
        Value::Array(items) => items.iter().map(|item| masked_value(name, item)).collect(),
        other => other.clone(),
    }
}

/// The command line as it is stored: values of headers and body fields that look secret are
/// masked.
pub fn mask_command(words: &[String]) -> Vec<String> {
    let header = |text: &str| match text.split_once(':') {
        Some((name, _)) if is_secret_header(name.trim()) => format!("{name}: ***"),
        _ => text.to_owned(),
    };
    let body = |text: &str| match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(fields) if masked_fields(&fields) != fields => {
            Value::Object(masked_fields(&fields)).to_string()
        }
        _ => text.to_owned(),
    };
    let mut masked = Vec::with_capacity(words.len());
    let mut flag = "";
    for word in words {
        let joined = word.split_once('=');
        let shown = match (flag, joined) {
            ("-H" | "--header", _) => header(word),
            ("--extra-body" | "--extra-request-body", _) => body(word),
            (_, Some((name @ "--header", value))) => format!("{name}={}", header(value)),
            (_, Some((name @ ("--extra-body" | "--extra-request-body"), value))) => {
                format!("{name}={}", body(value))
            }
            _ => match word.strip_prefix("-H").filter(|value| !value.is_empty()) {
                Some(value) => format!("-H{}", header(value)),
                None => word.clone(),
            },
        };
        let names = ["-H", "--header", "--extra-body", "--extra-request-body"];
        let is_flag = flag.is_empty() && names.contains(&word.as_str());
        flag = if is_flag { word } else { "" };
        masked.push(shown);
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_get_into_the_stored_command() {
        let words: Vec<String> = [
            "inferometer",
            "run",
            "-H",
            "Authorization: Bearer sk-1",
            "-HX-Api-Key: sk-2",
            "--header=x-token:sk-3",
            "-H",
            "x-request-id: 7",
            "-H",
            "X-Custom-Auth: sk-4",
            "--extra-body",
            r#"{"top_k":1,"proxy":[{"api_key":"sk-5"}]}"#,
            r#"--extra-request-body={"client_secret":"sk-6"}"#,
            "--extra-body",
            r#"{"stop_token_ids": [7]}"#,
        ]
        .map(str::to_owned)
        .to_vec();
        let text = mask_command(&words).join(" ");
        assert!(!text.contains("sk-"), "{text}");
        assert!(text.contains("Authorization: ***") && text.contains("x-request-id: 7"), "{text}");
        assert!(text.contains(r#""top_k":1"#) && text.ends_with(r#"{"stop_token_ids": [7]}"#));
    }
}
