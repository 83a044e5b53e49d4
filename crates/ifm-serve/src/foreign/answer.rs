//! Answers in the words of other APIs.

use serde_json::{Value, json};

use super::{Dialect, Said, Stream, request};
use crate::event::Finish;

/// OpenAI's Responses.
pub(super) static RESPONSES: Dialect = Dialect {
    path: "/v1/responses",
    id_prefix: "resp_",
    has_lines: false,
    read: request::responses,
    begin: |stream, out| {
        let response = response(&stream.said(), None);
        stream.numbered(out, "response.created", json!({"response": response}));
        let message = message(&stream.said(), "in_progress", false);
        stream.numbered(
            out,
            "response.output_item.added",
            json!({"output_index": 0, "item": message}),
        );
        let part = json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
        stream.of_text(out, "response.content_part.added", json!({"part": part}));
    },
    token: |stream, out, text, _| {
        stream.of_text(out, "response.output_text.delta", json!({"delta": text, "logprobs": []}));
    },
    end: |stream, out, finish| {
        let text = stream.text.clone();
        stream.of_text(out, "response.output_text.done", json!({"text": text, "logprobs": []}));
        let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
        stream.of_text(out, "response.content_part.done", json!({"part": part}));
        let message = message(&stream.said(), status(finish), true);
        let done = json!({"output_index": 0, "item": message});
        stream.numbered(out, "response.output_item.done", done);
        let response = response(&stream.said(), Some(finish));
        let kind = format!("response.{}", status(finish));
        stream.numbered(out, &kind, json!({"response": response}));
    },
    whole: |said, finish| response(said, Some(finish)),
    error: |out, error| {
        let said = json!({"type": "error", "message": error["error"]["message"],
            "code": error["error"]["code"], "param": error["error"]["param"]});
        event(out, "error", &said);
    },
};

fn status(finish: &Finish) -> &'static str {
    if has_reached_length(finish) { "incomplete" } else { "completed" }
}

fn has_reached_length(finish: &Finish) -> bool {
    finish.reason.as_str() == "length"
}

/// The one message of a response.
fn message(said: &Said<'_>, status: &str, has_text: bool) -> Value {
    let text = json!({"type": "output_text", "text": said.text, "annotations": [], "logprobs": []});
    json!({
        "id": format!("msg_{}", said.identity.number),
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": if has_text { vec![text] } else { Vec::new() },
    })
}

fn response(said: &Said<'_>, finish: Option<&Finish>) -> Value {
    let status = finish.map_or("in_progress", status);
    let cut = finish.filter(|finish| has_reached_length(finish));
    let mut response = json!({
        "id": said.identity.id,
        "object": "response",
        "created_at": said.identity.created_s,
        "status": status,
        "error": null,
        "incomplete_details": cut.map(|_| json!({"reason": "max_output_tokens"})),
        "model": said.identity.model,
        "output": finish.map_or_else(Vec::new, |_| vec![message(said, status, true)]),
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": [],
        "usage": null,
    });
    if let Some(finish) = finish.filter(|_| said.has_usage) {
        let mut usage = json!({
            "input_tokens": finish.prompt_tokens,
            "input_tokens_details": {},
            "output_tokens": finish.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": finish.prompt_tokens + finish.completion_tokens,
        });
        if let Some(cached) = finish.cached_tokens {
            usage["input_tokens_details"]["cached_tokens"] = cached.into();
        }
        if let Some(media) = &said.identity.media {
            usage["input_tokens_details"]["multimodal_tokens"] = media.clone();
        }
        response["usage"] = usage;
    }
    response
}

