//! What a file finds in a document, key by key, for whoever writes one.
//!
//! Not here: what becomes of it in a run (`reading`).

use super::Description;
use super::pointer::{Source, meaning};
use super::reading::Reading;
use ifm_core::order::Order as _;
use serde_json::Value;

/// What one key of a file finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The key.
    pub key: &'static str,
    /// Its places, as the file writes them.
    pub places: Vec<String>,
    /// The matching values, as written.
    pub found: Vec<String>,
    /// The documents that have any.
    pub documents: usize,
}

impl Shown {
    /// What each key finds in several documents together.
    pub fn merged(all: impl Iterator<Item = Vec<Shown>>) -> Vec<Shown> {
        let mut merged: Vec<Shown> = Vec::new();
        for shown in all {
            match merged.is_empty() {
                true => merged = shown,
                false => merged.iter_mut().zip(shown).for_each(|(all, one)| {
                    all.found.extend(one.found);
                    all.documents += one.documents;
                }),
            }
        }
        merged
    }
}

impl Description {
    /// What each key finds in an event of a stream, or in a whole answer. Keys that the file does not
    /// have are left out.
    pub fn shown(&self, document: &str, is_event: bool) -> Vec<Shown> {
        if is_event { self.event.shown(document) } else { self.whole.shown(document) }
    }
}

impl Reading {
    fn shown(&self, document: &str) -> Vec<Shown> {
        let document = document.trim();
        let counts = &self.counts;
        let flat = |sums: &Vec<Vec<Source>>| sums.iter().flatten().cloned().collect::<Vec<_>>();
        let [queue, first_token, decode] = &self.times;
        let keys: [(&'static str, Vec<Source>); 16] = [
            ("choice_index", self.index.clone()),
            ("text", self.text.clone()),
            ("reasoning", self.reasoning.clone()),
            ("refusal", self.refusal.clone()),
            ("tool_calls", self.tool_calls.clone()),
            ("finish_reason", self.finish_reason.clone()),
            ("opening", self.opening.clone()),
            ("token", self.token.clone()),
            ("prompt_tokens", flat(&counts.prompt)),
            ("output_tokens", flat(&counts.output)),
            ("cached_tokens", flat(&counts.cached)),
            ("reasoning_tokens", flat(&counts.reasoning)),
            ("queue_ns", queue.clone()),
            ("first_token_ns", first_token.clone()),
            ("decode_ns", decode.clone()),
            ("error", self.error.clone()),
        ];
        let mut shown: Vec<Shown> = keys
            .into_iter()
            .filter(|(_, sources)| !sources.is_empty())
            .map(|(key, sources)| {
                let places = sources.iter().map(|source| source.written.clone()).collect();
                let found: Vec<String> =
                    sources.iter().flat_map(|source| self.values(source, document)).collect();
                Shown { key, places, documents: usize::from(!found.is_empty()), found }
            })
            .collect();
        if !self.end.is_empty() {
            let holds = self.end.iter().any(|it| it.holds(document, document, document));
            shown.push(Shown {
                key: "end",
                places: self.end.iter().map(|it| it.written.clone()).collect(),
                found: holds.then(|| "\"the last event\"".to_owned()).into_iter().collect(),
                documents: usize::from(holds),
            });
        }
        shown
    }

    /// The values at a place, of every choice.
    fn values(&self, source: &Source, document: &str) -> Vec<String> {
        let mut found = Vec::new();
        match &self.choices {
            Some(choices) if source.is_of_choice => choices.each(document, &mut |choice, _| {
                source.each(document, choice, &mut |value| found.push(value.to_owned()));
            }),
            _ => source.each(document, document, &mut |value| found.push(value.to_owned())),
        }
        found
    }
}

/// Places of strings in a document that look like generated text, with their values: strings that
/// contain a space, or have a common field name for text. The most likely ones come first.
pub fn text_like(document: &str) -> Vec<(String, String)> {
    const NAMES: [&str; 8] = [
        "text",
        "content",
        "response",
        "output",
        "generated_text",
        "completion",
        "answer",
        "token",
    ];
    const PLACES_MAX: usize = 8;
    let mut found: Vec<(bool, String, String)> = Vec::new();
    let Ok(value) = serde_json::from_str::<Value>(document) else { return Vec::new() };
    let mut open = vec![(String::new(), String::new(), &value)];
    while let Some((place, name, value)) = open.pop() {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter().rev() {
                    let step = name.replace('~', "~0").replace('/', "~1");
                    open.push((format!("{place}/{step}"), name.clone(), value));
                }
            }
            Value::Array(items) => {
                for value in items.iter().rev() {
                    open.push((format!("{place}/*"), name.clone(), value));
                }
            }
            Value::String(text) => {
                let is_named = NAMES.iter().any(|word| name.eq_ignore_ascii_case(word));
                let is_known = found.iter().any(|(_, other, _)| *other == place);
                if (is_named || text.contains(' ')) && !text.is_empty() && !is_known {
                    found.push((!is_named, place, text.clone()));
                }
            }
            _ => {}
        }
    }
    found.order_by_key(|(is_last, ..)| *is_last);
    found.truncate(PLACES_MAX);
    found.into_iter().map(|(_, place, text)| (place, text)).collect()
}

/// The text of a JSON string, or another value as it is written.
pub fn plainly(value: &str) -> String {
    meaning(value).unwrap_or_else(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_look_like_text_are_told_with_their_places() {
        let document =
            r#"{"id":"x1","kind":"a b","out":[{"text":"Hi"},{"text":"you"}],"n":1,"text":""}"#;
        let told = text_like(document);
        let told: Vec<(&str, &str)> = told.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(told, [("/out/*/text", "Hi"), ("/kind", "a b")]);
        assert!(text_like("{").is_empty());
    }
}
