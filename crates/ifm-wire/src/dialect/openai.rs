//! The JSON of OpenAI's chat completions and completions, as many servers speak it.
//!
//! Known variants: `reasoning` and `reasoning_content`, `text` beside `delta`, `usage` in any
//! chunk, `choices` null or absent, error objects with and without the `error` key.

use super::text::{Content, Text};
use super::{ChoiceFacts, ChunkFacts, Usage, bounded_sentence};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Choices kept without allocating. More than these in one event go to the heap.
const INLINE_CHOICES: usize = 2;

/// The choices that one event mentions, in its order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Choices<'input> {
    inline: [ChoiceFacts<'input>; INLINE_CHOICES],
    inline_count: usize,
    more: Vec<ChoiceFacts<'input>>,
}

impl<'input> Choices<'input> {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &ChoiceFacts<'input>> {
        self.inline[..self.inline_count].iter().chain(&self.more)
    }

    /// Number of choices mentioned.
    pub fn len(&self) -> usize {
        self.inline_count + self.more.len()
    }

    /// Whether none is mentioned.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn push(&mut self, facts: ChoiceFacts<'input>) {
        if self.inline_count < INLINE_CHOICES {
            self.inline[self.inline_count] = facts;
            self.inline_count += 1;
        } else {
            self.more.push(facts);
        }
    }
}

/// Reads one payload. Generated text is appended to `text`, if given.
///
/// # Errors
/// Why it is no JSON object of this shape.
pub fn read<'input>(
    data: &'input str,
    mut text: Option<&mut String>,
) -> Result<ChunkFacts<'input>, String> {
    let chunk: Chunk<'input> = serde_json::from_str(data).map_err(|error| {
        let start: String = data.chars().take(80).collect();
        let start = bounded_sentence(&start);
        format!("malformed JSON from the server ({error}): {start}")
    })?;
    let mut facts = ChunkFacts { usage: chunk.usage.map(Usage::from), ..ChunkFacts::default() };
    let is_error_object = chunk.object.as_ref().is_some_and(|object| object.0 == "error");
    if chunk.error.as_ref().is_some_and(|error| !error.is_null()) || is_error_object {
        let value: Value = serde_json::from_str(data).unwrap_or(Value::Null);
        facts.error = Some(error_message(&value));
        return Ok(facts);
    }
    for choice in chunk.choices.unwrap_or_default().into_iter() {
        if let Some(text) = text.as_deref_mut() {
            choice.append_text(text);
        }
        facts.choices.push(choice.facts());
    }
    Ok(facts)
}

/// The message in an error document of any known shape, in one bounded sentence.
pub fn error_message(value: &Value) -> String {
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let message = ["message", "detail", "error"]
        .into_iter()
        .find_map(|key| error.get(key))
        .filter(|message| !message.is_null())
        .unwrap_or(error);
    match message {
        Value::String(text) => bounded_sentence(text),
        other => bounded_sentence(&other.to_string()),
    }
}

/// A JSON string whose very characters matter, borrowed from the input unless it holds escapes.
/// (Serde borrows a `Cow` only where it is a field by itself, not within an `Option`.)
#[derive(Deserialize)]
struct Word<'input>(#[serde(borrow)] Cow<'input, str>);

#[derive(Deserialize)]
struct Chunk<'input> {
    #[serde(borrow, default)]
    object: Option<Word<'input>>,
    #[serde(borrow, default)]
    choices: Option<RawChoices<'input>>,
    #[serde(default)]
    usage: Option<RawUsage>,
    #[serde(default)]
    error: Option<Value>,
}

/// The list of choices; up to [`INLINE_CHOICES`] need no allocation.
#[derive(Default)]
struct RawChoices<'input> {
    first: Option<Choice<'input>>,
    second: Option<Choice<'input>>,
    more: Vec<Choice<'input>>,
}

impl<'input> RawChoices<'input> {
    fn into_iter(self) -> impl Iterator<Item = Choice<'input>> {
        self.first.into_iter().chain(self.second).chain(self.more)
    }
}

impl<'de: 'input, 'input> Deserialize<'de> for RawChoices<'input> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = RawChoices<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of choices")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut choices = RawChoices { first: seq.next_element()?, ..Default::default() };
                if choices.first.is_some() {
                    choices.second = seq.next_element()?;
                }
                if choices.second.is_some() {
                    while let Some(choice) = seq.next_element()? {
                        choices.more.push(choice);
                    }
                }
                Ok(choices)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[derive(Deserialize)]
