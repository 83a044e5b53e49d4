//! Sound answers: raw bytes, events, their ends, and answers that are not sound.

use ifm_core::spec::Api;
use ifm_core::{MadeAudio, Outcome};
use ifm_wire::{Answer, EndCause, ExchangeDecoder, Expect};

const EXPECT: Expect = Expect { api: Api::Speech, keep_text: false, stream: true };

/// Decodes reads that come at 10, 20, 30 ns and so on.
fn decode(reads: &[&[u8]], cause: EndCause) -> Answer {
    let mut decoder = ExchangeDecoder::new(EXPECT);
    for (read, number) in reads.iter().zip(1..) {
        decoder.feed(read, number * 10);
    }
    decoder.finish(cause, EXPECT)
}

#[test]
fn each_read_of_sound_is_an_event() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: audio/pcm\r\nTransfer-Encoding: chunked\r\n\r\n";
    // Two chunks in one read, and one chunk in two.
    let reads: [&[u8]; 5] =
        [head, b"4\r\n{[<\"\r\n2\r\nef\r\n", b"8\r\nghij", b"klmn\r\n", b"0\r\n\r\n"];
    let answer = decode(&reads, EndCause::Complete);
    assert_eq!((answer.outcome, answer.error, answer.streamed), (Outcome::Ok, None, true));
    assert_eq!(answer.events.at_ns, [20, 30, 40]);
    assert_eq!((answer.first_event_ns, answer.stream_end_ns), (Some(20), Some(50)));
    assert_eq!((answer.choices, answer.output_tokens), (0, None), "sound is no token");
    let expect = MadeAudio {
        first_ns: 20,
        audio_ns: Some(14 * 1_000_000_000 / 48_000),
        bytes: 14,
        silence_ns: Some(0),
        silences: Some(0),
    };
    assert_eq!(answer.made_audio, Some(expect));
}

#[test]
fn sound_that_may_have_been_cut_off_is_not_whole() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nTransfer-Encoding: chunked\r\n\r\n";
    let closing = b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\n\r\nabcd";
    let empty = b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 0\r\n\r\n";
    let sized = b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 4\r\n\r\nabcd";
    for (reads, outcome, why) in [
        (vec![chunked.as_slice(), b"4\r\nab"], Outcome::TransportError, ""),
        (vec![closing.as_slice()], Outcome::Truncated, "nothing says that the sound was whole"),
        (vec![empty.as_slice()], Outcome::Truncated, "holds no sound"),
        (vec![sized.as_slice()], Outcome::Ok, ""),
    ] {
        let answer = decode(&reads, EndCause::Closed);
        assert_eq!(answer.outcome, outcome, "{:?}", answer.error);
        assert!(answer.error.unwrap_or_default().contains(why));
    }
}

#[test]
fn a_text_in_place_of_sound_is_an_error_in_its_words() {
    for (kind, body, why) in [
        ("application/json", r#"{"error":{"message":"no such voice"}}"#, "no such voice"),
        ("application/json", r#"{"ok":true}"#, "the answer is none of the API \"speech\""),
        ("text/html", "<h1>Bad gateway</h1>", "markup instead of JSON"),
    ] {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let answer = decode(&[text.as_bytes()], EndCause::Complete);
        assert_eq!((answer.outcome, answer.made_audio), (Outcome::InBandError, None), "{kind}");
        assert!(answer.error.unwrap_or_default().contains(why), "{kind}");
    }
}

#[test]
fn sound_in_events_is_measured_as_bytes_are() {
    for (file, api, at, bytes) in [
        (&include_bytes!("../data/speech.http")[..], Api::Speech, 20, 2400),
        (&include_bytes!("../data/chat-audio.http")[..], Api::Chat, 20, 4800),
    ] {
        let start = file.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        let expect = Expect { api, ..EXPECT };
        let mut decoder = ExchangeDecoder::new(expect);
        let (front, back) = file[start..].split_at(100);
        decoder.feed(front, 10);
        decoder.feed(back, at);
        let made = decoder.finish(EndCause::Complete, expect).made_audio.expect("sound");
        let audio_ns = Some(bytes * 1_000_000_000 / 48_000);
        assert_eq!((made.first_ns, made.bytes, made.audio_ns), (at, bytes, audio_ns));
    }
}
