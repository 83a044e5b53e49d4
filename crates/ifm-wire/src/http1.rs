//! HTTP/1.1 responses, read incrementally (RFC 9112): head, then a body framed by chunks, by
//! length or by the end of the connection.
//!
//! The reader neither copies nor keeps the body: it hands out slices of the input. The same
//! reader serves the event loop, which only wants to know where the response ends, and the
//! decoder, which wants the bytes.

use memchr::memchr;

/// Largest head accepted, bytes.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Most header fields accepted.
const HEADER_FIELDS_MAX: usize = 128;
/// Longest chunk-size line (with extensions) and longest trailer section, bytes.
const CHUNK_LINE_BYTES_MAX: usize = 16 * 1024;
/// Largest single chunk accepted, bytes; far above any sane one, far below overflow.
const CHUNK_BYTES_MAX: u64 = 1 << 40;

/// What a response may do wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The first bytes are no HTTP/1.x response head.
    #[error("the server did not answer with HTTP/1.1: {0}")]
    NotHttp(String),
    /// The head exceeds [`HEAD_BYTES_MAX`] or has too many fields.
    #[error(
        "the response head is larger than {HEAD_BYTES_MAX} bytes or {HEADER_FIELDS_MAX} fields"
    )]
    HeadTooLarge,
    /// The framing headers contradict each other or cannot be read.
    #[error("the response's length headers cannot be trusted: {0}")]
    BadLength(String),
    /// A chunk-size line cannot be read.
    #[error("malformed chunked encoding: {0}")]
    BadChunk(&'static str),
    /// The body is compressed although the request asked for no coding.
    #[error("the response is encoded as {0} although identity was asked for")]
    Encoded(String),
    /// The connection ended before the response did.
    #[error("the connection was closed {0}")]
    Truncated(&'static str),
}

/// The head of a response: what framing, outcome and reports need of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Status code.
    pub status: u16,
    /// Whether the connection can carry another request afterwards.
    pub keep_alive: bool,
    /// `Content-Type`, as sent.
    pub content_type: Option<String>,
    /// `Server`, as sent.
    pub server: Option<String>,
    /// `Location`, as sent.
    pub location: Option<String>,
    /// `Retry-After` in seconds, if it came in that form.
    pub retry_after_s: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// No body at all.
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// Bytes of a body of known length still to come.
    Length(u64),
    UntilClose,
    /// Inside the digits of a chunk size; the value so far and whether a digit was seen.
    ChunkSize {
        size: u64,
        digits: bool,
    },
    /// Behind the digits, before the end of the line.
    ChunkExtension {
        size: u64,
    },
    /// Bytes of the chunk still to come.
    ChunkData(u64),
    /// Before the line end that follows the data.
    ChunkDataEnd {
        carriage_return: bool,
    },
    /// In the trailer section; whether the line so far is empty (a carriage return aside).
    Trailer {
        line_empty: bool,
    },
    End,
}

/// One step of reading.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'input> {
    /// All input is used up and the response goes on.
    NeedMore,
    /// The head is complete; [`ResponseReader::head`] has it.
    Head,
    /// Bytes of the body.
    Body(&'input [u8]),
    /// The response is complete. What is left of the input belongs to nobody.
    End,
}

/// Incremental reader of one response. [`ResponseReader::reset`] makes it ready for the next.
#[derive(Debug)]
pub struct ResponseReader {
    state: State,
    /// Bytes of a head that came in parts.
    partial_head: Vec<u8>,
    head: Option<Head>,
    /// Bytes spent on the current chunk line or on the trailer section.
    line_bytes: usize,
}

impl Default for ResponseReader {
    fn default() -> Self {
        ResponseReader::new()
    }
}

impl ResponseReader {
    /// A reader before the first byte of a response.
    pub fn new() -> ResponseReader {
        ResponseReader { state: State::Head, partial_head: Vec::new(), head: None, line_bytes: 0 }
    }

