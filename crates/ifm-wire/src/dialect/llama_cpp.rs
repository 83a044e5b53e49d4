//! llama.cpp's own API, `POST /completion`.
//!
//! Takes texts and token ids. Each event counts the tokens so far (`tokens_predicted`; older
//! servers count only at the end). There is no end mark beside the events: a stream is complete
//! when every sequence that was seen said `"stop": true`. Errors are events with the field `error`.

use super::body::{put_field, refusal};
use super::json::{self, Word};
use super::text::Text;
use super::{
    Base, ChoiceFacts, Choices, ChunkFacts, Dialect, Endpoint, Generated, LengthField, Memory,
    Usage,
};
use crate::ask::{Ask, RequestError, TemplateSpec};
use ifm_core::Prompt;
use ifm_core::spec::Api;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

/// The dialect.
#[derive(Debug)]
pub(super) struct LlamaCpp;

impl Dialect for LlamaCpp {
    fn api(&self) -> Api {
        Api::LlamaCpp
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint { base: Base::Root, stream: Some("/completion"), whole: "/completion" }
    }

    fn fixed_fields(&self, spec: &TemplateSpec<'_>) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("model".to_owned(), spec.model.into());
        fields.insert("stream".to_owned(), spec.stream.into());
        if spec.ignore_eos {
            fields.insert("ignore_eos".to_owned(), true.into());
        }
        if let Some(temperature) = spec.temperature {
            fields.insert("temperature".to_owned(), json!(temperature));
        }
        fields
    }

    fn length_field(&self) -> Option<LengthField> {
        let names = &["n_predict", "max_tokens"];
        Some(LengthField { within: None, names, default: None })
    }

    fn prompt_fields(&self) -> &'static [&'static str] {
        &["prompt"]
    }

    fn write_prompt(&self, ask: &Ask<'_>, out: &mut Vec<u8>) -> Result<Option<u32>, RequestError> {
        match ask.prompt {
            Prompt::Text(text) => put_field("prompt", text, out),
            Prompt::Tokens(ids) => put_field("prompt", ids, out),
            Prompt::Messages(_) => return Err(refusal(self, ask, "texts and token ids")),
        }
        Ok(None)
    }

    /// Of older servers, whose events do not count.
    fn output_keys(&self) -> &'static [&'static [u8]] {
        &[b"content"]
    }

    fn read_event<'input>(
        &self,
        data: &'input str,
        memory: &mut Memory,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        let event: Event<'input> = json::parse(data)?;
        if event.error.is_some() {
            return Ok(ChunkFacts { error: Some(json::error_in(data)), ..ChunkFacts::default() });
        }
        if let (Some(kept), Some(text)) = (text, event.content) {
            text.append_to(&mut kept.text);
        }
        let index = event.index.unwrap_or(0);
        let has_stopped = event.stop.unwrap_or(false);
        let has_text = event.content.is_some_and(|text| !text.is_empty());
        let sequence = memory.sequence(index);
        let has_grown = match event.tokens_predicted {
            Some(tokens) => tokens > sequence.tokens,
            None => event.content.is_some(),
        };
        sequence.tokens = sequence.tokens.max(event.tokens_predicted.unwrap_or(0));
        sequence.has_ended |= has_stopped;
        let is_end = has_stopped && memory.has_ended();
        if !has_text && !has_grown && !has_stopped {
            return Ok(ChunkFacts::default()); // How far the prompt is, for example.
        }
        let usage = event.usage();
        let choice = ChoiceFacts {
            index,
            has_answer: has_text,
            has_empty_text: !has_text && (has_grown || !has_stopped),
            finish_reason: event.stop_type.map(|word| word.0).filter(|_| has_stopped),
            ..ChoiceFacts::default()
        };
        Ok(ChunkFacts { choices: Choices::one(choice), usage, is_end, ..ChunkFacts::default() })
    }

    fn read_answer<'input>(
        &self,
        data: &'input str,
        text: Option<&mut Generated>,
    ) -> Result<ChunkFacts<'input>, String> {
        let answer: Event<'input> = json::parse(data)?;
        if answer.error.is_some() {
            return Ok(ChunkFacts { error: Some(json::error_in(data)), ..ChunkFacts::default() });
        }
        if answer.stop != Some(true) {
            return Ok(ChunkFacts::default());
        }
        if let (Some(kept), Some(text)) = (text, answer.content) {
            text.append_to(&mut kept.text);
        }
        let usage = answer.usage();
        let finish_reason = answer.stop_type.map(|word| word.0);
        let choice = ChoiceFacts { finish_reason, ..ChoiceFacts::default() };
        let choices = Choices::one(choice);
        Ok(ChunkFacts { choices, usage, is_end: true, ..ChunkFacts::default() })
    }
}

#[derive(Deserialize)]
struct Event<'input> {
    #[serde(default, deserialize_with = "json::index")]
    index: Option<u16>,
    #[serde(borrow, default)]
    content: Option<Text<'input>>,
    #[serde(default)]
    stop: Option<bool>,
    #[serde(borrow, default)]
    stop_type: Option<Word<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    tokens_predicted: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    tokens_evaluated: Option<u32>,
    #[serde(default)]
    timings: Option<Timings>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Timings {
    #[serde(default, deserialize_with = "json::count")]
    cache_n: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    draft_n: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    draft_n_accepted: Option<u32>,
}

impl Event<'_> {
    /// What the server counted, if it did.
    fn usage(&self) -> Option<Usage> {
        let timings = self.timings.as_ref();
        let accepted = timings.and_then(|timings| timings.draft_n_accepted);
        let drafted = timings.and_then(|timings| timings.draft_n);
        self.tokens_predicted.map(|tokens| Usage {
            prompt_tokens: self.tokens_evaluated,
            completion_tokens: Some(tokens),
            cached_tokens: timings.and_then(|timings| timings.cache_n),
            accepted_draft_tokens: accepted,
            rejected_draft_tokens: drafted.zip(accepted).map(|(n, of)| n.saturating_sub(of)),
            ..Usage::default()
        })
    }
}
