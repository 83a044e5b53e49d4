//! Fields of records that are read by the hundred thousand: what is wanted of them and no more.
//! A field of an unexpected type is absent and does not affect the others.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A number, or text that is one; absent for anything else.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Number(pub Option<f64>);

impl Number {
    /// A number from 0 that counts something.
    pub fn count(self) -> Option<u64> {
        let number = self.0?;
        (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
    }

    /// A number above 0: many tools write 0 for a time that they do not have.
    pub fn positive(self) -> Option<f64> {
        self.0.filter(|number| *number > 0.0)
    }
}

/// Text, or a scalar as text; absent for anything else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word(pub Option<String>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        let number = deserializer.deserialize_any(Scalar(|scalar: Found<'_>| match scalar {
            Found::Number(number) => Some(number),
            Found::Text(text) => text.trim().parse().ok(),
            Found::Bool(_) => None,
        }))?;
        Ok(Number(number.filter(|number| number.is_finite())))
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        let word = deserializer.deserialize_any(Scalar(|scalar: Found<'_>| match scalar {
            Found::Number(number) => Some(number.to_string()),
            Found::Text(text) => Some(text.to_owned()),
            Found::Bool(bool) => Some(bool.to_string()),
        }))?;
        Ok(Word(word))
    }
}

enum Found<'a> {
    Number(f64),
    Text(&'a str),
    Bool(bool),
}

struct Scalar<F>(F);

impl<'de, T, F: FnOnce(Found<'_>) -> Option<T>> Visitor<'de> for Scalar<F> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Option<T>, E> {
        Ok(self.0(Found::Number(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Option<T>, E> {
        Ok(self.0(Found::Number(number as f64)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Option<T>, E> {
        Ok(self.0(Found::Number(number as f64)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<T>, E> {
        Ok(self.0(Found::Text(text)))
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Option<T>, E> {
        Ok(self.0(Found::Bool(bool)))
    }

    fn visit_unit<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Option<T>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<T>, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_another_type_is_absent() {
        let numbers: Vec<Number> =
            serde_json::from_str(r#"[1, -2.5, "3", "x", null, true, [4], {"a": 5}]"#).unwrap();
        let numbers: Vec<Option<f64>> = numbers.into_iter().map(|number| number.0).collect();
        let none = None;
        assert_eq!(numbers, [Some(1.0), Some(-2.5), Some(3.0), none, none, none, none, none]);
        let words: Vec<Word> = serde_json::from_str(r#"["a", 2, true, null, ["b"]]"#).unwrap();
        let words: Vec<Option<String>> = words.into_iter().map(|word| word.0).collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(words, [some("a"), some("2"), some("true"), None, None]);
    }

    #[test]
    fn counts_are_whole_and_times_above_zero() {
        assert_eq!(Number(Some(12.0)).count(), Some(12));
        assert_eq!(Number(Some(1.5)).count(), None);
        assert_eq!(Number(Some(0.0)).positive(), None);
    }
}
