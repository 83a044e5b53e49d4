//! YAML as JSON: what reads a tool's JSON reads its YAML too.
//!
//! Every token is on the same line as in the YAML, so that messages name the right line. Plain
//! scalars follow YAML's core schema: numbers, `null`, booleans, or text. Not here: several
//! documents in a file, tags.

use super::bounds::ALIAS_MEMORY_MAX;
use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::HashMap;

/// Nesting at most.
const DEPTH_MAX: usize = 256;
/// Bytes that a part with a name counts for in addition to its own.
const ANCHOR_BYTES: usize = 64;

/// The JSON of a YAML document; of one that is broken, as far as it goes, with the line and what
/// is wrong there.
pub(crate) fn to_json(text: &str) -> (String, Option<(u32, String)>) {
    let mut writer = Writer::default();
    for event in Parser::new_from_str(text) {
        let (line, written) = match event {
            Ok((Event::DocumentEnd, _)) => break,
            Ok((event, span)) => {
                let line = span.start.line();
                (line, writer.event(event, line))
            }
            Err(error) => (error.marker().line(), Err(error.info().to_owned())),
        };
        if let Err(reason) = written {
            let line = u32::try_from(line).unwrap_or(u32::MAX).max(1);
            return (writer.out, Some((line, reason)));
        }
    }
    (writer.out, None)
}

#[derive(Default)]
struct Writer {
    out: String,
    /// Line breaks in `out`, and 1.
    line: usize,
    open: Vec<Level>,
    /// The JSON of what has an anchor.
    anchors: HashMap<usize, String>,
    /// Bytes of those, and of what refers to them.
    alias_bytes: usize,
}

/// An object or array that is being written.
struct Level {
    object: bool,
    /// Names and values so far.
    items: usize,
    anchor: usize,
    start: usize,
}

impl Writer {
    fn event(&mut self, event: Event<'_>, line: usize) -> Result<(), String> {
        match event {
            Event::MappingStart(anchor, _) => self.begin(true, anchor, line),
            Event::SequenceStart(anchor, _) => self.begin(false, anchor, line),
            Event::MappingEnd => self.end('}'),
            Event::SequenceEnd => self.end(']'),
            Event::Scalar(text, style, anchor, _) => {
                let name = self.separate(line);
                let start = self.out.len();
                match style == ScalarStyle::Plain && !name {
                    true => self.out.push_str(&plain(&text)),
                    false => self.out.push_str(&quoted(&text)),
                }
                self.remember(anchor, start);
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, line),
            _ => Ok(()),
        }
    }

    /// Writes the separators between values, and line breaks up to a line; returns whether a name
    /// follows.
    fn separate(&mut self, line: usize) -> bool {
        let mut name = false;
        if let Some(level) = self.open.last_mut() {
            name = level.object && level.items % 2 == 0;
            match level.items {
                0 => {}
                _ if level.object && !name => self.out.push(':'),
                _ => self.out.push(','),
            }
            level.items += 1;
        }
        while self.line < line.saturating_sub(1) {
            self.out.push('\n');
            self.line += 1;
        }
        name
    }

    fn begin(&mut self, object: bool, anchor: usize, line: usize) -> Result<(), String> {
        if self.separate(line) {
            return Err("a name that is not a scalar".to_owned());
        }
        if self.open.len() == DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX}"));
        }
        self.open.push(Level { object, items: 0, anchor, start: self.out.len() });
        self.out.push(if object { '{' } else { '[' });
        Ok(())
    }

    fn end(&mut self, close: char) -> Result<(), String> {
        self.out.push(close);
        if let Some(level) = self.open.pop() {
            self.remember(level.anchor, level.start);
        }
        Ok(())
    }

    fn remember(&mut self, anchor: usize, start: usize) {
        let json = self.out.get(start..).unwrap_or_default();
        let bytes = json.len() + ANCHOR_BYTES;
        if anchor > 0 && self.alias_bytes + bytes <= ALIAS_MEMORY_MAX {
            self.alias_bytes += bytes;
            // On one line, because a reference is on a different line.
            self.anchors.insert(anchor, json.replace('\n', ""));
        }
    }

    fn alias(&mut self, anchor: usize, line: usize) -> Result<(), String> {
        let name = self.separate(line);
        let json =
            self.anchors.get(&anchor).ok_or("a reference to nothing, or to more than 16 MiB")?;
        self.alias_bytes += json.len();
        if self.alias_bytes > ALIAS_MEMORY_MAX {
            return Err("references that grow beyond 16 MiB".to_owned());
        }
        match name && !json.starts_with('"') {
            true => Err("a name that is not text".to_owned()),
            false => {
                self.out.push_str(json);
                Ok(())
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A scalar without quotes.
fn plain(text: &str) -> String {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return "null".to_owned(),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "-.inf" | "-.Inf" | "-.INF" => {
            return "null".to_owned();
        }
        "true" | "True" | "TRUE" => return "true".to_owned(),
        "false" | "False" | "FALSE" => return "false".to_owned(),
        _ => {}
    }
    match serde_json::from_str::<serde_json::Number>(text) {
        Ok(_) => text.to_owned(),
        // YAML allows more than JSON: `+1`, `.5`, `1.`, `1e+3`.
        Err(_) if text.contains(|c: char| c.is_ascii_digit()) && is_number(text) => {
            match text.parse::<f64>().map(serde_json::Number::from_f64) {
                Ok(Some(number)) => number.to_string(),
                _ => quoted(text),
            }
        }
        Err(_) => quoted(text),
    }
}

fn is_number(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn value(text: &str) -> Value {
        let (json, broken) = to_json(text);
        assert_eq!(broken, None);
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn scalars_are_what_they_say() {
        let yaml = "a: 1\nb: 2.5e-05\nc: .5\nd: '1'\ne: ~\nf: .nan\ng: yes\nh: true\ni: 12:30:00\n\
                    1.5: x\nj: |\n  two\n  lines\nk: 1_000\n";
        assert_eq!(
            value(yaml),
            json!({"a": 1, "b": 2.5e-05, "c": 0.5, "d": "1", "e": null, "f": null, "g": "yes",
                   "h": true, "i": "12:30:00", "1.5": "x", "j": "two\nlines\n", "k": "1_000"})
        );
    }

    #[test]
    fn lines_are_kept() {
        let yaml = "# head\nruns:\n- a: 1\n\n  b: [2,\n    3]\nend: 4\n";
        let (json, _) = to_json(yaml);
        let line = |text: &str| 1 + json[..json.find(text).unwrap()].matches('\n').count();
        assert_eq!([line("\"runs\""), line("\"a\""), line("3"), line("4")], [2, 3, 6, 7]);
    }

    #[test]
    fn references_are_followed_and_do_not_explode() {
        assert_eq!(value("a: &x {b: 1}\nc: *x\n"), json!({"a": {"b": 1}, "c": {"b": 1}}));
        let mut bomb = "a0: &a0 [xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]\n".to_owned();
        for level in 1..12 {
            let inner = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        assert!(to_json(&bomb).1.unwrap().1.contains("16 MiB"));
    }

    #[test]
    fn broken_yaml_is_told_with_its_line() {
        let (json, broken) = to_json("a: 1\nb: [2, 3\nc: 4\n");
        assert!(json.starts_with("{\"a\":1"), "{json}");
        assert!(broken.unwrap().0 >= 2);
    }
}
