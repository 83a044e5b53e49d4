//! What goes back into a conversation: an answer is read, streamed or whole, and written again as the
//! message of the next turn.

use ifm_core::spec::Api;
use ifm_core::{Message, Prompt, Reply, Role, ToolCall};
use ifm_wire::exchange::{Answer, Expect};
use ifm_wire::request::{Ask, TemplateSpec};
use ifm_wire::{EndCause, ExchangeDecoder, RequestBytes, RequestTemplate};
use serde_json::{Map, Value, json};

/// Reads a response whose body is this.
fn read(api: Api, head: &str, body: &str, stream: bool) -> Answer {
    let expect = Expect { api, keep_text: true, stream };
    let mut decoder = ExchangeDecoder::new(expect);
    let length = body.len();
    let response = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}");
    // In pieces, as sockets bring them.
    for (number, piece) in response.as_bytes().chunks(7).enumerate() {
        decoder.feed(piece, number as u64);
    }
    decoder.finish(EndCause::Complete, expect)
}

fn reply(answer: &Answer) -> Reply {
    let text = answer.text.as_ref().expect("kept");
    Reply {
        content: text.answer(),
        reasoning: text.reasoning(),
        tool_calls: text.tool_calls().to_vec(),
        ..Reply::default()
    }
}

/// The body of a request with this conversation.
fn written(api: Api, messages: Vec<Message>) -> Value {
    let none = Map::new();
    let template = RequestTemplate::new(&TemplateSpec {
        api,
        host: "h",
        path: "/",
        model: "m",
        authorization: None,
        headers: &[],
        stream: true,
        ignore_eos: false,
        temperature: None,
        extra_body: &none,
    });
    let prompt = Prompt::Messages(messages);
    let ask = Ask {
        prompt: &prompt,
        said: &[],
        said_media: &[],
        output_tokens: None,
        fields: None,
        number: None,
        session: None,
    };
    let mut out = RequestBytes::default();
    template.expect("a template").write(&ask, &mut out).expect("a request");
    let text = String::from_utf8(out.to_vec()).expect("text");
    serde_json::from_str(text.split_once("\r\n\r\n").expect("a head").1).expect("JSON")
}