/// Anthropic's Messages.
pub(super) static MESSAGES: Dialect = Dialect {
    path: "/v1/messages",
    id_prefix: "msg_",
    has_lines: false,
    read: request::messages,
    begin: |stream, out| {
        let mut message = claimed(&stream.said(), None);
        message["content"] = json!([]);
        if stream.has_usage {
            message["usage"] = json!({"input_tokens": stream.prompt_tokens, "output_tokens": 0});
        }
        event(out, "message_start", &json!({"type": "message_start", "message": message}));
        let block = json!({"type": "text", "text": ""});
        let start = json!({"type": "content_block_start", "index": 0, "content_block": block});
        event(out, "content_block_start", &start);
    },
    token: |_, out, text, _| {
        let delta = json!({"type": "text_delta", "text": text});
        let said = json!({"type": "content_block_delta", "index": 0, "delta": delta});
        event(out, "content_block_delta", &said);
    },
    end: |stream, out, finish| {
        event(out, "content_block_stop", &json!({"type": "content_block_stop", "index": 0}));
        let whole = claimed(&stream.said(), Some(finish));
        let delta = json!({"stop_reason": whole["stop_reason"], "stop_sequence": null});
        let mut last = json!({"type": "message_delta", "delta": delta});
        if stream.has_usage {
            last["usage"] = whole["usage"].clone();
        }
        event(out, "message_delta", &last);
        event(out, "message_stop", &json!({"type": "message_stop"}));
    },
    whole: |said, finish| claimed(said, Some(finish)),
    error: |out, error| {
        let said = json!({"type": error["error"]["type"], "message": error["error"]["message"]});
        event(out, "error", &json!({"type": "error", "error": said}));
    },
};

/// A message of Anthropic's.
fn claimed(said: &Said<'_>, finish: Option<&Finish>) -> Value {
    let reason = |finish: &Finish| match has_reached_length(finish) {
        true => "max_tokens",
        false => "end_turn",
    };
    let mut message = json!({
        "id": said.identity.id,
        "type": "message",
        "role": "assistant",
        "model": said.identity.model,
        "content": [{"type": "text", "text": said.text}],
        "stop_reason": finish.map(reason),
        "stop_sequence": null,
    });
    if let Some(finish) = finish.filter(|_| said.has_usage) {
        let cached = finish.cached_tokens.unwrap_or(0);
        message["usage"] = json!({
            "input_tokens": finish.prompt_tokens.saturating_sub(cached),
            "output_tokens": finish.completion_tokens,
        });
        if finish.cached_tokens.is_some() {
            message["usage"]["cache_read_input_tokens"] = cached.into();
            message["usage"]["cache_creation_input_tokens"] = 0.into();
        }
    }
    message
}

/// Ollama's chat.
pub(super) static OLLAMA_CHAT: Dialect = Dialect {
    path: "/api/chat",
    id_prefix: "ollama-",
    has_lines: true,
    read: request::ollama_chat,
    begin: |_, _| {},
    token: |stream, out, text, _| line(out, &ollama(&stream.said(), &of_chat(text), None)),
    end: |stream, out, finish| line(out, &ollama(&stream.said(), &of_chat(""), Some(finish))),
    whole: |said, finish| ollama(said, &of_chat(said.text), Some(finish)),
    error: |out, error| line(out, &json!({"error": error["error"]["message"]})),
};

/// Ollama's texts.
pub(super) static OLLAMA_GENERATE: Dialect = Dialect {
    path: "/api/generate",
    id_prefix: "ollama-",
    has_lines: true,
    read: request::ollama_generate,
    begin: |_, _| {},
    token: |stream, out, text, _| {
        line(out, &ollama(&stream.said(), &("response", text.into()), None));
    },
    end: |stream, out, finish| {
        line(out, &ollama(&stream.said(), &("response", "".into()), Some(finish)));
    },
    whole: |said, finish| ollama(said, &("response", said.text.into()), Some(finish)),
    error: |out, error| line(out, &json!({"error": error["error"]["message"]})),
};

fn of_chat(text: &str) -> (&'static str, Value) {
    ("message", json!({"role": "assistant", "content": text}))
}

fn ollama(said: &Said<'_>, (name, text): &(&str, Value), finish: Option<&Finish>) -> Value {
    let mut answer = json!({"model": said.identity.model, "done": finish.is_some()});
    answer[*name] = text.clone();
    let Some(finish) = finish else { return answer };
    answer["done_reason"] = finish.reason.as_str().into();
    if said.has_usage {
        answer["prompt_eval_count"] = finish.prompt_tokens.into();
        answer["eval_count"] = finish.completion_tokens.into();
    }
    if let Some(times) = finish.times {
        let total_ns = times.queued_ns + times.first_token_ns + times.generation_ns;
        answer["total_duration"] = total_ns.into();
        answer["prompt_eval_duration"] = times.first_token_ns.into();
        answer["eval_duration"] = times.generation_ns.into();
    }
    answer
}

