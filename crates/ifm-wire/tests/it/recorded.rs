//! Whole answers of every API, as servers sent them or document them: what they mean, in every
//! split, and that no answer that was cut off passes for a whole one.
//!
//! Each file of `tests/data` holds the raw bytes of a response behind lines that begin with `#` and
//! tell where they are from.

use ifm_core::outcome::{Outcome, TimeoutKind};
use ifm_core::record::{CountSource, Counted};
use ifm_core::spec::Api;
use ifm_wire::{Answer, EndCause, ExchangeDecoder, Expect};
use std::path::Path;

use CountSource::{ChunkUsage, Events, FinalUsage};

/// What an answer means.
struct Case {
    file: &'static str,
    api: Api,
    outcome: Outcome,
    /// Token-bearing events, and the tokens in each where they are told.
    events: usize,
    tokens: &'static [u32],
    prompt: Option<(u32, CountSource)>,
    output: Option<(u32, CountSource)>,
    finish_reason: Option<&'static str>,
    text: &'static str,
    /// Part of the error's sentence; or, in a good answer, bytes without which it is cut off.
    mark: &'static str,
}

/// In place of a mark: the answer is whole with its last byte.
const WHOLE: &str = "";
/// What ends a chunked response.
const LAST_CHUNK: &str = "\r\n0\r\n\r\n";

/// A good answer that says nothing.
const OK: Case = Case {
    file: "",
    api: Api::Chat,
    outcome: Outcome::Ok,
    events: 0,
    tokens: &[],
    prompt: None,
    output: None,
    finish_reason: None,
    text: "",
    mark: WHOLE,
};
/// One that reports an error.
const BAD: Case = Case { outcome: Outcome::InBandError, ..OK };

