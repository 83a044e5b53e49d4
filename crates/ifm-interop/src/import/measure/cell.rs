//! One cell of a table or one value of a list: a number, with its unit and the spread after `±`.

use super::mark;
use super::unit::{Dimension, unit};
use ifm_core::sheet::Unit;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    /// Nothing, or words for nothing: `N/A`, `-`, `OOM`.
    Missing,
    /// A number.
    Number {
        value: f64,
        /// Its digits, with the `k` or `M` behind them.
        printed: String,
        unit: Option<(Unit, Dimension)>,
        /// The spread after `±`, with its digits.
        spread: Option<(f64, String)>,
        /// Stars, footnotes and comments next to it, as they are written.
        mark: Option<String>,
    },
    /// The two ends of a range: `330–359`.
    Range { ends: [(f64, String); 2], unit: Option<(Unit, Dimension)> },
    /// A limit of a number and not the number: `< 5`, `100+`.
    Bound,
    /// Words.
    Text,
}

/// Words for nothing, in lower case.
const MISSING: &[&str] = &[
    "",
    "n/a",
    "na",
    "n.a.",
    "n/d",
    "nd",
    "-",
    "--",
    "---",
    "—",
    "–",
    "−",
    "nan",
    "null",
    "none",
    "not measured",
    "not tested",
    "not run",
    "not supported",
    "unsupported",
    "unknown",
    "?",
    "tbd",
    "todo",
    "oom",
    "out of memory",
    "dnf",
    "dnr",
    "fail",
    "failed",
    "fails",
    "error",
    "timeout",
    "timed out",
    "crash",
    "crashed",
    "skipped",
    "skip",
    "…",
    "...",
    "×",
    "x",
    "/",
    "∅",
    "nil",
];
/// Signs for a missing value if they are the whole cell.
const CROSSES: &[char] = &['❌', '✗', '✘', '✖', '🚫', '⛔'];
/// Text before a limit.
const BOUNDS: &[&str] = &[
    "<",
    ">",
    "≤",
    "≥",
    "up to ",
    "at least ",
    "at most ",
    "over ",
    "under ",
    "below ",
    "above ",
    "more than ",
    "less than ",
];
/// Text between the ends of a range.
const BETWEEN: &[&str] = &["–", "—", "‑", "-", "…", "...", "..", "~", "〜", "～", "to "];

impl Cell {
    /// Reads a cell.
    pub fn read(text: &str) -> Cell {
        let unmarked = mark::unmark(text);
        let text = unmarked.text.as_str();
        let bare = mark::without_leading(text);
        let unsigned = bare.trim_end_matches(|c: char| mark::is_symbol(c) || c.is_whitespace());
        let is_missing = |text: &str| MISSING.contains(&text.to_lowercase().as_str());
        if is_missing(text) || (!unsigned.is_empty() && is_missing(unsigned)) {
            return Cell::Missing;
        }
        if unsigned.is_empty() {
            return if text.contains(CROSSES) { Cell::Missing } else { Cell::Text };
        }
        // A number that is crossed out was withdrawn.
        if unmarked.is_struck {
            return Cell::Text;
        }
        let lower = bare.to_lowercase();
        if let Some(word) = BOUNDS.iter().find(|word| lower.starts_with(**word)) {
            let number = bare.get(word.len()..).unwrap_or_default().trim_start_matches(['=', ' ']);
            return if leading(number).is_some() { Cell::Bound } else { Cell::Text };
        }
        let mut notes = unmarked.notes;
        notes
            .extend((bare.len() < text.len()).then(|| {
                text.get(..text.len() - bare.len()).unwrap_or_default().trim().to_owned()
            }));
        number(bare, notes).unwrap_or(Cell::Text)
    }
}

/// A number or a range, and the marks behind it.
fn number(text: &str, mut notes: Vec<String>) -> Option<Cell> {
    let (main, spread) = match ["±", "+/-", "+-"].iter().find_map(|mark| text.split_once(mark)) {
        Some((main, spread)) => {
            let (value, printed, rest) = leading(spread.trim())?;
            // `5.1 (± 0.3)`
            let (main, rest) = match main.trim_end().strip_suffix('(') {
                Some(main) => (main, rest.trim_start().strip_prefix(')')?),
                None => (main, rest),
            };
            (main.trim(), Some((value, printed, rest)))
        }
        None => (text, None),
    };
    let main = main.strip_prefix('~').or(main.strip_prefix('≈')).unwrap_or(main).trim();
    let (dollar, main) = match main.strip_prefix('$') {
        Some(rest) => (Some((Unit::Usd, Dimension::Money)), rest),
        None => (None, main),
    };
    let (value, printed, rest) = scaled(main)?;
    let tail = match &spread {
        Some((_, _, behind)) if rest.trim().is_empty() => behind,
        // The unit precedes the deviation, so marks after the deviation are not part of it.
        Some((_, _, behind)) => {
            mark::is_all_marks(behind).then_some(())?;
            rest
        }
        None => rest,
    };
    if spread.is_none() && tail.trim() == "+" {
        return Some(Cell::Bound);
    }
    if spread.is_none()
        && let Some((other, digits, tail)) = other_end(tail)
    {
        let (unit, _) = unit_and_mark(tail)?;
        let is_range = value < other;
        return is_range.then_some(Cell::Range { ends: [(value, printed), (other, digits)], unit });
    }
    let (unit, mark) = unit_and_mark(tail)?;
    notes.extend(mark);
    let spread = spread.map(|(value, printed, _)| (value, printed));
    let mark = (!notes.is_empty()).then(|| notes.join(" "));
    Some(Cell::Number { value, printed, unit: unit.or(dollar), spread, mark })
}

