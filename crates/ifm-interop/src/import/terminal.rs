//! What terminals and loggers add to a line: colours, progress that overwrites itself, prefixes.
//!
//! Not here: damaged characters.

use std::borrow::Cow;

/// Prefixes that are taken off a line at most.
const PREFIXES_MAX: usize = 4;

/// A line as it stood on the screen in the end, without a logger's prefix.
pub(crate) fn clean(line: &str) -> Cow<'_, str> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.bytes().any(|byte| byte < 0x20 && byte != b'\t') {
        let shown = without_control(line);
        let rest = without_prefix(&shown).len();
        return shown.get(shown.len() - rest..).unwrap_or_default().to_owned().into();
    }
    without_prefix(line).into()
}

fn without_control(line: &str) -> String {
    // A carriage return restarts the line: the last text that was written remains visible.
    let last = line.split('\r').rev().find(|text| !text.trim().is_empty()).unwrap_or_default();
    let mut out = String::with_capacity(last.len());
    let mut chars = last.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => while chars.next().is_some_and(|c| !matches!(c, '@'..='~')) {},
                Some(']') => while chars.next().is_some_and(|c| !matches!(c, '\u{7}' | '\\')) {},
                _ => {}
            },
            '\t' => out.push(c),
            c if c.is_ascii_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Whether a logger wrote the line: it begins with a level, behind process and time if these are
/// there.
pub(super) fn is_logged(line: &str) -> bool {
    let mut rest = line;
    for _ in 0..PREFIXES_MAX {
        if level(rest).is_some() {
            return true;
        }
        match process(rest).or_else(|| stamp(rest)) {
            Some(next) => rest = next,
            None => return false,
        }
    }
    false
}

/// A line without what loggers put before it.
fn without_prefix(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..PREFIXES_MAX {
        let next = process(rest).or_else(|| stamp(rest)).or_else(|| level(rest));
        match next {
            Some(next) => rest = next,
            None => break,
        }
    }
    rest
}

/// `(EngineCore_0 pid=7) `, `[rank0]: `.
fn process(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix('(') {
        let (inside, rest) = rest.split_once(") ")?;
        return (inside.contains("pid=") && inside.len() < 60).then_some(rest);
    }
    let (rank, rest) = line.strip_prefix("[rank")?.split_once("]: ")?;
    rank.bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
}

/// `2026-01-31 12:00:00,123 - `, `[2026-01-31T12:00:00Z] `.
fn stamp(line: &str) -> Option<&str> {
    let open = line.strip_prefix('[');
    let rest = masked(open.unwrap_or(line), "0000-00-00?00:00:00")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | 'Z' | '+' | ':'));
    let rest = rest.get(end?..)?;
    let rest = if open.is_some() { rest.strip_prefix(']')? } else { rest };
    let rest = rest.strip_prefix(' ')?;
    Some(["- ", "| "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest))
}

/// `INFO 09-09 03:24:41 [file.py:216] `, `INFO: `, `[INFO] `.
fn level(line: &str) -> Option<&str> {
    let open = line.strip_prefix('[');
    let text = open.unwrap_or(line);
    let word = ["INFO", "WARNING", "WARN", "DEBUG", "ERROR"]
        .iter()
        .find_map(|word| text.strip_prefix(word))?;
    if open.is_some() {
        return word.strip_prefix(']')?.strip_prefix(' ');
    }
    if let Some(rest) = word.strip_prefix(": ").or_else(|| word.strip_prefix(" - ")) {
        return Some(rest);
    }
    let rest = masked(word.strip_prefix(' ')?, "00-00 00:00:00")?.strip_prefix(' ')?;
    match rest.strip_prefix('[') {
        Some(place) => place.split_once("] ").map(|(_, rest)| rest),
        None => Some(rest),
    }
}

/// What follows a text of this shape: `0` is a digit, `?` anything, all else itself.
fn masked<'a>(text: &'a str, mask: &str) -> Option<&'a str> {
    let fits = text.len() >= mask.len()
        && text.bytes().zip(mask.bytes()).all(|(byte, mask)| match mask {
            b'0' => byte.is_ascii_digit(),
            b'?' => byte.is_ascii(),
            mask => byte == mask,
        });
    if fits { text.get(mask.len()..) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_shows_less_than_was_written() {
        for (written, shown) in [
            ("\u{1b}[1;32mMean TTFT\u{1b}[0m 5", "Mean TTFT 5"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("10%|#\r50%|##\r100%|###\r", "100%|###"),
            ("plain\r", "plain"),
            ("a\tb", "a\tb"),
            ("  indented | 5 ± 1", "  indented | 5 ± 1"),
        ] {
            assert_eq!(clean(written), shown);
        }
    }

    #[test]
    fn prefixes_of_loggers_go() {
        for (written, shown) in [
            ("INFO 09-09 03:24:41 [__init__.py:216] | a | b |", "| a | b |"),
            ("(APIServer pid=12) INFO 09-09 03:24:41 x", "x"),
            ("2026-01-31 12:00:00,123 - INFO - Mean: 5", "Mean: 5"),
            ("[2026-01-31T12:00:00.5Z] Mean: 5", "Mean: 5"),
            ("[rank0]: Mean: 5", "Mean: 5"),
            ("2026-01-31 was a day", "2026-01-31 was a day"),
            ("INFORMATION 5", "INFORMATION 5"),
            ("(not a process) 5", "(not a process) 5"),
        ] {
            assert_eq!(clean(written), shown);
        }
    }
}
