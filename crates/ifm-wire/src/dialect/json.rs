//! Reading the JSON of a server without copying it.

use super::ChunkFacts;
use super::error::{bounded_sentence, error_message};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
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

/// What a payload says that is known to report an error.
pub(super) fn failure<'input>(data: &str) -> ChunkFacts<'input> {
    ChunkFacts { error: Some(error_in(data)), ..ChunkFacts::default() }
}

/// A JSON string whose very characters matter, borrowed from the input unless it holds escapes.
/// (Serde borrows a `Cow` only where it is a field by itself, not within an `Option`.)
#[derive(Deserialize)]
pub(super) struct Word<'input>(#[serde(borrow)] pub(super) Cow<'input, str>);

/// Reads the index of a choice: a whole number, written as `0` or `0.0`.
///
/// # Errors
/// For anything else: output must not be taken for that of another choice.
pub(super) fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    let is_index = number.fract() == 0.0 && (0.0..=f64::from(u16::MAX)).contains(&number);
    match is_index {
        true => Ok(Some(number as u16)),
        false => Err(D::Error::custom(format!("{number} is not an index of a choice"))),
    }
}

/// Reads a count of tokens as servers write them: `10`, and `10.0` or `"10"` where a
/// proxy has rewritten the number. Anything else is unknown rather than a failure: a good answer
/// with a count that means nothing is still a good answer.
///
/// # Errors
/// Only for what is not JSON.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    struct Any;
    impl<'de> Visitor<'de> for Any {
        type Value = Option<u64>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a count")
        }
        fn visit_u64<E>(self, value: u64) -> Result<Option<u64>, E> {
            Ok(Some(value))
        }
        fn visit_i64<E>(self, value: i64) -> Result<Option<u64>, E> {
            Ok(u64::try_from(value).ok())
        }
        fn visit_f64<E>(self, value: f64) -> Result<Option<u64>, E> {
            let is_whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
            Ok(is_whole.then_some(value as u64))
        }
        fn visit_str<E>(self, text: &str) -> Result<Option<u64>, E> {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            Ok(is_number.then(|| text.parse().ok()).flatten())
        }
        fn visit_bool<E>(self, _: bool) -> Result<Option<u64>, E> {
            Ok(None)
        }
        fn visit_unit<E>(self) -> Result<Option<u64>, E> {
            Ok(None)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<u64>, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(None)
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<u64>, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(None)
        }
    }
    let number = deserializer.deserialize_any(Any)?;
    Ok(number.and_then(|number| u32::try_from(number).ok()))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Usage {
        #[serde(default, deserialize_with = "count")]
        tokens: Option<u32>,
    }

    #[test]
    fn a_count_is_a_whole_number_however_it_is_written() {
        for (written, expect) in [
            ("10", Some(10)),
            ("10.0", Some(10)),
            ("1e1", Some(10)),
            ("1.0E+1", Some(10)),
            ("\"10\"", Some(10)),
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("4294967295", Some(u32::MAX)),
            ("4294967296", None),
            ("1e300", None),
            ("-1", None),
            ("-1.0", None),
            ("10.5", None),
            ("\"\"", None),
            ("\"+10\"", None),
            ("\"ten\"", None),
            ("null", None),
            ("true", None),
            ("[10]", None),
            ("{\"n\": 10}", None),
        ] {
            let usage: Usage = serde_json::from_str(&format!("{{\"tokens\": {written}}}")).unwrap();
            assert_eq!(usage.tokens, expect, "{written}");
        }
        assert_eq!(serde_json::from_str::<Usage>("{}").unwrap().tokens, None);
        assert!(serde_json::from_str::<Usage>("{\"tokens\": x}").is_err());
    }

    #[test]
    fn an_index_is_whole_or_an_error() {
        let read = |text: &str| index(&mut serde_json::Deserializer::from_str(text)).ok();
        for (written, expect) in [("0", Some(0)), ("1.0", Some(1)), ("null", None)] {
            assert_eq!(read(written), Some(expect), "{written}");
        }
        for wrong in ["-1", "0.5", "65536", "\"0\"", "[]"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