/// SGLang's own: every event repeats the text so far.
pub(super) static SGLANG: Dialect = Dialect {
    path: "/generate",
    id_prefix: "",
    has_lines: false,
    read: request::sglang,
    begin: |_, _| {},
    token: |stream, out, _, tokens| {
        let mut said = json!({"text": stream.text, "meta_info": meta(&stream.said(), None)});
        if stream.has_usage {
            said["meta_info"]["prompt_tokens"] = stream.prompt_tokens.into();
            said["meta_info"]["completion_tokens"] = tokens.into();
        }
        data(out, &said);
    },
    end: |stream, out, finish| {
        let meta = meta(&stream.said(), Some(finish));
        data(out, &json!({"text": stream.text, "meta_info": meta}));
        out.extend_from_slice(b"data: [DONE]\n\n");
    },
    whole: |said, finish| json!({"text": said.text, "meta_info": meta(said, Some(finish))}),
    error: crate::frames::write_error,
};

fn meta(said: &Said<'_>, finish: Option<&Finish>) -> Value {
    let mut meta = json!({"id": said.identity.id, "finish_reason": null});
    let Some(finish) = finish else { return meta };
    meta["finish_reason"] = match has_reached_length(finish) {
        true => json!({"type": "length", "length": finish.completion_tokens}),
        false => json!({"type": finish.reason.as_str()}),
    };
    if said.has_usage {
        meta["prompt_tokens"] = finish.prompt_tokens.into();
        meta["completion_tokens"] = finish.completion_tokens.into();
        if let Some(cached) = finish.cached_tokens {
            meta["cached_tokens"] = cached.into();
        }
    }
    meta
}

/// llama.cpp's own.
pub(super) static LLAMA_CPP: Dialect = Dialect {
    path: "/completion",
    id_prefix: "",
    has_lines: false,
    read: request::llama_cpp,
    begin: |_, _| {},
    token: |stream, out, text, tokens| {
        let mut said = json!({"index": 0, "content": text, "stop": false});
        if stream.has_usage {
            said["tokens_predicted"] = tokens.into();
            said["tokens_evaluated"] = stream.prompt_tokens.into();
        }
        data(out, &said);
    },
    end: |stream, out, finish| data(out, &stopped(&stream.said(), "", finish)),
    whole: |said, finish| stopped(said, said.text, finish),
    error: |out, error| data(out, error),
};

fn stopped(said: &Said<'_>, text: &str, finish: &Finish) -> Value {
    let stop_type = if has_reached_length(finish) { "limit" } else { "eos" };
    let mut answer = json!({"index": 0, "content": text, "model": said.identity.model,
        "stop": true, "stop_type": stop_type});
    if said.has_usage {
        answer["tokens_predicted"] = finish.completion_tokens.into();
        answer["tokens_evaluated"] = finish.prompt_tokens.into();
    }
    answer
}

impl Stream {
    /// An event of the Responses.
    fn numbered(&mut self, out: &mut Vec<u8>, kind: &str, mut said: Value) {
        said["type"] = kind.into();
        said["sequence_number"] = self.events.into();
        self.events += 1;
        event(out, kind, &said);
    }

    /// An event about the one text of a response.
    fn of_text(&mut self, out: &mut Vec<u8>, kind: &str, mut said: Value) {
        said["item_id"] = format!("msg_{}", self.identity.number).into();
        said["output_index"] = 0.into();
        said["content_index"] = 0.into();
        self.numbered(out, kind, said);
    }
}

fn event(out: &mut Vec<u8>, kind: &str, said: &Value) {
    out.extend_from_slice(format!("event: {kind}\ndata: {said}\n\n").as_bytes());
}

fn data(out: &mut Vec<u8>, said: &Value) {
    out.extend_from_slice(format!("data: {said}\n\n").as_bytes());
}

fn line(out: &mut Vec<u8>, said: &Value) {
    out.extend_from_slice(format!("{said}\n").as_bytes());
}