const CASES: &[Case] = &[
    Case {
        file: "chat-llama_cpp.http",
        api: Api::Chat,
        events: 3,
        prompt: Some((9, FinalUsage)),
        output: Some((3, FinalUsage)),
        finish_reason: Some("length"),
        text: " every gets som",
        mark: r#""finish_reason":"length""#,
        ..OK
    },
    Case {
        file: "completions-llama_cpp.http",
        api: Api::Completions,
        events: 3,
        prompt: Some((6, FinalUsage)),
        output: Some((3, FinalUsage)),
        finish_reason: Some("length"),
        text: "Cursorturing inserting",
        mark: r#""finish_reason":"length""#,
        ..OK
    },
    Case {
        file: "responses-llama_cpp.http",
        api: Api::Responses,
        events: 4,
        prompt: Some((9, FinalUsage)),
        output: Some((4, FinalUsage)),
        finish_reason: Some("completed"),
        text: " every gets somSeqCst",
        mark: r#""type":"response.completed""#,
        ..OK
    },
    Case {
        file: "responses-llama_cpp-whole.http",
        api: Api::Responses,
        prompt: Some((9, FinalUsage)),
        output: Some((4, FinalUsage)),
        finish_reason: Some("completed"),
        text: " every gets somSeqCst",
        ..OK
    },
    Case {
        file: "responses-litellm.http",
        api: Api::Responses,
        events: 16,
        prompt: Some((9, FinalUsage)),
        output: Some((16, FinalUsage)),
        finish_reason: Some("completed"),
        text: " every gets somSeqCst drain containedCopyProtocolmicro sequentialotannelingerprint ... unix responsible",
        mark: r#""type":"response.completed""#,
        ..OK
    },
    Case {
        file: "responses-openai.http",
        api: Api::Responses,
        events: 6,
        prompt: Some((20, FinalUsage)),
        output: Some((34, FinalUsage)),
        finish_reason: Some("completed"),
        text: "Looking it upDone",
        mark: r#""type":"response.completed""#,
        ..OK
    },
    Case {
        file: "responses-openai-incomplete.http",
        api: Api::Responses,
        events: 1,
        prompt: Some((20, FinalUsage)),
        output: Some((1, FinalUsage)),
        finish_reason: Some("max_output_tokens"),
        text: "A",
        mark: r#""type":"response.incomplete""#,
        ..OK
    },
    Case {
        file: "responses-openai-failed.http",
        api: Api::Responses,
        events: 1,
        output: Some((1, Events)),
        text: "A",
        mark: "The model crashed.",
        ..BAD
    },
    Case {
        file: "responses-openai-error.http",
        api: Api::Responses,
        mark: "Too many tokens per minute.",
        ..BAD
    },
    Case {
        file: "messages-llama_cpp.http",
        api: Api::Messages,
        events: 4,
        prompt: Some((9, FinalUsage)),
        output: Some((4, FinalUsage)),
        finish_reason: Some("max_tokens"),
        text: " every gets somSeqCst",
        mark: r#""type":"message_stop""#,
        ..OK
    },
    Case {
        file: "messages-llama_cpp-whole.http",
        api: Api::Messages,
        prompt: Some((9, FinalUsage)),
        output: Some((4, FinalUsage)),
        finish_reason: Some("max_tokens"),
        text: " every gets somSeqCst",
        ..OK
    },
    Case {
        file: "messages-litellm.http",
        api: Api::Messages,
        events: 16,
        prompt: Some((9, FinalUsage)),
        output: Some((16, FinalUsage)),
        finish_reason: Some("end_turn"),
        text: " every gets somSeqCst drain containedCopyProtocolmicro sequentialotannelingerprint ... unix responsible",
        mark: r#""type": "message_stop""#,
        ..OK
    },
    Case {
        file: "messages-litellm-broken.http",
        api: Api::Messages,
        events: 1,
        output: Some((1, Events)),
        text: " every",
        mark: "Response payload is not completed",
        ..BAD
    },
    Case {
        file: "messages-anthropic.http",
        api: Api::Messages,
        events: 7,
        prompt: Some((512, FinalUsage)),
        output: Some((65, FinalUsage)),
        finish_reason: Some("tool_use"),
        text: "The user wants rain.I look it up.",
        mark: r#""type":"message_stop""#,
        ..OK
    },
    Case {
        file: "messages-anthropic-refusal.http",
        api: Api::Messages,
        outcome: Outcome::OkFiltered,
        prompt: Some((20, FinalUsage)),
        output: Some((0, FinalUsage)),
        finish_reason: Some("refusal"),
        mark: r#""type":"message_stop""#,
        ..OK
    },
    Case {
        file: "messages-anthropic-error.http",
        api: Api::Messages,
        events: 1,
        prompt: Some((512, FinalUsage)),
        output: Some((1, Events)),
        text: "I",
        mark: "Overloaded",
        ..BAD
    },
    Case {
        file: "sglang.http",
        api: Api::Sglang,
        events: 4,
        tokens: &[1, 2, 1, 1],
        prompt: Some((6, ChunkUsage)),
        output: Some((5, ChunkUsage)),
        finish_reason: Some("length"),
        text: " Paris, the city é.",
        mark: "[DONE]",
        ..OK
    },
    Case {
        file: "sglang-whole.http",
        api: Api::Sglang,
        prompt: Some((6, FinalUsage)),
        output: Some((3, FinalUsage)),
        finish_reason: Some("stop"),
        text: " Paris, the",
        ..OK
    },
    Case {
        file: "sglang-error.http",
        api: Api::Sglang,
        events: 1,
        tokens: &[1],
        prompt: Some((6, ChunkUsage)),
        output: Some((1, ChunkUsage)),
        text: " Paris",
        mark: "longer than the model's context",
        ..BAD
    },
    Case {
        file: "sglang-abort.http",
        api: Api::Sglang,
        events: 1,
        tokens: &[1],
        prompt: Some((6, ChunkUsage)),
        output: Some((1, ChunkUsage)),
        text: " Paris",
        mark: "gave the request up: Aborted by",
        ..BAD
    },
    Case {
        file: "tgi.http",
        api: Api::Tgi,
        events: 3,
        tokens: &[1, 1, 1],
        prompt: Some((7, ChunkUsage)),
        output: Some((3, ChunkUsage)),
        finish_reason: Some("eos_token"),
        text: " Deep learning",
        mark: r#""finish_reason":"eos_token""#,
        ..OK
    },
    Case {
        file: "tgi-whole.http",
        api: Api::Tgi,
        output: Some((2, FinalUsage)),
        finish_reason: Some("length"),
        text: " Deep learning",
        ..OK
    },
    Case {
        file: "tgi-error.http",
        api: Api::Tgi,
        events: 1,
        tokens: &[1],
        output: Some((1, ChunkUsage)),
        text: " Deep",
        mark: "Server error: out of memory",
        ..BAD
    },
    Case {
        file: "ollama_chat.http",
        api: Api::OllamaChat,
        // Five texts, and the end of the text, which is counted with the last object.
        events: 6,
        prompt: Some((26, FinalUsage)),
        output: Some((6, FinalUsage)),
        finish_reason: Some("stop"),
        text: "Why blue?The sky é.",
        mark: r#""done":true"#,
        ..OK
    },
    Case {
        file: "ollama_chat-tools.http",
        api: Api::OllamaChat,
        // The call, and the end of the text, which is counted with the last object.
        events: 2,
        prompt: Some((26, FinalUsage)),
        output: Some((15, FinalUsage)),
        finish_reason: Some("stop"),
        mark: r#""done":true"#,
        ..OK
    },
    Case {
        file: "ollama_chat-whole.http",
        api: Api::OllamaChat,
        prompt: Some((26, FinalUsage)),
        output: Some((3, FinalUsage)),
        finish_reason: Some("length"),
        text: "The sky.",
        ..OK
    },
    Case {
        file: "ollama_generate.http",
        api: Api::OllamaGenerate,
        events: 2,
        prompt: Some((26, FinalUsage)),
        output: Some((2, FinalUsage)),
        finish_reason: Some("length"),
        text: " Yes.",
        mark: r#""done":true"#,
        ..OK
    },
    Case {
        file: "ollama_generate-error.http",
        api: Api::OllamaGenerate,
        events: 2,
        output: Some((2, Events)),
        text: " Yes.",
        mark: "an error was encountered while running the model",
        ..BAD
    },
    Case {
        file: "llama_cpp.http",
        api: Api::LlamaCpp,
        events: 4,
        tokens: &[1, 1, 1, 1],
        prompt: Some((6, ChunkUsage)),
        output: Some((4, ChunkUsage)),
        finish_reason: Some("limit"),
        text: "Cursorturing insertingiddle",
        mark: r#""stop":true"#,
        ..OK
    },
    Case {
        file: "llama_cpp-whole.http",
        api: Api::LlamaCpp,
        prompt: Some((3, FinalUsage)),
        output: Some((4, FinalUsage)),
        finish_reason: Some("limit"),
        text: "patchbytesetimesArchive",
        ..OK
    },
    Case {
        file: "triton.http",
        api: Api::Triton,
        events: 3,
        output: Some((3, Events)),
        text: " machine learning is",
        mark: LAST_CHUNK,
        ..OK
    },
    Case {
        file: "triton-counted.http",
        api: Api::Triton,
        events: 3,
        tokens: &[1, 2, 1],
        prompt: Some((5, ChunkUsage)),
        output: Some((4, ChunkUsage)),
        finish_reason: Some("length"),
        text: " machine learning is",
        mark: LAST_CHUNK,
        ..OK
    },
    Case { file: "triton-whole.http", api: Api::Triton, text: " machine learning", ..OK },
    Case {
        file: "triton-error.http",
        api: Api::Triton,
        events: 1,
        output: Some((1, Events)),
        text: " machine",
        mark: "An Error Occurred",
        ..BAD
    },
    Case {
        file: "embeddings-llama_cpp.http",
        api: Api::Embeddings,
        prompt: Some((6, FinalUsage)),
        output: Some((0, FinalUsage)),
        ..OK
    },
    Case {
        file: "rerank-llama_cpp.http",
        api: Api::Rerank,
        prompt: Some((13, FinalUsage)),
        output: Some((0, FinalUsage)),
        ..OK
    },
    Case { file: "ollama_embed.http", api: Api::OllamaEmbed, prompt: Some((8, FinalUsage)), ..OK },
];

