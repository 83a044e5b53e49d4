//! The bytes of answers: one event for each token, and whole answers.
//!
//! What is the same in every event of a request is written once, so that an event
//! costs little more than its text.
//!
//! Not here: when events are sent (`stream`).

use std::fmt;

use serde_json::{Value, json};

use crate::{event::Finish, params::StreamParams};

/// Which form an answer has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Api {
    Chat,
    Completions,
    /// That of another API than OpenAI's first two.
    Foreign(&'static dyn Foreign),
}

/// How another API writes its answers.
pub(crate) trait Foreign: fmt::Debug + Sync {
    fn id_prefix(&self) -> &'static str;

    /// Whether a stream is one JSON object to a line; events otherwise.
    fn has_lines(&self) -> bool;

    /// A stream of an answer; with counts of tokens, if they are to be told.
    fn stream(
        &'static self,
        identity: &Identity,
        prompt_tokens: usize,
        has_usage: bool,
    ) -> Box<dyn Frames>;

    /// A whole answer.
    fn whole(&self, identity: &Identity, text: &str, finish: &Finish, has_usage: bool) -> Value;

    /// The event of an error inside a stream, and its end.
    fn write_error(&self, out: &mut Vec<u8>, error: &Value);
}

/// The bytes of a stream of an answer.
pub(crate) trait Frames: fmt::Debug + Send {
    /// What stands before the first token.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// The event that brings the answer to so many `tokens`, and whether they are the last.
    fn token(&mut self, out: &mut Vec<u8>, text: &str, tokens: usize, finish: Option<&Finish>);

    /// What follows the last token, with the times of the request where they are to be told.
    fn end(&mut self, out: &mut Vec<u8>, finish: &Finish, timing: Option<Value>);

    /// The event of an error, and the end of the stream.
    fn error(&self, out: &mut Vec<u8>, error: &Value);
}

impl Api {
    fn object(self, is_stream: bool) -> &'static str {
        match (self, is_stream) {
            (Self::Chat, true) => "chat.completion.chunk",
            (Self::Chat, false) => "chat.completion",
            (Self::Completions | Self::Foreign(_), _) => "text_completion",
        }
    }

    pub(crate) fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat => "chatcmpl-",
            Self::Completions => "cmpl-",
            Self::Foreign(dialect) => dialect.id_prefix(),
        }
    }

    /// Whether a stream is one JSON object to a line; events otherwise.
    pub(crate) fn has_lines(self) -> bool {
        matches!(self, Self::Foreign(dialect) if dialect.has_lines())
    }

    /// The event of an error inside a stream, and its end.
    pub(crate) fn write_error(self, out: &mut Vec<u8>, error: &Value) {
        match self {
            Self::Foreign(dialect) => dialect.write_error(out, error),
            Self::Chat | Self::Completions => write_error(out, error),
        }
    }
}

/// What names an answer.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) api: Api,
    pub(crate) id: String,
    /// Requests that came before it.
    pub(crate) number: u64,
    /// Seconds since 1970.
    pub(crate) created_s: u64,
    pub(crate) model: String,
    /// Tokens of the prompt's media by kind, if it has any.
    pub(crate) media: Option<Value>,
}

impl Identity {
    /// A whole answer; the usage and the times of the request where they are to be told.
    pub(crate) fn answer(
        &self,
        text: &str,
        finish: &Finish,
        has_usage: bool,
        timing: Option<Value>,
    ) -> Value {
        let reason = finish.reason.as_str();
        let choice = match self.api {
            Api::Foreign(dialect) => return dialect.whole(self, text, finish, has_usage),
            Api::Chat => json!({
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": null},
                "logprobs": null,
                "finish_reason": reason,
            }),
            Api::Completions => json!({
                "index": 0,
                "text": text,
                "logprobs": null,
                "finish_reason": reason,
            }),
        };
        let mut answer = json!({
            "id": self.id,
            "object": self.api.object(false),
            "created": self.created_s,
            "model": self.model,
            "choices": [choice],
        });
        if has_usage {
            answer["usage"] = usage(finish, self.media.as_ref());
        }
        if let Some(timing) = timing {
            answer["metrics"] = timing;
        }
        answer
    }
}

