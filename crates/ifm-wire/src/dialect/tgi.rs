//! Text Generation Inference's own API, `POST /generate_stream` and `POST /generate`.
//!
//! Takes texts. Each event holds one token, so events are counts; the last one also counts all of
//! them, if details are asked for, which is done. There is no end mark: a stream is complete with
//! the event that holds the whole text (`generated_text`). Errors are events with the field
//! `error`. The API samples unless told otherwise and refuses a temperature of zero, which is sent
//! as no temperature; it has no word for going on past the end of the text.

use super::json::{self, Word};
use super::list::List;
use super::text::Text;
use super::{
    ChoiceFacts, Choices, ChunkFacts, Dialect, Endpoint, Generated, LengthField, Memory, Prompts,
    Usage,
};
use crate::ask::TemplateSpec;
use ifm_core::spec::Api;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    names_model: false,
    can_ignore_eos: false,
    more_fields,
    length: Some(LengthField {
        within: Some("parameters"),
        names: &["max_new_tokens"],
        default: None,
    }),
    prompts: Prompts::texts("inputs"),
    form: Some(super::forms::tgi),
    ..Dialect::new(
        Api::Tgi,
        Endpoint::root("/generate_stream", "/generate"),
        read_event,
        read_answer,
    )
};

fn more_fields(
    spec: &TemplateSpec<'_>,
    fields: &mut Map<String, Value>,
    options: &mut Map<String, Value>,
) {
    fields.remove("stream");
    options.insert("details".to_owned(), true.into());
    if let Some(temperature) = spec.temperature {
        let samples = temperature > 0.0;
        options.insert("do_sample".to_owned(), samples.into());
        if !samples {
            options.remove("temperature");
        }
    }
}

fn read_event<'input>(
    data: &'input str,
    memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    if event.error {
        return Ok(json::failure(data));
    }
    let is_end = event.generated_text.is_some() || event.details.is_some();
    if event.token.is_none() && !is_end {
        return Ok(ChunkFacts::default());
    }
    let mut choice = ChoiceFacts::default();
    let sequence = memory.sequence(0);
    if let Some(token) = &event.token {
        sequence.tokens = sequence.tokens.saturating_add(1);
        let is_shown = !token.special.unwrap_or(false);
        let has_text = is_shown && token.text.is_some_and(|text| !text.is_empty());
        choice.has_answer = has_text;
        choice.text_bytes = token.text.filter(|_| is_shown).map_or(0, Text::bytes);
        choice.has_empty_text = !has_text;
        if let (Some(kept), Some(text), true) = (text, token.text, is_shown) {
            text.append_to(&mut kept.text);
        }
    }
    let mut usage = Usage { completion_tokens: Some(sequence.tokens), ..Usage::default() };
    if let Some(details) = event.details {
        usage.completion_tokens = details.generated_tokens.or(usage.completion_tokens);
        usage.prompt_tokens = details.input_length;
        choice.finish_reason = details.finish_reason.map(|reason| reason.0);
    }
    let usage = Some(usage).filter(|_| is_end || event.token.is_some());
    Ok(ChunkFacts { choices: Choices::one(choice), usage, is_end, ..ChunkFacts::default() })
}

/// One answer, or a list of one, as some servers of the API send it.
fn read_answer<'input>(
    data: &'input str,
    _memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let answer: Option<Event<'input>> = match data.starts_with('[') {
        true => json::parse::<List<Event<'input>, 1>>(data)?.into_iter().next(),
        false => Some(json::parse(data)?),
    };
    let Some(answer) = answer else { return Ok(ChunkFacts::default()) };
    if answer.error {
        return Ok(json::failure(data));
    }
    let Some(generated) = answer.generated_text else { return Ok(ChunkFacts::default()) };
    if let Some(kept) = text {
        generated.append_to(&mut kept.text);
    }
    let mut facts = ChunkFacts { is_end: true, ..ChunkFacts::default() };
    let mut choice = ChoiceFacts::default();
    if let Some(details) = answer.details {
        choice.finish_reason = details.finish_reason.map(|reason| reason.0);
        facts.usage = Some(Usage {
            completion_tokens: details.generated_tokens,
            prompt_tokens: details.input_length,
            ..Usage::default()
        });
    }
    facts.choices.push(choice);
    Ok(facts)
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    token: Option<Token<'input>>,
    generated_text: Option<Text<'input>>,
    details: Option<Details<'input>>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

#[derive(Deserialize)]
struct Token<'input> {
    #[serde(borrow, default)]
    text: Option<Text<'input>>,
    special: Option<bool>,
}

#[derive(Deserialize)]
struct Details<'input> {
    #[serde(borrow, default)]
    finish_reason: Option<Word<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    generated_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    input_length: Option<u32>,
}
