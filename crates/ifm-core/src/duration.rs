//! Spans of time as people write them: `30`, `30s`, `500ms`, `2m`, `1h`.

/// Reads a span in seconds; a bare number counts seconds.
///
/// # Errors
/// A sentence on what is expected.
pub fn seconds(text: &str) -> Result<f64, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unknown unit \"{unit}\": use ms, s, m or h")),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value * scale),
        _ => Err("expected a positive span such as 30s, 500ms or 2m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_and_without_a_unit() {
        for (text, expect) in
            [("30", 30.0), ("1.5s", 1.5), ("250ms", 0.25), ("2m", 120.0), ("1h", 3600.0)]
        {
            assert_eq!(seconds(text), Ok(expect), "{text}");
        }
        for text in ["", "s", "-1", "0", "1d", "nan", "inf", "1 2"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
