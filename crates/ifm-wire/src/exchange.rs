//! One exchange decoded: the raw bytes of a response and the stamps of the reads that brought
//! them become the facts of a record.
//!
//! Runs off the hot path. It does not touch a socket or a clock: the caller says when each read
//! arrived and how the exchange ended.

use crate::dialect::template::Template;
use crate::dialect::{self, ChunkFacts, Usage};
use crate::http1::{Head, HttpError, ResponseReader, Step};
use crate::sse::{Event, EventReader};
use ifm_core::outcome::{Outcome, TimeoutKind};
use ifm_core::record::{CountSource, Counted, TokenEvents};
use ifm_core::spec::Api;

/// Largest answer kept when it is not a stream of events, bytes.
const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How much of the body of a failed request is kept for its message, bytes.
const ERROR_BODY_BYTES_MAX: usize = 8 * 1024;

/// What the request asked for, as far as decoding depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// API of the request.
    pub api: Api,
    /// Whether generated text is to be kept.
    pub keep_text: bool,
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
    /// Tokens of the first token-bearing event, where per-chunk usage tells.
    pub first_event_tokens: Option<u32>,
    /// The other counts of the last usage object.
    pub usage: Usage,
    /// Number of choices seen.
    pub choices: u16,
    /// Finish reason of the last choice that gave one.
    pub finish_reason: Option<String>,
    /// Generated text, if asked for.
    pub text: Option<String>,
}

/// What the body turned out to be, told by its first byte that is no white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Unknown,
    Events,
    /// One JSON document, markup, or the body of a failed request.
    Document,
    /// Compressed although nobody asked for it: not read.
    Encoded,
}

/// What an event that may carry a token is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Answer,
    Reasoning,
    /// An empty text: a token only if the usage says that one stands behind it.
    Empty,
}

/// Decodes one exchange after another. Buffers are kept between them.
#[derive(Debug)]
pub struct ExchangeDecoder {
    reader: ResponseReader,
    events: EventReader,
    facts: Facts,
    document: Vec<u8>,
    body: Body,
    http_error: Option<HttpError>,
    head_ns: Option<u64>,
    first_body_ns: Option<u64>,
    last_read_ns: u64,
    complete_ns: Option<u64>,
}

/// What the events have told so far.
#[derive(Debug)]
struct Facts {
    expect: Expect,
    template: Template,
    read: u32,
    at_ns: Vec<u64>,
    tokens: Vec<u32>,
    choice: Vec<u16>,
    kind: Vec<Kind>,
    /// Read that each event came with, to tell co-arrival.
    read_of: Vec<u32>,
    empties: u32,
    many_choices: bool,
    /// Events with a usage object beside their output.
    counted_events: u32,
    /// Completion tokens that the last usage of each choice stated.
    counted: Vec<u32>,
    usage: Option<Usage>,
    usage_alone: bool,
    choices_seen: u16,
    finished: Vec<bool>,
    filtered: bool,
    finish_reason: Option<String>,
    error: Option<String>,
    first_event_ns: Option<u64>,
    end_mark_ns: Option<u64>,
    text: String,
}

