//! Triton's generate extension, `POST /v2/models/MODEL/generate_stream` and `…/generate`.
//!
//! Takes texts, under the names that the backends of vLLM and TensorRT-LLM share: `text_input`,
//! `max_tokens`, `temperature`, `stream`, and vLLM's `ignore_eos`. TensorRT-LLM goes on past the
//! end of the text only with an `end_id` that never comes (`--extra-body`).
//!
//! The API has neither an end mark nor a reason why an answer ended, so a stream is complete when
//! the response says by its own framing where it ends, and got there without an error. It counts
//! only if it is asked to, in fields that not every backend knows: with `--extra-body
//! '{"return_num_input_tokens":true,"return_num_output_tokens":true}'` each event says how many
//! tokens it holds. Errors are events with the field `error`.

use super::json::{self, Word};
use super::text::Text;
use super::{
    ChoiceFacts, Choices, ChunkFacts, Dialect, End, Endpoint, Generated, LengthField, Memory,
    Prompts, Usage,
};
use ifm_core::spec::Api;
use serde::Deserialize;

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    names_model: false,
    end: End::Response,
    length: Some(LengthField { within: None, names: &["max_tokens"], default: None }),
    prompts: Prompts::texts("text_input"),
    output_keys: &[b"text_output"],
    ..Dialect::new(
        Api::Triton,
        Endpoint::root("/v2/models/{model}/generate_stream", "/v2/models/{model}/generate"),
        read_event,
        read_answer,
    )
};

fn read_event<'input>(
    data: &'input str,
    memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    if event.error {
        return Ok(json::failure(data));
    }
    let Some(output) = event.text_output else { return Ok(ChunkFacts::default()) };
    if let Some(kept) = text {
        output.append_to(&mut kept.text);
    }
    let has_text = !output.is_empty();
    let held = event.num_output_tokens;
    let sequence = memory.sequence(0);
    sequence.tokens = sequence.tokens.saturating_add(held.unwrap_or(0));
    let has_empty_text = !has_text && held != Some(0);
    let counts = held.is_some() && (has_text || has_empty_text);
    let usage = counts.then_some(Usage {
        prompt_tokens: event.num_input_tokens,
        completion_tokens: Some(sequence.tokens),
        ..Usage::default()
    });
    let choice = ChoiceFacts {
        has_answer: has_text,
        text_bytes: output.bytes(),
        has_empty_text,
        finish_reason: event.finish_reason.and_then(said),
        ..ChoiceFacts::default()
    };
    Ok(ChunkFacts { choices: Choices::one(choice), usage, ..ChunkFacts::default() })
}

/// The shape is that of an event.
fn read_answer<'input>(
    data: &'input str,
    memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let facts = read_event(data, memory, text)?;
    Ok(ChunkFacts { is_end: !facts.choices.is_empty(), ..facts })
}

/// The reason why an answer ended. vLLM's backend writes `None` while it goes on.
fn said(reason: Word<'_>) -> Option<std::borrow::Cow<'_, str>> {
    Some(reason.0).filter(|word| word != "None")
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    text_output: Option<Text<'input>>,
    #[serde(default, deserialize_with = "json::count")]
    num_output_tokens: Option<u32>,
    #[serde(default, deserialize_with = "json::count")]
    num_input_tokens: Option<u32>,
    finish_reason: Option<Word<'input>>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}
