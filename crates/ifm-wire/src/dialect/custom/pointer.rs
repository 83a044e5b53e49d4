//! The location of a value in an event: a JSON pointer (RFC 6901) in which `*` matches every entry
//! of a list, with conditions on neighboring fields.
//!
//! Nothing is copied and nothing is kept: each look walks through the text, so that a hostile document
//! takes time for its length and no memory.
//!
//! Not here: how the values are interpreted (`reading`).

use super::super::error::small_value;
use super::super::json::Word;
use super::super::text::Text;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

/// One step of a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A field of an object, or an entry of a list by its number.
    Name(String),
    /// Every entry of a list.
    Each,
}

/// A place in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Pointer(pub(super) Vec<Step>);

impl Pointer {
    /// Reads `/choices/*/text`.
    pub(super) fn parse(text: &str) -> Result<Pointer, String> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!(
                "\"{text}\" is no place: one begins with a slash, as \"/choices/*/text\""
            ));
        };
        let step = |word: &str| match word {
            "*" => Step::Each,
            _ => Step::Name(word.replace("~1", "/").replace("~0", "~")),
        };
        Ok(Pointer(rest.split('/').map(step).collect()))
    }

    /// What is left of it behind another.
    pub(super) fn behind(&self, front: &Pointer) -> Option<Pointer> {
        self.0.strip_prefix(front.0.as_slice()).map(|rest| Pointer(rest.to_vec()))
    }

    /// Its last name.
    pub(super) fn last_name(&self) -> Option<&str> {
        match self.0.last()? {
            Step::Name(name) => Some(name),
            Step::Each => None,
        }
    }

    /// Calls `visit` with each matching value, as written, and the object or list around it.
    pub(super) fn each<'input>(
        &self,
        value: &'input str,
        visit: &mut dyn FnMut(&'input str, &'input str),
    ) {
        walk(value, value, &self.0, visit);
    }
}

fn walk<'input>(
    value: &'input str,
    around: &'input str,
    steps: &[Step],
    visit: &mut dyn FnMut(&'input str, &'input str),
) {
    match steps.split_first() {
        None => visit(value, around),
        Some((Step::Name(name), rest)) if value.starts_with('{') => {
            if let Some(found) = field(value, name) {
                walk(found, value, rest, visit);
            }
        }
        Some((Step::Name(name), rest)) => {
            let mut left: Option<usize> = name.parse().ok();
            entries(value, &mut |entry| {
                if left == Some(0) {
                    walk(entry, value, rest, visit);
                }
                left = left.and_then(|left| left.checked_sub(1));
            });
        }
        Some((Step::Each, rest)) => {
            entries(value, &mut |entry| walk(entry, value, rest, visit));
        }
    }
}

/// The value of a field; of one that is there twice, the last, as most readers have it.
pub(super) fn field<'input>(object: &'input str, name: &str) -> Option<&'input str> {
    struct Field<'name>(&'name str);
    impl<'de> Visitor<'de> for Field<'_> {
        type Value = Option<&'de str>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(key) = map.next_key::<Word<'de>>()? {
                if key.0 == self.0 {
                    found = Some(map.next_value::<&RawValue>()?.get());
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(object);
    reader.deserialize_map(Field(name)).ok().flatten()
}

/// Calls `visit` with each entry of a list, as written; never if the value is not a list.
pub(super) fn entries<'input>(list: &'input str, visit: &mut dyn FnMut(&'input str)) {
    struct Entries<'visit, 'input>(&'visit mut dyn FnMut(&'input str));
    impl<'de> Visitor<'de> for Entries<'_, 'de> {
        type Value = ();
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
            while let Some(entry) = list.next_element::<&RawValue>()? {
                (self.0)(entry.get());
            }
            Ok(())
        }
    }
    impl<'de> DeserializeSeed<'de> for Entries<'_, 'de> {
        type Value = ();
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_seq(self)
        }
    }
    if list.starts_with('[') {
        // The document was read as JSON before, so that nothing can be wrong with a list.
        let _ = Entries(visit).deserialize(&mut serde_json::Deserializer::from_str(list));
    }
}

/// A condition for a value at its place to count.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    /// The place to test: relative to the event or the choice, or a sibling field.
    pub(super) at: Whence,
    /// The required value; if absent, any value except null, false and an empty text matches.
    pub(super) value: Option<Value>,
    /// Whether it must not hold.
    pub(super) is_negated: bool,
    /// As it is written in the file.
    pub(super) written: String,
}

/// From where a condition is looked at.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Whence {
    Beside(String),
    Event(Pointer),
    Choice(Pointer),
}