impl ExchangeDecoder {
    /// A decoder before the first byte.
    pub fn new(expect: Expect) -> ExchangeDecoder {
        ExchangeDecoder {
            reader: ResponseReader::new(),
            events: EventReader::default(),
            facts: Facts::new(expect),
            document: Vec::new(),
            body: Body::Unknown,
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
    pub fn feed(&mut self, mut input: &[u8], at_ns: u64) {
        self.last_read_ns = at_ns;
        self.facts.read += 1;
        while self.http_error.is_none() {
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
        }
    }

    #[inline]
    fn feed_body(&mut self, bytes: &[u8], at_ns: u64) {
        if self.body == Body::Events {
            let facts = &mut self.facts;
            if self.events.feed(bytes, at_ns, &mut |event| facts.take(event)).is_err() {
                facts.fail("an event of the stream is too large".to_owned());
            }
            return;
        }
        if self.body == Body::Encoded {
            return;
        }
        self.first_body_ns.get_or_insert(at_ns);
        let most = if self.is_success() { DOCUMENT_BYTES_MAX } else { ERROR_BODY_BYTES_MAX };
        let room = most - self.document.len().min(most);
        self.document.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if self.body == Body::Unknown {
            self.tell_body(at_ns);
        }
    }

    /// Tells events from a document by the first byte. A byte-order mark may stand before.
    fn tell_body(&mut self, at_ns: u64) {
        let start = self.document.as_slice();
        if start.len() < 3 && b"\xef\xbb\xbf".starts_with(start) {
            return;
        }
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let Some(&first) = start.trim_ascii_start().first() else { return };
        if !self.is_success() || matches!(first, b'{' | b'[' | b'<') {
            self.body = Body::Document;
        } else {
            self.body = Body::Events;
            let begun = std::mem::take(&mut self.document);
            self.feed_body(&begun, at_ns);
            self.document = begun;
            self.document.clear();
        }
    }

    fn is_success(&self) -> bool {
        self.reader.head().is_some_and(Head::is_success)
    }

    /// Ends the exchange and returns its facts; the decoder is then ready for the next one.
    pub fn finish(&mut self, cause: EndCause, expect: Expect) -> Answer {
        let mut cause = cause;
        if matches!(cause, EndCause::Closed | EndCause::Complete) && self.http_error.is_none() {
            let complete = self.reader.is_complete();
            match self.reader.end_of_connection() {
                Ok(()) if complete => {}
                Ok(()) => self.complete_ns = Some(self.last_read_ns),
                Err(error) => cause = EndCause::Broken(error.to_string()),
            }
        }
        if self.body != Body::Events && self.is_success() && self.reader.is_complete() {
            self.read_document();
        }
        let (outcome, error) = self.judge(cause);
        let head = self.reader.head();
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
            streamed: self.body == Body::Events,
            events: TokenEvents::default(),
            co_arrived_events: 0,
            prompt_tokens: None,
            output_tokens: None,
            first_event_tokens: None,
            usage: Usage::default(),
            choices: self.facts.choices_seen,
            finish_reason: self.facts.finish_reason.take(),
            text: None,
        };
        self.facts.fill(&mut answer);
        self.reset(expect);
        answer
    }

    fn reset(&mut self, expect: Expect) {
        self.reader.reset();
        self.events.reset();
        self.facts.reset(expect);
        self.document.clear();
        self.body = Body::Unknown;
        self.http_error = None;
        self.head_ns = None;
        self.first_body_ns = None;
        self.complete_ns = None;
    }

    /// Reads a successful answer that is not a stream of events.
    fn read_document(&mut self) {
        let start = self.document.trim_ascii_start();
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
        match dialect::read_answer(facts.expect.api, start, text) {
            Ok(read) if read.error.is_none() && read.choices.is_empty() => {
                facts.fail("the answer holds no choices".to_owned());
            }
            Ok(read) => facts.take_document(&read),
            Err(error) => facts.fail(error),
        }
    }

    /// The outcome, and a sentence where it is not ok.
    fn judge(&self, cause: EndCause) -> (Outcome, Option<String>) {
        let facts = &self.facts;
        if let Some(head) = self.reader.head()
            && !head.is_success()
        {
            let mut sentence = match &head.content_encoding {
                Some(coding) => format!("the explanation is encoded as {coding:.40}"),
                None => dialect::error_sentence(&self.document),
            };
            if let Some(place) = &head.location {
                sentence = format!("redirected to {place:.100}; give that URL instead");
            }
            let error = format!("HTTP {}: {sentence}", head.status);
            return (Outcome::HttpError, Some(error));
        }
        if let Some(error) = &facts.error {
            return (Outcome::InBandError, Some(error.clone()));
        }
        if let Some(error) = &self.http_error {
            return (Outcome::TransportError, Some(error.to_string()));
        }
        let ended =
            facts.end_mark_ns.is_some() || (self.reader.is_complete() && facts.all_finished());
        if ended {
            let refused = facts.filtered;
            return (if refused { Outcome::OkFiltered } else { Outcome::Ok }, None);
        }
        match cause {
            EndCause::TimedOut(kind) => (Outcome::Timeout(kind), None),
            EndCause::Cancelled => (Outcome::Cancelled, None),
            EndCause::Broken(error) => (Outcome::TransportError, Some(error)),
            EndCause::Complete | EndCause::Closed => {
                let error = match (self.body, facts.at_ns.len()) {
                    (Body::Document, _) => "the answer has no finish reason".to_owned(),
                    (_, events) => format!(
                        "the stream ended after {events} token events without a finish reason \
                         or an end mark"
                    ),
                };
                (Outcome::Truncated, Some(error))
            }
        }
    }
}

impl Facts {
    fn new(expect: Expect) -> Facts {
        Facts {
            expect,
            template: Template::default(),
            read: 0,
            at_ns: Vec::new(),
            tokens: Vec::new(),
            choice: Vec::new(),
            kind: Vec::new(),
            read_of: Vec::new(),
            empties: 0,
            many_choices: false,
            counted_events: 0,
            counted: Vec::new(),
            usage: None,
            usage_alone: false,
            choices_seen: 0,
            finished: Vec::new(),
            filtered: false,
            finish_reason: None,
            error: None,
            first_event_ns: None,
            end_mark_ns: None,
            text: String::new(),
        }
    }

