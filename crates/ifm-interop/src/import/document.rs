//! Files that no format knows and that are not prose: a JSON document, a separated table, a page.
//!
//! Their keys and headers use the same vocabulary as tables in text. What is not understood is
//! rejected: read as prose, its numbers would get their meaning from unrelated words nearby.

use super::bounds;
use super::error::ImportError;
use super::generic::records::Gathering;
use super::generic::{Context, read_grid, records};
use super::grid::Grid;
use super::html;
use super::json;
use super::measure::Cell;
use super::nature::Nature;
use super::text::Text;
use super::{Input, collect, heading, notes, separated, yaml};
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Part, PartKind, Place, Remark, RemarkKind, Source};
use serde_json::Value;

/// What became of a file that no format knows.
pub(super) enum Outcome {
    /// It was read.
    Sheet(Sheet),
    /// It is not prose, and nothing in it is known.
    Refused,
    /// It is a text.
    Text,
    /// It exceeds a limit, in words.
    Exceeds(String),
}

/// Lines at which a document that is not complete may seem to end. Each try reads it from its first line.
const TRIES_MAX: usize = 64;
/// Lines or records that are looked at to tell what a file is.
const SAMPLE: usize = 64;
/// One in this many records of a table may have a different number of cells.
const MISFITS: usize = 5;
/// Longest head of a column, bytes.
const HEAD_BYTES_MAX: usize = 64;
/// Words of a head at most: sentences have more.
const HEAD_WORDS_MAX: usize = 8;

/// Reads a file that no format knows.
pub(super) fn read(name: &str, bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    match text.trim_start().chars().next() {
        Some('{' | '[') => structured(name, bytes, &text),
        _ if is_yaml(&text) => yaml_document(name, bytes, &text),
        _ => match separator(&text) {
            Some(separator) => table(name, bytes, separator),
            None => Outcome::Text,
        },
    }
}

fn sheet(
    name: &str,
    format: &str,
    bytes: &[u8],
    mut parts: Vec<Part>,
    remarks: Vec<Remark>,
) -> Outcome {
    if parts.is_empty() {
        return Outcome::Refused;
    }
    parts.iter_mut().for_each(notes::decide_kind);
    let source = Source {
        name: name.to_owned(),
        format: format.to_owned(),
        bytes: bytes.len() as u64,
        ..Source::default()
    };
    Outcome::Sheet(Sheet { source, parts, remarks })
}

/// JSON, JSON Lines, and what Python prints of its dictionaries.
fn structured(name: &str, bytes: &[u8], text: &str) -> Outcome {
    let read = match text.trim_start().starts_with('[') {
        true => list(bytes),
        false => match json::lenient(bytes) {
            Ok(value @ Value::Object(_)) => {
                let mut found = Gathering::default();
                found.document(&value);
                Some(found)
            }
            _ => None,
        },
    };
    if let Some(found) = read.or_else(|| json_lines(text)) {
        let (parts, remarks) = found.finish();
        return sheet(name, records::ABOUT.id, bytes, parts, remarks);
    }
    if bounds::is_too_much_json(bytes) {
        return Outcome::Exceeds(bounds::too_much_json());
    }
    if let Some(text) = from_python(text) {
        return converted(name, bytes, &text, "written as Python prints it, and read as JSON");
    }
    // A log may begin with JSON. Its numbers count where a tool printed a block of them.
    let is_broken = matches!(Nature::of(bytes), Nature::BrokenJson { .. });
    let has_blocks = || {
        let sheet = notes::read(name.to_owned(), bytes);
        let is_block = |part: &Part| part.kind != PartKind::Conclusion;
        sheet.is_some_and(|sheet| sheet.parts.iter().any(is_block))
    };
    if is_broken && !has_blocks() { Outcome::Refused } else { Outcome::Text }
}