/// The usage of an answer that has ended, with the tokens of its prompt's media.
fn usage(finish: &Finish, media: Option<&Value>) -> Value {
    let mut usage = json!({
        "prompt_tokens": finish.prompt_tokens,
        "total_tokens": finish.prompt_tokens + finish.completion_tokens,
        "completion_tokens": finish.completion_tokens,
    });
    if let Some(cached_tokens) = finish.cached_tokens {
        usage["prompt_tokens_details"]["cached_tokens"] = cached_tokens.into();
    }
    if let Some(tokens) = media {
        usage["prompt_tokens_details"]["multimodal_tokens"] = tokens.clone();
    }
    usage
}

/// What writes the stream of an answer, with counts of tokens unless `params` says otherwise.
pub(crate) fn frames(
    identity: &Identity,
    params: StreamParams,
    prompt_tokens: usize,
    has_usage: bool,
) -> Box<dyn Frames> {
    let params = if has_usage { params } else { params.without_usage() };
    match identity.api {
        Api::Foreign(dialect) => dialect.stream(identity, prompt_tokens, has_usage),
        Api::Chat | Api::Completions => Box::new(EventWriter::new(identity, params, prompt_tokens)),
    }
}

/// Writes the events of a chat or a completion.
#[derive(Debug)]
struct EventWriter {
    is_chat: bool,
    params: StreamParams,
    /// From `data: ` to the list of choices, which it opens.
    head: String,
    prompt_tokens: usize,
    media: Option<Value>,
}

impl EventWriter {
    fn new(identity: &Identity, params: StreamParams, prompt_tokens: usize) -> Self {
        let Identity { api, id, created_s, model, media, .. } = identity;
        let head = format!(
            "data: {{\"id\":{},\"object\":\"{}\",\"created\":{created_s},\"model\":{},\"choices\":[",
            Value::from(id.as_str()),
            api.object(true),
            Value::from(model.as_str()),
        );
        let (is_chat, media) = (matches!(api, Api::Chat), media.clone());
        Self { is_chat, params, head, prompt_tokens, media }
    }
}

impl Frames for EventWriter {
    /// The first event of a chat, which has the role and no text.
    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.is_chat {
            self.open(out);
            out.extend_from_slice(
                b"{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\
                  \"logprobs\":null,\"finish_reason\":null}",
            );
            self.close(out, 0);
        }
    }

    /// A completion says with its last token why it ended, a chat in an event of its own.
    fn token(&mut self, out: &mut Vec<u8>, text: &str, tokens: usize, finish: Option<&Finish>) {
        self.open(out);
        let (before, after) = match self.is_chat {
            true => ("{\"index\":0,\"delta\":{\"content\":", "},\"logprobs\":null,"),
            false => ("{\"index\":0,\"text\":", ",\"logprobs\":null,"),
        };
        out.extend_from_slice(before.as_bytes());
        write_string(out, text);
        out.extend_from_slice(after.as_bytes());
        match finish.filter(|_| !self.is_chat) {
            Some(finish) => write_reason(out, finish),
            None => out.extend_from_slice(b"\"finish_reason\":null}"),
        }
        self.close(out, tokens);
    }

    /// The end of a chat, the usage with the times of the request, the end of the stream.
    fn end(&mut self, out: &mut Vec<u8>, finish: &Finish, timing: Option<Value>) {
        if self.is_chat {
            self.open(out);
            out.extend_from_slice(b"{\"index\":0,\"delta\":{},\"logprobs\":null,");
            write_reason(out, finish);
            self.close(out, finish.completion_tokens);
        }
        if self.params.include_usage {
            self.open(out);
            out.extend_from_slice(
                format!("],\"usage\":{}", usage(finish, self.media.as_ref())).as_bytes(),
            );
            if let Some(timing) = timing {
                out.extend_from_slice(format!(",\"metrics\":{timing}").as_bytes());
            }
            out.extend_from_slice(b"}\n\n");
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn error(&self, out: &mut Vec<u8>, error: &Value) {
        write_error(out, error);
    }
}

impl EventWriter {
    fn open(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.head.as_bytes());
    }

    fn close(&self, out: &mut Vec<u8>, tokens: usize) {
        out.push(b']');
        if self.params.continuous_usage {
            self.write_usage(out, tokens);
        } else if self.params.include_usage {
            out.extend_from_slice(b",\"usage\":null");
        }
        out.extend_from_slice(b"}\n\n");
    }

    fn write_usage(&self, out: &mut Vec<u8>, tokens: usize) {
        let total = self.prompt_tokens + tokens;
        let prompt = self.prompt_tokens;
        out.extend_from_slice(
            format!(
                ",\"usage\":{{\"prompt_tokens\":{prompt},\"total_tokens\":{total},\
                 \"completion_tokens\":{tokens}}}"
            )
            .as_bytes(),
        );
    }
}

