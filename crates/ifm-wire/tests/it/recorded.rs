//! Whole answers of every API, as servers sent them or document them: what they mean, in every
//! split, and that no answer that was cut off passes for a whole one.
//!
//! Each file of `tests/data` holds the raw bytes of a response behind lines that begin with `#` and
//! tell where they are from. `meanings.jsonl` has a line for each.

use ifm_core::outcome::{Outcome, TimeoutKind};
use ifm_core::record::{CountSource, Counted};
use ifm_core::spec::Api;
use ifm_wire::{Answer, EndCause, ExchangeDecoder, Expect};
use serde::Deserialize;
use std::path::Path;

/// What an answer means: a line of `tests/data/meanings.jsonl`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    file: String,
    api: Api,
    #[serde(default = "ok")]
    outcome: Outcome,
    /// Token-bearing events, and the tokens in each if reported.
    #[serde(default)]
    events: usize,
    #[serde(default)]
    tokens: Vec<u32>,
    prompt: Option<(u32, CountSource)>,
    output: Option<(u32, CountSource)>,
    /// Prompt tokens of text, images, audio and video.
    #[serde(default)]
    kinds: [Option<u32>; 4],
    finish_reason: Option<String>,
    #[serde(default)]
    text: String,
    /// Part of the error's sentence; or, in a good answer, bytes without which it is cut off. Without it
    /// the answer is whole with its last byte.
    #[serde(default)]
    mark: String,
    /// For who reads the line.
    #[serde(default, rename = "why")]
    _why: String,
}

/// What ends a chunked response.
const LAST_CHUNK: &str = "\r\n0\r\n\r\n";

fn ok() -> Outcome {
    Outcome::Ok
}

fn cases() -> Vec<Case> {
    let lines = include_str!("../data/meanings.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

/// Every recording and its API.
pub(crate) fn files() -> Vec<(String, Api)> {
    cases().into_iter().map(|case| (case.file, case.api)).collect()
}

pub(crate) fn bytes_of(file: &str) -> Vec<u8> {
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
pub(crate) fn until_close(bytes: &[u8]) -> Vec<u8> {
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
pub(crate) fn decode(api: Api, reads: &[&[u8]], keep_text: bool, cause: EndCause) -> Answer {
    let expect = Expect { api, keep_text, stream: true };
    let mut decoder = ExchangeDecoder::new(expect);
    for read in reads {
        decoder.feed(read, 1000);
    }
    let mut answer = decoder.finish(cause, expect);
    answer.co_arrived_events = 0;
    answer
}

pub(crate) fn counted(count: Option<(u32, CountSource)>) -> Option<Counted> {
    count.map(|(tokens, from)| Counted { tokens, from })
}

#[test]
fn answers_mean_what_the_api_says() {
    for case in cases() {
        let bytes = bytes_of(&case.file);
        let mut answer = decode(case.api, &[&bytes], true, EndCause::Complete);
        let file = &case.file;
        assert_eq!(answer.outcome, case.outcome, "{file}: {:?}", answer.error);
        assert_eq!(answer.events.len(), case.events, "{file}");
        assert_eq!(answer.events.tokens, case.tokens, "{file}");
        assert_eq!(answer.prompt_tokens, counted(case.prompt), "{file}");
        assert_eq!(answer.output_tokens, counted(case.output), "{file}");
        let kinds = answer.usage.prompt_kinds;
        let kinds = [kinds.text, kinds.image, kinds.audio, kinds.video];
        assert_eq!(kinds, case.kinds, "{file}");
        assert_eq!(answer.finish_reason, case.finish_reason, "{file}");
        assert_eq!(answer.text.as_deref(), Some(case.text.as_str()), "{file}");
        assert_eq!(answer.streamed, !file.contains("whole") && !is_list(case.api), "{file}");
        if !answer.outcome.is_ok() {
            let error = answer.error.as_deref().unwrap_or_default();
            assert!(error.contains(&case.mark), "{file}: {error}");
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
    for case in cases() {
        let bytes = bytes_of(&case.file);
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
    for case in cases() {
        let chunked = bytes_of(&case.file);
        let closing = until_close(&chunked);
        for bytes in [&chunked, &closing] {
            for place in 0..bytes.len() {
                let cut = &bytes[..place];
                // A stream that said it was done is whole, whatever then becomes of the connection.
                let may_be_whole = !case.mark.is_empty() && contains(cut, case.mark.as_bytes());
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
    for case in cases() {
        let closing = until_close(&bytes_of(&case.file));
        let answer = decode(case.api, &[&closing], false, EndCause::Closed);
        let expect = match case.api {
            // A complete answer cannot be distinguished from a truncated one.
            Api::Triton if case.mark == LAST_CHUNK => Outcome::Truncated,
            _ => case.outcome,
        };
        assert_eq!(answer.outcome, expect, "{}: {:?}", case.file, answer.error);
        assert_eq!(answer.events.len(), case.events, "{}", case.file);
    }
}

#[test]
fn one_decoder_reads_one_api_after_another() {
    let cases = cases();
    let first = Expect { api: cases[0].api, keep_text: false, stream: true };
    let mut decoder = ExchangeDecoder::new(first);
    for (case, next) in cases.iter().zip(cases.iter().cycle().skip(1)) {
        decoder.feed(&bytes_of(&case.file), 1000);
        let next = Expect { api: next.api, keep_text: false, stream: true };
        let mut answer = decoder.finish(EndCause::Complete, next);
        answer.co_arrived_events = 0;
        let fresh = decode(case.api, &[&bytes_of(&case.file)], false, EndCause::Complete);
        assert_eq!(answer, fresh, "{}", case.file);
    }
}

#[test]
fn every_recording_is_judged_and_every_api_has_one() {
    let cases = cases();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let is_known = name == "meanings.jsonl" || cases.iter().any(|case| *case.file == *name);
        assert!(is_known, "{name:?} is not in the table");
    }
    for api in Api::ALL {
        assert!(cases.iter().any(|case| case.api == api && case.outcome.is_ok()), "{api:?}");
    }
}
