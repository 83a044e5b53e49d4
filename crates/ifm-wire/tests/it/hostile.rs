//! A server that does not end its answers: memory stays flat, and the request fails with a sentence.
//!
//! An hour of a stream is fed as bytes, without a clock. Memory is counted by the allocator of the
//! test binary.

use crate::allocation::peak_bytes;
use ifm_core::Outcome;
use ifm_core::spec::Api;
use ifm_wire::{Answer, EndCause, ExchangeDecoder, Expect};

const MIB: usize = 1024 * 1024;
/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;
/// Tokens that the requests ask for.
const TOKENS_ASKED: u32 = 100;
/// Tokens in an hour at 1,000 a second.
const TOKENS_OF_AN_HOUR: usize = 3_600_000;

/// A stream that repeats a part after its beginning, up to a number of bytes.
struct Stream {
    api: Api,
    keep_text: bool,
    content_type: &'static str,
    status: &'static str,
    start: &'static str,
    repeated: String,
    bytes: usize,
}

impl Stream {
    fn events(event: &str) -> Stream {
        Stream {
            api: Api::Chat,
            keep_text: false,
            content_type: "text/event-stream",
            status: "200 OK",
            start: "",
            repeated: event.to_owned(),
            bytes: TOKENS_OF_AN_HOUR * event.len(),
        }
    }
}

impl Stream {
    fn comments() -> Stream {
        Stream { bytes: 1100 * MIB, ..Stream::events(&format!(": {}\n\n", "beat ".repeat(1000))) }
    }
}

/// The answer to a request that such a stream answers, the peak of the memory that decoding took, and
/// whether the decoder asked to close the connection.
fn decode(stream: &Stream) -> (Answer, usize, bool) {
    let expect = Expect { api: stream.api, keep_text: stream.keep_text, stream: true };
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: {}\r\n\r\n{}",
        stream.status, stream.content_type, stream.start
    );
    let copies = READ_BYTES.div_ceil(stream.repeated.len());
    let read = stream.repeated.repeat(copies);
    let mut decoder = ExchangeDecoder::new(expect);
    let mut is_refused = false;
    let peak = peak_bytes(|| {
        decoder.expect_tokens(Some(TOKENS_ASKED));
        decoder.feed(head.as_bytes(), 1);
        for number in 0..stream.bytes.div_ceil(read.len()) {
            decoder.feed(read.as_bytes(), number as u64 + 2);
        }
        is_refused = decoder.is_refused();
    });
    let cause = if is_refused { EndCause::Refused } else { EndCause::Complete };
    (decoder.finish(cause, expect), peak, is_refused)
}

const TOKEN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";

#[test]
fn an_hour_of_a_stream_takes_no_more_memory_than_its_first_seconds() {
    let token = Stream::events(TOKEN);
    let cases = [
        // About 5 MB of columns, which double as they grow.
        (token, 16, "more than 65536 token events for 100 requested tokens"),
        (
            Stream { keep_text: true, ..Stream::events(TOKEN) },
            16,
            "more than 65536 token events for 100 requested tokens",
        ),
        // Comments that keep a connection alive, without a single event.
        (Stream::comments(), 2, "more than 1024 MiB for 100 requested tokens"),
        (
            Stream {
                start: "data: ",
                repeated: "x".to_owned(),
                bytes: 200 * MIB,
                ..Stream::events("")
            },
            70,
            "more than 32 MiB in one event",
        ),
        (
            Stream { repeated: "data: x\n".to_owned(), bytes: 200 * MIB, ..Stream::events("") },
            70,
            "more than 32 MiB in one event",
        ),
        (
            Stream {
                api: Api::OllamaChat,
                content_type: "application/x-ndjson",
                start: "{\"a\":\"",
                repeated: "x".to_owned(),
                bytes: 200 * MIB,
                ..Stream::events("")
            },
            70,
            "more than 32 MiB in one event",
        ),
        (
            Stream {
                content_type: "application/json",
                start: "{\"a\":\"",
                repeated: "x".to_owned(),
                bytes: 200 * MIB,
                ..Stream::events("")
            },
            130,
            "more than 64 MiB that are not a stream of events",
        ),
    ];
    for (stream, most_mib, reason) in cases {
        let (answer, peak, is_refused) = decode(&stream);
        assert!(is_refused, "{reason}");
        assert!(peak < most_mib * MIB, "{reason}: {} MiB", peak / MIB);
        assert_eq!(answer.outcome, Outcome::InBandError, "{reason}");
        assert_eq!(answer.error, Some(format!("the answer is too large: {reason}")));
        assert_eq!((answer.events.len(), answer.output_tokens), (0, None), "{reason}");
        assert!(answer.text.is_none_or(|text| text.is_empty()), "{reason}");
    }
}

