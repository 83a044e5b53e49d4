//! The JSON of OpenAI's chat completions and completions, as many servers speak it.
//!
//! Known variants: `reasoning` and `reasoning_content`, `text` next to `delta`, `usage` in any
//! chunk, `choices` null or absent, error objects with and without the `error` key.

use super::calls;
use super::details::PromptDetails;
use super::json::{self, Presence, Raw, Word};
use super::list::ENTRIES_MAX;
use super::text::{Content, Text};
use super::{
    ChoiceFacts, ChunkFacts, Dialect, End, Endpoint, Generated, LengthField, Memory, ServerTimes,
    Usage,
};
use ifm_core::finish::Ending;
use ifm_core::spec::Api;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Names of the output length.
pub(super) const LENGTH: LengthField =
    LengthField { within: None, names: &["max_tokens", "max_completion_tokens"], default: None };
/// The keys of a string that carries output, or is nested in a value that does.
pub(super) const OUTPUT_KEYS: &[&[u8]] =
    &[b"content", b"text", b"reasoning_content", b"reasoning", b"arguments"];

/// The mark that ends a stream.
pub(super) const DONE: &str = "[DONE]";

/// Whether the payload is the mark that ends a stream.
pub(super) fn is_done(data: &[u8]) -> bool {
    data.trim_ascii() == DONE.as_bytes()
}

/// What both APIs share.
pub(super) const fn usual(api: Api, path: &'static str) -> Dialect {
    Dialect {
        end: End::MarkOrFinish,
        end_mark: Some(DONE),
        more_fields: |spec, fields, _| {
            if spec.stream {
                let options = serde_json::json!({ "include_usage": true });
                fields.insert("stream_options".to_owned(), options);
            }
        },
        length: Some(LENGTH),
        output_keys: OUTPUT_KEYS,
        ..Dialect::new(api, Endpoint::versioned(path), read, read)
    }
}

/// Reads one payload. Generated text is appended to `text`, if given.
///
/// # Errors
/// Why it is not a JSON object of this shape.
pub fn read<'input>(
    data: &'input str,
    _memory: &mut Memory,
    mut text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let chunk: Chunk<'input> = json::parse(data)?;
    let usage = chunk.usage.map(|usage| {
        let usage = Usage::from(usage);
        let usage = chunk.timings.map_or(usage, |timings| timings_beside(timings, usage));
        chunk.metrics.map_or(usage, |metrics| metrics_beside(metrics, usage))
    });
    let mut facts = ChunkFacts { usage, ..ChunkFacts::default() };
    let is_error_object = chunk.object.as_ref().is_some_and(|object| object.0 == "error");
    if chunk.error || is_error_object {
        facts.error = Some(json::error_in(data));
    }
    for choice in chunk.choices.unwrap_or_default().into_iter() {
        match text.as_deref_mut() {
            // A conversation goes on with the first choice.
            Some(text) if choice.index.unwrap_or(0) > 0 => {
                text.add_other_choice(|text| choice.append_text(text));
            }
            Some(text) => choice.append_text(text),
            None => {}
        }
        facts.sound = facts.sound.take().or(choice.sound());
        facts.error = facts.error.or_else(|| choice.failure());
        facts.choices.push(choice.facts());
    }
    Ok(facts)
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Chunk<'input> {
    object: Option<Word<'input>>,
    choices: Option<RawChoices<'input>>,
    usage: Option<RawUsage<'input>>,
    metrics: Option<Raw<'input>>,
    timings: Option<Raw<'input>>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
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
                    while choices.more.len() < ENTRIES_MAX {
                        let Some(choice) = seq.next_element()? else { return Ok(choices) };
                        choices.more.push(choice);
                    }
                    while seq.next_element::<IgnoredAny>()?.is_some() {}
                }
                Ok(choices)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Choice<'input> {
    #[serde(default, deserialize_with = "json::index")]
    index: Option<u16>,
    #[serde(borrow, default, alias = "message")]
    delta: Option<Delta<'input>>,
    text: Option<Text<'input>>,
    finish_reason: Option<Word<'input>>,
    /// The provider's own reason, where a router puts OpenAI's words into the one above.
    native_finish_reason: Option<Word<'input>>,
    /// Why the provider failed, as routers tell it next to its choice.
    error: Option<Raw<'input>>,
    provider_specific_fields: Option<Raw<'input>>,
}

/// What a router keeps of a provider's answer.
#[derive(Deserialize)]
struct OfProvider<'input> {
    #[serde(borrow, default)]
    error: Option<Raw<'input>>,
    #[serde(borrow, default)]
    native_finish_reason: Option<Word<'input>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Delta<'input> {
    role: Option<IgnoredAny>,
    content: Option<Content<'input>>,
    reasoning: Option<Text<'input>>,
    reasoning_content: Option<Text<'input>>,
    refusal: Option<Text<'input>>,
    tool_calls: Option<Raw<'input>>,
    function_call: Option<Presence>,
    audio: Option<Raw<'input>>,
}