struct Choice<'input> {
    #[serde(default)]
    index: Option<u16>,
    #[serde(borrow, default, alias = "message")]
    delta: Option<Delta<'input>>,
    #[serde(borrow, default)]
    text: Option<Text<'input>>,
    #[serde(borrow, default)]
    finish_reason: Option<Word<'input>>,
}

#[derive(Deserialize)]
struct Delta<'input> {
    #[serde(default)]
    role: Option<IgnoredAny>,
    #[serde(borrow, default)]
    content: Option<Content<'input>>,
    #[serde(borrow, default)]
    reasoning: Option<Text<'input>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'input>>,
    #[serde(borrow, default)]
    refusal: Option<Text<'input>>,
    #[serde(default)]
    tool_calls: Option<Presence>,
    #[serde(default)]
    function_call: Option<Presence>,
}

impl Choice<'_> {
    fn append_text(&self, out: &mut String) {
        if let Some(delta) = &self.delta {
            for part in [&delta.reasoning_content, &delta.reasoning].into_iter().flatten() {
                part.append_to(out);
            }
            if let Some(content) = &delta.content {
                content.append_to(out);
            }
        }
        if let Some(text) = &self.text {
            text.append_to(out);
        }
    }
}

impl<'input> Choice<'input> {
    fn facts(self) -> ChoiceFacts<'input> {
        let full = |text: &Option<Text<'_>>| text.is_some_and(|text| !text.is_empty());
        let mut facts = ChoiceFacts {
            index: self.index.unwrap_or(0),
            has_answer: full(&self.text),
            // Some servers say "" where others say null.
            finish_reason: self.finish_reason.map(|word| word.0).filter(|word| !word.is_empty()),
            ..ChoiceFacts::default()
        };
        let mut has_text = self.text.is_some();
        let mut has_role = false;
        if let Some(delta) = &self.delta {
            let content = delta.content.as_ref();
            has_role = delta.role.is_some();
            has_text |=
                content.is_some() || delta.reasoning.is_some() || delta.reasoning_content.is_some();
            facts.has_refusal = full(&delta.refusal);
            facts.has_reasoning = full(&delta.reasoning) || full(&delta.reasoning_content);
            facts.has_answer |= content.is_some_and(|content| !content.is_empty())
                || facts.has_refusal
                || delta.tool_calls.as_ref().is_some_and(|calls| calls.0)
                || delta.function_call.as_ref().is_some_and(|call| call.0);
        }
        let carries = facts.has_answer || facts.has_reasoning;
        facts.has_empty_text = has_text && !carries && !has_role && facts.finish_reason.is_none();
        facts
    }
}

