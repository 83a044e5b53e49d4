//! What an API file finds in an answer: the raw event, and for each key what is at its place, or that
//! nothing is. For authors of such files.
//!
//! Not here: the questions about a server whose API is built in.

use super::{Finding, Grade, Section};
use ifm_core::spec::Api;
use ifm_core::words::counted;
use ifm_wire::dialect::custom::{Description, Shown, plainly, text_like};
use ifm_wire::dialect::{self, Dialect, Framing};
use ifm_wire::lines::LineReader;
use ifm_wire::sse::{Event, EventReader};
use ifm_wire::{Answer, EndCause, ExchangeDecoder, Expect, ResponseReader, Step};
use serde_json::{Value, json};

/// Maximum number of characters shown of a document.
const SHOWN_CHARS: usize = 600;
/// Maximum number of characters shown of a value.
const VALUE_CHARS: usize = 60;

/// The bytes of a response whose body was saved, with or without its head.
pub fn response(saved: &[u8]) -> Vec<u8> {
    match saved.starts_with(b"HTTP/") {
        true => saved.to_vec(),
        false => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", saved.len());
            [head.as_bytes(), saved].concat()
        }
    }
}

/// How a run parses a response.
pub fn answer(api: Api, response: &[u8], stream: bool) -> Answer {
    let expect = Expect { api, keep_text: true, stream };
    let mut decoder = ExchangeDecoder::new(expect);
    decoder.feed(response, 0);
    decoder.finish(EndCause::Closed, expect)
}

/// Reports what the file finds in a response that a run parses to this answer.
pub fn findings(api: Api, response: &[u8], answer: &Answer) -> Vec<Finding> {
    let dialect = dialect::of(api);
    let Some(file) = dialect.file() else { return Vec::new() };
    let body = body_of(response);
    let documents = match answer.streamed {
        true => events_of(dialect, &body),
        false => vec![String::from_utf8_lossy(&body).into_owned()],
    };
    let shown = Shown::merged(documents.iter().map(|it| file.shown(it, answer.streamed)));
    let text = shown.iter().find(|key| key.key == "text");
    // An event with text is more useful for a file's author than the first one.
    let telling = documents.iter().find(|it| has_text(file, it, answer.streamed));
    let mut findings = vec![read_as(answer)];
    if let Some(document) = telling.or(documents.first()) {
        findings.push(raw(document, documents.len(), answer.streamed));
    }
    findings.extend(shown.iter().map(|key| of_key(key, documents.len())));
    if text.is_some_and(|text| text.found.is_empty()) {
        findings.push(likely(&documents));
    }
    findings
}

fn has_text(file: &Description, document: &str, is_event: bool) -> bool {
    let shown = file.shown(document, is_event);
    let text = shown.iter().find(|key| key.key == "text");
    text.is_some_and(|key| key.found.iter().any(|value| value != "\"\""))
}

/// How a run would parse the answer.
fn read_as(answer: &Answer) -> Finding {
    let id = (Section::Answers, "read");
    let events = answer.events.len() as u64;
    let mut words = vec![answer.outcome.word().to_owned()];
    match answer.streamed {
        true => words.push(counted(events, "token event")),
        false => words.push("a whole answer".to_owned()),
    }
    let count = |tokens: Option<ifm_core::Counted>, of: &str| {
        let tokens = tokens?;
        let from = tokens.from.word();
        Some(format!("{} {of} tokens ({from})", tokens.tokens))
    };
    words.extend(count(answer.prompt_tokens, "prompt"));
    words.extend(count(answer.output_tokens, "output"));
    words.extend(answer.finish_reason.as_ref().map(|reason| format!("ended by \"{reason}\"")));
    let value = json!({
        "outcome": answer.outcome.word(),
        "events": events,
        "prompt_tokens": answer.prompt_tokens.map(|counted| counted.tokens),
        "output_tokens": answer.output_tokens.map(|counted| counted.tokens),
        "finish_reason": answer.finish_reason,
        "text": answer.text.as_deref(),
    });
    let grade = if answer.outcome.is_ok() { Grade::Good } else { Grade::Caution };
    let finding = Finding::known(id, grade, value, words.join(", "));
    finding.how(answer.error.clone().unwrap_or_default())
}

/// A document as received.
fn raw(document: &str, count: usize, is_event: bool) -> Finding {
    let what = if is_event { "event" } else { "whole_answer" };
    let of = match is_event {
        true => format!("one of {}", counted(count as u64, "event")),
        false => String::new(),
    };
    let id = (Section::Answers, what);
    Finding::known(id, Grade::Note, document, clipped(document, SHOWN_CHARS)).how(of)
}

/// What one key finds.
fn of_key(key: &Shown, documents: usize) -> Finding {
    let id = (Section::Answers, key.key);
    let places = key.places.join(", ");
    // The first event of many streams contains an empty text.
    let full = key.found.iter().find(|value| *value != "\"\"");
    let Some(first) = full.or(key.found.first()) else {
        let text = format!("nothing at {places}");
        return Finding::known(id, Grade::Note, Value::Null, text);
    };
    let value = serde_json::from_str(first).unwrap_or_else(|_| Value::String(first.clone()));
    let text = format!("\"{}\"", clipped(&plainly(first), VALUE_CHARS));
    let how = match documents {
        1 => format!("at {places}"),
        _ => format!("in {} of {documents} events, at {places}", key.documents),
    };
    Finding::known(id, Grade::Good, value, text).how(how)
}

