//! HTTP/1.1 message framing (RFC 9110, RFC 9112): the same events in other envelopes.

use crate::case::{Case, Class};
use crate::script::{Cut, STREAM_HEAD, Script, one_chunk};

fn chat(name: &'static str, what: &'static str, why: &'static str) -> Script {
    Script::chat(name, Class::Framing, what, why)
}

/// The cases of this class.
pub fn cases() -> Vec<Case> {
    let mut cases = chunked();
    cases.extend(cut_chunks());
    cases.extend(other_framings());
    cases.extend(heads());
    cases.extend(connections());
    cases
}

/// Every byte as a chunk of its own.
fn byte_chunks(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| [b'1', b'\r', b'\n', *byte, b'\r', b'\n']).collect()
}

/// Chunks of seven bytes, so that chunk ends fall everywhere within an event.
fn small_chunks(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(7).flat_map(one_chunk).collect()
}

/// Sizes in capitals with leading zeros, followed by extensions.
fn extended_chunks(bytes: &[u8]) -> Vec<u8> {
    let size = format!("{:08X};token=abc;quoted=\"a;b\\\"c\" ; bare\r\n", bytes.len()).into_bytes();
    [size.as_slice(), bytes, b"\r\n"].concat()
}

/// The chunked coding's own freedoms.
fn chunked() -> Vec<Case> {
    vec![
        chat(
            "chunk_per_byte",
            "every byte of the body is a chunk of its own",
            "chunk ends have no meaning to the body",
        )
        .ten_tokens()
        .tail(280, 10)
        .chunked_by(byte_chunks)
        .case(),
        chat(
            "chunk_per_seven_bytes",
            "chunks of seven bytes end within fields and names",
            "chunk ends have no meaning to the body",
        )
        .ten_tokens()
        .tail(280, 10)
        .chunked_by(small_chunks)
        .case(),
        chat(
            "chunk_extensions",
            "chunk sizes are in capitals, have leading zeros and carry extensions",
            "a recipient ignores extensions it does not know",
        )
        .ten_tokens()
        .tail(280, 10)
        .chunked_by(extended_chunks)
        .case(),
        chat(
            "trailers",
            "the last chunk has an extension and trailer fields follow it",
            "trailers end with a blank line and are not part of the body",
        )
        .ten_tokens()
        .tail(280, 10)
        .end(b"000;last\r\nx-checksum: 00ff\r\nserver-timing: total;dur=280\r\n\r\n")
        .requests(2)
        .case(),
        chat(
            "one_chunk_many_writes",
            "the whole body is one chunk that is sent event by event",
            "an event counts when its bytes came, not when its chunk ends",
        )
        .ten_tokens()
        .tail(280, 10)
        .in_one_chunk()
        .case(),
    ]
}

/// Reads that end inside the chunked coding's own bytes.
fn cut_chunks() -> Vec<Case> {
    vec![
        chat(
            "cut_in_chunk_size",
            "a read ends inside the first chunk's size",
            "the payload is complete at 110: (280 - 110) / 9",
        )
        .ten_tokens()
        .tail(280, 10)
        .cut(100, Cut::Front(1), 110)
        .complete(110, 280, 10, 10)
        .case(),
        chat(
            "cut_in_chunk_size_line_end",
            "a read ends between CR and LF after the first chunk's size",
            "the payload is complete at 110: (280 - 110) / 9",
        )
        .ten_tokens()
        .tail(280, 10)
        .cut(100, Cut::Front(3), 110)
        .complete(110, 280, 10, 10)
        .case(),
        chat(
            "cut_before_chunk_end",
            "the first chunk's closing CR LF comes 15 ms after its data",
            "the payload came at 100 and is known to be complete then",
        )
        .ten_tokens()
        .tail(280, 10)
        .cut(100, Cut::Back(2), 115)
        .case(),
        chat(
            "cut_in_last_chunk",
            "the zero chunk comes in two reads, 100 ms apart",
            "the message ends later; the tokens are where they were",
        )
        .ten_tokens()
        .tail(280, 10)
        .end(b"0")
        .after(380, b"\r\n\r\n")
        .requests(2)
        .case(),
        chat(
            "cut_in_head",
            "the head comes in three reads over 60 ms",
            "a head is complete with its blank line",
        )
        .ten_tokens()
        .tail(280, 10)
        .cut(0, Cut::Front(11), 30)
        .cut(30, Cut::Back(2), 60)
        .case(),
        chat(
            "head_with_first_event",
            "the head comes in the same write as the first event",
            "the first event's time is that of this read",
        )
        .ten_tokens()
        .tail(280, 10)
        .head(100, STREAM_HEAD)
        .join_sends()
        .case(),
    ]
}

