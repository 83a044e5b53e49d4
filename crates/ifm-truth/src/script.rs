//! A small language to write cases down: events, writes, framing, truth.
//!
//! Events are rendered the way the Python servers of the field render them (a blank after `:`
//! and `,`), each event is one write, and each write is one HTTP chunk, unless a case says
//! otherwise. Nothing is sent here; [`Script::case`] lowers everything to bytes and times.

use crate::case::{Action, Case, Class, Limits, Step};
use crate::payload::{CHAT_FIELDS, TEXT_FIELDS, choice, quote, token, usage};
use crate::truth::{Api, Truth};
use ifm_core::Outcome;
use std::ops::Range;

/// Head of the usual streamed answer.
pub const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\n\
    content-type: text/event-stream; charset=utf-8\r\n\
    cache-control: no-cache\r\n\
    transfer-encoding: chunked\r\n\r\n";

/// Where a write is cut in two.
#[derive(Debug, Clone, Copy)]
pub enum Cut {
    /// After this many bytes from its front.
    Front(usize),
    /// Before this many bytes of its back.
    Back(usize),
}

/// How the body's writes become bytes of an HTTP message.
#[derive(Debug, Clone, Copy)]
enum Framing {
    /// Each write goes through the function, which makes chunks of it.
    Chunked(fn(&[u8]) -> Vec<u8>),
    /// All writes are the data of one chunk.
    OneChunk,
    /// `content-length` stands in the head: the placeholder `{length}` is replaced.
    Length,
    /// The bytes as they are.
    Bare,
}

/// Bytes by the time at which they are due, milliseconds.
type Writes = Vec<(u64, Vec<u8>)>;

/// A case being written down.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    class: Class,
    what: &'static str,
    why: &'static str,
    api: Api,
    limits: Limits,
    requests: u32,
    fields: &'static str,
    space: &'static str,
    newline: &'static str,
    head: Option<String>,
    head_ms: u64,
    framing: Framing,
    end: Vec<u8>,
    writes: Writes,
    cuts: Vec<(u64, Cut, u64)>,
    joins_sends: bool,
    before: Writes,
    after: Writes,
    finale: Option<Step>,
    truth: Truth,
}

/// The whole write as one chunk.
pub fn one_chunk(bytes: &[u8]) -> Vec<u8> {
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    framed
}

impl Script {
    /// Begins a chat case.
    pub fn chat(name: &'static str, class: Class, what: &'static str, why: &'static str) -> Script {
        Script {
            name,
            class,
            what,
            why,
            api: Api::Chat,
            limits: Limits::default(),
            requests: 1,
            fields: CHAT_FIELDS,
            space: " ",
            newline: "\n",
            head: Some(STREAM_HEAD.to_owned()),
            head_ms: 0,
            framing: Framing::Chunked(one_chunk),
            end: b"0\r\n\r\n".to_vec(),
            writes: Vec::new(),
            cuts: Vec::new(),
            joins_sends: false,
            before: Vec::new(),
            after: Vec::new(),
            finale: None,
            truth: Truth::complete(100, 280, 10, Some(10)),
        }
    }

    /// Begins a completions case.
    pub fn completions(
        name: &'static str,
        class: Class,
        what: &'static str,
        why: &'static str,
    ) -> Script {
        Script {
            api: Api::Completions,
            fields: TEXT_FIELDS,
            ..Script::chat(name, class, what, why)
        }
    }

    /// Replaces the fields that open each event.
    pub fn fields(mut self, fields: &'static str) -> Script {
        self.fields = fields;
        self
    }

    /// Sets what stands after `data:` and what ends a line, for the events that follow.
    pub fn lines(mut self, space: &'static str, newline: &'static str) -> Script {
        self.space = space;
        self.newline = newline;
        self
    }

    /// Writes bytes of the body as they are.
    pub fn raw(mut self, at_ms: u64, bytes: impl AsRef<[u8]>) -> Script {
        self.writes.push((at_ms, bytes.as_ref().to_vec()));
        self
    }

