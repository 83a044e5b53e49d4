//! `POST /v1/audio/speech`: a tone for a text, as bytes or as events.
//!
//! Not here: models that speak.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{begin, paced::PacedBody, streamed, wave};
use crate::{app::App, body::read_fields, error::ApiError};

/// Sound for a character: about that of slow speech.
const CHARACTER: Duration = Duration::from_millis(60);
/// Sound of a piece, and how long it takes to make: four times as fast as it is heard.
const PIECE: Duration = Duration::from_millis(100);
const MAKING: Duration = Duration::from_millis(25);
/// How long the first piece takes besides.
const FIRST: Duration = Duration::from_millis(50);
/// Most characters of a text, as OpenAI has it.
const CHARACTERS_MAX: usize = 4096;

/// The pieces of sound for a text of so many characters, and when each is due.
fn pieces(characters: usize) -> VecDeque<(Duration, Vec<u8>)> {
    let whole = CHARACTER * u32::try_from(characters).unwrap_or(u32::MAX);
    let samples_of =
        |sound: Duration| (sound.as_secs_f64() * f64::from(wave::SAMPLES_PER_S)).round() as u64;
    let (all, each) = (samples_of(whole), samples_of(PIECE));
    let starts = (0..all).step_by(usize::try_from(each).unwrap_or(usize::MAX));
    starts
        .zip(1_u32..)
        .map(|(from, number)| {
            let samples = u32::try_from(each.min(all - from)).unwrap_or(u32::MAX);
            (FIRST + MAKING * number, wave::tone(from, samples))
        })
        .collect()
}

/// Speaks a text.
pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let fields = read_fields(body)?;
    app.check_model(&fields)?;
    let Some(text) = fields.text("input")?.filter(|text| !text.is_empty()) else {
        return Err(ApiError::field("input", "`input` is missing or empty."));
    };
    let characters = text.chars().count();
    if characters > CHARACTERS_MAX {
        return Err(ApiError::field("input", "`input` may have 4096 characters."));
    }
    let is_wav = match fields.text("response_format")?.unwrap_or("wav") {
        "wav" => true,
        "pcm" => false,
        other => {
            let text = format!("`response_format` = {other} is not made here: take wav or pcm.");
            return Err(ApiError::field("response_format", text));
        }
    };
    let in_events = match fields.text("stream_format")?.unwrap_or("audio") {
        "audio" => false,
        "sse" => true,
        _ => return Err(ApiError::field("stream_format", "`stream_format` is audio or sse.")),
    };
    let input_tokens = app.encode(text.to_owned(), false).await?.len();
    let (_, fate, under_way) = begin(&app).await?;
    let mut pieces = pieces(characters);
    let output_tokens = pieces.len();
    if let Some((_, first)) = pieces.front_mut().filter(|_| is_wav) {
        *first = [wave::head(), std::mem::take(first)].concat();
    }
    if !in_events {
        let kind = if is_wav { "audio/wav" } else { "audio/pcm" };
        let bytes = pieces.into_iter().map(|(due, sound)| (due, sound.into())).collect();
        return Ok(streamed(kind, PacedBody::new(bytes, under_way)));
    }
    let last = pieces.back().map_or(FIRST, |(due, _)| *due);
    let event = |data: serde_json::Value| Bytes::from(format!("data: {data}\n\n"));
    let mut events: VecDeque<(Duration, Bytes)> = pieces
        .into_iter()
        .map(|(due, sound)| {
            let audio = STANDARD.encode(sound);
            (due, event(json!({"type": "speech.audio.delta", "audio": audio})))
        })
        .collect();
    let mut done = json!({"type": "speech.audio.done"});
    if fate.tells_usage {
        done["usage"] = json!({
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        });
    }
    events.push_back((last, event(done)));
    Ok(streamed("text/event-stream; charset=utf-8", PacedBody::new(events, under_way)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_long_as_its_characters() {
        let pieces = pieces(5);
        let bytes: Vec<usize> = pieces.iter().map(|(_, sound)| sound.len()).collect();
        assert_eq!(bytes, [4800, 4800, 4800], "300 ms of samples of two bytes");
        let dues: Vec<u128> = pieces.iter().map(|(due, _)| due.as_millis()).collect();
        assert_eq!(dues, [75, 100, 125]);
        assert_eq!(super::pieces(1).iter().map(|(_, sound)| sound.len()).sum::<usize>(), 2880);
    }
}
