//! Faults on demand, as a client sees them on the wire.

use super::*;
use ifm_serve::{Faults, KNOWN_FAULTS, ServeError};
use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

fn faulty(list: &str) -> Server {
    let faults = Faults::parse(list, 7).expect("a list of faults");
    let options = ServeOptions { faults, ..serve_options(start_engine(options())) };
    Server::start(options).expect("starts")
}

fn streamed(max_tokens: usize) -> Value {
    let usage = json!({"stream": true, "stream_options": {"include_usage": true}});
    with(chat("Break", max_tokens), &usage)
}

/// Everything up to the end of a connection, and how it ended.
fn receive_all(server: &Server, body: &Value) -> (String, Option<ErrorKind>) {
    let head = "POST /v1/chat/completions HTTP/1.1";
    let mut stream = send(server.address(), head, body.to_string().as_bytes());
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return (String::from_utf8(bytes).expect("text"), None),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) => return (String::from_utf8(bytes).expect("text"), Some(error.kind())),
        }
    }
}

/// Events that have text, by their text.
fn tokens(text: &str) -> usize {
    text.matches("\"delta\":{\"content\"").count()
}

#[test]
fn refusals_have_status_and_reason() {
    for (status, code) in
        [(429, json!("rate_limit_exceeded")), (500, Value::Null), (503, json!("overloaded"))]
    {
        let server = faulty(&format!("{status}:1"));
        for body in [streamed(3), chat("x", 3)] {
            let answer = post(server.address(), "/v1/chat/completions", &body);
            assert_eq!(answer.status, status);
            let error = answer.json()["error"].clone();
            assert_eq!(error["code"], code);
            assert!(error["message"].as_str().is_some_and(|text| text.contains("on demand")));
            assert_eq!(answer.head.contains("retry-after"), status != 500, "{}", answer.head);
        }
        // Other paths are spared.
        assert_eq!(get(server.address(), "/v1/models").status, 200);
    }
}

#[test]
fn runs_repeat() {
    let run = || {
        let server = faulty("429:0.3,503:0.2");
        let ask = |_| post(server.address(), "/v1/chat/completions", &chat("x", 1)).status;
        (0..24).map(ask).collect::<Vec<u16>>()
    };
    let statuses = run();
    for status in [200, 429, 503] {
        assert!(statuses.contains(&status), "{status} is not in {statuses:?}");
    }
    assert_eq!(statuses, run());
}

#[test]
fn resets_are_resets() {
    let server = faulty("reset:1");
    let (text, end) = receive_all(&server, &streamed(30));
    assert_eq!(end, Some(ErrorKind::ConnectionReset), "{text}");
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert!((1..30).contains(&tokens(&text)), "in the middle: {text}");
    assert!(!text.contains("[DONE]"));
    // A whole answer never begins.
    let (text, end) = receive_all(&server, &chat("x", 5));
    assert_eq!(end, Some(ErrorKind::ConnectionReset), "{text}");
    assert!(!text.contains("usage"), "{text}");
    // The server is well.
    assert_eq!(get(server.address(), "/health").status, 200);
}

#[test]
fn errors_come_in_the_stream() {
    let server = faulty("error-in-stream:1");
    let events = post(server.address(), "/v1/chat/completions", &streamed(30)).events();
    let (error, before) = events.split_last().expect("events");
    assert_eq!(error["error"]["type"], "server_error");
    assert!((2..31).contains(&before.len()), "in the middle: {}", before.len());
    assert!(before.iter().all(|event| event["choices"][0]["finish_reason"].is_null()));
    assert_eq!(post(server.address(), "/v1/chat/completions", &chat("x", 5)).status, 500);
}

#[test]
fn truncated_streams_look_complete_to_http() {
    let server = faulty("truncate:1");
    let (text, end) = receive_all(&server, &streamed(30));
    assert_eq!(end, None);
    assert!(text.ends_with("\r\n0\r\n\r\n"), "the framing ends in order: {text}");
    assert!((1..30).contains(&tokens(&text)), "in the middle: {text}");
    assert!(!text.contains("[DONE]") && !text.contains("\"finish_reason\":\"length\""));
    // A stream of one event loses it.
    let (text, _) = receive_all(&server, &streamed(1));
    assert_eq!(tokens(&text), 0);
}