    /// Writes one event with this payload.
    pub fn payload(self, at_ms: u64, payload: &str) -> Script {
        let event = format!("data:{}{payload}{}{}", self.space, self.newline, self.newline);
        self.raw(at_ms, event)
    }

    /// Writes one event with these members after the opening fields.
    pub fn event(self, at_ms: u64, members: &str) -> Script {
        let payload = format!("{{{}, {members}}}", self.fields);
        self.payload(at_ms, &payload)
    }

    /// Writes one chat event with this delta of choice 0.
    pub fn delta(self, at_ms: u64, delta: &str) -> Script {
        let members = format!("\"choices\": [{}]", choice(0, delta, None));
        self.event(at_ms, &members)
    }

    /// Writes one chat event with this content.
    pub fn content(self, at_ms: u64, text: &str) -> Script {
        self.delta(at_ms, &format!("{{\"content\": {}}}", quote(text)))
    }

    /// Writes the first delta that only names the role; `content` is a JSON value.
    pub fn role(self, at_ms: u64, content: &str) -> Script {
        self.delta(at_ms, &format!("{{\"role\": \"assistant\", \"content\": {content}}}"))
    }

    /// Writes the tokens of a range under a delta field, the first at `first_ms`, then one every
    /// `gap_ms`.
    pub fn tokens_as(self, field: &str, range: Range<usize>, first_ms: u64, gap_ms: u64) -> Script {
        self.each_delta(range.len(), first_ms, gap_ms, |position| {
            format!("{{\"{field}\": {}}}", quote(&token(range.start + position)))
        })
    }

    /// Writes the content tokens of a range.
    pub fn tokens(self, range: Range<usize>, first_ms: u64, gap_ms: u64) -> Script {
        self.tokens_as("content", range, first_ms, gap_ms)
    }

    /// Writes so many payloads, the first at `first_ms`, then one every `gap_ms`.
    pub fn each_payload(
        mut self,
        count: usize,
        first_ms: u64,
        gap_ms: u64,
        payload: impl Fn(usize) -> String,
    ) -> Script {
        for position in 0..count {
            self = self.payload(first_ms + gap_ms * position as u64, &payload(position));
        }
        self
    }

    /// Writes so many events, each with these members after the opening fields.
    pub fn each_event(
        self,
        count: usize,
        first_ms: u64,
        gap_ms: u64,
        members: impl Fn(usize) -> String,
    ) -> Script {
        let fields = self.fields;
        self.each_payload(count, first_ms, gap_ms, |position| {
            format!("{{{fields}, {}}}", members(position))
        })
    }

    /// Writes so many chat events, each with this delta of choice 0.
    pub fn each_delta(
        self,
        count: usize,
        first_ms: u64,
        gap_ms: u64,
        delta: impl Fn(usize) -> String,
    ) -> Script {
        self.each_event(count, first_ms, gap_ms, |position| {
            format!("\"choices\": [{}]", choice(0, &delta(position), None))
        })
    }

    /// Writes the suite's ten tokens: the first at 100 ms, then one every 20 ms.
    pub fn ten_tokens(self) -> Script {
        self.tokens(0..10, 100, 20)
    }

    /// Writes the chunk that only tells why choice 0 ended.
    pub fn finish(self, at_ms: u64, reason: &str) -> Script {
        let members = format!("\"choices\": [{}]", choice(0, "{}", Some(reason)));
        self.event(at_ms, &members)
    }

    /// Writes the event that only tells usage.
    pub fn usage(self, at_ms: u64, tokens: u32) -> Script {
        let members = format!("\"choices\": [], \"usage\": {}", usage(tokens));
        self.event(at_ms, &members)
    }

    /// Writes the end mark.
    pub fn done(self, at_ms: u64) -> Script {
        self.payload(at_ms, "[DONE]")
    }

    /// Writes finish, usage and end mark, the usual tail.
    pub fn tail(self, at_ms: u64, tokens: u32) -> Script {
        self.tail_as(at_ms, "length", tokens)
    }