/// The rows of a document that is a list, element by element.
fn list(bytes: &[u8]) -> Option<Gathering> {
    let mut found = Gathering::default();
    let (mut documents, mut is_sound) = (0, true);
    let mut source = bytes;
    let end = json::pieces::read(&mut source, &["/*"], &mut |piece| match piece.cut {
        Some(_) => match piece.value() {
            Ok(value) => found.element(&piece.pointer(), &value),
            Err(_) => is_sound = false,
        },
        None => documents += 1,
    });
    let is_whole = matches!(end, Ok(json::pieces::End::Whole));
    (is_whole && is_sound && documents == 1).then_some(found)
}

/// The rows of JSON Lines, or of documents one after the other.
fn json_lines(text: &str) -> Option<Gathering> {
    let (mut found, mut values) = (Gathering::default(), 0_usize);
    let mut open = String::new();
    let (mut first, mut tries) = (0, 0);
    for (at, line) in text.lines().enumerate() {
        if open.is_empty() {
            if line.trim().is_empty() {
                continue;
            }
            first = u32::try_from(at + 1).unwrap_or(u32::MAX);
        }
        open.push_str(line);
        open.push('\n');
        // A document ends on a line that begins with its last brace, or is one line.
        if !line.trim_end().ends_with(['}', ']'])
            || (first as usize != at + 1 && line.starts_with([' ', '\t']))
        {
            continue;
        }
        if let Ok(value @ (Value::Object(_) | Value::Array(_))) = json::lenient(open.as_bytes()) {
            found.line(first, &value);
            values += 1;
            open.clear();
            tries = 0;
        } else {
            tries += 1;
            if tries >= TRIES_MAX {
                return None;
            }
        }
    }
    (open.trim().is_empty() && values > 0).then_some(found)
}

/// Python's words for what JSON has, where a text is a dictionary or a list of them.
fn from_python(text: &str) -> Option<String> {
    let begin: String = text.chars().filter(|c| !c.is_whitespace()).take(3).collect();
    if !(begin.starts_with("{'") || begin.starts_with("[{'") || begin.starts_with("({'")) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                out.push('"');
                while let Some(inner) = chars.next() {
                    match inner {
                        '\\' => match chars.next()? {
                            '\'' => out.push('\''),
                            other => out.extend(['\\', other]),
                        },
                        end if end == c => break,
                        '"' => out.push_str("\\\""),
                        inner => out.push(inner),
                    }
                }
                out.push('"');
            }
            '(' => out.push('['),
            ')' => out.push(']'),
            c if c.is_alphabetic() => {
                let mut word = c.to_string();
                while let Some(next) = chars.next_if(|next| next.is_alphanumeric()) {
                    word.push(next);
                }
                out.push_str(match word.as_str() {
                    "None" | "nan" | "inf" | "NaN" => "null",
                    "True" => "true",
                    "False" => "false",
                    // Exponents of numbers.
                    word => word,
                });
            }
            ',' => {
                let rest = chars.clone().find(|next| !next.is_whitespace());
                if !matches!(rest, Some(')' | ']' | '}')) {
                    out.push(',');
                }
            }
            c => out.push(c),
        }
    }
    json::lenient::<Value>(out.as_bytes()).ok().map(|_| out)
}

/// Reads a text that was made of a file in another notation.
fn converted(name: &str, bytes: &[u8], text: &str, how: &str) -> Outcome {
    match super::read(Input::new(name, text.as_bytes())) {
        Ok(mut sheet) => {
            sheet.source.bytes = bytes.len() as u64;
            let (kind, place) = (RemarkKind::Repaired, Place::line(1));
            sheet.remarks.push(Remark { kind, place, text: how.to_owned() });
            Outcome::Sheet(sheet)
        }
        Err(ImportError::Unreadable { .. } | ImportError::NotKnown { .. }) => Outcome::Refused,
        Err(ImportError::Exceeds { limit, .. }) => Outcome::Exceeds(limit),
        Err(
            ImportError::Broken { .. }
            | ImportError::Panicked { .. }
            | ImportError::TooLarge { .. },
        ) => Outcome::Refused,
    }
}