fn events(events: &[Value], end: &str) -> String {
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.chain([end.to_owned()]).collect()
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

/// Thoughts, a sentence and two calls at once, as each API streams them and as it says them whole.
fn answers() -> [(Api, String, Value); 4] {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let piece = |index: u32, arguments: &str| {
        delta(json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
    };
    let begin = |index: u32, id: &str, name: &str| {
        let function = json!({"name": name, "arguments": ""});
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        delta(json!({"tool_calls": [call]}))
    };
    let chat = events(
        &[
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"reasoning_content": "Hm, "})),
            delta(json!({"reasoning_content": "two."})),
            delta(json!({"content": "Let me "})),
            delta(json!({"content": "look."})),
            begin(0, "c1", "ls"),
            piece(0, "{\"dir\""),
            begin(1, "c2", "cat"),
            piece(1, "{\"file\":\"a\"}"),
            piece(0, ":\"/\"}"),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ],
        "data: [DONE]\n\n",
    );
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let chat_whole = json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
    "role": "assistant", "content": "Let me look.", "reasoning_content": "Hm, two.",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": function("ls", "{\"dir\":\"/\"}")},
        {"id": "c2", "type": "function", "function": function("cat", "{\"file\":\"a\"}")},
    ]}}]});

    let item = |call_id: &str, name: &str, arguments: &str| {
        json!({"type": "function_call", "id": format!("fc_{call_id}"), "call_id": call_id,
            "name": name, "arguments": arguments})
    };
    let event = |kind: &str, index: u32, name: &str, value: Value| json!({"type": format!("response.{kind}"), "output_index": index, name: value});
    let message = json!({"type": "message", "content": []});
    let responses = events(
        &[
            event("output_item.added", 0, "item", json!({"type": "reasoning", "summary": []})),
            event("reasoning_text.delta", 0, "delta", json!("Hm, ")),
            event("reasoning_text.delta", 0, "delta", json!("two.")),
            event("output_item.added", 1, "item", message),
            event("output_text.delta", 1, "delta", json!("Let me look.")),
            event("output_item.added", 2, "item", item("c1", "ls", "")),
            event("output_item.added", 3, "item", item("c2", "cat", "")),
            event("function_call_arguments.delta", 2, "delta", json!("{\"dir\":")),
            event("function_call_arguments.delta", 3, "delta", json!("{\"file\":\"a\"}")),
            event("function_call_arguments.delta", 2, "delta", json!("\"/\"}")),
            event("output_item.done", 2, "item", item("c1", "ls", "{\"dir\":\"/\"}")),
            event("output_item.done", 3, "item", item("c2", "cat", "{\"file\":\"a\"}")),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ],
        "",
    );
    let responses_whole = json!({"status": "completed", "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm, two."}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Let me look."}]},
        item("c1", "ls", "{\"dir\":\"/\"}"),
        item("c2", "cat", "{\"file\":\"a\"}"),
    ]});

    let begin = |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let block = |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let tool = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let json_piece = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
    let messages = events(
        &[
            begin(0, json!({"type": "thinking", "thinking": ""})),
            block(0, json!({"type": "thinking_delta", "thinking": "Hm, two."})),
            block(0, json!({"type": "signature_delta", "signature": "x"})),
            begin(1, json!({"type": "text", "text": ""})),
            block(1, json!({"type": "text_delta", "text": "Let me look."})),
            begin(2, tool("c1", "ls", json!({}))),
            block(2, json_piece("")),
            block(2, json_piece("{\"dir\":")),
            block(2, json_piece("\"/\"}")),
            begin(3, tool("c2", "cat", json!({}))),
            block(3, json_piece("{\"file\":\"a\"}")),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ],
        "",
    );
    let messages_whole = json!({"type": "message", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "Hm, two.", "signature": "x"},
        {"type": "text", "text": "Let me look."},
        tool("c1", "ls", json!({"dir": "/"})),
        tool("c2", "cat", json!({"file": "a"})),
    ]});

    let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "function": {"name": name, "arguments": arguments}});
    let two = [call("c1", "ls", json!({"dir": "/"})), call("c2", "cat", json!({"file": "a"}))];
    let said = |message: Value| json!({"message": message, "done": false});
    let ollama = lines(&[
        said(json!({"role": "assistant", "content": "", "thinking": "Hm, two."})),
        said(json!({"role": "assistant", "content": "Let me look."})),
        said(json!({"role": "assistant", "content": "", "tool_calls": [two[0]]})),
        said(json!({"role": "assistant", "content": "", "tool_calls": [two[1]]})),
        json!({"message": {"content": ""}, "done": true, "done_reason": "stop"}),
    ]);
    let ollama_whole = json!({"done": true, "done_reason": "stop", "message": {
        "content": "Let me look.", "thinking": "Hm, two.", "tool_calls": two}});
    [
        (Api::Chat, chat, chat_whole),
        (Api::Responses, responses, responses_whole),
        (Api::Messages, messages, messages_whole),
        (Api::OllamaChat, ollama, ollama_whole),
    ]
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

