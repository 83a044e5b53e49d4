//! `POST /v1/audio/transcriptions` and `translations`: made-up words for a WAV file, as many as its
//! length asks for, in the form of vLLM.
//!
//! Not here: models that hear.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{begin, form::Form, paced::PacedBody, streamed, wave};
use crate::{app::App, error::ApiError};

/// Tokens of an answer for a second of audio: about those of slow speech.
const TOKENS_PER_S: f64 = 3.0;
/// Prompt tokens for a second of audio, and those besides: as vLLM counts for Whisper.
const PROMPT_TOKENS_PER_S: f64 = 100.0;
const PROMPT_TOKENS: f64 = 4.0;
/// How long a second of audio is listened to before the first token, and the time of each token.
const HEARING_MS_PER_S: f64 = 10.0;
const TOKEN: Duration = Duration::from_millis(5);
/// Largest file, bytes: the limit of OpenAI, and of vLLM unless it is told another.
const FILE_BYTES_MAX: usize = 25 << 20;
/// What is heard, over and over.
const WORDS: [&str; 8] = [" the", " sun", " rises", " in", " the", " east", " every", " morning"];

/// What is heard in a recording.
struct Heard {
    audio: Duration,
    tokens: usize,
}

impl Heard {
    fn of(form: &Form<'_>) -> Result<Self, ApiError> {
        let wrong = |text: &str| Err(ApiError::field("file", text));
        let file = match form.bytes("file") {
            None => return wrong("`file` is missing."),
            Some([]) => return wrong("The audio file is empty."),
            Some(file) if file.len() > FILE_BYTES_MAX => {
                return wrong("Maximum file size exceeded: a file may have 25 MB.");
            }
            Some(file) => file,
        };
        let Some(audio) = wave::length(file) else {
            return wrong("The audio file is no WAV; this server reads no other format.");
        };
        let tokens = (audio.as_secs_f64() * TOKENS_PER_S).ceil() as usize;
        let most = form.text("max_completion_tokens").and_then(|text| text.parse().ok());
        Ok(Self { audio, tokens: most.map_or(tokens, |most: usize| tokens.min(most)) })
    }

    fn word(number: usize) -> &'static str {
        WORDS.get(number % WORDS.len()).copied().unwrap_or_default()
    }

    fn text(&self) -> String {
        (0..self.tokens).map(Self::word).collect::<String>().trim_start().to_owned()
    }

    /// When a token is there, after the beginning.
    fn due(&self, number: usize) -> Duration {
        let hearing_s = self.audio.as_secs_f64() * HEARING_MS_PER_S / 1000.0;
        Duration::from_secs_f64(hearing_s) + TOKEN * u32::try_from(number).unwrap_or(u32::MAX)
    }

    fn prompt_tokens(&self) -> usize {
        (self.audio.as_secs_f64() * PROMPT_TOKENS_PER_S + PROMPT_TOKENS) as usize
    }

    fn usage(&self) -> Value {
        let prompt = self.prompt_tokens();
        json!({
            "prompt_tokens": prompt,
            "total_tokens": prompt + self.tokens,
            "completion_tokens": self.tokens,
        })
    }

    /// The events of a stream, and when each is due.
    fn events(&self, head: &Value, tells_usage: bool) -> VecDeque<(Duration, Bytes)> {
        let event = |choices: Value, usage: Option<Value>| {
            let mut event = head.clone();
            event["choices"] = choices;
            if let Some(usage) = usage {
                event["usage"] = usage;
            }
            format!("data: {event}\n\n")
        };
        let choice = |text: &str, reason: Value| json!([{"index": 0, "delta": {"content": text}, "finish_reason": reason}]);
        let mut events: VecDeque<(Duration, Bytes)> = (0..self.tokens)
            .map(|number| {
                let is_last = number + 1 == self.tokens;
                let reason = if is_last { "stop".into() } else { Value::Null };
                let event = event(choice(Self::word(number), reason), None);
                (self.due(number + 1), event.into())
            })
            .collect();
        let mut end = String::new();
        if self.tokens == 0 {
            end.push_str(&event(choice("", "stop".into()), None));
        }
        if tells_usage {
            end.push_str(&event(json!([]), Some(self.usage())));
        }
        end.push_str("data: [DONE]\n\n");
        events.push_back((self.due(self.tokens), end.into()));
        events
    }
}

/// Answers a recording.
pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::field("file", "Maximum file size exceeded: a file may have 25 MB.")
        }
        status => ApiError::body(status, rejection.body_text()),
    })?;
    let form = Form::parse(&headers, &body)?;
    if let Some(name) = form.text("model").filter(|name| *name != app.model_name) {
        return Err(ApiError::unknown_model(&name));
    }
    let heard = Heard::of(&form)?;
    let (identity, fate, under_way) = begin(&app).await?;
    let mut under_way = under_way.with_tokens(heard.prompt_tokens(), heard.tokens);
    if form.flag("stream") {
        let head = json!({
            "id": format!("trsc-{:x}-{}", identity.created_s, identity.number),
            "object": "transcription.chunk",
            "created": identity.created_s,
            "model": identity.model,
        });
        let tells_usage = form.flag("stream_include_usage") && fate.tells_usage;
        let events = heard.events(&head, tells_usage);
        return Ok(streamed("text/event-stream; charset=utf-8", PacedBody::new(events, under_way)));
    }
    sleep(heard.due(heard.tokens)).await;
    under_way.end();
    let seconds = heard.audio.as_secs_f64();
    let mut answer = json!({"text": heard.text()});
    if fate.tells_usage {
        answer["usage"] = json!({"type": "duration", "seconds": seconds.ceil() as u64});
    }
    if form.text("response_format").as_deref() == Some("verbose_json") {
        answer["task"] = "transcribe".into();
        answer["language"] = form.text("language").unwrap_or_else(|| "en".to_owned()).into();
        answer["duration"] = seconds.into();
        let segment = json!({"id": 0, "start": 0.0, "end": seconds, "text": heard.text()});
        answer["segments"] = json!([segment]);
    }
    Ok(Json(answer).into_response())
}
