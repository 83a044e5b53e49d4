//! One cell of a table or one value of a list: a number, with its unit and what stands behind `±`.

use super::unit::{Dimension, unit};
use ifm_core::sheet::Unit;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    /// Nothing, or words for nothing: `N/A`, `-`.
    Missing,
    /// A number.
    Number {
        value: f64,
        /// Its digits.
        printed: String,
        unit: Option<(Unit, Dimension)>,
        /// What stands behind `±`, with its digits.
        spread: Option<(f64, String)>,
    },
    /// Words.
    Text,
}

impl Cell {
    /// Reads a cell.
    pub fn read(text: &str) -> Cell {
        let text = plain(text);
        let lower = text.to_ascii_lowercase();
        if matches!(lower.as_str(), "" | "n/a" | "na" | "-" | "--" | "—" | "–" | "nan" | "null")
            || matches!(lower.as_str(), "none" | "not measured" | "?" | "tbd" | "oom")
        {
            return Cell::Missing;
        }
        let (main, spread) = match ["±", "+/-", "+-"].iter().find_map(|mark| text.split_once(mark))
        {
            Some((main, spread)) => match leading(spread.trim()) {
                Some((value, printed, rest)) => (main.trim(), Some((value, printed, rest))),
                None => return Cell::Text,
            },
            None => (text.as_str(), None),
        };
        let main = main.strip_prefix('~').or(main.strip_prefix('≈')).unwrap_or(main).trim();
        let (dollar, main) = match main.strip_prefix('$') {
            Some(rest) => (Some((Unit::Usd, Dimension::Money)), rest),
            None => (None, main),
        };
        let Some((value, printed, rest)) = leading(main) else { return Cell::Text };
        let tail =
            spread.as_ref().map_or(rest, |(_, _, tail)| if rest.is_empty() { tail } else { rest });
        let unit = match tail.trim() {
            "" => dollar,
            tail => match unit(tail) {
                Some(unit) => Some(unit),
                None => return Cell::Text,
            },
        };
        let spread = spread.map(|(value, printed, _)| (value, printed));
        Cell::Number { value, printed, unit, spread }
    }
}

/// A number that stands alone in a cell, its digits, and the unit behind it: `30.10 req/s`, `0.00%`.
pub(crate) fn printed(cell: &str) -> Option<(f64, String, Option<Unit>)> {
    match Cell::read(cell) {
        Cell::Number { value, printed, unit, spread: None } => {
            Some((value, printed, unit.map(|(unit, _)| unit)))
        }
        _ => None,
    }
}

/// The number at the beginning, its digits, and the rest.
fn leading(text: &str) -> Option<(f64, String, &str)> {
    let signed = text.strip_prefix(['-', '+', '−']).unwrap_or(text);
    if signed.starts_with('.') {
        return leading_fraction(text, signed);
    }
    let token =
        super::lex(signed.get(..signed.len().min(floor(signed, 40)))?).into_iter().next()?;
    let number = token.number().filter(|_| token.start == 0)?;
    let sign = text.get(..text.len() - signed.len()).unwrap_or_default();
    let negative = matches!(sign, "-" | "−");
    let rest = signed.get(token.end..).unwrap_or_default();
    if rest.starts_with(['e', 'E']) {
        let end = rest.find(|c: char| !matches!(c, 'e' | 'E' | '+' | '-' | '0'..='9'));
        let end = end.unwrap_or(rest.len());
        let whole = signed.get(..token.end + end)?;
        if let Ok(value) = whole.parse::<f64>() {
            let value = if negative { -value } else { value };
            return Some((value, format!("{sign}{whole}"), signed.get(whole.len()..)?));
        }
    }
    let value = if negative { -number } else { number };
    Some((value, format!("{sign}{}", token.text), rest))
}

/// The same of `.5`, whose sign and point are to be followed by a digit.
fn leading_fraction<'a>(text: &str, signed: &'a str) -> Option<(f64, String, &'a str)> {
    let digits = signed.get(1..)?.find(|c: char| !c.is_ascii_digit());
    let (number, rest) = signed.split_at(digits.map_or(signed.len(), |digits| digits + 1));
    let sign = text.strip_suffix(signed).unwrap_or_default();
    let value: f64 = number.parse().ok()?;
    let value = if matches!(sign, "-" | "−") { -value } else { value };
    Some((value, format!("{sign}{number}"), rest))
}

/// The last place at most so many bytes in that is between two characters.
fn floor(text: &str, bytes: usize) -> usize {
    (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Text without the marks of Markdown around it.
pub(crate) fn plain(text: &str) -> String {
    let mut text = text.trim().replace("**", "").replace(['`'], "");
    if let Some((before, rest)) = text.split_once('[')
        && let Some((words, link)) = rest.split_once("](")
        && let Some((_, after)) = link.split_once(')')
    {
        text = format!("{before}{words}{after}");
    }
    let inner = text.trim();
    let inner = inner.strip_prefix("__").and_then(|rest| rest.strip_suffix("__")).unwrap_or(inner);
    inner.trim_matches('*').trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> (f64, String, Option<Unit>, Option<f64>) {
        match Cell::read(text) {
            Cell::Number { value, printed, unit, spread } => {
                (value, printed, unit.map(|unit| unit.0), spread.map(|spread| spread.0))
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn cells_are_read() {
        assert_eq!(number("0.38 ± 0.01"), (0.38, "0.38".into(), None, Some(0.01)));
        assert_eq!(number("**1,234.5** ms"), (1234.5, "1,234.5".into(), Some(Unit::Ms), None));
        assert_eq!(number("12 +/- 3 tok/s"), (12.0, "12".into(), Some(Unit::PerS), Some(3.0)));
        assert_eq!(number("-1.5e3"), (-1500.0, "-1.5e3".into(), None, None));
        assert_eq!(number("1.38x"), (1.38, "1.38".into(), Some(Unit::One), None));
        assert_eq!(number("$0.20"), (0.2, "0.20".into(), Some(Unit::Usd), None));
        for missing in ["", " - ", "N/A", "—", "**n/a**"] {
            assert_eq!(Cell::read(missing), Cell::Missing);
        }
        for text in ["5 (3)", "12k", "Q4_0", "<5", "1/2"] {
            assert_eq!(Cell::read(text), Cell::Text, "{text}");
        }
    }

    #[test]
    fn numbers_that_stand_alone() {
        let number = printed;
        assert_eq!(number("30.10 req/s"), Some((30.1, "30.10".into(), Some(Unit::PerS))));
        assert_eq!(number("0.00%"), Some((0.0, "0.00".into(), Some(Unit::Percent))));
        assert_eq!(number("1,573.89"), Some((1573.89, "1,573.89".into(), None)));
        assert_eq!(number("2.5e-05"), Some((2.5e-5, "2.5e-05".into(), None)));
        assert_eq!(number(".5"), Some((0.5, ".5".into(), None)));
        assert_eq!(number("-.25 s"), Some((-0.25, "-.25".into(), Some(Unit::S))));
        for none in ["N/A", "7/7", "--", "5 ± 1", "1.", ".", "v1"] {
            assert_eq!(number(none), None, "{none}");
        }
    }

    #[test]
    fn marks_go() {
        assert_eq!(plain(" `a_b` "), "a_b");
        assert_eq!(plain("see [this](http://x) now"), "see this now");
        assert_eq!(plain("**Total runs:**"), "Total runs:");
    }
}
