//! The JSON of OpenAI's chat completions and completions, as many servers speak it.
//!
//! Known variants: `reasoning` and `reasoning_content`, `text` beside `delta`, `usage` in any
//! chunk, `choices` null or absent, error objects with and without the `error` key.

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
    data: &'input [u8],
    mut text: Option<&mut String>,
) -> Result<ChunkFacts<'input>, String> {
    let chunk: Chunk<'input> = serde_json::from_slice(data).map_err(|error| {
        let start = bounded_sentence(&String::from_utf8_lossy(&data[..data.len().min(80)]));
        format!("malformed JSON from the server ({error}): {start}")
    })?;
    let mut facts = ChunkFacts { usage: chunk.usage.map(Usage::from), ..ChunkFacts::default() };
    let is_error_object = chunk.object.as_ref().is_some_and(|object| object.0 == "error");
    if chunk.error.as_ref().is_some_and(|error| !error.is_null()) || is_error_object {
        let value: Value = serde_json::from_slice(data).unwrap_or(Value::Null);
        facts.error = Some(error_message(&value));
        return Ok(facts);
    }
    for choice in chunk.choices.unwrap_or_default().0 {
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

/// A JSON string, borrowed from the input unless it holds escapes. (Serde borrows a `Cow` only
/// where it is a field by itself, not within an `Option`.)
#[derive(Deserialize)]
struct Text<'input>(#[serde(borrow)] Cow<'input, str>);

#[derive(Deserialize)]
struct Chunk<'input> {
    #[serde(borrow, default)]
    object: Option<Text<'input>>,
    #[serde(borrow, default)]
    choices: Option<RawChoices<'input>>,
    #[serde(default)]
    usage: Option<RawUsage>,
    #[serde(default)]
    error: Option<Value>,
}

/// The list of choices; one choice needs no allocation.
#[derive(Default)]
struct RawChoices<'input>(ChoiceList<'input>);

#[derive(Default)]
enum ChoiceList<'input> {
    #[default]
    None,
    One(Choice<'input>),
    Many(std::vec::IntoIter<Choice<'input>>),
}

impl<'input> Iterator for ChoiceList<'input> {
    type Item = Choice<'input>;

    fn next(&mut self) -> Option<Choice<'input>> {
        match self {
            ChoiceList::Many(choices) => choices.next(),
            other => match std::mem::take(other) {
                ChoiceList::One(choice) => Some(choice),
                _ => None,
            },
        }
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
                let Some(first) = seq.next_element::<Choice<'de>>()? else {
                    return Ok(RawChoices(ChoiceList::None));
                };
                let Some(second) = seq.next_element::<Choice<'de>>()? else {
                    return Ok(RawChoices(ChoiceList::One(first)));
                };
                let mut choices = vec![first, second];
                while let Some(choice) = seq.next_element()? {
                    choices.push(choice);
                }
                Ok(RawChoices(ChoiceList::Many(choices.into_iter())))
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
    finish_reason: Option<Text<'input>>,
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
                out.push_str(&part.0);
            }
            if let Some(Content(Some(content))) = &delta.content {
                out.push_str(content);
            }
        }
        if let Some(text) = &self.text {
            out.push_str(&text.0);
        }
    }
}

impl<'input> Choice<'input> {
    fn facts(self) -> ChoiceFacts<'input> {
        let full = |text: &Option<Text<'_>>| text.as_ref().is_some_and(|text| !text.0.is_empty());
        let mut facts = ChoiceFacts {
            index: self.index.unwrap_or(0),
            has_answer: full(&self.text),
            finish_reason: self.finish_reason.map(|reason| reason.0),
            ..ChoiceFacts::default()
        };
        let mut has_text = self.text.is_some();
        let mut has_role = false;
        if let Some(delta) = &self.delta {
            let content = delta.content.as_ref().and_then(|content| content.0.as_ref());
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

/// `content`: a string, null, or a list of parts of which each text counts.
struct Content<'input>(Option<Cow<'input, str>>);

impl<'de: 'input, 'input> Deserialize<'de> for Content<'input> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;
        #[derive(Deserialize)]
        struct Part<'part> {
            #[serde(borrow, default)]
            text: Option<Text<'part>>,
        }
        impl<'de> Visitor<'de> for Parts {
            type Value = Content<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text, or a list of parts")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content(Some(Cow::Owned(text.to_owned()))))
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Content(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut joined = String::new();
                while let Some(part) = seq.next_element::<Part<'_>>()? {
                    joined.push_str(part.text.as_ref().map_or("", |text| &text.0));
                }
                Ok(Content(Some(Cow::Owned(joined))))
            }
        }
        deserializer.deserialize_any(Parts)
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
        let facts = read(data.as_bytes(), None).unwrap();
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
    }

    #[test]
    fn choices_may_be_absent_null_or_many() {
        for data in [r#"{}"#, r#"{"choices":null}"#, r#"{"choices":[]}"#] {
            assert!(read(data.as_bytes(), None).unwrap().choices.is_empty());
        }
        let facts = read(br#"{"choices":[{"index":1,"text":"a"},{"index":0,"text":"b"},{"index":2,"text":"c"}]}"#, None).unwrap();
        let indexes: Vec<u16> = facts.choices.iter().map(|choice| choice.index).collect();
        assert_eq!(indexes, [1, 0, 2]);
    }

    #[test]
    fn usage_is_taken_with_its_details() {
        let facts = read(br#"{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":4,"accepted_prediction_tokens":2,"rejected_prediction_tokens":1}}}"#, None).unwrap();
        let expect = Usage {
            prompt_tokens: Some(8),
            completion_tokens: Some(10),
            reasoning_tokens: Some(4),
            cached_tokens: Some(3),
            accepted_draft_tokens: Some(2),
            rejected_draft_tokens: Some(1),
        };
        assert_eq!(facts.usage, Some(expect));
        assert_eq!(read(br#"{"usage":null}"#, None).unwrap().usage, None);
        assert_eq!(
            read(br#"{"usage":{"prompt_tokens_details":null}}"#, None).unwrap().usage,
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
            let facts = read(data.as_bytes(), None).unwrap();
            assert_eq!(facts.error.as_deref(), Some(message), "{data}");
        }
        assert_eq!(read(br#"{"error":null,"choices":[]}"#, None).unwrap().error, None);
        assert!(read(b"{broken", None).unwrap_err().contains("malformed JSON"));
    }

    #[test]
    fn text_is_joined_when_asked_for() {
        let mut text = String::new();
        for data in [
            r#"{"choices":[{"delta":{"reasoning":"Hm. "}}]}"#,
            r#"{"choices":[{"delta":{"content":"a\nb"}}]}"#,
            r#"{"choices":[{"text":"c"}]}"#,
        ] {
            read(data.as_bytes(), Some(&mut text)).unwrap();
        }
        assert_eq!(text, "Hm. a\nbc");
    }
}