/// Sound of an answer, and the text that is spoken.
#[derive(Deserialize)]
struct Audio<'input> {
    #[serde(borrow, default)]
    data: Option<Word<'input>>,
    transcript: Option<Text<'input>>,
}

impl Choice<'_> {
    fn append_text(&self, kept: &mut Generated) {
        if let Some(delta) = &self.delta {
            for part in [&delta.reasoning_content, &delta.reasoning].into_iter().flatten() {
                kept.add_reasoning(*part);
            }
            if let Some(content) = &delta.content {
                content.append_to(&mut kept.text);
            }
            if let Some(text) = self.audio().and_then(|audio| audio.transcript) {
                text.append_to(&mut kept.text);
            }
            if let Some(list) = delta.tool_calls {
                calls::keep(list, kept);
            }
        }
        if let Some(text) = &self.text {
            text.append_to(&mut kept.text);
        }
    }
}

impl<'input> Choice<'input> {
    fn audio(&self) -> Option<Audio<'input>> {
        self.delta.as_ref()?.audio?.object()
    }

    fn sound(&self) -> Option<Cow<'input, str>> {
        self.audio()?.data.map(|data| data.0).filter(|data| !data.is_empty())
    }

    /// What a router says of a provider that failed.
    fn failure(&self) -> Option<String> {
        let of_provider = self.of_provider().and_then(|provider| provider.error);
        let error = [self.error, of_provider].into_iter().flatten().find(|error| error.reports());
        error.map(|error| json::error_in(error.0))
    }

    fn of_provider(&self) -> Option<OfProvider<'input>> {
        self.provider_specific_fields?.object()
    }

    /// Why the choice ended. A router may write "stop" where its provider failed.
    fn reason(&mut self) -> Option<Cow<'input, str>> {
        // Some servers say "" where others say null.
        let reason =
            self.finish_reason.take().map(|word| word.0).filter(|word| !word.is_empty())?;
        let native = self.native_finish_reason.take();
        let native = native.or_else(|| self.of_provider()?.native_finish_reason);
        let failed = native.filter(|word| Ending::from_reason(&word.0) == Ending::Failure);
        Some(failed.map_or(reason, |word| word.0))
    }

    fn facts(mut self) -> ChoiceFacts<'input> {
        let full = |text: &Option<Text<'_>>| text.is_some_and(|text| !text.is_empty());
        let audio = self.audio();
        let mut facts = ChoiceFacts {
            index: self.index.unwrap_or(0),
            has_answer: full(&self.text),
            text_bytes: self.text.map_or(0, Text::bytes),
            finish_reason: self.reason(),
            ..ChoiceFacts::default()
        };
        let mut has_text = self.text.is_some();
        let mut has_role = false;
        if let Some(delta) = &self.delta {
            let content = delta.content.as_ref();
            has_role = delta.role.is_some();
            has_text |=
                content.is_some() || delta.reasoning.is_some() || delta.reasoning_content.is_some();
            let texts = [delta.reasoning, delta.reasoning_content, delta.refusal];
            let spoken = audio.as_ref().and_then(|audio| audio.transcript);
            let texts = texts.into_iter().chain([spoken]).flatten().map(Text::bytes);
            facts.text_bytes = texts.fold(facts.text_bytes, u32::saturating_add)
                + content.map_or(0, Content::bytes)
                + delta.tool_calls.map_or(0, calls::fragment_bytes);
            facts.has_refusal = full(&delta.refusal);
            facts.has_reasoning = full(&delta.reasoning) || full(&delta.reasoning_content);
            facts.has_answer |= content.is_some_and(|content| !content.is_empty())
                || facts.has_refusal
                || delta.tool_calls.is_some_and(Raw::holds)
                || delta.function_call.as_ref().is_some_and(|call| call.0)
                || audio.is_some_and(|audio| audio.data.is_some() || full(&audio.transcript));
        }
        let carries = facts.has_answer || facts.has_reasoning;
        facts.has_empty_text = has_text && !carries && !has_role;
        facts
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct RawUsage<'input> {
    #[serde(default, deserialize_with = "json::count")]
    prompt_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    completion_tokens: Option<u32>,
    prompt_tokens_details: Option<PromptDetails<'input>>,
    completion_tokens_details: Option<CompletionDetails>,
    #[serde(default, deserialize_with = "json::count")]
    reasoning_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "json::count")]
    reasoning_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    accepted_prediction_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    rejected_prediction_tokens: Option<u32>,
}