#[test]
fn stalls_and_late_starts_take_their_time_and_lose_nothing() {
    for list in ["stall:1:300ms", "slow-first:1:300ms", "cold:300ms"] {
        let server = faulty(list);
        for body in [streamed(12), chat("Break", 12)] {
            let start = Instant::now();
            let answer = post(server.address(), "/v1/chat/completions", &body);
            assert_eq!(answer.status, 200);
            assert!(answer.text().contains("\"completion_tokens\":12"), "{list}");
            assert!(start.elapsed() >= Duration::from_millis(300), "{list}");
            if list.starts_with("cold") {
                break;
            }
        }
    }
}

#[test]
fn events_come_several_at_once() {
    let server = faulty("coalesce:4");
    let answer = post(server.address(), "/v1/chat/completions", &streamed(10));
    let sizes: Vec<usize> = answer.chunks.iter().map(|chunk| tokens(chunk)).collect();
    assert_eq!(sizes, [4, 4, 2]);
    let healthy = post(shared(), "/v1/chat/completions", &streamed(10));
    assert_eq!(answer.events().len(), healthy.events().len(), "the events are the same");
}

#[test]
fn tokens_come_several_in_an_event() {
    let server = faulty("multi-token:3");
    let text = |events: &[Value]| -> String {
        let content =
            |event: &Value| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
        events.iter().filter_map(content).collect()
    };
    let events = post(server.address(), "/v1/chat/completions", &streamed(10)).events();
    let healthy = post(shared(), "/v1/chat/completions", &streamed(10)).events();
    // A role, tokens, an end and the usage.
    assert_eq!((events.len(), healthy.len()), (1 + 4 + 2, 1 + 10 + 2));
    assert_eq!(events[6]["usage"], healthy[12]["usage"], "all tokens are counted");
    assert_eq!(text(&events), text(&healthy));
}

#[test]
fn usage_can_be_missing() {
    let server = faulty("no-usage");
    let text = post(server.address(), "/v1/chat/completions", &streamed(4)).text();
    assert!(!text.contains("usage"), "{text}");
    let answer = post(server.address(), "/v1/chat/completions", &chat("x", 4)).json();
    assert!(answer["usage"].is_null() && answer["choices"][0]["message"].is_object());
}

#[test]
fn faults_add_up() {
    let server = faulty("coalesce:3,multi-token:2,truncate:1,no-usage");
    let (text, end) = receive_all(&server, &streamed(40));
    assert_eq!(end, None);
    assert!((1..20).contains(&tokens(&text)), "{text}");
    let meta = get(server.address(), "/v1/models").json()["data"][0]["meta"].clone();
    assert_eq!(meta["faults"], "coalesce:3,multi-token:2,truncate:1,no-usage");
}

#[test]
fn an_engine_cannot_be_throttled() {
    let faults = Faults::parse("throttle:1s:2", 0).expect("a list");
    let options = ServeOptions { faults, ..serve_options(start_engine(options())) };
    let error = Server::start(options).expect_err("no simulated server");
    assert!(matches!(error, ServeError::Throttle), "{error}");
}

#[test]
fn an_answer_tells_its_times_when_asked() {
    let with_times =
        ServeOptions { per_request_metrics: true, ..serve_options(start_engine(options())) };
    let server = Server::start(with_times).expect("starts");
    let events = post(server.address(), "/v1/chat/completions", &streamed(5)).events();
    let whole = post(server.address(), "/v1/chat/completions", &chat("x", 5)).json();
    for told in [&events[events.len() - 1]["metrics"], &whole["metrics"]] {
        assert!(told["generation_time_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{told}");
        assert!(told["mean_itl_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{told}");
        // The engine does not tell when it began.
        assert!(told.as_object().is_some_and(|told| told["queue_time_ms"].is_null()));
    }
    let silent = post(shared(), "/v1/chat/completions", &streamed(5)).text();
    assert!(!silent.contains("metrics"), "{silent}");
}

#[test]
fn every_fault_is_documented() {
    let page = include_str!("../../../../docs/reference/serve.md");
    for (form, _) in KNOWN_FAULTS {
        assert!(page.contains(&format!("\n| `{form}` |")), "{form} has no row in serve.md");
    }
}