#[test]
fn an_answer_is_read_whole_or_streamed_and_goes_back_in_the_words_of_its_api() {
    let expect = Reply {
        content: "Let me look.".to_owned(),
        reasoning: "Hm, two.".to_owned(),
        tool_calls: vec![
            call("c1", "ls", "{\"dir\":\"/\"}"),
            call("c2", "cat", "{\"file\":\"a\"}"),
        ],
        ..Reply::default()
    };
    let sent_back = [
        json!([
            {"role": "assistant", "content": "Let me look.", "reasoning_content": "Hm, two.",
             "tool_calls": [
                {"id": "c1", "type": "function",
                 "function": {"name": "ls", "arguments": "{\"dir\":\"/\"}"}},
                {"id": "c2", "type": "function",
                 "function": {"name": "cat", "arguments": "{\"file\":\"a\"}"}}]},
            {"role": "tool", "content": "b", "tool_call_id": "c1"},
        ]),
        json!([
            {"type": "reasoning", "id": "rs_0", "summary": [],
             "content": [{"type": "reasoning_text", "text": "Hm, two."}]},
            {"role": "assistant", "content": "Let me look."},
            {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{\"dir\":\"/\"}"},
            {"type": "function_call", "call_id": "c2", "name": "cat",
             "arguments": "{\"file\":\"a\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "b"},
        ]),
        json!([
            {"role": "assistant", "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c1", "name": "ls", "input": {"dir": "/"}},
                {"type": "tool_use", "id": "c2", "name": "cat", "input": {"file": "a"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "b"}]},
        ]),
        json!([
            {"role": "assistant", "content": "Let me look.", "thinking": "Hm, two.",
             "tool_calls": [
                {"id": "c1", "function": {"name": "ls", "arguments": {"dir": "/"}}},
                {"id": "c2", "function": {"name": "cat", "arguments": {"file": "a"}}}]},
            {"role": "tool", "content": "b", "tool_call_id": "c1"},
        ]),
    ];
    for ((api, streamed, whole), sent_back) in answers().into_iter().zip(sent_back) {
        let media = match api {
            Api::OllamaChat => "application/x-ndjson",
            _ => "text/event-stream",
        };
        let head = format!("200 OK\r\nContent-Type: {media}");
        let streamed = read(api, &head, &streamed, true);
        let head = "200 OK\r\nContent-Type: application/json";
        let whole = read(api, head, &whole.to_string(), false);
        for answer in [streamed, whole] {
            assert!(answer.outcome.is_ok(), "{api:?}: {:?}", answer.error);
            let reply = reply(&answer);
            assert_eq!(reply, expect, "{api:?}");
            let result =
                Message { tool_call_id: Some("c1".to_owned()), ..Message::text(Role::Tool, "b") };
            let body = written(api, vec![reply.clone().into_message(true), result.clone()]);
            let field = if api == Api::Responses { "input" } else { "messages" };
            assert_eq!(body[field], sent_back, "{api:?}");
            let without = written(api, vec![reply.into_message(false), result]);
            assert!(!without.to_string().contains("Hm, two."), "{api:?}");
        }
    }
}

#[test]
fn a_prompt_longer_than_the_context_is_told_from_other_failures() {
    let too_long = "This model's maximum context length is 8 tokens. However, you requested 9.";
    let body = |said: &str| json!({"error": {"message": said, "code": 400}}).to_string();
    let padded = |said: &str| {
        // Beyond the sentence that is shown.
        json!({"error": {"message": "x".repeat(400), "code": said}}).to_string()
    };
    let repeated = json!({"detail": [{"msg": "no", "input": {"prompt": too_long}}]}).to_string();
    for (head, body, is_overflow) in [
        ("400 Bad Request", body(too_long), true),
        ("400 Bad Request", padded("context_length_exceeded"), true),
        ("400 Bad Request", body("no such model"), false),
        ("422 Unprocessable Entity", body("`inputs` tokens + `max_new_tokens` must be <= 8"), true),
        ("413 Payload Too Large", body(too_long), true),
        ("413 Payload Too Large", "request entity too large".to_owned(), false),
        ("422 Unprocessable Entity", repeated.clone(), false),
        ("400 Bad Request", repeated, false),
        ("500 Internal Server Error", body(too_long), false),
        (
            "200 OK\r\nContent-Type: text/event-stream",
            format!("data: {}\n\n", body(too_long)),
            true,
        ),
        ("200 OK\r\nContent-Type: text/event-stream", format!("data: {}\n\n", body("no")), false),
        ("200 OK\r\nContent-Type: application/json", body(too_long), true),
    ] {
        let answer = read(Api::Chat, head, &body, true);
        assert!(answer.outcome.is_failure(), "{head} {body}");
        assert_eq!(answer.is_overflow, is_overflow, "{head} {body}");
    }
}

#[test]
fn a_call_that_is_over_is_the_one_that_began_there() {
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": arguments});
    let item = |kind: &str, index: u32, item: Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let over = json!({"type": "response.completed", "response": {"status": "completed"}});
    let delta =
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"});
    let ids = |events: &[Value]| -> Vec<(String, String)> {
        let head = "200 OK\r\nContent-Type: text/event-stream";
        let calls = reply(&read(Api::Responses, head, &crate::replies::events(events, ""), true))
            .tool_calls;
        calls.into_iter().map(|it| (it.id, it.arguments)).collect()
    };
    let pair = |id: &str| (id.to_owned(), "{}".to_owned());
    // vLLM gives the call that is over another id than the one that began.
    let renamed =
        [item("added", 1, call("a", "")), delta, item("done", 1, call("b", "{}")), over.clone()];
    assert_eq!(ids(&renamed), [pair("b")]);
    // A server that counts no places.
    let same_place = [
        item("added", 0, call("a", "")),
        item("done", 0, call("a", "{}")),
        item("added", 0, call("b", "")),
        item("done", 0, call("b", "{}")),
        over,
    ];
    assert_eq!(ids(&same_place), [pair("a"), pair("b")]);
}

#[test]
fn a_conversation_goes_on_with_the_first_choice() {
    let choice = |index: u32, text: &str| json!({"index": index, "delta": {"content": text, "reasoning_content": format!("hm {text} ")}, "finish_reason": "stop"});
    let call = json!({"index": 1, "delta": {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "f"}}]}});
    let chunks = [json!({"choices": [choice(1, "b"), choice(0, "a")]}), json!({"choices": [call]})];
    let head = "200 OK\r\nContent-Type: text/event-stream";
    let answer = read(Api::Chat, head, &events(&chunks, "data: [DONE]\n\n"), true);
    let said = reply(&answer);
    assert_eq!((said.content.as_str(), said.reasoning.as_str()), ("a", "hm a "));
    assert_eq!(said.tool_calls, []);
    assert_eq!(answer.text.map(String::from).as_deref(), Some("hm b bhm a a"));
}