/// Whether a list or an object holds anything. Null holds nothing.
struct Presence(bool);

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Presence;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list or an object")
            }
            fn visit_unit<E>(self) -> Result<Presence, E> {
                Ok(Presence(false))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Presence, A::Error> {
                let mut found = false;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    found = true;
                }
                Ok(Presence(found))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Presence, A::Error> {
                let mut found = false;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    found = true;
                }
                Ok(Presence(found))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[derive(Deserialize)]
struct RawUsage {
    #[serde(default)]
    prompt_tokens: Option<u32>,
    #[serde(default)]
    completion_tokens: Option<u32>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
    #[serde(default)]
    reasoning_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u32>,
    #[serde(default)]
    accepted_prediction_tokens: Option<u32>,
    #[serde(default)]
    rejected_prediction_tokens: Option<u32>,
}

impl From<RawUsage> for Usage {
    fn from(raw: RawUsage) -> Usage {
        let completion = raw.completion_tokens_details.as_ref();
        Usage {
            prompt_tokens: raw.prompt_tokens,
            completion_tokens: raw.completion_tokens,
            reasoning_tokens: raw
                .reasoning_tokens
                .or(completion.and_then(|details| details.reasoning_tokens)),
            cached_tokens: raw.prompt_tokens_details.and_then(|details| details.cached_tokens),
            accepted_draft_tokens: completion
                .and_then(|details| details.accepted_prediction_tokens),
            rejected_draft_tokens: completion
                .and_then(|details| details.rejected_prediction_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(data: &str) -> ChoiceFacts<'_> {
        let facts = read(data, None).unwrap();
        assert_eq!(facts.choices.len(), 1, "{data}");
        facts.choices.inline[0].clone()
    }

    #[test]
    fn output_of_every_kind_is_told_from_what_is_none() {
        let delta = |delta: &str| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
        for answer in [
            r#"{"content":"a"}"#,
            r#"{"role":"assistant","content":"a"}"#,
            r#"{"content":"\n"}"#,
            r#"{"refusal":"no"}"#,
            r#"{"tool_calls":[{"index":0}]}"#,
            r#"{"function_call":{"name":"f"}}"#,
            r#"{"content":[{"type":"text","text":"a"}]}"#,
        ] {
            assert!(only(&delta(answer)).has_answer, "{answer}");
        }
        for reasoning in [r#"{"reasoning":"a"}"#, r#"{"content":null,"reasoning_content":"a"}"#] {
            let text = delta(reasoning);
            let facts = only(&text);
            assert!(facts.has_reasoning && !facts.has_answer, "{reasoning}");
        }
        for nothing in [
            r#"{}"#,
            r#"{"role":"assistant"}"#,
            r#"{"role":"assistant","content":""}"#,
            r#"{"role":"assistant","content":null}"#,
            r#"{"content":null}"#,
            r#"{"tool_calls":[],"function_call":null}"#,
        ] {
            let text = delta(nothing);
            let facts = only(&text);
            assert!(
                !facts.has_answer && !facts.has_reasoning && !facts.has_empty_text,
                "{nothing}"
            );
        }
        assert!(only(&delta(r#"{"content":""}"#)).has_empty_text);
        assert!(only(r#"{"choices":[{"text":""}]}"#).has_empty_text);
        let finish = only(r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#);
        assert!(!finish.has_empty_text);
        assert_eq!(finish.finish_reason, Some(Cow::Borrowed("stop")));
        let going_on = only(r#"{"choices":[{"text":"","finish_reason":""}]}"#);
        assert!(going_on.has_empty_text && going_on.finish_reason.is_none());
    }

    #[test]
    fn choices_may_be_absent_null_or_many() {
        for data in [r#"{}"#, r#"{"choices":null}"#, r#"{"choices":[]}"#] {
            assert!(read(data, None).unwrap().choices.is_empty());
        }
        let facts = read(
            r#"{"choices":[{"index":1,"text":"a"},{"index":0,"text":"b"},{"index":2,"text":"c"}]}"#,
            None,
        )
        .unwrap();
        let indexes: Vec<u16> = facts.choices.iter().map(|choice| choice.index).collect();
        assert_eq!(indexes, [1, 0, 2]);
    }

    #[test]
    fn usage_is_taken_with_its_details() {
        let facts = read(r#"{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":4,"accepted_prediction_tokens":2,"rejected_prediction_tokens":1}}}"#, None).unwrap();
        let expect = Usage {
            prompt_tokens: Some(8),
            completion_tokens: Some(10),
            reasoning_tokens: Some(4),
            cached_tokens: Some(3),
            accepted_draft_tokens: Some(2),
            rejected_draft_tokens: Some(1),
        };
        assert_eq!(facts.usage, Some(expect));
        assert_eq!(read(r#"{"usage":null}"#, None).unwrap().usage, None);
        assert_eq!(
            read(r#"{"usage":{"prompt_tokens_details":null}}"#, None).unwrap().usage,
            Some(Usage::default())
        );
    }

    #[test]
    fn errors_of_every_shape_are_found() {
        for (data, message) in [
            (r#"{"error":{"message":"engine died","code":500}}"#, "engine died"),
            (r#"{"error":"engine died"}"#, "engine died"),
            (r#"{"object":"error","message":"engine died","code":400}"#, "engine died"),
            (r#"{"error":{"code":500}}"#, r#"{"code":500}"#),
        ] {
            let facts = read(data, None).unwrap();
            assert_eq!(facts.error.as_deref(), Some(message), "{data}");
        }
        assert_eq!(read(r#"{"error":null,"choices":[]}"#, None).unwrap().error, None);
        assert!(read("{broken", None).unwrap_err().contains("malformed JSON"));
    }

    #[test]
    fn text_is_joined_when_asked_for() {
        let mut text = String::new();
        for data in [
            r#"{"choices":[{"delta":{"reasoning":"Hm. "}}]}"#,
            r#"{"choices":[{"delta":{"content":"a\nb"}}]}"#,
            r#"{"choices":[{"text":"c"}]}"#,
        ] {
            read(data, Some(&mut text)).unwrap();
        }
        assert_eq!(text, "Hm. a\nbc");
    }
}
