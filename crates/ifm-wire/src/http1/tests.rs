//! The reader against responses of every framing, cut at every place.

use super::*;
use proptest::prelude::*;

/// What a response came to: status, body, whether complete, bytes left over.
#[derive(Debug, PartialEq)]
struct Read {
    status: Option<u16>,
    body: Vec<u8>,
    complete: bool,
    left: usize,
    error: Option<HttpError>,
}

fn read(parts: &[&[u8]], close: bool) -> Read {
    let mut reader = ResponseReader::new();
    let mut read = Read { status: None, body: vec![], complete: false, left: 0, error: None };
    for part in parts {
        let mut input = *part;
        loop {
            match reader.step(&mut input) {
                Ok(Step::NeedMore) => break,
                Ok(Step::Head) => read.status = reader.head().map(|head| head.status),
                Ok(Step::Body(bytes)) => read.body.extend_from_slice(bytes),
                Ok(Step::End) => {
                    read.left += input.len();
                    break;
                }
                Err(error) => {
                    read.error = Some(error);
                    return read;
                }
            }
        }
    }
    if close {
        read.error = reader.end_of_connection().err();
    }
    read.complete = reader.is_complete();
    read
}

fn check(bytes: &str, body: &str) {
    let whole = read(&[bytes.as_bytes()], true);
    assert_eq!((whole.status, whole.complete), (Some(200), true), "{whole:?}");
    assert_eq!(String::from_utf8_lossy(&whole.body), body);
    for position in 0..=bytes.len() {
        let (front, back) = bytes.as_bytes().split_at(position);
        assert_eq!(read(&[front, back], true), whole, "split at {position}");
    }
}

#[test]
fn every_framing_is_read_whole_however_it_is_split() {
    check("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "hello");
    check("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", "hello");
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello");
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "");
    check(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n003;x=\"y\"\r\nabc\r\nA \r\n0123456789\r\n0;last\r\nx-t: 1\r\ny: 2\r\n\r\n",
        "abc0123456789",
    );
    check("HTTP/1.1 200 OK\r\n\r\nuntil close", "until close");
    check("HTTP/1.0 200 OK\r\n\r\nuntil close", "until close");
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        "ok",
    );
    check("HTTP/1.1 200 OK\ncontent-length: 2\n\nok", "ok");
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\nok\n0\n\n", "ok");
}

#[test]
fn a_cut_is_told_from_an_end() {
    let cases = [
        ("", "before any answer"),
        ("HTTP/1.1 200 OK\r\n", "within the response head"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell", "within the response body"),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "within the response body",
        ),
    ];
    for (bytes, place) in cases {
        assert_eq!(read(&[bytes.as_bytes()], true).error, Some(HttpError::Truncated(place)));
    }
}

#[test]
fn nonsense_is_refused() {
    let bad = |bytes: &str| read(&[bytes.as_bytes()], false).error;
    assert!(matches!(bad("SSH-2.0-OpenSSH\r\n"), Some(HttpError::NotHttp(_))));
    let head = "HTTP/1.1 200 OK\r\n";
    for lengths in [
        "content-length: 1\r\ncontent-length: 2",
        "content-length: +1",
        "content-length: ",
        "content-length: 1,",
        "content-length: \u{a0}1",
        "content-length: 99999999999999999999",
    ] {
        let error = bad(&format!("{head}{lengths}\r\n\r\n"));
        assert!(matches!(error, Some(HttpError::BadLength(_))), "{lengths}");
    }
    for chunk in [
        "x\r\n",
        "\r\n",
        "ffffffffffffffff\r\n",
        "1\r\nab",
        "1 2\r\n",
        "1\r;\n",
        "1;\r\r\n",
        "1\r\na\rb",
        "0\r\n\rx",
        "0\r\nx: y\rz",
    ] {
        let bytes = format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}");
        assert!(matches!(bad(&bytes), Some(HttpError::BadChunk(_))), "{chunk}");
    }
    let long = format!("{head}x: {}", "y".repeat(HEAD_BYTES_MAX));
    assert_eq!(bad(&long), Some(HttpError::HeadTooLarge));
    let endless = format!("{head}transfer-encoding: chunked\r\n\r\n1;{}", "y".repeat(20_000));
    assert!(matches!(bad(&endless), Some(HttpError::BadChunk(_))));
}