impl From<RawUsage<'_>> for Usage {
    fn from(raw: RawUsage<'_>) -> Usage {
        let prompt = raw.prompt_tokens_details;
        let completion = raw.completion_tokens_details.as_ref();
        Usage {
            prompt_tokens: raw.prompt_tokens,
            completion_tokens: raw.completion_tokens,
            reasoning_tokens: raw
                .reasoning_tokens
                .or(completion.and_then(|details| details.reasoning_tokens)),
            cached_tokens: prompt.as_ref().and_then(|details| details.cached_tokens),
            prompt_kinds: prompt.map(|details| details.kinds()).unwrap_or_default(),
            accepted_draft_tokens: completion
                .and_then(|details| details.accepted_prediction_tokens),
            rejected_draft_tokens: completion
                .and_then(|details| details.rejected_prediction_tokens),
            ..Usage::default()
        }
    }
}

/// vLLM's own view of a request (`--enable-per-request-metrics`).
#[derive(Deserialize)]
struct Metrics {
    #[serde(default, deserialize_with = "json::ms")]
    queue_time_ms: Option<u64>,
    /// Counted from when it was scheduled, not from its arrival.
    #[serde(default, deserialize_with = "json::ms")]
    time_to_first_token_ms: Option<u64>,
    #[serde(default, deserialize_with = "json::ms")]
    generation_time_ms: Option<u64>,
    speculative_decoding: Option<Speculation>,
}

#[derive(Deserialize)]
struct Speculation {
    #[serde(default, deserialize_with = "json::count")]
    num_spec_steps: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    num_accepted_draft_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    num_draft_tokens: Option<u32>,
}

/// llama.cpp's timings of a request, in its own API and next to the usage of OpenAI's.
#[derive(Deserialize)]
struct Timings {
    #[serde(default, deserialize_with = "json::ms")]
    prompt_ms: Option<u64>,
    #[serde(default, deserialize_with = "json::ms")]
    predicted_ms: Option<u64>,
    #[serde(default, deserialize_with = "json::count")]
    cache_n: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    draft_n: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    draft_n_accepted: Option<u32>,
}

/// The usage with what vLLM measured; what it says itself stays, and metrics of another shape say
/// nothing.
fn metrics_beside(metrics: Raw<'_>, usage: Usage) -> Usage {
    let Some(metrics) = metrics.object::<Metrics>() else { return usage };
    let drafts = metrics.speculative_decoding;
    let accepted = drafts.as_ref().and_then(|drafts| drafts.num_accepted_draft_tokens);
    let drafted = drafts.as_ref().and_then(|drafts| drafts.num_draft_tokens);
    let times = ServerTimes {
        queue_ns: metrics.queue_time_ms,
        first_token_ns: metrics.time_to_first_token_ms,
        decode_ns: metrics.generation_time_ms,
    };
    Usage {
        accepted_draft_tokens: usage.accepted_draft_tokens.or(accepted),
        rejected_draft_tokens: usage.rejected_draft_tokens.or(rejected(drafted, accepted)),
        draft_steps: usage.draft_steps.or(drafts.and_then(|drafts| drafts.num_spec_steps)),
        times: times.or(usage.times),
        ..usage
    }
}

/// The usage with what llama.cpp measured, likewise.
pub(super) fn timings_beside(timings: Raw<'_>, usage: Usage) -> Usage {
    let Some(timings) = timings.object::<Timings>() else { return usage };
    let accepted = timings.draft_n_accepted;
    let rejected = rejected(timings.draft_n, accepted);
    let times = ServerTimes {
        queue_ns: None,
        first_token_ns: timings.prompt_ms,
        decode_ns: timings.predicted_ms,
    };
    Usage {
        cached_tokens: usage.cached_tokens.or(timings.cache_n),
        accepted_draft_tokens: usage.accepted_draft_tokens.or(accepted),
        rejected_draft_tokens: usage.rejected_draft_tokens.or(rejected),
        times: times.or(usage.times),
        ..usage
    }
}