#[test]
fn headers_tell_times_and_tokens() {
    let body = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]});
    for (headers, processing_ms, queue_ms) in [
        ("openai-processing-ms: 12\r\nx-envoy-upstream-service-time: 15", Some(12.0), None),
        ("X-Envoy-Upstream-Service-Time: 15", Some(15.0), None),
        ("x-queue-time: 3\r\nx-total-time: 40", Some(40.0), Some(3.0)),
        ("Server-Timing: cache;desc=\"x\", total; dur=4.5, db;dur=1", Some(4.5), None),
        ("Server-Timing: app;dur=7", Some(7.0), None),
        ("Server-Timing: a;dur=7, b;dur=8", None, None),
        ("Server-Timing: a;dur=7\r\nServer-Timing: b;dur=8", None, None),
        ("Server-Timing: total;dur=7\r\nServer-Timing: db;dur=8", Some(7.0), None),
        ("openai-processing-ms: soon", None, None),
        ("x-queue-time: -1", None, None),
    ] {
        let head = format!("200 OK\r\n{headers}\r\nx-session-token: t1");
        let answer = read(Api::Chat, &head, &body.to_string(), false);
        let ns = |ms: Option<f64>| ms.map(|ms| (ms * 1e6) as u64);
        assert_eq!(answer.processing_ns, ns(processing_ms), "{headers}");
        assert_eq!(answer.usage.times.queue_ns, ns(queue_ms), "{headers}");
        assert_eq!(answer.session_token.as_deref(), Some("t1"));
    }
}