/// Bodies that are not chunked.
fn other_framings() -> Vec<Case> {
    vec![
        chat(
            "content_length",
            "the stream's length is told beforehand",
            "content-length frames the body; the connection may be used again",
        )
        .ten_tokens()
        .tail(280, 10)
        .head(
            0,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n",
        )
        .with_length()
        .requests(2)
        .case(),
        chat(
            "until_close",
            "neither length nor chunks: the body ends when the connection is closed",
            "the close is the message's orderly end",
        )
        .ten_tokens()
        .tail(280, 10)
        .head(
            0,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        )
        .without_framing()
        .close(280)
        .requests(2)
        .case(),
        chat(
            "http_1_0",
            "an HTTP/1.0 server streams until it closes",
            "HTTP/1.0 knows no chunks and does not keep the connection",
        )
        .ten_tokens()
        .tail(280, 10)
        .head(0, "HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        .without_framing()
        .close(280)
        .requests(2)
        .case(),
    ]
}

/// Heads with the freedoms of RFC 9110 and 9112.
fn heads() -> Vec<Case> {
    let mut many = String::from("HTTP/1.1 200 OK\r\n");
    for number in 0..60 {
        many.push_str(&format!("x-gateway-{number:02}: {}\r\n", "v".repeat(100)));
    }
    many.push_str("content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
    vec![
        chat(
            "informational_heads",
            "100 and 103 heads come before the real one",
            "1xx responses are interim; the answer's head is the 200",
        )
        .before(10, b"HTTP/1.1 100 Continue\r\n\r\n")
        .before(20, b"HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n")
        .head(30, STREAM_HEAD)
        .ten_tokens()
        .tail(280, 10)
        .case(),
        chat(
            "head_spelling",
            "field names in odd capitals, values without or with much white space, no reason phrase",
            "names and the coding's name are case-insensitive; white space around values is dropped",
        )
        .ten_tokens()
        .tail(280, 10)
        .head(
            0,
            "HTTP/1.1 200 \r\nCONTENT-TYPE:text/event-stream;charset=UTF-8\r\n\
             tRANSFER-eNCODING: \t Chunked \t\r\n\r\n",
        )
        .case(),
        chat(
            "head_folding",
            "a field value is continued on lines that begin with white space",
            "a user agent replaces such a fold by white space (RFC 9112 5.2)",
        )
        .ten_tokens()
        .tail(280, 10)
        .head(
            0,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
             x-note: one\r\n two: content-length: 5\r\n\tthree\r\ntransfer-encoding: chunked\r\n\r\n",
        )
        .case(),
        chat("head_of_seven_kilobytes", "sixty further fields", "they have no meaning to us")
            .ten_tokens()
            .tail(280, 10)
            .head(0, &many)
            .case(),
        chat(
            "status_201",
            "the status is 201",
            "every 2xx status is a success",
        )
        .ten_tokens()
        .tail(280, 10)
        .head(0, &STREAM_HEAD.replacen("200 OK", "201 Created", 1))
        .truth(|truth| truth.http_status = Some(201))
        .case(),
    ]
}

/// What happens to the connection afterwards.
fn connections() -> Vec<Case> {
    vec![
        chat(
            "kept_alive",
            "three requests one after the other on one connection",
            "each answer starts from its own request",
        )
        .role(10, "\"\"")
        .ten_tokens()
        .tail(280, 10)
        .requests(3)
        .case(),
        chat(
            "announced_close",
            "the server says that it closes and closes after the last chunk",
            "the next request needs a new connection, which is no failure",
        )
        .ten_tokens()
        .tail(280, 10)
        .head(
            0,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\
             transfer-encoding: chunked\r\n\r\n",
        )
        .close(280)
        .requests(2)
        .case(),
        chat(
            "silent_close",
            "the server closes after the last chunk without having said so",
            "the answer was complete; the next request needs a new connection",
        )
        .ten_tokens()
        .tail(280, 10)
        .close(280)
        .requests(2)
        .case(),
        chat(
            "close_after_end_mark",
            "the server closes after the end mark without the zero chunk",
            "the stream ended at its end mark; the answer is complete",
        )
        .ten_tokens()
        .tail(280, 10)
        .end(b"")
        .close(280)
        .case(),
    ]
}
