//! Requests that do not end well. Only the outcome, the status and the number of tokens that
//! came before the end are compared.

use crate::case::{Case, Class, Limits};
use crate::payload::{CHAT_FIELDS, choice, quote, token, usage};
use crate::script::Script;
use ifm_core::{Outcome, TimeoutKind};

const OK: Option<u16> = Some(200);

fn chat(name: &'static str, what: &'static str, why: &'static str) -> Script {
    Script::chat(name, Class::Failures, what, why)
}

/// Three tokens at 100, 120 and 140 ms.
fn three(name: &'static str, what: &'static str, why: &'static str) -> Script {
    chat(name, what, why).tokens(0..3, 100, 20)
}

/// A whole response that is not a stream.
fn document(
    name: &'static str,
    what: &'static str,
    why: &'static str,
    head: &str,
    body: &str,
) -> Script {
    let head = format!("HTTP/1.1 {head}content-length: {{length}}\r\n\r\n");
    chat(name, what, why).head(0, &head).with_length().raw(0, body).join_sends()
}

/// The cases of this class.
pub fn cases() -> Vec<Case> {
    let mut cases = in_band();
    cases.extend(cut_off());
    cases.extend(transport());
    cases.extend(status());
    cases.extend(documents());
    cases.extend(silence());
    cases
}

/// Errors under status 200, inside the stream.
fn in_band() -> Vec<Case> {
    let error =
        "{\"error\":{\"message\":\"engine died\",\"type\":\"InternalServerError\",\"code\":500}}";
    vec![
        three(
            "err_midstream",
            "an error object after three tokens, then the end mark",
            "the status was sent before the error: it is in band; the end mark heals nothing",
        )
        .payload(160, error)
        .done(160)
        .ended(Outcome::InBandError, OK, 3)
        .case(),
        chat(
            "err_first",
            "the first event is an error object",
            "a stream that begins with an error is a failure, not an empty answer",
        )
        .payload(50, error)
        .done(50)
        .ended(Outcome::InBandError, OK, 0)
        .case(),
        three(
            "err_no_done",
            "an error object after three tokens, then the response ends",
            "the error tells why the stream ended: not merely truncated",
        )
        .payload(160, error)
        .ended(Outcome::InBandError, OK, 3)
        .case(),
        three(
            "err_event_name",
            "the error comes under the event name error, with a plain message",
            "an error member is an error whatever its type",
        )
        .raw(160, "event: error\ndata: {\"error\": \"out of memory\"}\n\n")
        .ended(Outcome::InBandError, OK, 3)
        .case(),
        three(
            "err_object",
            "the error is told by the object field: object is error, no choices",
            "older servers tell an error in this way",
        )
        .payload(
            160,
            "{\"object\": \"error\", \"message\": \"engine died\", \"type\": \
             \"InternalServerError\", \"param\": null, \"code\": 500}",
        )
        .done(160)
        .ended(Outcome::InBandError, OK, 3)
        .case(),
        three(
            "err_in_chunk",
            "a chunk with the usual fields has an error beside empty choices",
            "an error that is not null fails the request",
        )
        .event(160, "\"choices\": [], \"error\": {\"message\": \"upstream closed\", \"code\": 502}")
        .done(160)
        .ended(Outcome::InBandError, OK, 3)
        .case(),
    ]
}