    /// Forgets the response; buffers are kept.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.partial_head.clear();
        self.head = None;
        self.line_bytes = 0;
    }

    /// The head, once complete.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Whether the response is complete.
    pub fn is_complete(&self) -> bool {
        self.state == State::End
    }

    /// Whether the connection may be used again: complete, and the server keeps it open.
    pub fn may_reuse(&self) -> bool {
        self.is_complete() && self.head.as_ref().is_some_and(|head| head.keep_alive)
    }

    /// Takes the next step; `input` is shortened by what was used. Call again until
    /// [`Step::NeedMore`] or [`Step::End`].
    ///
    /// # Errors
    /// [`HttpError`] when the bytes are no valid response; the reader is then of no more use.
    #[inline]
    pub fn step<'input>(&mut self, input: &mut &'input [u8]) -> Result<Step<'input>, HttpError> {
        loop {
            match self.state {
                State::Head => {
                    if input.is_empty() {
                        return Ok(Step::NeedMore);
                    }
                    return match self.read_head(input)? {
                        true => Ok(Step::Head),
                        false => Ok(Step::NeedMore),
                    };
                }
                State::End => return Ok(Step::End),
                _ if input.is_empty() => return Ok(Step::NeedMore),
                State::Length(left) => {
                    let body = take(input, left);
                    let left = left - body.len() as u64;
                    self.state = if left == 0 { State::End } else { State::Length(left) };
                    return Ok(Step::Body(body));
                }
                State::UntilClose => return Ok(Step::Body(std::mem::take(input))),
                State::ChunkData(left) => {
                    let body = take(input, left);
                    let left = left - body.len() as u64;
                    self.state = match left {
                        0 => State::ChunkDataEnd { carriage_return: false },
                        _ => State::ChunkData(left),
                    };
                    return Ok(Step::Body(body));
                }
                _ => self.chunk_framing(input)?,
            }
        }
    }

    /// The peer has closed its side: the end of a body without a length, the end of a connection
    /// cut short otherwise.
    ///
    /// # Errors
    /// [`HttpError::Truncated`] says within what.
    pub fn end_of_connection(&mut self) -> Result<(), HttpError> {
        let place = match self.state {
            State::End => return Ok(()),
            State::UntilClose => {
                self.state = State::End;
                return Ok(());
            }
            State::Head if self.partial_head.is_empty() => "before any answer",
            State::Head => "within the response head",
            _ => "within the response body",
        };
        Err(HttpError::Truncated(place))
    }

    /// Reads a head that may come in parts. Skips interim (1xx) heads. True when complete.
    fn read_head(&mut self, input: &mut &[u8]) -> Result<bool, HttpError> {
        loop {
            if self.partial_head.is_empty() {
                match parse_head(input)? {
                    Some((used, parsed)) => {
                        *input = &input[used..];
                        if let Some(done) = self.accept_head(parsed) {
                            return Ok(done);
                        }
                    }
                    None if input.len() > HEAD_BYTES_MAX => return Err(HttpError::HeadTooLarge),
                    None => {
                        self.partial_head.extend_from_slice(input);
                        *input = &[];
                        return Ok(false);
                    }
                }
            } else {
                // Append up to and including the next line end, then try again: a head that
                // ends inside this input must not swallow body bytes.
                let Some(end) = memchr(b'\n', input) else {
                    self.partial_head.extend_from_slice(input);
                    *input = &[];
                    return match self.partial_head.len() > HEAD_BYTES_MAX {
                        true => Err(HttpError::HeadTooLarge),
                        false => parse_head(&self.partial_head).map(|_| false),
                    };
                };
                self.partial_head.extend_from_slice(&input[..=end]);
                *input = &input[end + 1..];
                if self.partial_head.len() > HEAD_BYTES_MAX {
                    return Err(HttpError::HeadTooLarge);
                }
                if let Some((_, parsed)) = parse_head(&self.partial_head)? {
                    self.partial_head.clear();
                    if let Some(done) = self.accept_head(parsed) {
                        return Ok(done);
                    }
                }
            }
            if input.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Takes over a parsed head; `None` for an interim one.
    fn accept_head(&mut self, (head, framing): (Head, Framing)) -> Option<bool> {
        if (100..200).contains(&head.status) && head.status != 101 {
            return None;
        }
        self.state = match framing {
            Framing::None | Framing::Length(0) => State::End,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::ChunkSize { size: 0, digits: false },
            Framing::UntilClose => State::UntilClose,
        };
        self.line_bytes = 0;
        self.head = Some(head);
        Some(true)
    }

    /// Works through chunk-size lines, line ends and trailers, up to the next data byte.
    fn chunk_framing(&mut self, input: &mut &[u8]) -> Result<(), HttpError> {
        while let Some((&byte, rest)) = input.split_first() {
            self.line_bytes += 1;
            if self.line_bytes > CHUNK_LINE_BYTES_MAX {
                return Err(HttpError::BadChunk("a chunk line or the trailers are too long"));
            }
            let next = match self.state {
                State::ChunkSize { size, digits } => match (byte as char).to_digit(16) {
                    Some(digit) if size < CHUNK_BYTES_MAX >> 4 => {
                        State::ChunkSize { size: size << 4 | u64::from(digit), digits: true }
                    }
                    Some(_) => return Err(HttpError::BadChunk("a chunk is too large")),
                    None if !digits => return Err(HttpError::BadChunk("no size before a chunk")),
                    None => match byte {
                        b'\n' => self.after_size(size),
                        b'\r' | b';' | b' ' | b'\t' => State::ChunkExtension { size },
                        _ => return Err(HttpError::BadChunk("a chunk size is not hexadecimal")),
                    },
                },
                State::ChunkExtension { size } if byte == b'\n' => self.after_size(size),
                State::ChunkDataEnd { carriage_return: false } if byte == b'\r' => {
                    State::ChunkDataEnd { carriage_return: true }
                }
                State::ChunkDataEnd { .. } if byte == b'\n' => {
                    self.line_bytes = 0;
                    State::ChunkSize { size: 0, digits: false }
                }
                State::ChunkDataEnd { .. } => {
                    return Err(HttpError::BadChunk("no line end behind a chunk"));
                }
                State::Trailer { line_empty: true } if byte == b'\n' => State::End,
                State::Trailer { .. } if byte == b'\n' => State::Trailer { line_empty: true },
                State::Trailer { line_empty } if byte == b'\r' => State::Trailer { line_empty },
                State::Trailer { .. } => State::Trailer { line_empty: false },
                other => other,
            };
            self.state = next;
            *input = rest;
            if matches!(next, State::ChunkData(_) | State::End) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn after_size(&mut self, size: u64) -> State {
        self.line_bytes = 0;
        match size {
            0 => State::Trailer { line_empty: true },
            _ => State::ChunkData(size),
        }
    }
}

/// Splits up to `most` bytes off the front of the input.
#[inline]
fn take<'input>(input: &mut &'input [u8], most: u64) -> &'input [u8] {
    let length = usize::try_from(most).unwrap_or(usize::MAX).min(input.len());
    let (front, rest) = input.split_at(length);
    *input = rest;
    front
}

/// A complete head: the bytes it used, what it says and how its body is framed.
type ParsedHead = (usize, (Head, Framing));

/// Parses a head if it is complete.
fn parse_head(bytes: &[u8]) -> Result<Option<ParsedHead>, HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; HEADER_FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let mut config = httparse::ParserConfig::default();
    config.allow_spaces_after_header_name_in_responses(true);
    config.allow_obsolete_multiline_headers_in_responses(true);
    let used = match config.parse_response(&mut response, bytes) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(HttpError::HeadTooLarge),
        Err(error) => return Err(HttpError::NotHttp(error.to_string())),
    };
    let status = response.code.unwrap_or(0);
    let mut head = Head {
        status,
        keep_alive: response.version == Some(1),
        content_type: None,
        server: None,
        location: None,
        retry_after_s: None,
    };
    let mut length: Option<u64> = None;
    let mut coding: Option<bool> = None;
    for field in response.headers.iter() {
        let text = || String::from_utf8_lossy(field.value).trim().to_owned();
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            length = Some(merge_length(length, &text())?);
        } else if is("transfer-encoding") {
            coding = Some(last_word(&text()).eq_ignore_ascii_case("chunked"));
        } else if is("connection") {
            for word in text().split(',').map(str::trim) {
                if word.eq_ignore_ascii_case("close") {
                    head.keep_alive = false;
                } else if word.eq_ignore_ascii_case("keep-alive") && response.version == Some(0) {
                    head.keep_alive = true;
                }
            }
        } else if is("content-encoding") && !text().eq_ignore_ascii_case("identity") {
            return Err(HttpError::Encoded(text().chars().take(40).collect()));
        } else if is("content-type") {
            head.content_type = Some(text());
        } else if is("server") {
            head.server = Some(text());
        } else if is("location") {
            head.location = Some(text());
        } else if is("retry-after") {
            head.retry_after_s = text().parse().ok();
        }
    }
    let framing = match (status, coding, length) {
        (100..=199 | 204 | 304, ..) => Framing::None,
        (_, Some(true), _) => Framing::Chunked,
        (_, Some(false), _) => Framing::UntilClose,
        (_, None, Some(length)) => Framing::Length(length),
        (_, None, None) => Framing::UntilClose,
    };
    if framing == Framing::UntilClose {
        head.keep_alive = false;
    }
    Ok(Some((used, (head, framing))))
}