    fn reset(&mut self, expect: Expect) {
        self.expect = expect;
        self.template.reset();
        self.read = 0;
        self.at_ns.clear();
        self.tokens.clear();
        self.choice.clear();
        self.kind.clear();
        self.read_of.clear();
        self.empties = 0;
        self.many_choices = false;
        self.counted_events = 0;
        self.counted.clear();
        self.usage = None;
        self.usage_alone = false;
        self.choices_seen = 0;
        self.finished.clear();
        self.filtered = false;
        self.finish_reason = None;
        self.error = None;
        self.first_event_ns = None;
        self.end_mark_ns = None;
        self.text.clear();
    }

    fn fail(&mut self, sentence: String) {
        self.error.get_or_insert(sentence);
    }

    /// Takes one event of the stream.
    #[inline]
    fn take(&mut self, event: Event<'_>) {
        if self.end_mark_ns.is_some() {
            return; // Nothing behind the end mark belongs to the answer.
        }
        self.first_event_ns.get_or_insert(event.at_ns);
        if !event.is_error && !self.expect.keep_text && self.template.matches(event.data) {
            // Same structure as the last full read: one more event of output of that choice.
            let choice = self.choice.last().copied().unwrap_or(0);
            let kind = self.kind.last().copied().unwrap_or(Kind::Answer);
            return self.push(event.at_ns, choice, kind);
        }
        self.take_in_full(event);
    }

    #[cold]
    fn take_in_full(&mut self, event: Event<'_>) {
        self.template.reset();
        if dialect::is_end_mark(self.expect.api, event.data) {
            self.end_mark_ns = Some(event.at_ns);
            return;
        }
        if event.is_error {
            return self.fail(match event.data {
                [] => "the server sent an error event without a message".to_owned(),
                data => dialect::error_sentence(data),
            });
        }
        let mut lossy = String::new();
        let data = match std::str::from_utf8(event.data) {
            Ok(_) => event.data,
            Err(_) => {
                // The grammar decodes streams leniently; so do we.
                lossy.push_str(&String::from_utf8_lossy(event.data));
                lossy.as_bytes()
            }
        };
        let text = self.expect.keep_text.then_some(&mut self.text);
        match dialect::read_event(self.expect.api, data, text) {
            Err(error) => self.fail(error),
            Ok(facts) => {
                self.take_facts(&facts, event.at_ns);
                let mut choices = facts.choices.iter();
                if let (Some(choice), None) = (choices.next(), choices.next())
                    && (choice.has_answer || choice.has_reasoning)
                    && choice.finish_reason.is_none()
                    && facts.usage.is_none()
                    && facts.error.is_none()
                {
                    self.template.learn(data);
                }
            }
        }
    }

    fn take_facts(&mut self, facts: &ChunkFacts<'_>, at_ns: u64) {
        if let Some(error) = &facts.error {
            return self.fail(error.clone());
        }
        let several = facts.choices.len() > 1;
        let mut carried = 0;
        for choice in facts.choices.iter() {
            self.note_choice(choice.index, choice.finish_reason.as_deref());
            self.filtered |= choice.has_refusal;
            let kind = match (choice.has_answer, choice.has_reasoning, choice.has_empty_text) {
                (true, ..) => Kind::Answer,
                (false, true, _) => Kind::Reasoning,
                (false, false, true) => Kind::Empty,
                _ => continue,
            };
            self.push(at_ns, choice.index, kind);
            carried += 1;
            if let (Some(usage), false) = (&facts.usage, several) {
                self.note_chunk_usage(choice.index, usage);
            }
        }
        if let Some(usage) = &facts.usage {
            self.usage_alone |= carried == 0;
            let mut merged = *usage;
            if let Some(former) = &self.usage {
                merged.prompt_tokens = merged.prompt_tokens.or(former.prompt_tokens);
                merged.cached_tokens = merged.cached_tokens.or(former.cached_tokens);
            }
            self.usage = Some(merged);
        }
    }

    /// Takes a whole answer that was not streamed: counts and reasons, but no token stamps.
    fn take_document(&mut self, facts: &ChunkFacts<'_>) {
        if let Some(error) = &facts.error {
            return self.fail(error.clone());
        }
        for choice in facts.choices.iter() {
            self.note_choice(choice.index, choice.finish_reason.as_deref());
            self.filtered |= choice.has_refusal;
        }
        self.usage = facts.usage;
    }

    fn note_choice(&mut self, index: u16, finish_reason: Option<&str>) {
        let place = usize::from(index);
        // A hostile index must not make us allocate 64 Ki entries for nothing useful.
        if place >= self.finished.len() && place < 1024 {
            self.finished.resize(place + 1, false);
        }
        self.choices_seen = self.choices_seen.max(index.saturating_add(1));
        if let Some(reason) = finish_reason {
            if let Some(finished) = self.finished.get_mut(place) {
                *finished = true;
            }
            self.filtered |= reason == "content_filter";
            self.finish_reason = Some(reason.chars().take(64).collect());
        }
    }