/// Strings of an answer without a text that look like one.
fn likely(documents: &[String]) -> Finding {
    let id = (Section::Answers, "text_like");
    let found = documents.iter().map(|document| text_like(document)).find(|it| !it.is_empty());
    let found = found.unwrap_or_default();
    let value: Value =
        found.iter().map(|(place, text)| json!({"at": place, "text": text})).collect();
    let list = found
        .iter()
        .map(|(place, text)| format!("{place} holds \"{}\"", clipped(text, VALUE_CHARS)));
    let list: Vec<String> = list.collect();
    match list.is_empty() {
        true => {
            Finding::known(id, Grade::Caution, value, "no string in the answer looks like text")
        }
        false => Finding::known(id, Grade::Caution, value, list.join("; "))
            .means("write the right one as \"text\" into the file"),
    }
}

/// The payloads of a stream, without end marks.
fn events_of(dialect: &Dialect, body: &[u8]) -> Vec<String> {
    let mut events = Vec::new();
    let mut take = |event: Event<'_>| {
        if !dialect.is_end_mark(event.data) {
            events.push(String::from_utf8_lossy(event.data).into_owned());
        }
    };
    // A payload that is too large ends the stream; the answer reports that.
    match dialect.framing {
        Framing::Events => {
            let mut reader = EventReader::default();
            _ = reader.feed(body, 0, &mut take);
            reader.finish(&mut take);
        }
        Framing::Lines => {
            let mut reader = LineReader::default();
            _ = reader.feed(body, 0, &mut take);
            reader.finish(&mut take);
        }
        // No API file describes audio.
        Framing::Bytes => {}
    }
    events
}

fn body_of(response: &[u8]) -> Vec<u8> {
    let (mut reader, mut input, mut body) = (ResponseReader::new(), response, Vec::new());
    while let Ok(step) = reader.step(&mut input) {
        match step {
            Step::Body(part) => body.extend_from_slice(part),
            Step::Head => {}
            Step::NeedMore | Step::End => break,
        }
    }
    body
}

fn clipped(text: &str, most: usize) -> String {
    let mut start: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_wire::dialect::custom::{self, SHIPPED};

    fn found(file: &str, saved: &str) -> Vec<Finding> {
        let api = custom::read("tried.toml", file).unwrap();
        let bytes = response(saved.as_bytes());
        findings(api, &bytes, &answer(api, &bytes, true))
    }

    fn text(findings: &[Finding], id: &str) -> String {
        let finding = findings.iter().find(|finding| finding.id == id);
        finding.map_or_else(String::new, |it| format!("{} | {} | {}", it.text, it.how, it.means))
    }

    fn cohere() -> &'static str {
        SHIPPED.iter().find(|file| file.word == "cohere").unwrap().text
    }

    const STREAM: &str = "data: {\"type\":\"message-start\",\"id\":\"x y\"}\n\n\
        data: {\"type\":\"content-delta\",\"delta\":{\"message\":{\"content\":{\"text\":\"Hi you\"}}}}\n\n\
        data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n";

    #[test]
    fn each_key_says_what_it_finds_and_where() {
        let all = found(cohere(), STREAM);
        assert!(text(&all, "read").starts_with("ok, 1 token event"), "{}", text(&all, "read"));
        assert!(text(&all, "event").contains("content-delta"));
        assert_eq!(
            text(&all, "text"),
            "\"Hi you\" | in 1 of 3 events, at /delta/message/content/text | "
        );
        assert!(text(&all, "error").starts_with("nothing at /delta/error"));
        assert_eq!(text(&all, "text_like"), "");
    }

    #[test]
    fn a_place_without_text_is_told_with_strings_that_look_like_it() {
        let wrong = cohere().replace("/delta/message/content/text", "/delta/text");
        let all = found(&wrong, STREAM);
        assert!(text(&all, "text").starts_with("nothing at /delta/text"), "{all:?}");
        let likely = text(&all, "text_like");
        assert!(likely.contains("/id holds \"x y\""), "{likely}");
        assert!(likely.contains("into the file"), "{likely}");
    }

    #[test]
    fn whole_answers_refusals_and_rubbish_are_told_too() {
        let whole =
            r#"{"message":{"content":[{"text":"a"},{"text":"b"}]},"finish_reason":"COMPLETE"}"#;
        let all = found(cohere(), whole);
        assert!(text(&all, "whole_answer").contains("finish_reason"), "{all:?}");
        assert!(text(&all, "text").starts_with("\"a\" | at /message/content/*/text"), "{all:?}");
        let refused = "HTTP/1.1 401 No\r\nContent-Length: 18\r\n\r\n{\"message\":\"no key\"}";
        let all = found(cohere(), refused);
        assert!(text(&all, "read").contains("no ke"), "{all:?}");
        for rubbish in ["", "{", "data: \n\n", "\u{0}\u{1}", "[]", "<html>"] {
            assert!(!found(cohere(), rubbish).is_empty(), "{rubbish}");
        }
    }
}