/// Streams that end too early in an orderly way.
fn cut_off() -> Vec<Case> {
    vec![
        three(
            "truncated_clean",
            "the response ends after three tokens",
            "neither a finish reason nor the end mark came",
        )
        .ended(Outcome::Truncated, OK, 3)
        .case(),
        three(
            "truncated_close",
            "a body that ends with the connection ends after three tokens",
            "neither a finish reason nor the end mark came",
        )
        .head(0, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        .without_framing()
        .close(160)
        .ended(Outcome::Truncated, OK, 3)
        .case(),
        three(
            "truncated_with_usage",
            "usage comes after three tokens, then the response ends",
            "usage is not a finish reason",
        )
        .usage(160, 3)
        .ended(Outcome::Truncated, OK, 3)
        .case(),
        chat(
            "truncated_empty",
            "the stream is empty: head and end, nothing between",
            "neither a finish reason nor the end mark came",
        )
        .ended(Outcome::Truncated, OK, 0)
        .case(),
        chat(
            "truncated_after_role",
            "the response ends after the role chunk",
            "neither a finish reason nor the end mark came",
        )
        .role(10, "\"\"")
        .ended(Outcome::Truncated, OK, 0)
        .case(),
        three(
            "truncated_in_event",
            "the response ends within the fourth event, which has the finish reason",
            "an event that was cut off says nothing",
        )
        .raw(
            160,
            format!(
                "data: {{{CHAT_FIELDS}, \"choices\": [{}]",
                choice(0, "{\"content\": \" tok3\"}", Some("stop"))
            ),
        )
        .ended(Outcome::Truncated, OK, 3)
        .case(),
        three(
            "err_unterminated",
            "an error object after three tokens, without a blank line, then the response ends",
            "the error is whole: it tells why the stream ended",
        )
        .raw(160, "data: {\"error\": {\"message\": \"out of memory\", \"code\": 500}}\n")
        .ended(Outcome::InBandError, OK, 3)
        .case(),
    ]
}

/// Connections that break, and peers that do not speak HTTP.
fn transport() -> Vec<Case> {
    vec![
        three("truncated_rst", "a reset after three tokens", "the connection broke")
            .reset(160)
            .ended(Outcome::TransportError, OK, 3)
            .case(),
        three(
            "eof_in_chunk",
            "the connection is closed within the fourth chunk",
            "an incomplete chunked message is an error of the transport (RFC 9112 8)",
        )
        .end(b"ca\r\ndata: {\"id\": \"chatcmpl-1\", \"choi")
        .close(160)
        .ended(Outcome::TransportError, OK, 3)
        .case(),
        three(
            "eof_before_last_chunk",
            "the connection is closed after three whole chunks, without the zero chunk",
            "an incomplete chunked message is an error of the transport (RFC 9112 8)",
        )
        .end(b"")
        .close(160)
        .ended(Outcome::TransportError, OK, 3)
        .case(),
        three(
            "eof_before_length",
            "the connection is closed before the announced length",
            "fewer bytes than content-length tells make the message incomplete",
        )
        .head(
            0,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 5000\r\n\r\n",
        )
        .with_length()
        .close(160)
        .ended(Outcome::TransportError, OK, 3)
        .case(),
        three("bad_chunk_size", "the fourth chunk's size is not a number", "the framing is lost")
            .end(b"xyz\r\n")
            .ended(Outcome::TransportError, OK, 3)
            .case(),
        chat("rst_before_head", "a reset instead of an answer", "the connection broke")
            .bare()
            .reset(50)
            .ended(Outcome::TransportError, None, 0)
            .case(),
        chat("eof_before_head", "the connection is closed without an answer", "no answer came")
            .bare()
            .close(50)
            .ended(Outcome::TransportError, None, 0)
            .case(),
        chat("eof_in_head", "the connection is closed within the head", "no whole head came")
            .bare()
            .raw(50, "HTTP/1.1 200 OK\r\ncontent-type: text/ev")
            .close(50)
            .ended(Outcome::TransportError, None, 0)
            .case(),
        chat("not_http", "the answer is that of a mail server", "the peer does not speak HTTP")
            .bare()
            .raw(10, "220 mail.example ESMTP ready\r\n500 unknown command\r\n\r\n")
            .close(10)
            .ended(Outcome::TransportError, None, 0)
            .case(),
    ]
}

/// Statuses other than success.
fn status() -> Vec<Case> {
    let json = "content-type: application/json\r\n";
    let answered = |script: Script, status: u16, retry_after_s: Option<u32>| {
        script
            .ended(Outcome::HttpError, Some(status), 0)
            .truth(|truth| {
                truth.retry_after_s = retry_after_s;
                truth.token_events = None;
            })
            .case()
    };
    vec![
        answered(
            document(
                "http429",
                "too many requests, retry after 1 s",
                "429 is an HTTP error with its own status",
                "429 Too Many Requests\r\nretry-after: 1\r\ncontent-type: application/json\r\n",
                "{\"error\":{\"message\":\"rate limited\",\"type\":\"rate_limit\"}}",
            ),
            429,
            Some(1),
        ),
        answered(
            document(
                "http503_retry_after",
                "unavailable with an HTML page, retry after 120 s",
                "the status decides, whatever the body is",
                "503 Service Unavailable\r\nRetry-After:  120 \r\ncontent-type: text/html\r\n",
                "<html><body>busy</body></html>",
            ),
            503,
            Some(120),
        ),
        answered(
            document(
                "http500",
                "an internal error as JSON",
                "the status decides",
                &format!("500 Internal Server Error\r\n{json}"),
                "{\"error\":{\"message\":\"boom\",\"code\":500}}",
            ),
            500,
            None,
        ),
        answered(
            document(
                "http401",
                "no right to ask",
                "the status decides",
                &format!("401 Unauthorized\r\nwww-authenticate: Bearer\r\n{json}"),
                "{\"error\":{\"message\":\"missing key\"}}",
            ),
            401,
            None,
        ),
        answered(
            document(
                "http404_empty",
                "not found, with an empty body",
                "the status decides",
                "404 Not Found\r\n",
                "",
            ),
            404,
            None,
        ),
        answered(
            document(
                "http307",
                "a redirect",
                "a load generator measures the server it was pointed at: a redirect is no answer",
                "307 Temporary Redirect\r\nlocation: /elsewhere\r\n",
                "",
            ),
            307,
            None,
        ),
        answered(
            chat(
                "http500_stream",
                "status 500 with a complete event stream of ten tokens",
                "the status decides, whatever the body is",
            )
            .head(
                0,
                "HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/event-stream\r\n\
                 transfer-encoding: chunked\r\n\r\n",
            )
            .ten_tokens()
            .tail(280, 10),
            500,
            None,
        ),
    ]
}

/// Documents under status 200 where a stream was asked for.
fn documents() -> Vec<Case> {
    let json = "200 OK\r\ncontent-type: application/json\r\n";
    let text = quote(&(0..10).map(token).collect::<String>());
    vec![
        document(
            "json_error_200",
            "status 200 with an error object as JSON",
            "an error under status 200 is in band",
            json,
            "{\"error\":{\"message\":\"model not found\",\"code\":404}}",
        )
        .ended(Outcome::InBandError, OK, 0)
        .truth(|truth| truth.streamed = false)
        .case(),
        document(
            "html_200",
            "status 200 with the login page of a proxy",
            "the body cannot be understood: no answer of the model",
            "200 OK\r\ncontent-type: text/html; charset=utf-8\r\n",
            "<!doctype html>\n<html><head><title>Sign in</title></head>\n\n<body>data: please\n\n\
             </body></html>\n",
        )
        .ended(Outcome::InBandError, OK, 0)
        .truth(|truth| truth.streamed = false)
        .case(),
        chat(
            "json_answer",
            "the server does not stream: one JSON document at 100 ms",
            "the answer is complete and counted, but no time of a token can be told from it",
        )
        .head(100, &format!("HTTP/1.1 {json}content-length: {{length}}\r\n\r\n"))
        .with_length()
        .raw(
            100,
            format!(
                "{{\"id\": \"chatcmpl-1\", \"object\": \"chat.completion\", \"created\": \
                 1700000000, \"model\": \"mock\", \"choices\": [{{\"index\": 0, \"message\": \
                 {{\"role\": \"assistant\", \"content\": {text}}}, \"finish_reason\": \"stop\", \
                 \"logprobs\": null}}], \"usage\": {}}}",
                usage(10)
            ),
        )
        .ended(Outcome::Ok, OK, 0)
        .truth(|truth| {
            truth.token_events = None;
            truth.output_tokens = Some(10);
            truth.streamed = false;
        })
        .case(),
    ]
}

/// Servers that fall silent. The connection stays open.
fn silence() -> Vec<Case> {
    let timeout = Outcome::Timeout;
    vec![
        three(
            "stall_midstream",
            "silence after three tokens; the client's idle limit is 200 ms",
            "the idle limit is reached at 340",
        )
        .stall()
        .limits(Limits { idle_ms: Some(200), ..Limits::default() })
        .ended(timeout(TimeoutKind::Idle), OK, 3)
        .case(),
        chat(
            "stall_before_head",
            "no answer at all; the client's first-token limit is 300 ms",
            "no token came in time",
        )
        .bare()
        .limits(Limits { first_token_ms: Some(300), ..Limits::default() })
        .ended(timeout(TimeoutKind::FirstToken), None, 0)
        .case(),
        chat(
            "stall_after_role",
            "silence after the role chunk; the client's first-token limit is 300 ms",
            "a role is not a token: no token came in time",
        )
        .role(10, "\"\"")
        .stall()
        .limits(Limits { first_token_ms: Some(300), ..Limits::default() })
        .ended(timeout(TimeoutKind::FirstToken), OK, 0)
        .case(),
        {
            let mut script = chat(
                "comments_only",
                "comments every 50 ms for 2 s and no token; the first-token limit is 300 ms",
                "comments keep a connection awake, but they are not tokens",
            );
            for beat in 1..=40 {
                script = script.raw(50 * beat, ": waiting\n\n");
            }
            script
                .stall()
                .limits(Limits {
                    first_token_ms: Some(300),
                    idle_ms: Some(1_000),
                    ..Limits::default()
                })
                .ended(timeout(TimeoutKind::FirstToken), OK, 0)
                .case()
        },
        chat(
            "endless",
            "a token every 20 ms for 2 s; the client's limit for the request is 350 ms",
            "the total limit is reached while tokens still come",
        )
        .tokens(0..96, 100, 20)
        .stall()
        .limits(Limits { total_ms: Some(350), ..Limits::default() })
        .ended(timeout(TimeoutKind::Total), OK, 13)
        .truth(|truth| truth.token_events = None)
        .case(),
    ]
}
