//! One exchange decoded: the raw bytes of a response and the stamps of the reads that brought
//! them become the facts of a record.
//!
//! Runs off the hot path. It does not touch a socket or a clock: the caller says when each read
//! arrived and how the exchange ended.

mod bounds;
mod facts;
mod verdict;

pub use bounds::TOO_LARGE;

use crate::dialect::{self, Framing, Generated, Usage};
use crate::http1::{Head, HttpError, ResponseReader, Step};
use crate::lines::LineReader;
use crate::sse::{BUFFER_BYTES_KEPT, EventReader};
use bounds::{Bounds, CHECK_BYTES, DOCUMENT_BYTES_MAX};
use facts::Facts;
use ifm_core::MadeAudio;
use ifm_core::outcome::{Outcome, TimeoutKind};
use ifm_core::record::{Counted, TokenEvents};
use ifm_core::spec::Api;

/// How much of the body of a failed request is kept for its message, bytes.
const ERROR_BODY_BYTES_MAX: usize = 8 * 1024;
/// Statuses with which servers refuse a prompt that is too long: most, those that find it too large,
/// and Text Generation Inference.
const OVERFLOW_STATUS: [u16; 3] = [400, 413, 422];
/// Optional at the start of any UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What the request asked for, as far as decoding depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// API of the request.
    pub api: Api,
    /// Whether generated text is to be kept.
    pub keep_text: bool,
    /// Whether a stream was asked for, and no whole answer.
    pub stream: bool,
}

/// How the exchange ended, as the event loop saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndCause {
    /// The response ended by its own framing.
    Complete,
    /// The peer closed the connection in an orderly way.
    Closed,
    /// The connection could not be made, broke, or carried no HTTP.
    Broken(String),
    /// A time limit was reached.
    TimedOut(TimeoutKind),
    /// Cut off by us.
    Cancelled,
    /// Cut off by us because the answer exceeds a bound ([`ExchangeDecoder::is_refused`]).
    Refused,
}

/// The facts that a response holds. Times are on the base of the stamps that were fed.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong, in one bounded sentence.
    pub error: Option<String>,
    /// HTTP status, once a head arrived.
    pub http_status: Option<u16>,
    /// Seconds of `Retry-After`.
    pub retry_after_s: Option<u32>,
    /// When the head was complete.
    pub head_ns: Option<u64>,
    /// When the first event, or the first body byte of an unstreamed answer, arrived.
    pub first_event_ns: Option<u64>,
    /// When the first token of the answer proper arrived.
    pub first_answer_ns: Option<u64>,
    /// When the end mark, or the end of the response, arrived.
    pub stream_end_ns: Option<u64>,
    /// Whether the answer came as events.
    pub streamed: bool,
    /// Token-bearing events.
    pub events: TokenEvents,
    /// Token-bearing events that shared a read with another.
    pub co_arrived_events: u32,
    /// Prompt tokens.
    pub prompt_tokens: Option<Counted>,
    /// Output tokens.
    pub output_tokens: Option<Counted>,
    /// Tokens of the first token-bearing event, if per-chunk usage reports them.
    pub first_event_tokens: Option<u32>,
    /// Bytes of generated text in the events, as UTF-8; absent where none came, and where the API
    /// repeats the text in each event.
    pub text_bytes: Option<u32>,
    /// Bytes of generated text in the events that share the first one's timestamp.
    pub first_text_bytes: Option<u32>,
    /// The other counts of the last usage object, and times that the server measured.
    pub usage: Usage,
    /// Processing time reported in a header by the server or a proxy before it.
    pub processing_ns: Option<u64>,
    /// The token that a router expects in later requests of the session.
    pub session_token: Option<String>,
    /// Whether it failed because the prompt is longer than the server's context.
    pub is_overflow: bool,
    /// Number of choices seen.
    pub choices: u16,
    /// Finish reason of the last choice that gave one.
    pub finish_reason: Option<String>,
    /// Sound that was made, if any arrived.
    pub made_audio: Option<MadeAudio>,
    /// Generated text, if asked for.
    pub text: Option<Generated>,
}

/// What the body turned out to be, told by its first byte that is not a white space, and by its media
/// type where that byte is not enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Unknown,
    /// Server-sent events.
    Events,
    /// One JSON value to a line.
    Lines,
    /// Sound, as it is.
    Sound,
    /// One JSON document, markup, or the body of a failed request.
    Document,
    /// Compressed although the request did not ask for compression: not read.
    Encoded,
}

/// Decodes one exchange after another. Buffers are kept between them.
#[derive(Debug)]
pub struct ExchangeDecoder {
    reader: ResponseReader,
    events: EventReader,
    lines: LineReader,
    facts: Facts,
    document: Vec<u8>,
    body: Body,
    bounds: Bounds,
    is_refused: bool,
    /// Bytes on the wire so far.
    wire_bytes: u64,
    /// Bytes on the wire at which the bounds are checked next.
    checked_at_bytes: u64,
    http_error: Option<HttpError>,
    head_ns: Option<u64>,
    first_body_ns: Option<u64>,
    last_read_ns: u64,
    complete_ns: Option<u64>,
}

