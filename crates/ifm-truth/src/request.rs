//! Reads HTTP/1.1 requests as they arrive, in pieces of any size and in bounded memory.
//!
//! A body is counted and scanned for the few numbers that the servers need, not stored (except
//! as many bytes as the caller asks for): a prompt of a quarter of a megabyte on each of a
//! thousand connections costs nothing. Answers are not here.

use thiserror::Error;

/// Largest request head, bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Longest line of a chunked request body's own framing, bytes.
const FRAMING_LINE_BYTES_MAX: usize = 4096;

/// Why a request cannot be read. The connection is of no further use.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The head does not end within the limit.
    #[error("request head is larger than {HEAD_BYTES_MAX} bytes: send fewer or shorter fields")]
    HeadTooLarge,
    /// The body is larger than this server takes.
    #[error("request body is larger than {limit} bytes: send a smaller one or raise the limit")]
    BodyTooLarge {
        /// The limit, bytes.
        limit: u64,
    },
    /// The bytes are not an HTTP/1.1 request.
    #[error("not an HTTP/1.1 request: {what}")]
    NotHttp {
        /// What is wrong.
        what: &'static str,
    },
}

/// A request, as far as it has been read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Method, as sent.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// What follows the question mark; empty without one.
    pub query: String,
    /// The header `X-Request-Id`.
    pub id: Option<String>,
    /// Bytes of the body, without its framing.
    pub body_bytes: u64,
    /// The body's first bytes, up to the number that the reader is to keep.
    pub body: Vec<u8>,
    /// The first number under `max_completion_tokens` or `max_tokens` in the body.
    pub tokens_asked: Option<u64>,
    /// Whether the body asks for a stream.
    pub asks_stream: bool,
}

/// What a piece of input led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All of it was taken and the request goes on.
    More,
    /// All of it was taken, the head is complete, and the client waits for leave to send the
    /// body (`expect: 100-continue`).
    WantsContinue,
    /// The request is complete; this many bytes of the piece belong to it.
    Complete(usize),
}

/// The reader's position within a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Head,
    /// This many body bytes to come.
    Length(u64),
    /// Within the line with a chunk's size.
    ChunkSize,
    /// This many bytes of the chunk to come.
    ChunkData(u64),
    /// Within the line end after a chunk.
    ChunkEnd,
    /// Within the trailer, after this many bytes of the current line.
    Trailer,
}

/// Reads one request after the other.
#[derive(Debug)]
pub struct RequestReader {
    body_bytes_max: u64,
    kept_bytes_max: usize,
    place: Place,
    /// The head so far, later the current framing line.
    line: Vec<u8>,
    request: Request,
    scan: Scan,
}

impl RequestReader {
    /// A reader that takes bodies up to a limit and keeps their first bytes.
    pub fn new(body_bytes_max: u64, kept_bytes_max: usize) -> RequestReader {
        RequestReader {
            body_bytes_max,
            kept_bytes_max,
            place: Place::Head,
            line: Vec::new(),
            request: Request::default(),
            scan: Scan::default(),
        }
    }

    /// Whether nothing of a request has come yet.
    pub fn is_idle(&self) -> bool {
        self.place == Place::Head && self.line.is_empty()
    }

    /// Takes the complete request and makes ready for the next one.
    pub fn take(&mut self) -> Request {
        let mut request = std::mem::take(&mut self.request);
        request.tokens_asked = self.scan.tokens_asked;
        request.asks_stream = self.scan.asks_stream;
        self.scan = Scan::default();
        self.place = Place::Head;
        self.line.clear();
        request
    }