#[test]
fn an_answer_within_its_bounds_is_kept_however_long() {
    // Sixty tokens per token asked: more than any server sends, and within the bound.
    let tokens = 60_000;
    let stream = Stream { bytes: tokens * TOKEN.len(), ..Stream::events(TOKEN) };
    let (answer, _, is_refused) = decode(&stream);
    assert!(!is_refused);
    assert!(answer.events.len() >= tokens, "{}", answer.events.len());
    assert_eq!(answer.outcome, Outcome::Truncated);
}

#[test]
fn an_answer_that_has_ended_or_failed_keeps_its_outcome() {
    let ended = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\
                 \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let after_end = Stream { start: ended, ..Stream::comments() };
    let (answer, peak, is_refused) = decode(&after_end);
    assert_eq!((answer.outcome, answer.error, answer.events.len()), (Outcome::Ok, None, 1));
    assert!(is_refused && peak < MIB, "{peak}");
    let failed = Stream {
        status: "500 Internal Server Error",
        start: "out of memory ",
        repeated: "x".to_owned(),
        bytes: 100 * MIB,
        ..Stream::events("")
    };
    let (answer, peak, is_refused) = decode(&failed);
    assert!(is_refused && peak < MIB, "{peak}");
    assert_eq!(answer.outcome, Outcome::HttpError);
    assert!(answer.error.is_some_and(|error| error.starts_with("HTTP 500: out of memory x")));
}

#[test]
fn a_long_list_of_tiny_entries_takes_no_more_memory_than_its_bytes() {
    let lists = [
        (Api::Chat, r#"{"choices":[LIST]}"#, "{}"),
        (Api::Chat, r#"{"choices":[{"index":0,"delta":{"content":[LIST]}}]}"#, "{}"),
        (Api::Chat, r#"{"choices":[{"index":0,"delta":{"tool_calls":[LIST]}}]}"#, "{}"),
        (Api::Chat, r#"{"error":[LIST]}"#, "[]"),
        (Api::Chat, r#"{"detail":[LIST]}"#, "[]"),
        (Api::Responses, r#"{"type":"response.failed","response":{"error":[LIST]}}"#, "[]"),
        (
            Api::Responses,
            r#"{"type":"response.completed","response":{"status":"completed","output":[LIST]}}"#,
            "{}",
        ),
        (Api::Sglang, r#"[LIST]"#, "{}"),
        (Api::Embeddings, r#"{"data":[LIST]}"#, "{}"),
        (Api::Rerank, r#"{"results":[LIST]}"#, "{}"),
        (Api::OllamaEmbed, r#"{"embeddings":[LIST]}"#, "[]"),
    ];
    for (api, payload, entry) in lists {
        let count = 2 * MIB / (entry.len() + 1);
        let list = format!("{}{entry}", format!("{entry},").repeat(count));
        let payload = payload.replace("LIST", &list);
        for (content_type, front) in [("text/event-stream", "data: "), ("application/json", "")] {
            for keep_text in [false, true] {
                let expect = Expect { api, keep_text, stream: !front.is_empty() };
                let response = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n\r\n{front}{payload}\n\n"
                );
                let mut decoder = ExchangeDecoder::new(expect);
                let peak = peak_bytes(|| {
                    response.as_bytes().chunks(READ_BYTES).for_each(|read| decoder.feed(read, 1));
                    decoder.finish(EndCause::Closed, expect);
                });
                // The event itself in two buffers that double, and 32 bytes for each counted result.
                let has_results = matches!(api, Api::Embeddings | Api::Rerank | Api::OllamaEmbed);
                let most = if has_results { 12 + 64 } else { 12 };
                let mib = peak / MIB;
                assert!(mib <= most, "{api:?} {front}{:.60} {keep_text}: {mib} MiB", payload);
            }
        }
    }
}