/// The event of an error inside a stream, and its end.
pub(crate) fn write_error(out: &mut Vec<u8>, error: &Value) {
    out.extend_from_slice(format!("data: {error}\n\ndata: [DONE]\n\n").as_bytes());
}

fn write_reason(out: &mut Vec<u8>, finish: &Finish) {
    out.extend_from_slice(b"\"finish_reason\":\"");
    out.extend_from_slice(finish.reason.as_str().as_bytes());
    out.extend_from_slice(b"\"}");
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    // Text is always valid JSON, and a vector takes all of it.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use ifm_engine::FinishReason;

    use super::*;

    const FINISH: Finish = Finish {
        reason: FinishReason::Length,
        prompt_tokens: 5,
        completion_tokens: 2,
        cached_tokens: Some(4),
        times: None,
    };

    fn events(api: Api, params: StreamParams) -> Vec<Value> {
        let (id, model) = ("x-1".to_owned(), "a \"model\"".to_owned());
        let identity = Identity { api, id, number: 1, created_s: 7, model, media: None };
        let mut writer = EventWriter::new(&identity, params, 5);
        let mut out = Vec::new();
        writer.begin(&mut out);
        writer.token(&mut out, "a\n\u{2028}\"é", 1, None);
        writer.token(&mut out, "", 2, Some(&FINISH));
        writer.end(&mut out, &FINISH, Some(json!({"queue_time_ms": 1.5})));
        let text = String::from_utf8(out).expect("text");
        let text = text.strip_suffix("data: [DONE]\n\n").expect("the end");
        text.split_terminator("\n\n")
            .map(|event| event.strip_prefix("data: ").expect("an event"))
            .map(|data| serde_json::from_str(data).expect("valid JSON"))
            .collect()
    }

    #[test]
    fn a_chat_has_a_role_its_tokens_an_end_and_the_usage() {
        let params = StreamParams { include_usage: true, continuous_usage: false };
        let events = events(Api::Chat, params);
        assert_eq!(events.len(), 5);
        assert_eq!(events[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
        assert_eq!(events[1]["choices"][0]["delta"], json!({"content": "a\n\u{2028}\"é"}));
        assert_eq!(events[2]["choices"][0]["finish_reason"], Value::Null);
        assert_eq!(events[3]["choices"][0]["delta"], json!({}));
        assert_eq!(events[3]["choices"][0]["finish_reason"], "length");
        assert_eq!(events[3]["usage"], Value::Null);
        assert_eq!(events[4]["choices"], json!([]));
        let usage = json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 4}});
        assert_eq!(events[4]["usage"], usage);
        assert_eq!(events[4]["metrics"], json!({"queue_time_ms": 1.5}));
        assert!(events[3]["metrics"].is_null());
        assert_eq!(events[4]["object"], "chat.completion.chunk");
        assert_eq!(events[4]["model"], "a \"model\"");
    }

    #[test]
    fn a_completion_ends_with_its_last_token() {
        let params = StreamParams { include_usage: false, continuous_usage: true };
        let events = events(Api::Completions, params);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["choices"][0]["text"], "a\n\u{2028}\"é");
        assert_eq!(events[0]["usage"]["completion_tokens"], 1);
        assert_eq!(events[1]["choices"][0]["finish_reason"], "length");
        assert_eq!(events[1]["usage"]["total_tokens"], 7);
    }
}