    /// Reads a piece of input.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub fn feed(&mut self, piece: &[u8]) -> Result<Progress, RequestError> {
        let mut rest = piece;
        while !rest.is_empty() {
            match self.place {
                Place::Head => {
                    let Some(used) = self.take_head(rest)? else { return Ok(Progress::More) };
                    rest = rest.get(used..).unwrap_or_default();
                    let waits = self.read_head()?;
                    if self.place == Place::Length(0) {
                        return Ok(Progress::Complete(piece.len() - rest.len()));
                    }
                    if waits && rest.is_empty() {
                        return Ok(Progress::WantsContinue);
                    }
                }
                Place::Length(left) => {
                    let taken = self.take_body(&mut rest, left)?;
                    self.place = Place::Length(left - taken);
                    if left == taken {
                        return Ok(Progress::Complete(piece.len() - rest.len()));
                    }
                }
                Place::ChunkData(left) => {
                    let taken = self.take_body(&mut rest, left)?;
                    self.place = if left == taken {
                        Place::ChunkEnd
                    } else {
                        Place::ChunkData(left - taken)
                    };
                }
                Place::ChunkSize | Place::ChunkEnd | Place::Trailer => {
                    if self.take_line(&mut rest)? && self.read_line()? {
                        return Ok(Progress::Complete(piece.len() - rest.len()));
                    }
                }
            }
        }
        Ok(Progress::More)
    }

    /// Adds input to the head; the number of bytes used once the head is complete.
    fn take_head(&mut self, piece: &[u8]) -> Result<Option<usize>, RequestError> {
        let before = self.line.len();
        self.line.extend_from_slice(piece);
        let from = before.saturating_sub(3);
        let end = memchr::memmem::find(self.line.get(from..).unwrap_or_default(), b"\r\n\r\n")
            .map(|at| from + at + 4);
        if end.unwrap_or(self.line.len()) > HEAD_BYTES_MAX {
            return Err(RequestError::HeadTooLarge);
        }
        if let Some(end) = end {
            self.line.truncate(end);
        }
        Ok(end.map(|end| end - before))
    }

    /// Understands the head; whether the client waits for leave to send the body.
    fn read_head(&mut self) -> Result<bool, RequestError> {
        let head = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&head)
            .map_err(|_| RequestError::NotHttp { what: "the head is not text" })?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, target) = match (words.next(), words.next(), words.next()) {
            (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0")) => (method, target),
            _ => return Err(RequestError::NotHttp { what: "the request line" }),
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.request.method = method.to_owned();
        self.request.path = path.to_owned();
        self.request.query = query.to_owned();
        self.place = Place::Length(0);
        let mut waits = false;
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let length = value
                    .parse()
                    .map_err(|_| RequestError::NotHttp { what: "the content-length" })?;
                if self.place != Place::ChunkSize {
                    self.place = Place::Length(length);
                }
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                if !value.eq_ignore_ascii_case("chunked") {
                    return Err(RequestError::NotHttp { what: "the transfer-encoding" });
                }
                self.place = Place::ChunkSize;
            } else if name.eq_ignore_ascii_case("x-request-id") {
                self.request.id = Some(value.to_owned());
            } else if name.eq_ignore_ascii_case("expect") {
                waits = value.eq_ignore_ascii_case("100-continue");
            }
        }
        match self.place {
            Place::Length(length) if length > self.body_bytes_max => {
                Err(RequestError::BodyTooLarge { limit: self.body_bytes_max })
            }
            _ => Ok(waits),
        }
    }

    /// Takes up to `left` body bytes off the input and returns their number.
    fn take_body(&mut self, rest: &mut &[u8], left: u64) -> Result<u64, RequestError> {
        let count = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let (part, after) = rest.split_at(count);
        *rest = after;
        self.request.body_bytes += count as u64;
        if self.request.body_bytes > self.body_bytes_max {
            return Err(RequestError::BodyTooLarge { limit: self.body_bytes_max });
        }
        let room = self.kept_bytes_max.saturating_sub(self.request.body.len());
        self.request.body.extend_from_slice(part.get(..room.min(count)).unwrap_or_default());
        self.scan.read(part);
        Ok(count as u64)
    }

    /// Takes input up to a line end; whether the line is complete.
    fn take_line(&mut self, rest: &mut &[u8]) -> Result<bool, RequestError> {
        let end = memchr::memchr(b'\n', rest);
        let (part, after) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
        *rest = after;
        if self.line.len() + part.len() > FRAMING_LINE_BYTES_MAX {
            return Err(RequestError::NotHttp { what: "a framing line without end" });
        }
        self.line.extend_from_slice(part);
        Ok(end.is_some())
    }

    /// Understands a framing line; whether it ends the request.
    fn read_line(&mut self) -> Result<bool, RequestError> {
        let line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line)
            .map_err(|_| RequestError::NotHttp { what: "a framing line" })?
            .trim_end();
        match self.place {
            Place::ChunkSize => {
                let digits = text.split(';').next().unwrap_or_default().trim();
                let size = u64::from_str_radix(digits, 16)
                    .map_err(|_| RequestError::NotHttp { what: "a chunk size" })?;
                self.place = if size == 0 { Place::Trailer } else { Place::ChunkData(size) };
                Ok(false)
            }
            Place::Trailer => Ok(text.is_empty()),
            _ if text.is_empty() => {
                self.place = Place::ChunkSize;
                Ok(false)
            }
            _ => Err(RequestError::NotHttp { what: "a chunk's end" }),
        }
    }
}

/// Bytes of a body kept from one piece to the next: enough for a key, white space and a number.
const SCAN_TAIL_BYTES: usize = 64;

/// Finds a few members of a JSON body without keeping or parsing it.
///
/// A prompt that holds such a member as text is no trouble: there its quotes are escaped.
#[derive(Debug, Default)]
struct Scan {
    tail: Vec<u8>,
    tokens_asked: Option<u64>,
    asks_stream: bool,
}

