//! HTTP/1.1 responses, read incrementally (RFC 9112): head, then a body framed by chunks, by
//! length or by the end of the connection.
//!
//! The reader neither copies nor keeps the body: it returns slices of the input. The same reader
//! serves the event loop, which only needs the end of the response, and the decoder, which needs
//! the bytes.

mod head;

pub use head::Head;

use head::{Framing, HEADER_FIELDS_MAX, parse_head};
use memchr::memchr;

/// Largest head accepted, bytes.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Longest chunk-size line (with extensions) and longest trailer section, bytes.
const CHUNK_LINE_BYTES_MAX: usize = 16 * 1024;
/// Largest single chunk accepted, bytes; far above any sane one, far below overflow.
const CHUNK_BYTES_MAX: u64 = 1 << 40;

/// Most interim (1xx) responses before the answer proper.
const INTERIM_MAX: u32 = 64;

/// What a response may do wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The first bytes are not an HTTP/1.x response head.
    #[error("the server did not answer with HTTP/1.1: {0}")]
    NotHttp(String),
    /// The head exceeds [`HEAD_BYTES_MAX`] or has too many fields.
    #[error(
        "the response head is larger than {HEAD_BYTES_MAX} bytes or {HEADER_FIELDS_MAX} fields"
    )]
    HeadTooLarge,
    /// More than 64 interim responses came before the answer.
    #[error("more than {INTERIM_MAX} interim (1xx) responses came before the answer")]
    TooManyInterim,
    /// The framing headers contradict each other or cannot be read.
    #[error("the response's length headers cannot be trusted: {0}")]
    BadLength(String),
    /// A chunk-size line cannot be read.
    #[error("malformed chunked encoding: {0}")]
    BadChunk(&'static str),
    /// The connection ended before the response did.
    #[error("the connection was closed {0}")]
    Truncated(&'static str),
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
    /// In white space behind the digits.
    ChunkSpace {
        size: u64,
    },
    /// In what may follow a size: `;` and anything up to the end of the line.
    ChunkExtension {
        size: u64,
    },
    /// Behind the carriage return of a size line.
    ChunkSizeEnd {
        size: u64,
    },
    /// Bytes of the chunk still to come.
    ChunkData(u64),
    /// Before the line end that follows the data.
    ChunkDataEnd {
        carriage_return: bool,
    },
    /// In the trailer section; whether the line so far is empty.
    Trailer {
        line_empty: bool,
    },
    /// Behind the carriage return of a trailer line.
    TrailerEnd {
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
    /// The response is complete. The rest of the input is unused.
    End,
}

/// Incremental reader of one response. [`ResponseReader::reset`] makes it ready for the next.
#[derive(Debug)]
pub struct ResponseReader {
    state: State,
    /// Bytes of a head that came in parts.
    partial_head: Vec<u8>,
    head: Option<Head>,
    /// Interim responses so far.
    interim: u32,
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
        ResponseReader {
            state: State::Head,
            partial_head: Vec::new(),
            head: None,
            interim: 0,
            line_bytes: 0,
        }
    }

    /// Forgets the response; buffers are kept.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.partial_head.clear();
        self.head = None;
        self.interim = 0;
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
    /// [`HttpError`] when the bytes are not a valid response; the reader is then of no more use.
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
                        if let Some(done) = self.accept_head(parsed)? {
                            return Ok(done);
                        }
                    }
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
                    return parse_head(&self.partial_head).map(|_| false);
                };
                self.partial_head.extend_from_slice(&input[..=end]);
                *input = &input[end + 1..];
                if let Some((_, parsed)) = parse_head(&self.partial_head)? {
                    self.partial_head.clear();
                    if let Some(done) = self.accept_head(parsed)? {
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
    fn accept_head(&mut self, (head, framing): (Head, Framing)) -> Result<Option<bool>, HttpError> {
        if (100..200).contains(&head.status) && head.status != 101 {
            self.interim += 1;
            return if self.interim > INTERIM_MAX {
                Err(HttpError::TooManyInterim)
            } else {
                Ok(None)
            };
        }
        self.state = match framing {
            Framing::None | Framing::Length(0) => State::End,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::ChunkSize { size: 0, digits: false },
            Framing::UntilClose => State::UntilClose,
        };
        self.line_bytes = 0;
        self.head = Some(head);
        Ok(Some(true))
    }

    /// Works through chunk-size lines, line ends and trailers, up to the next data byte.
    fn chunk_framing(&mut self, input: &mut &[u8]) -> Result<(), HttpError> {
        if let Some((size, rest)) = self.plain_size_line(input) {
            *input = rest;
            self.line_bytes = 0;
            self.state = State::ChunkData(size);
            return Ok(());
        }
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
                    None => self.behind_size(size, byte)?,
                },
                State::ChunkSpace { size } => self.behind_size(size, byte)?,
                State::ChunkExtension { size } => match byte {
                    b'\n' => self.after_size(size),
                    b'\r' => State::ChunkSizeEnd { size },
                    _ => State::ChunkExtension { size },
                },
                State::ChunkSizeEnd { size } if byte == b'\n' => self.after_size(size),
                State::ChunkSizeEnd { .. } | State::TrailerEnd { .. } if byte != b'\n' => {
                    return Err(HttpError::BadChunk("a carriage return without a line feed"));
                }
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
                State::Trailer { line_empty } | State::TrailerEnd { line_empty }
                    if byte == b'\n' =>
                {
                    if line_empty {
                        State::End
                    } else {
                        State::Trailer { line_empty: true }
                    }
                }
                State::Trailer { line_empty } if byte == b'\r' => State::TrailerEnd { line_empty },
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

    /// The size of the next chunk and what follows its line, where nothing of the line has been
    /// read yet and the line is whole, plain (digits only) and that of a chunk with data: nearly
    /// every line there is, and half of the time that framing takes byte by byte.
    #[inline]
    fn plain_size_line<'input>(&self, input: &'input [u8]) -> Option<(u64, &'input [u8])> {
        let line = match self.state {
            State::ChunkDataEnd { carriage_return: false } => input.strip_prefix(b"\r\n")?,
            State::ChunkSize { digits: false, .. } => input,
            _ => return None,
        };
        let mut size = 0;
        // Longer ones, if ever, are read byte by byte.
        for (place, &byte) in line.iter().take(8).enumerate() {
            if let Some(digit) = (byte as char).to_digit(16) {
                size = size << 4 | u64::from(digit);
            } else {
                let rest = line.get(place..)?.strip_prefix(b"\r\n")?;
                return (size > 0).then_some((size, rest));
            }
        }
        None
    }

    /// The state after a byte behind the digits of a chunk size that belongs to no extension.
    fn behind_size(&mut self, size: u64, byte: u8) -> Result<State, HttpError> {
        Ok(match byte {
            b'\n' => self.after_size(size),
            b'\r' => State::ChunkSizeEnd { size },
            b';' => State::ChunkExtension { size },
            b' ' | b'\t' => State::ChunkSpace { size },
            _ => return Err(HttpError::BadChunk("a chunk size is not hexadecimal")),
        })
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

#[cfg(test)]
mod tests;
