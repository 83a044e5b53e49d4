//! Fields of rows as what they should be.
//!
//! Tables without types hold numbers as texts, so both are read.
//!
//! Not here: which field means what (`source`).

use serde_json::Value;

use crate::error::TOKENS_MAX;

/// A text.
pub(crate) fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

/// A number, or a text that is one.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
    .filter(|number| number.is_finite())
}

/// A whole number that is not negative.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    let exact = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let rounded = || number(value).filter(|number| (0.0..9e15).contains(number));
    exact.or_else(|| rounded().filter(|number| number.fract() == 0.0).map(|number| number as u64))
}

/// A number of tokens that is possible, 0 included.
pub(crate) fn tokens(value: &Value) -> Option<u32> {
    whole(value)
        .and_then(|number| u32::try_from(number).ok())
        .filter(|&number| number <= TOKENS_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_may_be_texts() {
        assert_eq!(number(&json!(" 1.5")), Some(1.5));
        assert_eq!(number(&json!("nan")), None);
        assert_eq!(whole(&json!(3)), Some(3));
        assert_eq!(whole(&json!("3")), Some(3));
        assert_eq!(whole(&json!(3.0)), Some(3));
        assert_eq!(whole(&json!("18446744073709551615")), Some(u64::MAX));
        assert_eq!((whole(&json!(3.5)), whole(&json!(-1)), whole(&json!([1]))), (None, None, None));
        assert_eq!((tokens(&json!(5_000_000)), tokens(&json!(0))), (None, Some(0)));
    }
}