    /// Writes the usual tail with another finish reason.
    pub fn tail_as(self, at_ms: u64, reason: &str, tokens: u32) -> Script {
        self.finish(at_ms, reason).usage(at_ms, tokens).done(at_ms)
    }

    /// Replaces the response head, blank line included; it goes out at `at_ms`.
    pub fn head(mut self, at_ms: u64, head: &str) -> Script {
        self.head = Some(head.to_owned());
        self.head_ms = at_ms;
        self
    }

    /// Sends no head of its own and frames nothing: the writes are the message.
    pub fn bare(mut self) -> Script {
        self.head = None;
        self.without_framing()
    }

    /// Makes chunks of each write by a function.
    pub fn chunked_by(mut self, encode: fn(&[u8]) -> Vec<u8>) -> Script {
        self.framing = Framing::Chunked(encode);
        self
    }

    /// Makes one chunk of the whole body, sent write by write.
    pub fn in_one_chunk(mut self) -> Script {
        self.framing = Framing::OneChunk;
        self
    }

    /// Sends bytes outside of the body, before its head.
    pub fn before(mut self, at_ms: u64, bytes: &[u8]) -> Script {
        self.before.push((at_ms, bytes.to_vec()));
        self
    }

    /// Sends bytes outside of the body, after its end.
    pub fn after(mut self, at_ms: u64, bytes: &[u8]) -> Script {
        self.after.push((at_ms, bytes.to_vec()));
        self
    }

    /// Sends the body as it is, with nothing after its last byte.
    pub fn without_framing(mut self) -> Script {
        self.framing = Framing::Bare;
        self.end.clear();
        self
    }

    /// Frames the body by `content-length`: `{length}` in the head is replaced by its size.
    pub fn with_length(mut self) -> Script {
        self.framing = Framing::Length;
        self.end.clear();
        self
    }

    /// Replaces what ends the chunked body.
    pub fn end(mut self, bytes: &[u8]) -> Script {
        self.end = bytes.to_vec();
        self
    }

    /// Cuts the body write that was written last in two before it is framed; the rest goes at
    /// `rest_ms`.
    pub fn split_write(mut self, cut: Cut, rest_ms: u64) -> Script {
        let last = self.writes.len().saturating_sub(1);
        cut_at(&mut self.writes, last, cut, rest_ms);
        self
    }

    /// Cuts the first send of that time, as framed, in two; the rest goes at `rest_ms`.
    pub fn cut(mut self, at_ms: u64, cut: Cut, rest_ms: u64) -> Script {
        self.cuts.push((at_ms, cut, rest_ms));
        self
    }

    /// Makes one body write of all those that are due at the same time so far.
    pub fn join_writes(mut self) -> Script {
        self.writes = joined(self.writes);
        self
    }

    /// Makes one send of everything that is due at the same time, head and framing included.
    pub fn join_sends(mut self) -> Script {
        self.joins_sends = true;
        self
    }

    /// Closes the connection.
    pub fn close(mut self, at_ms: u64) -> Script {
        self.finale = Some(Step { at_ms, action: Action::Close });
        self
    }

    /// Resets the connection; the body gets no end.
    pub fn reset(mut self, at_ms: u64) -> Script {
        self.end.clear();
        self.finale = Some(Step { at_ms, action: Action::Reset });
        self
    }

    /// Leaves the body without its end, so that the connection falls silent.
    pub fn stall(mut self) -> Script {
        self.end.clear();
        self
    }

    /// Sets the limits the client has to run with.
    pub fn limits(mut self, limits: Limits) -> Script {
        self.limits = limits;
        self
    }

    /// Sets the number of requests.
    pub fn requests(mut self, requests: u32) -> Script {
        self.requests = requests;
        self
    }

    /// Sets the truth of a complete answer; see [`Truth::complete`]. The default is the suite's
    /// ten tokens.
    pub fn complete(mut self, first_ms: u64, last_ms: u64, events: u32, tokens: u32) -> Script {
        self.truth = Truth::complete(first_ms, last_ms, events, Some(tokens));
        self
    }