fn bytes_of(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut rest = bytes.as_slice();
    while rest.starts_with(b"#") {
        let end = rest.iter().position(|byte| *byte == b'\n').expect("a line");
        rest = &rest[end + 1..];
    }
    rest.to_vec()
}

/// The same response whose body goes on until the connection closes.
fn until_close(bytes: &[u8]) -> Vec<u8> {
    let mut reader = ifm_wire::ResponseReader::new();
    let mut input = bytes;
    let mut body = Vec::new();
    loop {
        match reader.step(&mut input).expect("a right response") {
            ifm_wire::Step::NeedMore => panic!("a whole response"),
            ifm_wire::Step::Head => {}
            ifm_wire::Step::Body(part) => body.extend_from_slice(part),
            ifm_wire::Step::End => break,
        }
    }
    let head = reader.head().expect("a head");
    let kind = head.content_type.as_deref().unwrap_or("text/plain");
    let mut all =
        format!("HTTP/1.1 {} Any\r\ncontent-type: {kind}\r\n\r\n", head.status).into_bytes();
    all.extend(body);
    all
}

/// Decodes reads that all carry the same stamp: pieces then differ from the whole only in what
/// shares a read.
fn decode(api: Api, reads: &[&[u8]], keep_text: bool, cause: EndCause) -> Answer {
    let expect = Expect { api, keep_text, stream: true };
    let mut decoder = ExchangeDecoder::new(expect);
    for read in reads {
        decoder.feed(read, 1000);
    }
    let mut answer = decoder.finish(cause, expect);
    answer.co_arrived_events = 0;
    answer
}

