//! Failures under HTTP 200: reasons why an engine gave an answer up, errors in any shape, and streams
//! that hold no answer.

use ifm_core::Outcome;
use ifm_core::spec::Api;
use ifm_wire::exchange::Answer;
use ifm_wire::{EndCause, ExchangeDecoder, Expect};

const EVENTS: &str = "text/event-stream";
const LINES: &str = "application/x-ndjson";
const JSON: &str = "application/json";

fn decode(api: Api, stream: bool, content_type: &str, body: &str) -> Answer {
    let expect = Expect { api, keep_text: false, stream };
    let mut decoder = ExchangeDecoder::new(expect);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    decoder.feed(head.as_bytes(), 1);
    decoder.feed(body.as_bytes(), 2);
    decoder.finish(EndCause::Complete, expect)
}

fn events(payloads: &[&str]) -> String {
    payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect()
}

fn chat_stream(payloads: &[&str]) -> Answer {
    decode(Api::Chat, true, EVENTS, &events(payloads))
}

/// A stream and a whole answer of each API that ends with the reason.
fn ended_by(reason: &str) -> Vec<(&'static str, Answer)> {
    let with = |text: &str| text.replace("REASON", reason);
    let stream = |api, payloads: &[&str]| decode(api, true, EVENTS, &with(&events(payloads)));
    let whole = |api, body: &str| decode(api, false, JSON, &with(body));
    let lines = |api, body: &str| decode(api, true, LINES, &with(body));
    vec![
        (
            "chat",
            stream(
                Api::Chat,
                &[
                    r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#,
                    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"REASON"}]}"#,
                    r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#,
                    "[DONE]",
                ],
            ),
        ),
        (
            "chat, second of two choices",
            stream(
                Api::Chat,
                &[
                    r#"{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}"#,
                    r#"{"choices":[{"index":1,"delta":{},"finish_reason":"REASON"}]}"#,
                    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                    "[DONE]",
                ],
            ),
        ),
        (
            "chat, whole",
            whole(
                Api::Chat,
                r#"{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"REASON"}]}"#,
            ),
        ),
        (
            "completions",
            stream(
                Api::Completions,
                &[r#"{"choices":[{"index":0,"text":"a","finish_reason":"REASON"}]}"#, "[DONE]"],
            ),
        ),
        (
            "completions, whole",
            whole(
                Api::Completions,
                r#"{"choices":[{"text":"a","finish_reason":"stop"},{"index":1,"text":"b","finish_reason":"REASON"}]}"#,
            ),
        ),
        (
            "responses",
            stream(
                Api::Responses,
                &[
                    r#"{"type":"response.output_text.delta","delta":"a"}"#,
                    r#"{"type":"response.completed","response":{"status":"incomplete","incomplete_details":{"reason":"REASON"}}}"#,
                ],
            ),
        ),
        (
            "responses, whole",
            whole(
                Api::Responses,
                r#"{"status":"incomplete","incomplete_details":{"reason":"REASON"},"output":[]}"#,
            ),
        ),
        (
            "messages",
            stream(
                Api::Messages,
                &[
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#,
                    r#"{"type":"message_delta","delta":{"stop_reason":"REASON"},"usage":{"output_tokens":1}}"#,
                    r#"{"type":"message_stop"}"#,
                ],
            ),
        ),
        (
            "messages, whole",
            whole(
                Api::Messages,
                r#"{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"REASON"}"#,
            ),
        ),
        (
            "ollama chat",
            lines(
                Api::OllamaChat,
                "{\"message\":{\"content\":\"a\"},\"done\":false}\n\
                 {\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"REASON\",\"eval_count\":1}\n",
            ),
        ),
        (
            "ollama generate, whole",
            whole(
                Api::OllamaGenerate,
                r#"{"response":"a","done":true,"done_reason":"REASON","eval_count":1}"#,
            ),
        ),
        (
            "sglang",
            stream(
                Api::Sglang,
                &[
                    r#"{"text":"a","meta_info":{"completion_tokens":1,"finish_reason":null}}"#,
                    r#"{"text":"ab","meta_info":{"completion_tokens":2,"finish_reason":{"type":"REASON"}}}"#,
                    "[DONE]",
                ],
            ),
        ),
        (
            "sglang, whole",
            whole(
                Api::Sglang,
                r#"[{"text":"a","meta_info":{"completion_tokens":1,"finish_reason":"stop"}},{"text":"b","meta_info":{"completion_tokens":1,"finish_reason":"REASON"}}]"#,
            ),
        ),
        (
            "tgi",
            stream(
                Api::Tgi,
                &[
                    r#"{"token":{"text":"a"},"generated_text":"a","details":{"finish_reason":"REASON","generated_tokens":1}}"#,
                ],
            ),
        ),
        (
            "tgi, whole",
            whole(
                Api::Tgi,
                r#"{"generated_text":"a","details":{"finish_reason":"REASON","generated_tokens":1}}"#,
            ),
        ),
        (
            "llama.cpp",
            stream(
                Api::LlamaCpp,
                &[
                    r#"{"content":"a","stop":false,"tokens_predicted":1}"#,
                    r#"{"content":"","stop":true,"stop_type":"REASON","tokens_predicted":1}"#,
                ],
            ),
        ),
        ("triton", stream(Api::Triton, &[r#"{"text_output":"a","finish_reason":"REASON"}"#])),
    ]
}

#[test]
fn an_answer_that_its_engine_gave_up_fails_in_every_api() {
    for reason in ["abort", "error", "cancelled", "engine_error", "insufficient_system_resource"] {
        for (api, answer) in ended_by(reason) {
            assert_eq!(answer.outcome, Outcome::InBandError, "{api}: {reason}");
            let error = answer.error.unwrap_or_default();
            assert!(error.contains(&format!("finish reason \"{reason}\"")), "{api}: {error}");
            assert_eq!(answer.finish_reason.as_deref(), Some(reason), "{api}");
        }
    }
}

#[test]
fn known_and_unknown_reasons_keep_an_answer_complete() {
    for (reason, expect) in [
        ("stop", Outcome::Ok),
        ("length", Outcome::Ok),
        ("max_tokens", Outcome::Ok),
        ("tool_calls", Outcome::Ok),
        ("a_new_reason", Outcome::Ok),
        ("content_filter", Outcome::OkFiltered),
    ] {
        for (api, answer) in ended_by(reason) {
            assert_eq!((answer.outcome, answer.error), (expect, None), "{api}: {reason}");
        }
    }
}

#[test]
fn a_failed_response_fails_however_its_stream_ends() {
    for (status, error, words) in [
        ("cancelled", "null", "the server does not say why"),
        ("failed", r#"{"code":"server_error","message":"engine died"}"#, "engine died"),
    ] {
        let last = format!(
            r#"{{"type":"response.completed","response":{{"status":"{status}","error":{error},"output":[]}}}}"#
        );
        let delta = r#"{"type":"response.output_text.delta","delta":"a"}"#;
        let answer = decode(Api::Responses, true, EVENTS, &events(&[delta, &last]));
        assert_eq!(answer.outcome, Outcome::InBandError, "{status}");
        assert!(answer.error.unwrap_or_default().contains(words), "{status}");
        assert_eq!(answer.events.len(), 1);
    }
}

#[test]
fn a_provider_that_failed_behind_a_router_fails() {
    let piece = r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    for (last, words) in [
        (
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502,"message":"gone"}}]}"#,
            "gone",
        ),
        (
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","native_finish_reason":"error"}]}"#,
            "finish reason \"error\"",
        ),
        (
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","provider_specific_fields":{"error":{"message":"gone"}}}]}"#,
            "gone",
        ),
        (
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error"}],"error":{"code":503,"message":"gone"}}"#,
            "gone",
        ),
    ] {
        let answer = chat_stream(&[piece, last, "[DONE]"]);
        assert_eq!(answer.outcome, Outcome::InBandError, "{last}");
        assert!(answer.error.unwrap_or_default().contains(words), "{last}");
    }
    let sound = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","native_finish_reason":"end_turn","error":null,"provider_specific_fields":{"citations":[]}}]}"#;
    assert_eq!(chat_stream(&[piece, sound, "[DONE]"]).outcome, Outcome::Ok);
}