    /// Sets the truth of a request that ended otherwise; `events` token-bearing events arrived.
    pub fn ended(mut self, outcome: Outcome, http_status: Option<u16>, events: u32) -> Script {
        self.truth = Truth { token_events: Some(events), ..Truth::ended(outcome, http_status) };
        self
    }

    /// Changes the truth.
    pub fn truth(mut self, change: impl FnOnce(&mut Truth)) -> Script {
        change(&mut self.truth);
        self
    }

    /// The finished case.
    pub fn case(mut self) -> Case {
        self.writes.sort_by_key(|(at_ms, _)| *at_ms);
        let mut sends = self.sends();
        for (at_ms, cut, rest_ms) in &self.cuts {
            let position = sends.iter().position(|(due_ms, _)| due_ms == at_ms);
            cut_at(&mut sends, position.unwrap_or(usize::MAX), *cut, *rest_ms);
        }
        if self.joins_sends {
            sends = joined(sends);
        }
        let mut steps: Vec<Step> = sends
            .into_iter()
            .map(|(at_ms, bytes)| Step { at_ms, action: Action::Send(bytes) })
            .collect();
        steps.extend(self.finale);
        Case {
            name: self.name,
            class: self.class,
            what: self.what,
            why: self.why,
            api: self.api,
            limits: self.limits,
            requests: self.requests,
            steps,
            truth: self.truth,
        }
    }

    /// The message as sends: head, framed body, end.
    fn sends(&self) -> Writes {
        let body_bytes: usize = self.writes.iter().map(|(_, bytes)| bytes.len()).sum();
        let last_ms = self.writes.last().map_or(self.head_ms, |(at_ms, _)| *at_ms);
        let mut sends = self.before.clone();
        if let Some(head) = &self.head {
            let head = head.replace("{length}", &body_bytes.to_string());
            sends.push((self.head_ms, head.into_bytes()));
        }
        for (position, (at_ms, bytes)) in self.writes.iter().enumerate() {
            let framed = match self.framing {
                Framing::Chunked(encode) => encode(bytes),
                Framing::OneChunk if position == 0 => {
                    [format!("{body_bytes:x}\r\n").as_bytes(), bytes].concat()
                }
                Framing::OneChunk | Framing::Length | Framing::Bare => bytes.clone(),
            };
            sends.push((*at_ms, framed));
        }
        if matches!(self.framing, Framing::OneChunk) {
            sends.push((last_ms, b"\r\n".to_vec()));
        }
        if !self.end.is_empty() {
            sends.push((last_ms, self.end.clone()));
        }
        sends.extend_from_slice(&self.after);
        sends
    }
}

/// Splits one write in two. A cut that leaves nothing on one side is a mistake in the suite.
fn cut_at(writes: &mut Writes, position: usize, cut: Cut, rest_ms: u64) {
    let parts = writes.get_mut(position).and_then(|(_, bytes)| {
        let front = match cut {
            Cut::Front(count) => Some(count),
            Cut::Back(count) => bytes.len().checked_sub(count),
        };
        front.filter(|count| (1..bytes.len()).contains(count)).map(|count| bytes.split_off(count))
    });
    assert!(parts.is_some(), "the suite cuts a write that is not there: {cut:?}, {rest_ms} ms");
    writes.extend(parts.map(|rest| (rest_ms, rest)));
    writes.sort_by_key(|(at_ms, _)| *at_ms);
}

/// Joins the writes of equal time, in order.
fn joined(mut writes: Writes) -> Writes {
    writes.sort_by_key(|(at_ms, _)| *at_ms);
    let mut joined: Writes = Vec::with_capacity(writes.len());
    for (at_ms, mut bytes) in writes {
        match joined.last_mut() {
            Some((due_ms, all)) if *due_ms == at_ms => all.append(&mut bytes),
            _ => joined.push((at_ms, bytes)),
        }
    }
    joined
}
