//! JSON as tools write it: several values in a row, and numbers that JSON does not know.
//!
//! There is one reader of values (`reader`). Formats whose files are one or many flat objects take
//! their fields from it one by one; formats with requests deep inside a document have it cut into
//! pieces (`pieces`). Lines that are independent values are read line by line (`lines`), so that a
//! broken one ends with its line. Not here: the beginning of a file of an unknown kind (`head`),
//! which is cut off anywhere and needs only names.

mod enclosed;
mod fault;
mod field;
pub(crate) mod lines;
pub(crate) mod pieces;
mod reader;

pub(crate) use fault::Fault;
pub(crate) use field::{Number, Word};
pub(crate) use reader::{Kind, Reader};

use super::bounds;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a value, with `null` for the bare words that Python writes.
///
/// # Errors
/// What is wrong with it, or that it is too large to be held.
pub(crate) fn lenient<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    if bounds::is_too_much_json(bytes) {
        return Err(serde::de::Error::custom(bounds::too_much_json()));
    }
    serde_json::from_slice(bytes).or_else(|error| {
        let text = String::from_utf8_lossy(bytes);
        match without_bare_words(&text) {
            std::borrow::Cow::Owned(text) => serde_json::from_str(&text),
            std::borrow::Cow::Borrowed(_) => Err(error),
        }
    })
}

/// What is wrong, without the place, which counts from the piece and not from the file.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A JSON pointer of names and positions.
pub(crate) fn pointer(path: &[String]) -> String {
    path.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
}

/// A number, also from text: Python writes bare `Infinity` and `NaN`, others quote them. Infinity
/// and NaN are absent.
pub(crate) fn number(value: Option<&Value>) -> Option<f64> {
    let number = match value? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// Text of a scalar, for factors: strings without quotes, no `null`.
pub(crate) fn word(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => None,
        scalar => Some(scalar.to_string()),
    }
}

/// A number from 0 that counts something.
pub(crate) fn count(value: Option<&Value>) -> Option<u64> {
    let number = number(value)?;
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}

/// Replaces bare `NaN`, `Infinity` and `-Infinity` outside of strings with `null`. Python writes
/// them and JSON forbids them.
pub(crate) fn without_bare_words(text: &str) -> std::borrow::Cow<'_, str> {
    if !["NaN", "Infinity"].iter().any(|word| text.contains(word)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some(next) = rest.chars().next() {
        let bare = ["-Infinity", "Infinity", "NaN"].iter().find(|word| rest.starts_with(**word));
        match (next, bare) {
            (_, Some(word)) if !in_string => {
                out.push_str("null");
                rest = &rest[word.len()..];
                continue;
            }
            ('\\', _) if in_string => {
                let pair: String = rest.chars().take(2).collect();
                out.push_str(&pair);
                rest = &rest[pair.len()..];
                continue;
            }
            ('"', _) => in_string = !in_string,
            _ => {}
        }
        out.push(next);
        rest = &rest[next.len_utf8()..];
    }
    out.into()
}

#[cfg(test)]
mod tests;