#[test]
fn what_follows_the_end_is_left_alone() {
    let read = read(&[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP"], false);
    assert_eq!((read.complete, read.left), (true, 4));
}

/// The head of a response that is complete with it, and whether the connection may be reused.
fn head(bytes: &str) -> (Head, bool) {
    let mut reader = ResponseReader::new();
    let mut input = bytes.as_bytes();
    assert_eq!(reader.step(&mut input), Ok(Step::Head), "{bytes}");
    (reader.head().unwrap().clone(), reader.may_reuse())
}

#[test]
fn connection_words_decide_on_reuse() {
    for (fields, reuse) in [
        ("HTTP/1.1 200 OK\r\n", true),
        ("HTTP/1.1 200 OK\r\nconnection: Close\r\n", false),
        ("HTTP/1.1 200 OK\r\nconnection: foo,\tclose ,\r\n", false),
        ("HTTP/1.0 200 OK\r\n", false),
        ("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n", true),
        // `close` wins in whatever order they come (RFC 9112, 9.3).
        ("HTTP/1.0 200 OK\r\nconnection: close, keep-alive\r\n", false),
        ("HTTP/1.0 200 OK\r\nconnection: close\r\nconnection: keep-alive\r\n", false),
        // After 101 the connection speaks another protocol.
        ("HTTP/1.1 101 Switching Protocols\r\n", false),
    ] {
        assert_eq!(head(&format!("{fields}content-length: 0\r\n\r\n")).1, reuse, "{fields}");
    }
}

#[test]
fn a_coding_in_http_1_0_is_read_but_the_connection_is_not_used_again() {
    let mut reader = ResponseReader::new();
    let mut input =
        b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
            .as_slice();
    while !matches!(reader.step(&mut input), Ok(Step::End)) {}
    assert!(!reader.may_reuse());
}

#[test]
fn idle_length_fields_do_no_harm() {
    // RFC 9112, 6.3: rules 1 and 4 come before the rule that refuses a wrong length.
    check(
        "HTTP/1.1 103 Early Hints\r\ncontent-length: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "ok",
    );
    assert_eq!(head("HTTP/1.1 304 Not Modified\r\ncontent-length: x\r\n\r\n").0.status, 304);
}

#[test]
fn lists_may_hold_empty_elements_and_folded_lines() {
    for coding in
        ["chunked,", "gzip,\r\n chunked", "\r\n\tchunked", "chunked\r\ntransfer-encoding:"]
    {
        let bytes =
            format!("HTTP/1.1 200 OK\r\ntransfer-encoding: {coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n");
        check(&bytes, "ok");
    }
    check("HTTP/1.1 200 OK\r\ncontent-length: 2,\r\n 2\r\n\r\nok", "ok");
}

#[test]
fn fields_are_told_as_sent_but_for_the_space_around_them() {
    let fields = "server: a\r\n b\r\nRetry-After:7\r\ncontent-type : text/plain \r\n\
                  content-encoding: identity, , gzip\r\nlocation: /x";
    let head = head(&format!("HTTP/1.1 308 x\r\n{fields}\r\n\r\n")).0;
    assert_eq!(head.server.as_deref(), Some("a   b"));
    assert_eq!(head.content_type.as_deref(), Some("text/plain"));
    assert_eq!(head.content_encoding.as_deref(), Some("identity, , gzip"));
    assert_eq!((head.location.as_deref(), head.retry_after_s), (Some("/x"), Some(7)));
    for (name, value) in
        [("content-encoding", "Identity"), ("content-encoding", ""), ("retry-after", "+7")]
    {
        let head = self::head(&format!("HTTP/1.1 200 x\r\n{name}: {value}\r\n\r\n")).0;
        assert_eq!((head.content_encoding, head.retry_after_s), (None, None), "{name}: {value}");
    }
}

#[test]
fn the_size_of_a_head_is_bounded_in_the_same_way_however_it_comes() {
    let long = |bytes: usize| {
        let start = "HTTP/1.1 200 OK\r\nx: ";
        format!("{start}{}\r\n\r\n", "y".repeat(bytes - start.len() - 4))
    };
    for (bytes, error) in
        [(HEAD_BYTES_MAX, None), (HEAD_BYTES_MAX + 1, Some(HttpError::HeadTooLarge))]
    {
        let head = long(bytes);
        assert_eq!(read(&[head.as_bytes()], false).error, error);
        for position in [100, HEAD_BYTES_MAX - 2, HEAD_BYTES_MAX] {
            let (front, back) = head.as_bytes().split_at(position);
            assert_eq!(read(&[front, back], false).error, error, "{bytes} split at {position}");
        }
    }
}

proptest! {
    #[test]
    fn chunked_bodies_survive_any_chunking_and_any_splitting(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for chunk in &chunks {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let parts: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let read = read(&parts, false);
        prop_assert_eq!(read.body, chunks.concat());
        prop_assert!(read.complete);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut whole = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        whole.extend_from_slice(&bytes);
        read(&[&bytes], true);
        read(&[&whole], true);
    }
}

#[test]
fn refuses_interim_responses_without_end() {
    let interim = "HTTP/1.1 102 Processing\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let some = format!("{}{answer}", interim.repeat(64));
    assert_eq!(read(&[some.as_bytes()], true).body, b"ok");
    for size in [1, 10, 100_000] {
        let many = interim.repeat(1000);
        let parts: Vec<&[u8]> = many.as_bytes().chunks(size).collect();
        assert_eq!(read(&parts, true).error, Some(HttpError::TooManyInterim), "{size}");
    }
}