/// Whether every line is a key of YAML with a bare value, as dumps of settings and results are.
/// Names in words, and numbers with units, are lists of a text.
fn is_yaml(text: &str) -> bool {
    let mut keys = 0;
    let mut has_snake = false;
    // A log repeats the name of its program on each line.
    let mut outer = std::collections::BTreeSet::new();
    for line in text.lines().take(SAMPLE) {
        let line = line.trim_end();
        let inner = line.trim_start().trim_start_matches("- ").trim_start();
        if inner.is_empty() || inner.starts_with('#') || line == "---" {
            continue;
        }
        let item = inner.parse::<f64>().is_ok() && line.trim_start().starts_with("- ");
        let Some((key, value)) = inner.split_once(':') else {
            if item {
                continue;
            }
            return false;
        };
        let is_key = !key.is_empty()
            && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
            && (value.is_empty() || value.starts_with(' '));
        let is_bare = !matches!(Cell::read(value), Cell::Number { unit: Some(_), .. })
            && !value.contains(['=', '|'])
            && value.split_whitespace().count() <= HEAD_WORDS_MAX;
        let is_repeated = !line.starts_with([' ', '-', '\t']) && !outer.insert(key);
        if !is_key || !is_bare || is_repeated {
            return false;
        }
        has_snake |= key.contains('_');
        keys += 1;
    }
    keys >= 3 && has_snake
}

fn yaml_document(name: &str, bytes: &[u8], text: &str) -> Outcome {
    match yaml::to_json(text) {
        (json, None) if json.starts_with('{') || json.starts_with('[') => {
            match converted(name, bytes, &json, "YAML, read as JSON") {
                Outcome::Sheet(mut sheet) => {
                    // Nothing was repaired: every line is where it was.
                    sheet.remarks.retain(|remark| remark.kind != RemarkKind::Repaired);
                    Outcome::Sheet(sheet)
                }
                other => other,
            }
        }
        _ => Outcome::Text,
    }
}

/// The separator of a table with a line of names, if a text is one.
fn separator(text: &str) -> Option<u8> {
    let body = body(text);
    let found = [b'\t', b';', b','].into_iter().filter_map(|separator| {
        let records: Vec<Vec<String>> = separated::records(body.as_bytes(), separator)
            .take(SAMPLE)
            .filter_map(Result::ok)
            .map(|(_, cells)| separated::trimmed(&cells))
            .filter(|cells| cells.iter().any(|cell| !cell.is_empty()))
            .collect();
        let (head, rows) = records.split_first()?;
        let fitting = rows.iter().filter(|cells| cells.len() == head.len()).count();
        let is_table = head.len() >= 2
            && fitting > 0
            && (rows.len() - fitting) * MISFITS <= rows.len()
            && head.iter().all(|name| is_name(name))
            && head.iter().filter(|name| name.is_empty()).count() <= 1;
        let numbers = rows.iter().filter(|cells| cells.iter().any(|cell| is_number(cell))).count();
        (is_table && 2 * numbers >= rows.len()).then_some((head.len(), separator))
    });
    found.max_by_key(|(width, _)| *width).map(|(_, separator)| separator)
}