/// Tokens of drafts that were not accepted.
pub(super) fn rejected(drafted: Option<u32>, accepted: Option<u32>) -> Option<u32> {
    drafted.zip(accepted).map(|(drafted, accepted)| drafted.saturating_sub(accepted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(data: &str) -> ChoiceFacts<'_> {
        let facts = read(data, &mut Memory::default(), None).unwrap();
        assert_eq!(facts.choices.len(), 1, "{data}");
        facts.choices.iter().next().unwrap().clone()
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
        assert!(finish.has_empty_text);
        assert_eq!(finish.finish_reason, Some(Cow::Borrowed("stop")));
        let going_on = only(r#"{"choices":[{"text":"","finish_reason":""}]}"#);
        assert!(going_on.has_empty_text && going_on.finish_reason.is_none());
    }

    #[test]
    fn choices_may_be_absent_null_or_many() {
        for data in [r#"{}"#, r#"{"choices":null}"#, r#"{"choices":[]}"#] {
            assert!(read(data, &mut Memory::default(), None).unwrap().choices.is_empty());
        }
        let facts = read(
            r#"{"choices":[{"index":1,"text":"a"},{"index":0,"text":"b"},{"index":2,"text":"c"}]}"#,
            &mut Memory::default(),
            None,
        )
        .unwrap();
        let indexes: Vec<u16> = facts.choices.iter().map(|choice| choice.index).collect();
        assert_eq!(indexes, [1, 0, 2]);
    }

    #[test]
    fn usage_is_taken_with_its_details() {
        let facts = read(r#"{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":4,"accepted_prediction_tokens":2,"rejected_prediction_tokens":1}}}"#, &mut Memory::default(), None).unwrap();
        let expect = Usage {
            prompt_tokens: Some(8),
            completion_tokens: Some(10),
            reasoning_tokens: Some(4),
            cached_tokens: Some(3),
            accepted_draft_tokens: Some(2),
            rejected_draft_tokens: Some(1),
            ..Usage::default()
        };
        assert_eq!(facts.usage, Some(expect));
        assert_eq!(read(r#"{"usage":null}"#, &mut Memory::default(), None).unwrap().usage, None);
        assert_eq!(
            read(r#"{"usage":{"prompt_tokens_details":null}}"#, &mut Memory::default(), None)
                .unwrap()
                .usage,
            Some(Usage::default())
        );
    }

    #[test]
    fn what_the_server_measured_stands_beside_the_usage() {
        let usage = |more: &str| {
            let data = format!(r#"{{"choices":[],"usage":{{"completion_tokens":3}},{more}}}"#);
            read(&data, &mut Memory::default(), None).unwrap().usage.unwrap()
        };
        let vllm = usage(
            r#""metrics":{"time_to_first_token_ms":10.5,"generation_time_ms":20.0,
            "queue_time_ms":0.25,"mean_itl_ms":1.0,"speculative_decoding":{"num_spec_steps":4,
            "num_accepted_draft_tokens":5,"num_draft_tokens":12,"acceptance_histogram":[1]}}"#,
        );
        let times = ServerTimes {
            queue_ns: Some(250_000),
            first_token_ns: Some(10_500_000),
            decode_ns: Some(20_000_000),
        };
        let counts = |usage: &Usage| {
            (usage.draft_steps, usage.accepted_draft_tokens, usage.rejected_draft_tokens)
        };
        assert_eq!((vllm.times, counts(&vllm)), (times, (Some(4), Some(5), Some(7))));
        let llama_cpp = usage(
            r#""timings":{"cache_n":9,"prompt_n":1,"prompt_ms":2.5,"predicted_ms":4.0,
            "draft_n":8,"draft_n_accepted":6}"#,
        );
        let times = ServerTimes {
            queue_ns: None,
            first_token_ns: Some(2_500_000),
            decode_ns: Some(4_000_000),
        };
        assert_eq!((llama_cpp.times, counts(&llama_cpp)), (times, (None, Some(6), Some(2))));
        assert_eq!(llama_cpp.cached_tokens, Some(9));
        for nothing in [
            r#""metrics":null"#,
            r#""metrics":"m","timings":[1]"#,
            r#""metrics":{"queue_time_ms":null}"#,
        ] {
            assert_eq!(usage(nothing).times, ServerTimes::default(), "{nothing}");
        }
    }

    #[test]
    fn errors_of_every_shape_are_found() {
        for (data, message) in [
            (r#"{"error":{"message":"engine died","code":500}}"#, "engine died"),
            (r#"{"error":"engine died"}"#, "engine died"),
            (r#"{"object":"error","message":"engine died","code":400}"#, "engine died"),
            (r#"{"error":{"code":500}}"#, r#"{"code":500}"#),
        ] {
            let facts = read(data, &mut Memory::default(), None).unwrap();
            assert_eq!(facts.error.as_deref(), Some(message), "{data}");
        }
        assert_eq!(
            read(r#"{"error":null,"choices":[]}"#, &mut Memory::default(), None).unwrap().error,
            None
        );
        assert!(
            read("{broken", &mut Memory::default(), None).unwrap_err().contains("malformed JSON")
        );
    }

    #[test]
    fn text_is_joined_when_asked_for() {
        let mut text = Generated::default();
        for data in [
            r#"{"choices":[{"delta":{"reasoning":"Hm. "}}]}"#,
            r#"{"choices":[{"delta":{"content":"a\nb"}}]}"#,
            r#"{"choices":[{"text":"c"}]}"#,
        ] {
            read(data, &mut Memory::default(), Some(&mut text)).unwrap();
        }
        assert_eq!((&*text, text.answer().as_str()), ("Hm. a\nbc", "a\nbc"));
    }
}