fn counted(count: Option<(u32, CountSource)>) -> Option<Counted> {
    count.map(|(tokens, from)| Counted { tokens, from })
}

#[test]
fn answers_mean_what_the_api_says() {
    for case in CASES {
        let bytes = bytes_of(case.file);
        let mut answer = decode(case.api, &[&bytes], true, EndCause::Complete);
        let file = case.file;
        assert_eq!(answer.outcome, case.outcome, "{file}: {:?}", answer.error);
        assert_eq!(answer.events.len(), case.events, "{file}");
        assert_eq!(answer.events.tokens, case.tokens, "{file}");
        assert_eq!(answer.prompt_tokens, counted(case.prompt), "{file}");
        assert_eq!(answer.output_tokens, counted(case.output), "{file}");
        assert_eq!(answer.finish_reason.as_deref(), case.finish_reason, "{file}");
        assert_eq!(answer.text.as_deref(), Some(case.text), "{file}");
        assert_eq!(answer.streamed, !file.contains("whole") && !is_list(case.api), "{file}");
        if !answer.outcome.is_ok() {
            let error = answer.error.as_deref().unwrap_or_default();
            assert!(error.contains(case.mark), "{file}: {error}");
        }
        answer.text = None;
        let quick = decode(case.api, &[&bytes], false, EndCause::Complete);
        assert_eq!(quick, answer, "{file}: without its text");
    }
}

fn is_list(api: Api) -> bool {
    matches!(api, Api::Embeddings | Api::Rerank | Api::OllamaEmbed)
}

#[test]
fn no_split_changes_what_an_answer_means() {
    for case in CASES {
        let bytes = bytes_of(case.file);
        let whole = decode(case.api, &[&bytes], false, EndCause::Closed);
        for place in 0..=bytes.len() {
            let (front, back) = bytes.split_at(place);
            let split = decode(case.api, &[front, back], false, EndCause::Closed);
            assert_eq!(split, whole, "{} split at {place}", case.file);
        }
        let each: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(case.api, &each, false, EndCause::Closed), whole, "{}", case.file);
    }
}

#[test]
fn what_was_cut_off_is_never_a_success() {
    for case in CASES {
        let chunked = bytes_of(case.file);
        let closing = until_close(&chunked);
        for bytes in [&chunked, &closing] {
            for place in 0..bytes.len() {
                let cut = &bytes[..place];
                // A stream that said it was done is whole, whatever then becomes of the connection.
                let may_be_whole = case.mark != WHOLE && contains(cut, case.mark.as_bytes());
                for cause in [EndCause::Closed, EndCause::TimedOut(TimeoutKind::Idle)] {
                    let answer = decode(case.api, &[cut], false, cause);
                    assert!(
                        !answer.outcome.is_ok() || case.outcome.is_ok() && may_be_whole,
                        "{} cut at {place}: {:?}",
                        case.file,
                        String::from_utf8_lossy(&cut[place.saturating_sub(60)..])
                    );
                }
            }
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_stream_that_goes_on_until_the_connection_closes_means_the_same_where_the_api_has_a_mark() {
    for case in CASES {
        let closing = until_close(&bytes_of(case.file));
        let answer = decode(case.api, &[&closing], false, EndCause::Closed);
        let expect = match case.api {
            // Nothing tells the end from a cut.
            Api::Triton if case.mark == LAST_CHUNK => Outcome::Truncated,
            _ => case.outcome,
        };
        assert_eq!(answer.outcome, expect, "{}: {:?}", case.file, answer.error);
        assert_eq!(answer.events.len(), case.events, "{}", case.file);
    }
}

#[test]
fn one_decoder_reads_one_api_after_another() {
    let first = Expect { api: CASES[0].api, keep_text: false, stream: true };
    let mut decoder = ExchangeDecoder::new(first);
    for (case, next) in CASES.iter().zip(CASES.iter().cycle().skip(1)) {
        decoder.feed(&bytes_of(case.file), 1000);
        let next = Expect { api: next.api, keep_text: false, stream: true };
        let mut answer = decoder.finish(EndCause::Complete, next);
        answer.co_arrived_events = 0;
        let fresh = decode(case.api, &[&bytes_of(case.file)], false, EndCause::Complete);
        assert_eq!(answer, fresh, "{}", case.file);
    }
}

#[test]
fn every_recording_is_judged_and_every_api_has_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        assert!(CASES.iter().any(|case| *case.file == *name), "{name:?} is not in the table");
    }
    for api in Api::ALL {
        assert!(CASES.iter().any(|case| case.api == api && case.outcome.is_ok()), "{api:?}");
    }
}