impl Condition {
    /// Reads `/type = content-delta`, `/done`, `thought`.
    pub(super) fn parse(
        text: &str,
        is_negated: bool,
        choices: Option<&Pointer>,
    ) -> Result<Condition, String> {
        let (place, value) = match text.split_once('=') {
            Some((place, value)) => (place.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let as_json = |word: &str| serde_json::from_str(word).unwrap_or_else(|_| word.into());
        let at = match place.starts_with('/') {
            false if place.is_empty() => return Err(format!("\"{text}\" names no place")),
            false => Whence::Beside(place.to_owned()),
            true => {
                let pointer = Pointer::parse(place)?;
                match choices.and_then(|choices| pointer.behind(choices)) {
                    Some(rest) => Whence::Choice(rest),
                    None => Whence::Event(pointer),
                }
            }
        };
        Ok(Condition { at, value: value.map(as_json), is_negated, written: text.to_owned() })
    }

    /// Whether the condition holds for an object in a choice of an event.
    pub(super) fn holds(&self, event: &str, choice: &str, around: &str) -> bool {
        let mut any = false;
        let mut look = |value: &str| any |= self.is_met(value);
        match &self.at {
            Whence::Beside(name) => field(around, name).into_iter().for_each(&mut look),
            Whence::Event(pointer) => pointer.each(event, &mut |value, _| look(value)),
            Whence::Choice(pointer) => pointer.each(choice, &mut |value, _| look(value)),
        }
        any != self.is_negated
    }

    fn is_met(&self, value: &str) -> bool {
        match &self.value {
            None => !matches!(value, "null" | "false" | "\"\""),
            Some(Value::String(text)) => meaning(value).is_some_and(|it| it == *text),
            Some(wanted) => small_value(value).is_some_and(|it| it == *wanted),
        }
    }
}

/// The text of a JSON string.
pub(super) fn meaning(value: &str) -> Option<String> {
    let mut text = String::new();
    Text::of_raw(value)?.append_to(&mut text);
    Some(text)
}

/// A place and the conditions on it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Source {
    pub(super) pointer: Pointer,
    pub(super) conditions: Vec<Condition>,
    /// Whether the place is one of a choice, and the pointer goes from there.
    pub(super) is_of_choice: bool,
    /// As it is written in the file.
    pub(super) written: String,
}

impl Source {
    /// Calls `visit` with each value that counts. Null is nothing.
    pub(super) fn each<'input>(
        &self,
        event: &'input str,
        choice: &'input str,
        visit: &mut dyn FnMut(&'input str),
    ) {
        let base = if self.is_of_choice { choice } else { event };
        self.pointer.each(base, &mut |value, around| {
            let holds = |it: &Condition| it.holds(event, choice, around);
            if value != "null" && self.conditions.iter().all(holds) {
                visit(value);
            }
        });
    }

    /// The first value that counts.
    pub(super) fn first<'input>(
        &self,
        event: &'input str,
        choice: &'input str,
    ) -> Option<&'input str> {
        let mut found = None;
        self.each(event, choice, &mut |value| {
            found.get_or_insert(value);
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(document: &str, place: &str) -> Vec<String> {
        let mut all = Vec::new();
        Pointer::parse(place).unwrap().each(document, &mut |value, _| all.push(value.to_owned()));
        all
    }

    #[test]
    fn a_pointer_finds_what_stands_there_and_nothing_else() {
        let document = r#"{"a":[{"t":"x"},{"t":1},7,{"u":[]}],"b/c":{"~":true},"a~":null,"0":{}}"#;
        for (place, expect) in [
            ("/a/*/t", vec!["\"x\"", "1"]),
            ("/a/1/t", vec!["1"]),
            ("/a/9/t", vec![]),
            ("/b~1c/~0", vec!["true"]),
            ("/a~0", vec!["null"]),
            ("/0", vec!["{}"]),
            ("/a/t", vec![]),
            ("/*", vec![]),
            ("/b~1c/*", vec![]),
        ] {
            assert_eq!(found(document, place), expect, "{place}");
        }
        assert_eq!(found(r#"{"a":1,"a":2,"\u0061":3}"#, "/a"), ["3"]);
        assert_eq!(found(r#" [ {"t": "é"} ]"#.trim(), "/*/t"), ["\"é\""]);
        assert!(Pointer::parse("choices").is_err());
    }

    #[test]
    fn depth_and_length_do_no_harm() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(found(&deep, "/b"), Vec::<String>::new());
        assert_eq!(found(&deep, "/a/*/*").len(), 1);
        let lone = r#"{"\ud800":1,"a":"\ud800"}"#;
        assert!(found(lone, "/a").len() <= 1);
    }

    #[test]
    fn conditions_look_beside_and_from_the_top() {
        let event = r#"{"type":"delta","n":1,"parts":[{"text":"a","thought":true},{"text":"b"}]}"#;
        let source = |when: &str, is_negated| Source {
            pointer: Pointer::parse("/parts/*/text").unwrap(),
            conditions: vec![Condition::parse(when, is_negated, None).unwrap()],
            is_of_choice: false,
            written: String::new(),
        };
        for (when, is_negated, expect) in [
            ("thought", false, vec!["\"a\""]),
            ("thought", true, vec!["\"b\""]),
            ("/type = delta", false, vec!["\"a\"", "\"b\""]),
            ("/type = \"delta\"", true, vec![]),
            ("/n = 1", false, vec!["\"a\"", "\"b\""]),
            ("/n = 2", false, vec![]),
            ("text = b", false, vec!["\"b\""]),
            ("/none", false, vec![]),
        ] {
            let mut all = Vec::new();
            source(when, is_negated).each(event, event, &mut |value| all.push(value));
            assert_eq!(all, expect, "{when} {is_negated}");
        }
        assert!(Condition::parse(" = 1", false, None).is_err());
    }
}