impl ExchangeDecoder {
    /// A decoder before the first byte.
    pub fn new(expect: Expect) -> ExchangeDecoder {
        ExchangeDecoder {
            reader: ResponseReader::new(),
            events: EventReader::default(),
            lines: LineReader::default(),
            facts: Facts::new(expect),
            document: Vec::new(),
            body: Body::Unknown,
            bounds: Bounds::default(),
            is_refused: false,
            wire_bytes: 0,
            checked_at_bytes: CHECK_BYTES,
            http_error: None,
            head_ns: None,
            first_body_ns: None,
            last_read_ns: 0,
            complete_ns: None,
        }
    }

    /// Whether a token-bearing event has arrived.
    pub fn has_token(&self) -> bool {
        !self.facts.at_ns.is_empty()
    }

    /// Number of token-bearing events so far.
    pub fn events_so_far(&self) -> usize {
        self.facts.at_ns.len()
    }

    /// Takes the bytes that one read brought and its stamp.
    pub fn feed(&mut self, input: &[u8], at_ns: u64) {
        self.last_read_ns = at_ns;
        if self.is_refused {
            return;
        }
        self.facts.read += 1;
        self.wire_bytes += input.len() as u64;
        self.read_response(input, at_ns);
        if self.wire_bytes >= self.checked_at_bytes {
            self.check_bounds();
        }
    }

    #[inline]
    fn read_response(&mut self, mut input: &[u8], at_ns: u64) {
        while self.http_error.is_none() && !self.is_refused {
            match self.reader.step(&mut input) {
                Ok(Step::NeedMore) => return,
                Ok(Step::Head) => self.note_head(at_ns),
                Ok(Step::Body(bytes)) => self.feed_body(bytes, at_ns),
                Ok(Step::End) => {
                    self.complete_ns.get_or_insert(at_ns);
                    return;
                }
                Err(error) => self.http_error = Some(error),
            }
        }
    }

    #[cold]
    fn note_head(&mut self, at_ns: u64) {
        self.head_ns = Some(at_ns);
        let Some(head) = self.reader.head().filter(|head| head.is_success()) else { return };
        if let Some(coding) = &head.content_encoding {
            self.body = Body::Encoded;
            self.facts.fail(format!(
                "the response is encoded as {coding:.40} although identity was asked for"
            ));
        } else if self.facts.dialect.framing == Framing::Bytes {
            let content_type = head.content_type.as_deref().unwrap_or_default();
            if is_sound(content_type) {
                self.body = Body::Sound;
                self.facts.sound.declare(content_type);
            }
        }
    }

    #[inline]
    fn feed_body(&mut self, bytes: &[u8], at_ns: u64) {
        if self.body == Body::Events {
            let facts = &mut self.facts;
            if self.events.feed(bytes, at_ns, &mut |event| facts.take(event)).is_err() {
                self.refuse_event();
            }
            return;
        }
        if self.body == Body::Lines {
            let facts = &mut self.facts;
            if self.lines.feed(bytes, at_ns, &mut |line| facts.take(line)).is_err() {
                self.refuse_event();
            }
            return;
        }
        if self.body == Body::Sound {
            return self.facts.take_sound(bytes, at_ns);
        }
        if self.body == Body::Encoded {
            return;
        }
        self.first_body_ns.get_or_insert(at_ns);
        let most = if self.is_success() { DOCUMENT_BYTES_MAX } else { ERROR_BODY_BYTES_MAX };
        let room = most - self.document.len().min(most);
        if bytes.len() > room && self.is_success() {
            return self.refuse_document();
        }
        self.document.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if self.body == Body::Unknown {
            self.tell_body(at_ns);
        }
    }

    /// Distinguishes events from a document by the first byte, after an optional byte-order mark.
    fn tell_body(&mut self, at_ns: u64) {
        let start = self.document.as_slice();
        if start.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(start) {
            return;
        }
        let Some(&first) = without_mark(start).trim_ascii_start().first() else { return };
        self.body = match first {
            _ if !self.is_success() => Body::Document,
            b'{' if self.has_lines() => Body::Lines,
            b'{' | b'[' | b'<' | b'"' => Body::Document,
            _ => Body::Events,
        };
        if self.body != Body::Document {
            let begun = std::mem::take(&mut self.document);
            self.feed_body(&begun, at_ns);
            self.document = begun;
            self.document.clear();
        }
    }

    /// Whether a body that begins with an object is a stream of lines: the API has such streams,
    /// and the head does not say that the body is one JSON document.
    #[cold]
    fn has_lines(&self) -> bool {
        let content_type = self.reader.head().and_then(|head| head.content_type.as_deref());
        let media_type = content_type.and_then(|text| text.split(';').next()).unwrap_or_default();
        self.facts.dialect.framing == Framing::Lines
            && !media_type.trim().eq_ignore_ascii_case("application/json")
    }

    fn is_success(&self) -> bool {
        self.reader.head().is_some_and(Head::is_success)
    }

