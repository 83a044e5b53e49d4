//! Reading the JSON of a server without copying it.

use super::ChunkFacts;
use super::error::{bounded_sentence, error_message, markup_sentence, small_value};
use super::text::AnyText;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Most characters of a payload that an error message repeats.
const SHOWN_CHARS: usize = 80;
/// Longest time of a server that is believed: a week, in nanoseconds.
const LONGEST_NS: f64 = 7.0 * 86_400.0 * 1e9;

/// Reads a payload as one JSON value of a known shape.
///
/// # Errors
/// Why it cannot be parsed, and how it begins, in one bounded sentence.
pub(super) fn parse<'input, T: Deserialize<'input>>(data: &'input str) -> Result<T, String> {
    serde_json::from_str(data).map_err(|error| unreadable(data, &error))
}

/// Why a payload cannot be read, with what it says.
#[cold]
fn unreadable(data: &str, error: &serde_json::Error) -> String {
    if data.trim_start().starts_with('<') {
        return format!("the server sent markup instead of JSON: {}", markup_sentence(data));
    }
    if let Ok(text) = serde_json::from_str::<String>(data) {
        return format!("the server sent a text instead of an answer: {}", bounded_sentence(&text));
    }
    let start: String = data.chars().take(SHOWN_CHARS).collect();
    format!("malformed JSON from the server ({error}): {}", bounded_sentence(&start))
}

/// The sentence of a payload that is known to report an error.
pub(super) fn error_in(data: &str) -> String {
    match small_value(data) {
        Some(value) => error_message(&value),
        None => bounded_sentence(data),
    }
}

/// What a payload says that is known to report an error.
pub(super) fn failure<'input>(data: &str) -> ChunkFacts<'input> {
    ChunkFacts { error: Some(error_in(data)), ..ChunkFacts::default() }
}

/// Reads whether a field reports an error: null, false, zero and what is empty do not.
///
/// # Errors
/// Only for what is not JSON.
pub(super) fn reports<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Raw(<&RawValue>::deserialize(deserializer)?.get()).reports())
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

/// A value as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(bound(deserialize = "'de: 'input"), from = "&RawValue")]
pub(super) struct Raw<'input>(pub(super) &'input str);

impl<'input> From<&'input RawValue> for Raw<'input> {
    fn from(raw: &'input RawValue) -> Raw<'input> {
        Raw(raw.get())
    }
}

impl<'input> Raw<'input> {
    /// Appends the text of a string, nothing for null, and of another value how it is written.
    pub(super) fn append_to(self, out: &mut String) {
        match serde_json::from_str::<AnyText<'_>>(self.0) {
            Ok(AnyText(Some(text))) => text.append_to(out),
            _ if self.0 == "null" => {}
            _ => out.push_str(self.0),
        }
    }

    /// What an object of this shape says; nothing of any other value.
    pub(super) fn object<T: Deserialize<'input>>(self) -> Option<T> {
        // A list would be read as the fields in their order.
        self.0.starts_with('{').then(|| serde_json::from_str(self.0).ok()).flatten()
    }

    /// Whether the value of a field `error` reports one.
    pub(super) fn reports(self) -> bool {
        match self.0 {
            "null" | "false" | "0" | "\"\"" => false,
            list if list.starts_with(['[', '{']) => self.holds(),
            _ => true,
        }
    }

    /// Bytes in UTF-8 of what [`Raw::append_to`] appends.
    pub(super) fn text_bytes(self) -> u32 {
        match serde_json::from_str::<AnyText<'_>>(self.0) {
            Ok(AnyText(Some(text))) => text.bytes(),
            _ if self.0 == "null" => 0,
            _ => self.0.len().try_into().unwrap_or(u32::MAX),
        }
    }

    /// Whether a list or an object holds anything. Null holds nothing.
    pub(super) fn holds(self) -> bool {
        let inside = self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default();
        self.0.starts_with(['[', '{']) && !inside.trim_ascii().is_empty()
    }
}

/// Reads a time in milliseconds as nanoseconds. What is no such time is unknown.
///
/// # Errors
/// Only for what is not JSON.
pub(super) fn ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let ms: Option<f64> = <&RawValue>::deserialize(deserializer)?.get().parse().ok();
    Ok(ms.and_then(ns_of_ms))
}

/// Milliseconds as nanoseconds, if that is a time.
pub(crate) fn ns_of_ms(ms: f64) -> Option<u64> {
    let ns = (ms * 1e6).round();
    (0.0..=LONGEST_NS).contains(&ns).then_some(ns as u64)
}

/// Reads a time in nanoseconds. What is no such time is unknown.
///
/// # Errors
/// Only for what is not JSON.
pub(super) fn ns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let ns: Option<f64> = <&RawValue>::deserialize(deserializer)?.get().parse().ok();
    Ok(ns.and_then(|ns| ns_of_ms(ns / 1e6)))
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

    #[derive(Deserialize)]
    struct Times {
        #[serde(default, deserialize_with = "ms")]
        ms: Option<u64>,
        #[serde(default, deserialize_with = "ns")]
        ns: Option<u64>,
    }

    #[test]
    fn a_time_is_a_number_that_can_be_one() {
        for (written, expect) in [
            ("1.5", Some(1_500_000)),
            ("0", Some(0)),
            ("1e3", Some(1_000_000_000)),
            ("-0.001", None),
            ("1e300", None),
            ("null", None),
            ("\"1.5\"", None),
            ("[1]", None),
        ] {
            let times: Times = serde_json::from_str(&format!("{{\"ms\": {written}}}")).unwrap();
            assert_eq!((times.ms, times.ns), (expect, None), "{written}");
        }
        assert_eq!(serde_json::from_str::<Times>(r#"{"ns": 1500}"#).unwrap().ns, Some(1500));
    }

    #[test]
    fn a_value_is_kept_as_it_is_written_and_a_text_by_what_it_means() {
        for (written, holds, meaning) in [
            (r#""a\n""#, false, "a\n"),
            ("[]", false, "[]"),
            ("{ }", false, "{ }"),
            ("[ 0]", true, "[ 0]"),
            (r#"{"a": 1}"#, true, r#"{"a": 1}"#),
            ("null", false, ""),
            ("7", false, "7"),
        ] {
            let raw: Raw<'_> = serde_json::from_str(written).unwrap();
            let mut out = String::new();
            raw.append_to(&mut out);
            assert_eq!((raw.holds(), out.as_str()), (holds, meaning), "{written}");
        }
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