/// The upper end of a range, its digits, and the rest.
fn other_end(tail: &str) -> Option<(f64, String, &str)> {
    let tail = tail.trim_start();
    let behind = BETWEEN.iter().find_map(|between| tail.strip_prefix(between))?.trim_start();
    behind.starts_with(|c: char| c.is_ascii_digit()).then(|| scaled(behind)).flatten()
}

/// Text after a number: its unit, and marks.
type Tail = (Option<(Unit, Dimension)>, Option<String>);

/// The unit behind a number, and the marks behind that; nothing where something else is there.
fn unit_and_mark(tail: &str) -> Option<Tail> {
    let tail = tail.trim();
    if tail.is_empty() {
        return Some((None, None));
    }
    if let Some(unit) = unit(tail) {
        return Some((Some(unit), None));
    }
    // `86.1 (ms)`
    let inner = tail.strip_prefix(['(', '[']).and_then(|rest| rest.strip_suffix([')', ']']));
    if let Some(unit) = inner.and_then(unit).filter(|(unit, _)| *unit != Unit::One) {
        return Some((Some(unit), None));
    }
    let is_break = |c: char| mark::is_symbol(c) || matches!(c, '(' | '[' | ',' | ';');
    let cuts = tail.char_indices().filter(|(at, c)| {
        // A dash or a word behind a space begins a comment.
        is_break(*c) || (c.is_whitespace() && *at > 0) || (*at == 0 && !c.is_alphabetic())
    });
    cuts.map(|(at, _)| tail.split_at(at))
        .find_map(|(before, marks)| {
            let unit = match before.trim() {
                "" => None,
                before => Some(unit(before)?),
            };
            mark::is_all_marks(marks).then(|| (unit, Some(marks.trim().to_owned())))
        })
        .or_else(|| mark::is_all_marks(tail).then(|| (None, Some(tail.to_owned()))))
}

/// A cell with only a number, its digits, and the unit after it: `30.10 req/s`, `0.00%`.
pub(crate) fn printed(cell: &str) -> Option<(f64, String, Option<Unit>)> {
    match Cell::read(cell) {
        Cell::Number { value, printed, unit, spread: None, mark: None } => {
            Some((value, printed, unit.map(|(unit, _)| unit)))
        }
        _ => None,
    }
}

/// The number at the beginning with the letter that scales it: `1.2k`, `3M`.
fn scaled(text: &str) -> Option<(f64, String, &str)> {
    let (value, printed, rest) = leading(text)?;
    let mut letters = rest.chars();
    let zeros = match (letters.next(), letters.next()) {
        (_, Some(next)) if next.is_alphanumeric() || next == '/' => None,
        (Some('k' | 'K'), _) => Some(3),
        (Some('M'), _) => Some(6),
        _ => None,
    };
    let Some(zeros) = zeros else { return Some((value, printed, rest)) };
    let (letter, rest) = rest.split_at_checked(1)?;
    // By the decimal digits: 1.1 times 1000 is 1100.0000000000002.
    let value = format!("{value}e{zeros}").parse().ok()?;
    Some((value, format!("{printed}{letter}"), rest))
}

