//! The form that an answer is to have: a JSON schema, a regular expression, a choice, a grammar.
//!
//! A schema is kept as text, since the order of its properties is that of the answer's.
//!
//! Not here: which request gets which form (`ifm-workload`), how an API expresses it (`ifm-wire`), whether
//! an answer keeps to it (the program).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

crate::vocabulary! {
    /// A kind of form.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FormKind {
        /// Any JSON object.
        JsonObject = "json_object",
        /// What a JSON schema allows.
        Json = "json",
        /// The same, the schema being another one for each request.
        JsonUnique = "json_unique",
        /// What a regular expression matches as a whole.
        Regex = "regex",
        /// One of several texts.
        Choice = "choice",
        /// What a grammar generates, in the language of the server's grammars.
        Grammar = "grammar",
    }
}
crate::vocabulary::stored_as_word!(FormKind, "kind of form");

/// The property that makes a schema another one for each request.
pub const UNIQUE_PROPERTY: &str = "request";

/// Longest text of a form that is stored with a run, bytes.
const STORED_BYTES_MAX: usize = 64 * 1024;

/// A form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// What kind it is.
    pub kind: FormKind,
    /// A name of letters, digits, `_` and `-`, for APIs that ask for one.
    pub name: String,
    /// The schema, the expression, the choices between commas, or the grammar; empty for any JSON
    /// object.
    pub text: String,
}

impl Form {
    /// The texts of a choice.
    pub fn choices(&self) -> impl Iterator<Item = &str> {
        self.text.split(',').map(str::trim).filter(|choice| !choice.is_empty())
    }

    /// The form as one request has it: for most kinds the form itself. `key` is the request's, see
    /// [`form_key`].
    pub fn of_request(&self, seed: u64, key: u64) -> Cow<'_, Form> {
        match (self.kind, unique_schema(&self.text, seed, key)) {
            (FormKind::JsonUnique, Ok(text)) => Cow::Owned(Form { text, ..self.clone() }),
            _ => Cow::Borrowed(self),
        }
    }
}

/// A key that identifies a request within a run, whatever the speed of the server.
pub fn form_key(item: u32, agent: Option<u16>, turn: Option<u16>) -> u64 {
    let (agent, turn) = (u64::from(agent.unwrap_or(0)), u64::from(turn.unwrap_or(0)));
    u64::from(item) | (agent << 32) | (turn << 48)
}

/// A schema of an object with one more property, which must have a value that no other request
/// asks for: so no server has the grammar already.
///
/// # Errors
/// Why the schema has no place for it.
pub fn unique_schema(schema: &str, seed: u64, key: u64) -> Result<String, &'static str> {
    const NO_OBJECT: &str = "it is not a schema of an object with properties";
    let mut fields: BTreeMap<&str, &RawValue> =
        serde_json::from_str(schema).map_err(|_| NO_OBJECT)?;
    let properties = fields.get("properties").map(|raw| raw.get()).ok_or(NO_OBJECT)?;
    let own = format!(
        "{}:{{\"type\":\"string\",\"enum\":[\"{:08x}\"]}}",
        quoted(UNIQUE_PROPERTY),
        mixed(seed ^ mixed(key)) as u32
    );
    let properties = first_in(properties, ('{', '}'), &own).ok_or(NO_OBJECT)?;
    let required = fields.get("required").map_or("[]", |raw| raw.get());
    let required = first_in(required, ('[', ']'), &quoted(UNIQUE_PROPERTY)).ok_or(NO_OBJECT)?;
    fields.remove("properties");
    fields.remove("required");
    let mut out = String::from("{");
    for (name, value) in &fields {
        out.push_str(&format!("{}:{value},", quoted(name)));
    }
    out.push_str(&format!("\"properties\":{properties},\"required\":{required}}}"));
    Ok(out)
}

/// A list or an object with one more entry, before all others.
fn first_in(text: &str, (open, close): (char, char), entry: &str) -> Option<String> {
    let inner = text.trim().strip_prefix(open)?.strip_suffix(close)?.trim();
    let comma = if inner.is_empty() { "" } else { "," };
    Some(format!("{open}{entry}{comma}{inner}{close}"))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A round of `SplitMix64`: neighbours have nothing in common.
fn mixed(number: u64) -> u64 {
    let mut word = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A form as a run has it: what was asked, and for which share of the requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormSpec {
    /// The form as it was typed, without its share.
    pub word: String,
    /// What kind it is.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub kind: FormKind,
    /// Its share of the requests, 0 to 1; each request is drawn independently.
    pub share: f64,
    /// The schema, the expression, the choices or the grammar; absent where it is too long to be
    /// stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Length of that text, bytes.
    pub bytes: u64,
    /// SHA-256 of that text, in hex.
    pub sha256: String,
    /// Whether its requests too ask to continue past the end-of-text token, so that no answer of a
    /// form ends by itself.
    #[serde(default)]
    pub ignore_eos: bool,
}

impl FormSpec {
    /// The text, if it is short enough to be stored.
    pub fn stored_text(text: &str) -> Option<String> {
        (text.len() <= STORED_BYTES_MAX).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str =
        r#"{"type":"object","properties":{"z":{"type":"string"},"a":{}},"required":["z"]}"#;

    #[test]
    fn every_request_has_a_schema_of_its_own_and_the_order_stays() {
        let of = |key| unique_schema(SCHEMA, 7, key).unwrap();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_ne!(of(1), unique_schema(SCHEMA, 8, 1).unwrap());
        let text = of(3);
        let places = ["\"request\":{", "\"z\":", "\"a\":"].map(|part| text.find(part).unwrap());
        assert!(places.is_sorted(), "{text}");
        assert!(text.ends_with(r#""required":["request","z"]}"#), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        let bare = unique_schema(r#"{"properties": { }}"#, 0, 0).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&bare).is_ok(), "{bare}");
        for none in ["[]", "{}", r#"{"properties":5}"#, "no"] {
            assert!(unique_schema(none, 0, 0).is_err(), "{none}");
        }
    }

    #[test]
    fn other_kinds_are_the_same_for_all() {
        let form = |kind| Form { kind, name: "f".to_owned(), text: SCHEMA.to_owned() };
        assert_eq!(*form(FormKind::Json).of_request(1, 2), form(FormKind::Json));
        assert_ne!(*form(FormKind::JsonUnique).of_request(1, 2), form(FormKind::JsonUnique));
        let choice = Form { text: " yes, no,,".to_owned(), ..form(FormKind::Choice) };
        assert_eq!(choice.choices().collect::<Vec<_>>(), ["yes", "no"]);
    }

    #[test]
    fn keys_tell_turns_apart() {
        assert_eq!(form_key(5, None, None), 5);
        let keys =
            [form_key(5, Some(1), Some(0)), form_key(5, None, Some(1)), form_key(6, None, None)];
        assert!(keys.iter().all(|key| *key != 5));
    }
}
