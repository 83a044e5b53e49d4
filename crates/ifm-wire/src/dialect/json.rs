//! Reading the JSON of a server without copying it.

use super::error::{bounded_sentence, error_message};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Most characters of a payload that an error message repeats.
const SHOWN_CHARS: usize = 80;

/// Reads a payload as one JSON value of a known shape.
///
/// # Errors
/// Why it is none, and how it begins, in one bounded sentence.
pub(super) fn parse<'input, T: Deserialize<'input>>(data: &'input str) -> Result<T, String> {
    serde_json::from_str(data).map_err(|error| {
        let start: String = data.chars().take(SHOWN_CHARS).collect();
        let start = bounded_sentence(&start);
        format!("malformed JSON from the server ({error}): {start}")
    })
}

/// The sentence of a payload that is known to report an error.
pub(super) fn error_in(data: &str) -> String {
    error_message(&serde_json::from_str(data).unwrap_or_default())
}

/// A JSON string whose very characters matter, borrowed from the input unless it holds escapes.
/// (Serde borrows a `Cow` only where it is a field by itself, not within an `Option`.)
#[derive(Deserialize)]
pub(super) struct Word<'input>(#[serde(borrow)] pub(super) Cow<'input, str>);

/// Whether a list or an object holds anything. Null holds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Presence(pub(super) bool);

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Presence;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list or an object")
            }
            fn visit_unit<E>(self) -> Result<Presence, E> {
                Ok(Presence(false))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Presence, A::Error> {
                let mut found = false;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    found = true;
                }
                Ok(Presence(found))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Presence, A::Error> {
                let mut found = false;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    found = true;
                }
                Ok(Presence(found))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
