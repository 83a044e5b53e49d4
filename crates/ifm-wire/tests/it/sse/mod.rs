//! The event reader against a slow one, written line by line from the text of WHATWG HTML,
//! 9.2.5 "Parsing an event stream" and 9.2.6 "Interpreting an event stream".
//!
//! One difference is meant: an event whose payload is empty carries nothing for us, so the reader
//! leaves it out unless it names itself an error.

mod standard;

use crate::{pieces, try_cases};
use proptest::prelude::*;
use proptest::sample::Index;
use standard::{complaint, interpret};

fn check(bytes: &[u8], cuts: &[Index]) -> Result<(), TestCaseError> {
    match complaint(bytes, &pieces(bytes, cuts)) {
        Some(complaint) => Err(TestCaseError::fail(complaint)),
        None => Ok(()),
    }
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
