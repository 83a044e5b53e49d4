//! Progress values in a line of a command's output: by regular expressions, or as fields of JSON
//! lines.
//!
//! Not here: what follows from many lines (`progress`).

use regex::bytes::Regex;
use serde_json::Value;

/// Largest regular expression, bytes of its compiled form.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Values that a line can contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The number of a step, or that there was one.
    Step,
    /// Tokens since the last such line.
    Tokens,
    /// Tokens since the start.
    TokensTotal,
    /// The loss.
    Loss,
}

impl Field {
    const ALL: [(&str, Field); 4] = [
        ("step", Field::Step),
        ("tokens", Field::Tokens),
        ("tokens_total", Field::TokensTotal),
        ("loss", Field::Loss),
    ];
}

/// The position of a field in a line.
#[derive(Debug, Clone)]
enum Place {
    /// What the first group of the expression matches; without a group the line counts.
    Text(Regex),
    /// The value at these keys of a JSON object.
    Json(Vec<String>),
}

/// What is looked for in each line.
#[derive(Debug, Clone, Default)]
pub struct Patterns(Vec<(Field, Place)>);

/// A value found in a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// A number.
    Number(f64),
    /// One more.
    OneMore,
    /// Something that is not a number.
    Unread,
}

impl Patterns {
    /// Looks for a field by a regular expression.
    ///
    /// # Errors
    /// The expression cannot be read, or lacks the group that holds the number.
    pub fn add_text(&mut self, field: Field, pattern: &str) -> Result<(), String> {
        let built = regex::bytes::RegexBuilder::new(pattern).size_limit(PATTERN_BYTES_MAX).build();
        let found = built.map_err(|error| format!("\"{pattern}\": {error}"))?;
        if found.captures_len() < 2 && field != Field::Step {
            return Err(format!("\"{pattern}\" has no group (…) around the number"));
        }
        self.add(field, Place::Text(found))
    }

    /// Looks for fields of JSON lines: `step=.step,loss=.train.loss`.
    ///
    /// # Errors
    /// Something that names no field.
    pub fn add_json(&mut self, text: &str) -> Result<(), String> {
        for pair in text.split(',') {
            let unread = || format!("\"{pair}\": write step=.step,tokens=.tokens,loss=.train.loss");
            let (name, path) = pair.trim().split_once('=').ok_or_else(unread)?;
            let is = |(word, _): &&(&str, Field)| *word == name;
            let (_, field) = Field::ALL.iter().find(is).ok_or_else(|| {
                format!(
                    "\"{name}\" is nothing that is looked for: step, tokens, tokens_total, loss"
                )
            })?;
            let keys: Vec<String> =
                path.trim_start_matches('.').split('.').map(str::to_owned).collect();
            if keys.iter().any(String::is_empty) {
                return Err(unread());
            }
            self.add(*field, Place::Json(keys))?;
        }
        Ok(())
    }

    fn add(&mut self, field: Field, place: Place) -> Result<(), String> {
        if self.has(field) {
            let word = Field::ALL.iter().find(|(_, known)| *known == field).map(|(word, _)| *word);
            return Err(format!("{} is looked for twice", word.unwrap_or_default()));
        }
        self.0.push((field, place));
        Ok(())
    }

    /// Whether a field is looked for.
    pub fn has(&self, field: Field) -> bool {
        self.0.iter().any(|(known, _)| *known == field)
    }

    /// Reads the values of a line, field by field.
    pub fn read(&self, line: &[u8]) -> Vec<(Field, Found)> {
        let is_json = line.trim_ascii_start().starts_with(b"{");
        let json = || is_json.then(|| serde_json::from_slice::<Value>(line).ok()).flatten();
        let json = if self.0.iter().any(|(_, place)| matches!(place, Place::Json(_))) {
            json()
        } else {
            None
        };
        let one = |(field, place): &(Field, Place)| {
            let found = match place {
                Place::Text(pattern) => in_text(pattern, line),
                Place::Json(keys) => in_json(json.as_ref()?, keys),
            };
            Some((*field, found?))
        };
        self.0.iter().filter_map(one).collect()
    }
}

fn in_text(pattern: &Regex, line: &[u8]) -> Option<Found> {
    let groups = pattern.captures(line)?;
    if groups.len() < 2 {
        return Some(Found::OneMore);
    }
    // An alternative without the group has no value.
    let text = std::str::from_utf8(groups.get(1)?.as_bytes()).unwrap_or_default();
    Some(number(text))
}

fn in_json(object: &Value, keys: &[String]) -> Option<Found> {
    let value = keys.iter().try_fold(object, |value, key| value.get(key))?;
    match value {
        Value::Null => None,
        Value::Number(number) => Some(number.as_f64().map_or(Found::Unread, Found::Number)),
        Value::String(text) => Some(number(text)),
        _ => Some(Found::Unread),
    }
}

/// `1_000`, `1,000` and `1e3` are numbers; so are `nan` and `inf`, which a diverged loss prints.
fn number(text: &str) -> Found {
    let digits: String = text.trim().chars().filter(|c| !matches!(c, ',' | '_')).collect();
    digits.parse().map_or(Found::Unread, Found::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_what_was_asked_for() {
        let mut text = Patterns::default();
        text.add_text(Field::Step, r"step (\d+)").unwrap();
        text.add_text(Field::Tokens, r"tokens=([\d,]+|many)").unwrap();
        text.add_text(Field::Loss, r"loss (\S+)").unwrap();
        let mut json = Patterns::default();
        json.add_json("step=.step, loss=train.loss,tokens_total=.seen").unwrap();
        let mut counted = Patterns::default();
        counted.add_text(Field::Step, "^it ").unwrap();
        use Found::{Number, OneMore, Unread};
        for (patterns, line, expect) in [
            (
                &text,
                &b"\xff step 7/9 tokens=4,096"[..],
                vec![(Field::Step, Number(7.0)), (Field::Tokens, Number(4096.0))],
            ),
            (&text, b"tokens=many", vec![(Field::Tokens, Unread)]),
            (&text, b"\x00\xfe nothing \xff", vec![]),
            (
                &json,
                br#" {"step": 3, "train": {"loss": "0.5"}, "seen": [1]}"#,
                vec![
                    (Field::Step, Number(3.0)),
                    (Field::Loss, Number(0.5)),
                    (Field::TokensTotal, Unread),
                ],
            ),
            (&json, br#"{"step": null, "train": 7}"#, vec![]),
            (&json, b"{not json", vec![]),
            (&json, b"step=3", vec![]),
            (&counted, b"it is one", vec![(Field::Step, OneMore)]),
            (&counted, b"is it?", vec![]),
        ] {
            assert_eq!(patterns.read(line), expect, "{}", String::from_utf8_lossy(line));
        }
        let found = text.read(b"loss nan");
        assert!(matches!(found[..], [(Field::Loss, Number(loss))] if loss.is_nan()));
    }

    #[test]
    fn what_cannot_be_looked_for_says_why() {
        for (field, pattern, word) in [
            (Field::Step, "step (", "regex parse error"),
            (Field::Loss, "loss", "no group"),
            (Field::Step, r"\w{9999}{99}", "size limit"),
        ] {
            let error = Patterns::default().add_text(field, pattern).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        for (text, word) in [
            ("step", "write"),
            ("speed=.x", "looked for"),
            ("step=", "write"),
            ("step=a..b", "write"),
        ] {
            let error = Patterns::default().add_json(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
        let mut twice = Patterns::default();
        twice.add_json("loss=.a").unwrap();
        assert!(twice.add_text(Field::Loss, "(a)").unwrap_err().contains("twice"));
    }
}