    /// Says how many results the answer must hold, for an API that answers with a list of them.
    /// Holds until the exchange ends; without it, one result is enough.
    pub fn expect_results(&mut self, results: Option<u32>) {
        self.facts.results_asked = results;
    }

    /// Ends the exchange and returns its facts; the decoder is then ready for the next one.
    pub fn finish(&mut self, cause: EndCause, expect: Expect) -> Answer {
        let mut cause = cause;
        let says_length = self.reader.is_complete();
        if matches!(cause, EndCause::Closed | EndCause::Complete) && self.http_error.is_none() {
            match self.reader.end_of_connection() {
                Ok(()) if says_length => {}
                Ok(()) => self.complete_ns = Some(self.last_read_ns),
                Err(error) => cause = EndCause::Broken(error.to_string()),
            }
        }
        if self.is_success() && self.reader.is_complete() && !self.is_refused {
            match self.body {
                Body::Events => {
                    let facts = &mut self.facts;
                    self.events.finish(&mut |event| facts.take_unended(event));
                }
                Body::Lines => {
                    let facts = &mut self.facts;
                    self.lines.finish(&mut |line| facts.take(line));
                }
                Body::Sound => {}
                _ => self.read_document(),
            }
        }
        let (outcome, error) = self.judge(cause, says_length);
        let head = self.reader.head();
        let is_overflow = match outcome {
            Outcome::HttpError => {
                head.is_some_and(|head| OVERFLOW_STATUS.contains(&head.status))
                    && dialect::is_overflow(&self.document)
            }
            Outcome::InBandError => self.facts.is_overflow,
            _ => false,
        };
        let mut answer = Answer {
            outcome,
            error,
            http_status: head.map(|head| head.status),
            retry_after_s: head.and_then(|head| head.retry_after_s),
            head_ns: self.head_ns,
            first_event_ns: self.facts.first_event_ns.or(match self.body {
                Body::Document if self.is_success() => self.first_body_ns,
                _ => None,
            }),
            first_answer_ns: None,
            stream_end_ns: self.facts.end_mark_ns.or(self.complete_ns),
            streamed: matches!(self.body, Body::Events | Body::Lines | Body::Sound),
            events: TokenEvents::default(),
            co_arrived_events: 0,
            prompt_tokens: None,
            output_tokens: None,
            first_event_tokens: None,
            text_bytes: None,
            first_text_bytes: None,
            usage: Usage::default(),
            processing_ns: head.and_then(|head| head.processing_ns),
            session_token: head.and_then(|head| head.session_token.clone()),
            is_overflow,
            choices: self.facts.choices_seen,
            finish_reason: self.facts.finish_reason.take(),
            made_audio: None,
            text: None,
        };
        let queue_ns = head.and_then(|head| head.queue_ns);
        self.facts.fill(&mut answer);
        answer.usage.times.queue_ns = answer.usage.times.queue_ns.or(queue_ns);
        self.reset(expect);
        answer
    }

    fn reset(&mut self, expect: Expect) {
        self.reader.reset();
        self.events.reset();
        self.lines.reset();
        self.facts.reset(expect);
        self.document.clear();
        self.document.shrink_to(BUFFER_BYTES_KEPT);
        self.body = Body::Unknown;
        self.bounds = Bounds::default();
        self.is_refused = false;
        self.wire_bytes = 0;
        self.checked_at_bytes = CHECK_BYTES;
        self.http_error = None;
        self.head_ns = None;
        self.first_body_ns = None;
        self.complete_ns = None;
    }

    /// Reads a successful answer that is not a stream of events.
    fn read_document(&mut self) {
        let start = without_mark(&self.document).trim_ascii_start();
        let facts = &mut self.facts;
        if start.is_empty() {
            return;
        }
        if start.first() == Some(&b'<') {
            return facts.fail(format!(
                "the server answered with markup instead of JSON: {}",
                dialect::markup_sentence(&String::from_utf8_lossy(start))
            ));
        }
        let text = facts.expect.keep_text.then_some(&mut facts.text);
        let start = String::from_utf8_lossy(start);
        match facts.dialect.read_answer(&start, text) {
            Ok(read) if read.is_blank() && read.results.is_none() => {
                facts.is_overflow |= dialect::is_overflow(start.as_bytes());
                let words = dialect::words_of_envelope(&start);
                facts.fail(words.unwrap_or_else(|| verdict::none_of_api(facts.expect.api, &start)));
            }
            Ok(read) => {
                facts.is_overflow |= read.error.is_some() && dialect::is_overflow(start.as_bytes());
                if let Some(base64) = &read.sound {
                    facts.sound.feed_base64(base64, self.last_read_ns);
                }
                facts.take_document(&read);
            }
            Err(error) => facts.fail(dialect::words_of_envelope(&start).unwrap_or(error)),
        }
    }
}

/// Whether a body of this content type is sound where sound was asked for: anything that is not a
/// text and not JSON.
fn is_sound(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    !media_type.starts_with("text/") && !media_type.ends_with("json")
}

/// The text behind a byte-order mark, if there is one.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

#[cfg(test)]
mod tests;