/// A text behind the comments before its table.
fn body(text: &str) -> &str {
    let mut rest = text.trim_start_matches('\u{feff}');
    while rest.starts_with('#') || rest.starts_with(['\n', '\r']) {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest
}

fn is_name(head: &str) -> bool {
    head.len() <= HEAD_BYTES_MAX
        && head.split_whitespace().count() <= HEAD_WORDS_MAX
        && !head.starts_with(['|', '{', '<', '-', '*'])
        && !head.ends_with(['.', '!', '?'])
        && !is_number(head)
        && !head.contains(": ")
}

fn is_number(cell: &str) -> bool {
    let bare = cell.trim_start_matches(|c: char| !c.is_alphanumeric());
    bare.starts_with(|c: char| c.is_ascii_digit()) && bare.split_whitespace().count() <= 4
}

/// A separated table as cells, by the lines on which its records begin.
fn table(name: &str, bytes: &[u8], separator: u8) -> Outcome {
    let text = Text::new(bytes);
    let whole: String = text.lines().flat_map(|line| [line.text, "\n"]).collect();
    let body = body(&whole);
    let skipped = whole.get(..whole.len() - body.len()).unwrap_or_default().lines().count();
    let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
    let mut grid = Grid::default();
    let mut remarks = text.remarks.clone();
    for record in separated::records(body.as_bytes(), separator) {
        let (line, cells) = match record {
            Ok(record) => record,
            Err(error) => return Outcome::Exceeds(error.to_string()),
        };
        let (line, cells) = (line.saturating_add(skipped), separated::trimmed(&cells));
        grid.last_line = line;
        if grid.head.is_empty() {
            (grid.head, grid.head_line) = (cells, line);
        } else if cells.len() != grid.head.len() {
            let text = separated::misfit(cells.len(), grid.head.len());
            collect::skip(&mut remarks, line, &text);
        } else {
            grid.push(line, cells);
        }
    }
    let (place, context) = (grid.head_line, Context::default);
    let tried = read_grid(grid, place, &context);
    remarks.extend(tried.remarks);
    sheet(name, notes::ABOUT.id, bytes, tried.part.into_iter().collect(), remarks)
}

/// The tables of a web page. Its sentences are not read: they are about results from elsewhere.
pub(super) fn page(name: &str, bytes: &[u8]) -> Outcome {
    let text = Text::new(bytes);
    let whole = || text.lines().take(SAMPLE);
    // A report by this program shows results that it can read from their own files.
    if whole().any(|line| line.text.contains("inferometer</title>")) {
        return Outcome::Refused;
    }
    let mut reader = html::Reader::default();
    text.lines().for_each(|line| reader.read(line.text, line.number));
    let (mut parts, mut remarks) = (Vec::new(), text.remarks.clone());
    for found in reader.finish() {
        let place = found.grid.head_line;
        let context = || Context {
            above: found.above.clone(),
            headings: found.headings.iter().rev().cloned().collect(),
        };
        let tried = read_grid(found.grid, place, &context);
        remarks.extend(tried.remarks);
        parts.extend(tried.part.map(|mut part| {
            let factors = found
                .headings
                .iter()
                .fold(Factors::default(), |outer, title| heading::factors(title).within(&outer));
            part.factors = part.factors.within(&factors);
            part.headings = found.headings.clone();
            part
        }));
    }
    sheet(name, notes::ABOUT.id, bytes, parts, remarks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_tables_and_dumps_from_prose() {
        for (text, expected) in [
            ("a,b\n1,2\n", Some(b',')),
            ("# made by x\na;b c (ms)\n1;2,5\n3;4,5\n", Some(b';')),
            ("a\tb\n1\t2\n", Some(b'\t')),
            ("Users,TTFT\n", None),
            ("Yes, we did it.\nIt took 5 ms, no more.\n", None),
            ("First we ran 3, then 4.\nThat was slow, 5 ms.\n", None),
            ("TTFT: 5 ms, ITL: 3 ms\nTTFT: 6 ms, ITL: 4 ms\n", None),
            ("1,2\n3,4\n", None),
            ("| a, b | c |\n|---|---|\n| 1, 2 | 3 |\n", None),
        ] {
            assert_eq!(separator(text), expected, "{text}");
        }
        assert!(is_yaml("a_b: 1\nc: x\nd:\n  - e_f: 2.5\n"));
        assert!(!is_yaml("Mean TTFT: 50 ms\nOutput: 4 tok/s\nx_y: 1\n"));
        assert!(!is_yaml("llama_perf: a b\nllama_perf: c\nllama_perf: 5\n"));
        assert!(!is_yaml("load_x: eval time = 5\nload_y: 3\nload_z: 5\n"));
        assert!(!is_yaml("latency_p50: 50 ms\na_b: 4\nx_y: 1\n"));
    }

    #[test]
    fn python_dictionaries_become_json() {
        let json =
            from_python("{'a': None, 'b': [1, 2.5e-3,], 'c': True, 'd': \"it's\", 'e': (1,)}");
        let value: Value = serde_json::from_str(&json.expect("JSON")).expect("JSON");
        assert_eq!(value.to_string(), r#"{"a":null,"b":[1,0.0025],"c":true,"d":"it's","e":[1]}"#);
        assert_eq!(from_python("{'a': object at 0x1}"), None);
        assert_eq!(from_python("[INFO] 'a'"), None);
    }
}