/// Joins one more `Content-Length` field with what was seen: a list of equal numbers is one
/// number (RFC 9110, 8.6), anything else is refused.
fn merge_length(known: Option<u64>, text: &str) -> Result<u64, HttpError> {
    let mut merged = known;
    for part in text.split(',').map(str::trim) {
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let value: u64 = part
            .parse()
            .ok()
            .filter(|_| plain)
            .ok_or_else(|| HttpError::BadLength(format!("content-length is \"{part:.40}\"")))?;
        if merged.is_some_and(|other| other != value) {
            return Err(HttpError::BadLength("two different content-lengths".to_owned()));
        }
        merged = Some(value);
    }
    merged.ok_or_else(|| HttpError::BadLength("content-length is empty".to_owned()))
}

fn last_word(list: &str) -> &str {
    list.rsplit(',').next().unwrap_or("").trim()
}

#[cfg(test)]
mod tests {
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
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "hello",
        );
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
        for lengths in
            ["content-length: 1\r\ncontent-length: 2", "content-length: +1", "content-length: "]
        {
            let error = bad(&format!("{head}{lengths}\r\n\r\n"));
            assert!(matches!(error, Some(HttpError::BadLength(_))), "{lengths}");
        }
        let gzip = bad(&format!("{head}content-encoding: gzip\r\n\r\n"));
        assert_eq!(gzip, Some(HttpError::Encoded("gzip".to_owned())));
        for chunk in ["x\r\n", "\r\n", "ffffffffffffffff\r\n", "1\r\nab", "1 x\r\nab"] {
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

    #[test]
    fn connection_words_decide_on_reuse() {
        for (head, reuse) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: Close\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", false),
            ("HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n", true),
        ] {
            let mut reader = ResponseReader::new();
            let mut input = head.as_bytes();
            assert_eq!(reader.step(&mut input), Ok(Step::Head));
            assert_eq!(reader.may_reuse(), reuse, "{head}");
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
}
