//! The event reader against a slow one, written line by line from the text of WHATWG HTML,
//! 9.2.5 "Parsing an event stream" and 9.2.6 "Interpreting an event stream".
//!
//! One difference is meant: an event whose payload is empty carries nothing for us, so the reader
//! leaves it out unless it names itself an error.

use crate::{pieces, try_cases};
use ifm_wire::sse::EventReader;
use proptest::prelude::*;
use proptest::sample::Index;

/// An event: payload, type, and the offset just behind the last byte of its last data line.
#[derive(Debug, Clone, PartialEq)]
struct Dispatched {
    data: String,
    event_type: String,
    end: usize,
}

/// Decodes as "UTF-8 decode" does: one byte-order mark at the start is dropped, what is no UTF-8
/// becomes U+FFFD. Each character comes with the offset just behind it.
fn decode(bytes: &[u8]) -> Vec<(char, usize)> {
    let mut end = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut characters = Vec::new();
    for chunk in bytes[end..].utf8_chunks() {
        for character in chunk.valid().chars() {
            end += character.len_utf8();
            characters.push((character, end));
        }
        if !chunk.invalid().is_empty() {
            end += chunk.invalid().len();
            characters.push(('\u{fffd}', end));
        }
    }
    characters
}

/// The lines that have an end, each with the offset behind its last character.
fn lines(bytes: &[u8]) -> Vec<(String, usize)> {
    let characters = decode(bytes);
    let mut lines = Vec::new();
    let (mut line, mut end) = (String::new(), 0);
    let mut position = 0;
    while let Some(&(character, behind)) = characters.get(position) {
        position += 1;
        if character == '\r' || character == '\n' {
            if character == '\r' && characters.get(position).is_some_and(|next| next.0 == '\n') {
                position += 1;
            }
            lines.push((std::mem::take(&mut line), end));
        } else {
            line.push(character);
            end = behind;
        }
    }
    lines
}

/// What a user agent dispatches.
fn interpret(bytes: &[u8]) -> Vec<Dispatched> {
    let mut dispatched = Vec::new();
    let (mut data, mut event_type, mut data_end) = (String::new(), String::new(), 0);
    for (line, end) in lines(bytes) {
        if line.is_empty() {
            if data.is_empty() {
                event_type.clear();
                continue;
            }
            if data.ends_with('\n') {
                data.pop();
            }
            dispatched.push(Dispatched {
                data: std::mem::take(&mut data),
                event_type: std::mem::take(&mut event_type),
                end: data_end,
            });
        } else if line.starts_with(':') {
            // A comment.
        } else {
            let (field, value) = match line.find(':') {
                Some(colon) => (&line[..colon], &line[colon + 1..]),
                None => (line.as_str(), ""),
            };
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => event_type = value.to_owned(),
                "data" => {
                    data.push_str(value);
                    data.push('\n');
                    data_end = end;
                }
                // `id` and `retry` change nothing in an event's payload; others are unknown.
                _ => {}
            }
        }
    }
    dispatched
}

/// The read that brought the byte before this offset.
fn read_of(parts: &[Vec<u8>], offset: usize) -> u64 {
    let mut end = 0;
    let within = |part: &Vec<u8>| {
        end += part.len();
        offset <= end
    };
    parts.iter().position(within).expect("an offset within the stream") as u64
}

fn check(bytes: &[u8], cuts: &[Index]) -> Result<(), TestCaseError> {
    let parts = pieces(bytes, cuts);
    let mut reader = EventReader::default();
    let mut seen = Vec::new();
    for (position, part) in parts.iter().enumerate() {
        let result = reader.feed(part, position as u64, &mut |event| {
            let data = String::from_utf8_lossy(event.data).into_owned();
            seen.push((data, event.is_error, event.at_ns));
        });
        prop_assert!(result.is_ok());
    }
    let expect: Vec<(String, bool, u64)> = interpret(bytes)
        .into_iter()
        .filter(|event| !event.data.is_empty() || event.event_type == "error")
        .map(|event| {
            let at = read_of(&parts, event.end);
            (event.data, event.event_type == "error", at)
        })
        .collect();
    prop_assert_eq!(seen, expect, "{:?}", String::from_utf8_lossy(bytes));
    Ok(())
}

/// Streams of words that mean something to the grammar, in any order.
fn words() -> impl Strategy<Value = Vec<u8>> {
    const WORDS: [&[u8]; 30] = [
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b"\r\r",
        b":",
        b": ",
        b" ",
        b"data",
        b"data",
        b"data:",
        b"data: ",
        b"data: a\n",
        b"data: a\n\n",
        b"data: {\"a\":\"b\"}\r\n\r\n",
        b"event",
        b"event: error\n",
        b"event:error",
        b"error",
        b"id: 1\n",
        b"id:\0",
        b"retry: 10\n",
        b"\xef\xbb\xbf",
        b"\xef\xbb",
        b"\xe2\x80\xa8",
        b"\xff",
        b"\xc3\xa4",
        b"x",
    ];
    prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..40)
        .prop_map(|words| words.concat())
}

/// Streams as servers send them, with a byte wrong now and then.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    let event = prop_oneof![
        6 => "data: ?[ -~]{0,20}",
        1 => ": ?[a-z]{0,9}",
        1 => "(event: error|id: 7)",
        1 => "data: [a-z]{0,5}\n(data:[a-z]{0,5}\n){0,2}id",
    ];
    let damage = prop::collection::vec((any::<Index>(), any::<u8>()), 0..3);
    (prop::collection::vec(event, 0..12), end, damage).prop_map(|(events, end, damage)| {
        let text: String =
            events.iter().map(|event| format!("{}{end}{end}", event.replace('\n', end))).collect();
        let mut bytes = text.into_bytes();
        for (place, byte) in &damage {
            let places = bytes.len().max(1);
            if let Some(damaged) = bytes.get_mut(place.index(places)) {
                *damaged = *byte;
            }
        }
        bytes
    })
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    prop_oneof![
        2 => prop::collection::vec(any::<Index>(), 0..5),
        1 => prop::collection::vec(any::<Index>(), 0..200),
    ]
}

#[test]
fn any_words_are_read_as_the_standard_says() {
    try_cases(1500, &(words(), cuts()), |(bytes, cuts)| check(&bytes, &cuts));
}

#[test]
fn streams_of_servers_are_read_as_the_standard_says() {
    try_cases(1500, &(streams(), cuts()), |(bytes, cuts)| check(&bytes, &cuts));
}

/// The examples of the standard itself, as it explains them.
#[test]
fn the_slow_reader_reads_the_examples_of_the_standard() {
    let data = |stream: &str| -> Vec<String> {
        interpret(stream.as_bytes()).into_iter().map(|event| event.data).collect()
    };
    assert_eq!(data("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
    assert_eq!(
        data(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event"
        ),
        ["first event", "second event"]
    );
    assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
    assert_eq!(data("data:test\n\ndata: test\n\n"), ["test", "test"]);
}