impl Scan {
    fn read(&mut self, part: &[u8]) {
        if self.tokens_asked.is_some() && self.asks_stream {
            return;
        }
        // The seam first: the previous tail and the front of this part.
        let mut seam = std::mem::take(&mut self.tail);
        seam.extend_from_slice(part.get(..SCAN_TAIL_BYTES).unwrap_or(part));
        self.look(&seam);
        self.look(part);
        let keep_from = part.len().saturating_sub(SCAN_TAIL_BYTES);
        if keep_from == 0 {
            let from = seam.len().saturating_sub(SCAN_TAIL_BYTES);
            seam.drain(..from);
        } else {
            seam.clear();
            seam.extend_from_slice(part.get(keep_from..).unwrap_or_default());
        }
        self.tail = seam;
    }

    fn look(&mut self, text: &[u8]) {
        if self.tokens_asked.is_none() {
            self.tokens_asked = ["\"max_completion_tokens\"", "\"max_tokens\""]
                .into_iter()
                .find_map(|key| number_of(value_after(text, key.as_bytes())?));
        }
        if !self.asks_stream {
            self.asks_stream =
                value_after(text, b"\"stream\"").is_some_and(|value| value.starts_with(b"true"));
        }
    }
}

/// What follows a key and its colon.
fn value_after<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(text, key)? + key.len();
    let value = text.get(at..)?.trim_ascii_start().strip_prefix(b":")?;
    Some(value.trim_ascii_start())
}

/// The whole number at the front, if a byte after it shows that it has ended.
fn number_of(value: &[u8]) -> Option<u64> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    value.get(digits)?;
    std::str::from_utf8(value.get(..digits)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POST: &[u8] = b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nhost: a\r\n\
        Content-Length: 60\r\n\r\n{\"stream\": true, \"p\": \"\\\"max_tokens\\\":5\", \"max_tokens\" : 77 }";

    fn read_in_pieces(input: &[u8], size: usize) -> (Request, usize) {
        let mut reader = RequestReader::new(1 << 20, 4);
        let mut used = 0;
        for piece in input.chunks(size) {
            match reader.feed(piece).unwrap() {
                Progress::Complete(count) => return (reader.take(), used + count),
                Progress::More | Progress::WantsContinue => used += piece.len(),
            }
        }
        panic!("the request did not end");
    }

    #[test]
    fn a_request_reads_the_same_in_pieces_of_any_size() {
        let body = POST.len() - memchr::memmem::find(POST, b"\r\n\r\n").unwrap() - 4;
        let input = String::from_utf8(POST.to_vec()).unwrap().replace("60", &body.to_string());
        let with_more = [input.as_bytes(), b"GET "].concat();
        for size in 1..with_more.len() {
            let (request, used) = read_in_pieces(&with_more, size);
            assert_eq!(used, input.len());
            assert_eq!((request.method.as_str(), request.query.as_str()), ("POST", "x=1"));
            assert_eq!(request.path, "/v1/chat/completions");
            assert_eq!(request.body_bytes, body as u64);
            assert_eq!(request.body, b"{\"st");
            assert_eq!(request.tokens_asked, Some(77), "pieces of {size}");
            assert!(request.asks_stream);
        }
    }

    #[test]
    fn chunked_bodies_with_trailers_end_where_they_end() {
        let input = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
            5;x=1\r\n{\"max\r\n10\r\n_completion_toke\r\n8\r\nns\": 12}\r\n0\r\nt: 1\r\n\r\nrest";
        for size in 1..input.len() {
            let (request, used) = read_in_pieces(input, size);
            assert_eq!(used, input.len() - 4);
            assert_eq!((request.body_bytes, request.tokens_asked), (29, Some(12)));
        }
    }

    #[test]
    fn a_waiting_client_is_told_apart_and_bad_requests_are_refused() {
        let mut reader = RequestReader::new(10, 0);
        let expect = b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
        assert_eq!(reader.feed(expect), Ok(Progress::WantsContinue));
        assert_eq!(reader.feed(b"ab"), Ok(Progress::Complete(2)));
        assert_eq!(reader.take().body_bytes, 2);
        assert!(reader.is_idle());
        let large = b"POST / HTTP/1.1\r\ncontent-length: 11\r\n\r\n";
        assert_eq!(reader.feed(large), Err(RequestError::BodyTooLarge { limit: 10 }));
        let garbage = RequestReader::new(10, 0).feed(b"\x16\x03\x01\r\n\r\n");
        assert!(matches!(garbage, Err(RequestError::NotHttp { .. })));
        let endless = RequestReader::new(10, 0).feed(&vec![b'a'; HEAD_BYTES_MAX + 1]);
        assert_eq!(endless, Err(RequestError::HeadTooLarge));
    }
}