/// The number at the beginning, its digits, and the rest.
fn leading(text: &str) -> Option<(f64, String, &str)> {
    let signed = text.strip_prefix(['-', '+', '−']).unwrap_or(text);
    if let Some((value, printed, rest)) = grouped(signed) {
        let sign = text.get(..text.len() - signed.len()).unwrap_or_default();
        let value = if matches!(sign, "-" | "−") { -value } else { value };
        return Some((value, format!("{sign}{printed}"), rest));
    }
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

/// A number at the beginning whose separators can mean one thing only: `1.234,5`, `1.234.567`,
/// `1'234.5`, and narrow spaces between thousands. Its digits come with a decimal point.
fn grouped(text: &str) -> Option<(f64, String, &str)> {
    const SPACES: [char; 5] = ['\u{202f}', '\u{2009}', '\u{a0}', '\'', '’'];
    let count =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let first = count(text);
    let separator = text.get(first..)?.chars().next()?;
    if !(1..=3).contains(&first) || !(separator == '.' || SPACES.contains(&separator)) {
        return None;
    }
    let mut digits = text.get(..first)?.to_owned();
    let (mut groups, mut rest) = (0, text.get(first..)?);
    while let Some(behind) = rest.strip_prefix(separator).filter(|behind| count(behind) == 3) {
        digits.push_str(behind.get(..3)?);
        rest = behind.get(3..)?;
        groups += 1;
    }
    let point = if separator == '.' { ',' } else { '.' };
    let decimals = rest.strip_prefix(point).map(|rest| (count(rest), rest)).filter(|(n, _)| *n > 0);
    // One group behind a point may be three decimals.
    let is_clear = groups > 1 || (groups == 1 && (separator != '.' || decimals.is_some()));
    if !is_clear {
        return None;
    }
    if let Some((count, behind)) = decimals {
        digits.push('.');
        digits.push_str(behind.get(..count)?);
        rest = behind.get(count..)?;
    }
    Some((digits.parse().ok()?, digits, rest))
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

/// The last character boundary within the first `bytes` bytes.
fn floor(text: &str, bytes: usize) -> usize {
    (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> (f64, String, Option<Unit>, Option<f64>) {
        match Cell::read(text) {
            Cell::Number { value, printed, unit, spread, .. } => {
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
        for text in ["Q4_0", "1/2", "5, 6", "10:30", "2026-02-13", "3090 24GB", "✅", "~~86.1~~"] {
            assert_eq!(Cell::read(text), Cell::Text, "{text}");
        }
    }

    #[test]
    fn reads_numbers_with_marks_next_to_them() {
        for text in [
            "86.1",
            "**86.1** ⭐",
            "86.1 🏆",
            "🥇 86.1",
            "86.1 ✅",
            "86.1 ↑",
            "86.1†",
            "86.1<sup>1</sup>",
            "<u>86.1</u>",
            "_86.1_",
            "86.1 (best)",
            "86.1 (+5%)",
            "**86.1** (1.2×)",
            "86.1 [1]",
            "86.1*",
            "~86.1",
            "≈ 86.1",
            "86.1¹",
            "86.1 [^1]",
            "🥇 **86.1** ⭐ (+12%)",
            "86.1 ↑5%",
            "86.1 +5%",
            "86.1 — best",
            "86.1, warm",
            "<b>86.1</b>&nbsp;⭐",
            "86.1 best",
            "→ 86.1",
            "⬆️ 86.1",
            "86.1 (n=3)",
        ] {
            let (value, printed, unit, spread) = number(text);
            assert_eq!(
                (value, printed.as_str(), unit, spread),
                (86.1, "86.1", None, None),
                "{text}"
            );
        }
        for text in ["86.1 tok/s ⭐", "🏆 86.1 tok/s (best)", "86.1 (tok/s)", "86.1 t/s*"] {
            assert_eq!(number(text).2, Some(Unit::PerS), "{text}");
        }
        let with_spread = |text: &str| (number(text).0, number(text).3);
        for text in [
            "86.1 ± 0.3 ⭐",
            "86.1 (±0.3)",
            "**86.1** ± 0.3",
            "86.1 tok/s ± 0.3",
            "86.1±0.3 (best)",
        ] {
            assert_eq!(with_spread(text), (86.1, Some(0.3)), "{text}");
        }
        let Cell::Number { mark, .. } = Cell::read("🥇 86.1<sup>2</sup> (+5%)") else { panic!() };
        assert_eq!(mark.as_deref(), Some("2 🥇 (+5%)"));
        assert_eq!(Cell::read("OOM ❌"), Cell::Missing);
        assert_eq!(Cell::read("❌"), Cell::Missing);
    }

    #[test]
    fn reads_scaled_and_grouped_numbers() {
        assert_eq!(number("1.2k"), (1200.0, "1.2k".into(), None, None));
        assert_eq!(number("1.1K tok/s"), (1100.0, "1.1K".into(), Some(Unit::PerS), None));
        assert_eq!(number("2M").0, 2e6);
        assert_eq!(number("1.234,5").0, 1234.5);
        assert_eq!(number("1.234.567").0, 1_234_567.0);
        assert_eq!(number("1'234.5").0, 1234.5);
        assert_eq!(number("12\u{202f}345").0, 12345.0);
        assert_eq!(number("1.234").0, 1.234);
        assert_eq!(number("1,234").0, 1234.0);
    }

    #[test]
    fn tells_ranges_and_bounds_from_numbers() {
        for text in ["330–359", "330-359", "330 - 359", "330 to 359", "330…359", "~330–359 ⭐"]
        {
            let Cell::Range { ends, unit } = Cell::read(text) else { panic!("{text}") };
            assert_eq!((ends[0].0, ends[1].0, unit), (330.0, 359.0, None), "{text}");
        }
        let Cell::Range { unit, .. } = Cell::read("1.2k–1.5k tok/s") else { panic!() };
        assert_eq!(unit.map(|unit| unit.0), Some(Unit::PerS));
        for text in ["< 5", ">100", "≤ 5 ms", ">= 100", "&lt; 5", "100+", "up to 90", "**<5** ⭐"]
        {
            assert_eq!(Cell::read(text), Cell::Bound, "{text}");
        }
        assert_eq!(Cell::read("359-330"), Cell::Text);
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
}