#[test]
fn the_server_s_words_explain_a_request_that_it_gave_up() {
    let ended =
        r#"{"text":"","meta_info":{"finish_reason":{"type":"abort","message":"out of memory"}}}"#;
    for (stream, content_type, body) in
        [(true, EVENTS, events(&[ended, "[DONE]"])), (false, JSON, ended.to_owned())]
    {
        let answer = decode(Api::Sglang, stream, content_type, &body);
        assert_eq!(answer.outcome, Outcome::InBandError);
        assert!(answer.error.unwrap_or_default().ends_with("gave the request up: out of memory"));
        assert_eq!(answer.finish_reason.as_deref(), Some("abort"));
    }
}

/// Errors as gateways and frameworks write them.
const ENVELOPES: [&str; 7] = [
    r#"{"code":102,"message":"overloaded","data":null}"#,
    r#"{"type":"error","message":"overloaded"}"#,
    r#"{"status":{"status":"error","message":"overloaded"}}"#,
    r#"{"success":false,"errors":[{"code":1,"message":"overloaded"}],"result":null}"#,
    r#"{"detail":"overloaded"}"#,
    r#"{"object":"error","message":"overloaded"}"#,
    r#"{"error":{"message":{"text":"overloaded"}}}"#,
];

#[test]
fn an_error_in_any_shape_fails_with_its_words_in_streams_and_whole_answers() {
    let piece = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    for envelope in ENVELOPES {
        for payloads in [
            vec![envelope, "[DONE]"],
            vec![envelope],
            vec![piece, envelope, "[DONE]"],
            vec![r#"{"error":null}"#, envelope, "[DONE]"],
        ] {
            let answer = chat_stream(&payloads);
            assert_eq!(answer.outcome, Outcome::InBandError, "{payloads:?}");
            assert_eq!(answer.error.as_deref(), Some("overloaded"), "{payloads:?}");
        }
        for api in Api::ALL {
            for (stream, content_type, body) in [
                (true, EVENTS, events(&[envelope])),
                (true, LINES, format!("{envelope}\n")),
                (false, JSON, envelope.to_owned()),
                (true, JSON, envelope.to_owned()),
            ] {
                let answer = decode(api, stream, content_type, &body);
                let said = answer.error.clone().unwrap_or_default();
                assert_eq!(answer.outcome, Outcome::InBandError, "{api:?} {content_type}: {body}");
                assert!(said.ends_with("overloaded"), "{api:?} {content_type}: {said}");
            }
        }
    }
}

#[test]
fn texts_and_pages_instead_of_events_are_told_in_their_words() {
    let piece = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    let one = events(&[piece]);
    for (body, words) in [
        ("data: \"overloaded\"\n\ndata: [DONE]\n\n".to_owned(), "overloaded"),
        ("\"overloaded\"".to_owned(), "overloaded"),
        ("overloaded".to_owned(), "overloaded"),
        ("upstream error: overloaded\n".to_owned(), "upstream error: overloaded"),
        ("data: <html><body>overloaded</body></html>\n\n".to_owned(), "overloaded"),
        ("<html><body>overloaded</body></html>".to_owned(), "overloaded"),
        (format!("{one}<html>\n<body>overloaded</body>\n</html>\n"), "overloaded"),
        (format!("{one}{{\"error\":\"overloaded\"}}\n"), "overloaded"),
        (format!("{one}event: error\ndata: overloaded\n\n"), "overloaded"),
        ("event: error\ndata: {\"detail\":\"overloaded\"}\n\n".to_owned(), "overloaded"),
    ] {
        let answer = decode(Api::Chat, true, EVENTS, &body);
        assert_eq!(answer.outcome, Outcome::InBandError, "{body}");
        assert!(answer.error.unwrap_or_default().ends_with(words), "{body}");
    }
}

#[test]
fn an_end_mark_alone_completes_nothing() {
    let answer = chat_stream(&["[DONE]"]);
    assert_eq!(answer.outcome, Outcome::Truncated);
    assert!(answer.error.unwrap_or_default().contains("no choice, no text and no count"));
    let answer = chat_stream(&[r#"{"id":"c","object":"chat.completion.chunk"}"#, "[DONE]"]);
    assert_eq!(answer.outcome, Outcome::InBandError);
    assert!(answer.error.unwrap_or_default().contains("none of the API \"chat\": {\"id\":\"c\""));
    let body = "data: {\"type\":\"message_stop\"}\n\n";
    assert_eq!(decode(Api::Messages, true, EVENTS, body).outcome, Outcome::Truncated);
}

#[test]
fn wrappers_empty_errors_and_remarks_fail_no_answer() {
    let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    for payload in [
        r#"{"error":null,"choices":[{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"error":"","choices":[{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"error":{},"choices":[{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"code":0,"message":"success","choices":[{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"code":500,"message":"of another kind","choices":[{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"message":"cached answer"}"#,
        r#"{"type":"ping"}"#,
    ] {
        let answer = chat_stream(&[payload, finish, "[DONE]"]);
        assert_eq!((answer.outcome, answer.error), (Outcome::Ok, None), "{payload}");
    }
    let body = format!(": comment\nretry: 10\nid: 7\nfoo: bar\n\n{}", events(&[finish, "[DONE]"]));
    assert_eq!(decode(Api::Chat, true, EVENTS, &body).outcome, Outcome::Ok);
}
