//! Text to sound, `POST /v1/audio/speech`.
//!
//! The answer is sound, byte by byte as it is generated. It is complete when the response ends as
//! framed (by chunks or a length). With `"stream_format": "sse"` it is events, `speech.audio.delta`
//! with sound in base64, complete with `speech.audio.done`. The default format is `wav`, whose
//! header defines how to play it. The default voice is `alloy`, which OpenAI has and other servers
//! accept as a name. Only `speech.audio.done` reports token counts.

use super::json::{self, Word};
use super::transcriptions::RawUsage;
use super::{ChunkFacts, Dialect, Endpoint, Framing, Generated, Memory, Prompts, Usage, openai};
use ifm_core::spec::Api;
use serde::Deserialize;

/// The voice that is asked for unless the user names one: the API insists on one.
const VOICE: &str = "alloy";
/// The format likewise.
const FORMAT: &str = "wav";

/// The dialect.
pub(super) static DIALECT: Dialect = Dialect {
    framing: Framing::Bytes,
    end_mark: Some(openai::DONE),
    can_ignore_eos: false,
    prompts: Prompts::texts("input"),
    more_fields: |_, fields, _| {
        fields.insert("voice".to_owned(), VOICE.into());
        fields.insert("response_format".to_owned(), FORMAT.into());
    },
    ..Dialect::new(Api::Speech, Endpoint::versioned("/audio/speech"), read_event, read_answer)
};

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'input"))]
struct Event<'input> {
    #[serde(rename = "type")]
    kind: Option<Word<'input>>,
    audio: Option<Word<'input>>,
    /// As some servers call it.
    delta: Option<Word<'input>>,
    #[serde(borrow)]
    usage: Option<RawUsage<'input>>,
    #[serde(default, deserialize_with = "json::reports")]
    error: bool,
}

fn read_event<'input>(
    data: &'input str,
    _memory: &mut Memory,
    _text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let event: Event<'input> = json::parse(data)?;
    let kind = event.kind.as_ref().map_or("", |kind| kind.0.as_ref());
    if event.error || kind == "error" {
        return Ok(json::failure(data));
    }
    let (is_delta, is_end) = (kind == "speech.audio.delta", kind == "speech.audio.done");
    let sound = event.audio.or(event.delta).filter(|_| is_delta).map(|sound| sound.0);
    let usage = event.usage.map(Usage::from);
    Ok(ChunkFacts { sound, usage, is_end, ..ChunkFacts::default() })
}

/// A body that is JSON is no sound: an error, or nothing of this API.
fn read_answer<'input>(
    data: &'input str,
    memory: &mut Memory,
    text: Option<&mut Generated>,
) -> Result<ChunkFacts<'input>, String> {
    let facts = read_event(data, memory, text)?;
    Ok(ChunkFacts { sound: None, ..facts })
}