    /// Per-chunk usage: the tokens of this event are what the count of its choice grew by.
    fn note_chunk_usage(&mut self, index: u16, usage: &Usage) {
        let Some(total) = usage.completion_tokens else { return };
        let place = usize::from(index).min(1023);
        if place >= self.counted.len() {
            self.counted.resize(place + 1, 0);
        }
        let grown = total.saturating_sub(self.counted[place]);
        self.counted[place] = total;
        self.counted_events += 1;
        if let Some(tokens) = self.tokens.last_mut() {
            *tokens = grown;
        }
    }

    #[inline]
    fn push(&mut self, at_ns: u64, choice: u16, kind: Kind) {
        // Reads of one exchange are in order, but a stamp may lie a hair before the former one
        // when the wall clock is slewed: time does not run backwards in a record.
        let at_ns = self.at_ns.last().map_or(at_ns, |former| at_ns.max(*former));
        self.at_ns.push(at_ns);
        self.tokens.push(0);
        self.choice.push(choice);
        self.kind.push(kind);
        self.read_of.push(self.read);
        self.many_choices |= choice != 0;
        self.empties += u32::from(kind == Kind::Empty);
    }

    fn all_finished(&self) -> bool {
        !self.finished.is_empty() && self.finished.iter().all(|finished| *finished)
    }

    /// Writes the columns and counts into the answer, once the stream is over.
    fn fill(&mut self, answer: &mut Answer) {
        let per_chunk = self.counted_events > 0 && self.counted_events as usize == self.at_ns.len();
        let mut usage = self.usage.unwrap_or_default();
        if per_chunk && !self.usage_alone {
            let total = self.counted.iter().fold(0, |sum: u32, count| sum.saturating_add(*count));
            usage.completion_tokens = Some(total);
        }
        if self.empties > 0 {
            self.settle_empties(per_chunk, usage.completion_tokens);
        }
        answer.first_answer_ns = self
            .kind
            .iter()
            .position(|kind| *kind != Kind::Reasoning)
            .and_then(|place| self.at_ns.get(place).copied());
        let shares = |pair: &[u32]| pair[0] == pair[1];
        let count = self.read_of.len();
        answer.co_arrived_events = (0..count)
            .filter(|&place| {
                (place > 0 && shares(&self.read_of[place - 1..=place]))
                    || (place + 1 < count && shares(&self.read_of[place..=place + 1]))
            })
            .count() as u32;
        let from = if per_chunk { CountSource::ChunkUsage } else { CountSource::FinalUsage };
        answer.prompt_tokens = usage.prompt_tokens.map(|tokens| Counted { tokens, from });
        answer.output_tokens = usage.completion_tokens.map(|tokens| Counted { tokens, from });
        if answer.output_tokens.is_none() && !self.at_ns.is_empty() {
            let tokens = self.at_ns.len() as u32;
            answer.output_tokens = Some(Counted { tokens, from: CountSource::Events });
        }
        if per_chunk {
            answer.first_event_tokens = self.tokens.first().copied();
            answer.events.tokens = self.tokens.clone();
        }
        if self.many_choices {
            answer.events.choice = self.choice.clone();
        }
        // Exact copies: the columns stay here, so that no later event has to grow them again.
        answer.events.at_ns = self.at_ns.clone();
        answer.usage = usage;
        if self.expect.keep_text {
            answer.text = Some(std::mem::take(&mut self.text));
        }
    }

    /// Decides which empty texts stand for tokens. Per-chunk usage tells exactly. Otherwise they
    /// all do if the count has room for them, and none does if it has not or is not known.
    fn settle_empties(&mut self, per_chunk: bool, total: Option<u32>) {
        let full = self.at_ns.len() as u32 - self.empties;
        let room = total.is_some_and(|total| total >= full + self.empties);
        let keep: Vec<bool> = self
            .kind
            .iter()
            .zip(&self.tokens)
            .map(|(kind, tokens)| {
                *kind != Kind::Empty || if per_chunk { *tokens > 0 } else { room }
            })
            .collect();
        retain(&mut self.at_ns, &keep);
        retain(&mut self.tokens, &keep);
        retain(&mut self.choice, &keep);
        retain(&mut self.kind, &keep);
        retain(&mut self.read_of, &keep);
        self.empties = 0;
    }
}

fn retain<T>(column: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    column.retain(|_| flags.next().copied().unwrap_or(true));
}

#[cfg(test)]
mod tests;
