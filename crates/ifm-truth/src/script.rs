//! A small language to write cases down: events, writes, framing, truth.
//!
//! A file holds the cases of a class, one after the other: a name in brackets, a line that says what
//! the stream does, one that says why its truth is what it is, and then indented lines that write the
//! stream down, each a verb and what it needs. Lines that begin with `#` are comments. In texts `␊`,
//! `␍`, `␉` and `␠` are the characters whose pictures they are, `⟨U+2028⟩` is a character by its
//! number, `⟨60 × …⟩` repeats a text, in which `№` is the number of the round, and
//! `⟨fields⟩` are the fields that open a chat event.
//!
//! Events are rendered the way the Python servers of the field render them (a blank after `:`
//! and `,`), each event is one write, and each write is one HTTP chunk, unless a case says
//! otherwise. Nothing is sent here; a case is lowered to bytes and times.

use crate::case::{Action, Case, Class, Limits, Step};
use crate::payload::{CHAT_FIELDS, TEXT_FIELDS, choice, quote, token, usage};
use crate::truth::{Api, Truth};
use ifm_core::Outcome;
use ifm_core::order::Order as _;
use std::ops::Range;
use std::str::FromStr;

/// Head of the usual streamed answer.
pub const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\n\
    content-type: text/event-stream; charset=utf-8\r\n\
    cache-control: no-cache\r\n\
    transfer-encoding: chunked\r\n\r\n";

/// Reads the cases of a class.
///
/// # Errors
/// The first line that is not valid in the language, with the name of its case.
pub fn read(class: Class, text: &'static str) -> Result<Vec<Case>, String> {
    let blocks = text.split("\n[").skip(1).map(|block| {
        let mut lines = block.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut head = || lines.next().ok_or_else(|| format!("no whole case: {block}"));
        let (name, what, why) = (head()?.trim_end_matches(']'), head()?, head()?);
        let mut script = Script::new(name, class, what, why);
        for line in lines {
            script.line(line.trim_start()).ok_or_else(|| format!("{name}: {line}"))?;
        }
        Ok(script.case())
    });
    blocks.collect()
}

/// Where a write is cut in two.
#[derive(Debug, Clone, Copy)]
enum Cut {
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
    /// `content-length` is in the head: the placeholder `{length}` is replaced.
    Length,
    /// The bytes as they are.
    Bare,
}

/// Bytes by the time at which they are due, milliseconds.
type Writes = Vec<(u64, Vec<u8>)>;

/// A case being written down.
#[derive(Debug)]
struct Script {
    name: &'static str,
    class: Class,
    what: &'static str,
    why: &'static str,
    api: Api,
    limits: Limits,
    requests: u32,
    fields: String,
    space: String,
    newline: String,
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

/// What follows a verb: words, the last of which may be a text of several.
struct Words<'line>(&'line str);

impl<'line> Words<'line> {
    fn word(&mut self) -> &'line str {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        word
    }

    fn next<T: FromStr>(&mut self) -> Option<T> {
        self.word().parse().ok()
    }

    fn range(&mut self) -> Option<Range<usize>> {
        Some(self.next()?..self.next()?)
    }

    fn cut(&mut self) -> Option<Cut> {
        Some(match self.word() {
            "front" => Cut::Front(self.next()?),
            "back" => Cut::Back(self.next()?),
            _ => return None,
        })
    }

    /// All that is left, without its signs for what cannot be seen.
    fn text(&self) -> Option<String> {
        let pictures =
            [("␊", "\n"), ("␍", "\r"), ("␉", "\t"), ("␠", " "), ("⟨fields⟩", CHAT_FIELDS)];
        let mut text =
            pictures.iter().fold(self.0.to_owned(), |text, (sign, is)| text.replace(sign, is));
        // The innermost first.
        while let Some((before, after)) = text.split_once('⟩') {
            let (before, inside) = before.rsplit_once('⟨')?;
            let plain = match inside.split_once(" × ") {
                Some((count, unit)) => (0..count.parse::<u32>().ok()?)
                    .map(|round| unit.replace('№', &format!("{round:02}")))
                    .collect(),
                None => {
                    let number = u32::from_str_radix(inside.strip_prefix("U+")?, 16).ok()?;
                    char::from_u32(number)?.to_string()
                }
            };
            text = [before, &plain, after].concat();
        }
        Some(text)
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        self.text().map(String::into_bytes)
    }
}

impl Script {
    fn new(name: &'static str, class: Class, what: &'static str, why: &'static str) -> Script {
        Script {
            name,
            class,
            what,
            why,
            api: Api::Chat,
            limits: Limits::default(),
            requests: 1,
            fields: CHAT_FIELDS.to_owned(),
            space: " ".to_owned(),
            newline: "\n".to_owned(),
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

    /// Executes a line; `None` for a line that is not valid in the language.
    fn line(&mut self, line: &str) -> Option<()> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = Words(rest);
        self.write_events(verb, &mut words)
            .or_else(|| self.set_message(verb, &mut words))
            .or_else(|| self.set_truth(verb, &mut words))
    }

    /// Writes of the body. Times are milliseconds.
    fn write_events(&mut self, verb: &str, words: &mut Words<'_>) -> Option<()> {
        match verb {
            // Bytes of the body as they are.
            "raw" => self.writes.push((words.next()?, words.bytes()?)),
            // One event with this payload.
            "payload" => self.payload(words.next()?, &words.text()?),
            // One event with these members after the opening fields.
            "event" => self.event(words.next()?, &words.text()?),
            // One chat event with this delta of choice 0; with this content; that names the role, in
            // addition to this content as a JSON value.
            "delta" => self.delta(words.next()?, &words.text()?),
            "content" => self.content("content", words.next()?, &words.text()?),
            "role" => {
                let (at_ms, content) = (words.next()?, words.text()?);
                self.delta(at_ms, &format!("{{\"role\": \"assistant\", \"content\": {content}}}"));
            }
            // The suite's ten tokens: the first at 100 ms, then one every 20 ms.
            "ten_tokens" => self.tokens("content", 0..10, 100, 20),
            // The tokens of a range, the first at that time, then one every so often.
            "tokens" => self.tokens("content", words.range()?, words.next()?, words.next()?),
            // The same under another field of the delta.
            "tokens_as" => {
                let field = words.word();
                self.tokens(field, words.range()?, words.next()?, words.next()?);
            }
            // This many lines, the first at that time, then one every so often.
            "each" => {
                let (count, first_ms, gap_ms): (u32, u64, u64) =
                    (words.next()?, words.next()?, words.next()?);
                let verb = words.word();
                for position in 0..count {
                    let text = words
                        .0
                        .replace("⟨token⟩", &quote(&token(position as usize)))
                        .replace("⟨count⟩", &(position + 1).to_string())
                        .replace("⟨total⟩", &(position + 9).to_string());
                    let at_ms = first_ms + gap_ms * u64::from(position);
                    self.write_events(verb, &mut Words(&format!("{at_ms} {text}")))?;
                }
            }
            // The chunk that only reports why choice 0 ended, the event that only reports usage, the end
            // mark; and all three, the usual tail.
            "finish" => self.finish(words.next()?, words.0),
            "usage" => self.usage(words.next()?, words.next()?),
            "done" => self.payload(words.next()?, "[DONE]"),
            "tail" | "tail_as" => {
                let (at_ms, tokens) = (words.next()?, words.next()?);
                self.finish(at_ms, if verb == "tail" { "length" } else { words.0 });
                self.usage(at_ms, tokens);
                self.payload(at_ms, "[DONE]");
            }
            // The write that was written last is cut in two before it is framed.
            "split_write" => {
                let last = self.writes.len().saturating_sub(1);
                cut_at(&mut self.writes, last, words.cut()?, words.next()?);
            }
            // All writes that are due at the same time so far are one.
            "join_writes" => self.writes = joined(std::mem::take(&mut self.writes)),
            _ => return None,
        }
        Some(())
    }

    /// How the body becomes a message, and what happens to the connection.
    fn set_message(&mut self, verb: &str, words: &mut Words<'_>) -> Option<()> {
        match verb {
            "completions" => {
                self.api = Api::Completions;
                self.fields = TEXT_FIELDS.to_owned();
            }
            // Other fields that open each event.
            "fields" => self.fields = words.text()?,
            // What ends a line, and no space after `data:`, for the events that follow.
            "newline" => self.newline = words.text()?,
            "without_space" => self.space.clear(),
            // The response's head, blank line included.
            "head" => (self.head_ms, self.head) = (words.next()?, Some(words.text()?)),
            // No head of its own and no framing: the writes are the message.
            "bare" => {
                self.head = None;
                self.frame(Framing::Bare);
            }
            "without_framing" => self.frame(Framing::Bare),
            // Framed by `content-length`: `{length}` in the head is replaced by the size.
            "with_length" => self.frame(Framing::Length),
            // One chunk of the whole body, sent write by write.
            "in_one_chunk" => self.framing = Framing::OneChunk,
            "chunked_by" => {
                self.framing = Framing::Chunked(match words.0 {
                    "bytes" => byte_chunks,
                    "sevens" => small_chunks,
                    "extended" => extended_chunks,
                    _ => return None,
                });
            }
            // Bytes outside of the body.
            "before" => self.before.push((words.next()?, words.bytes()?)),
            "after" => self.after.push((words.next()?, words.bytes()?)),
            // What ends the chunked body.
            "end" => self.end = words.bytes()?,
            // The first send of that time, as framed, is cut in two.
            "cut" => self.cuts.push((words.next()?, words.cut()?, words.next()?)),
            // Everything that is due at the same time is one send, head and framing included.
            "join_sends" => self.joins_sends = true,
            "close" => self.finale = Some(Step { at_ms: words.next()?, action: Action::Close }),
            // The body gets no end.
            "reset" => {
                self.end.clear();
                self.finale = Some(Step { at_ms: words.next()?, action: Action::Reset });
            }
            "stall" => self.end.clear(),
            _ => return None,
        }
        Some(())
    }

    /// What the client is to do, and what it must report: the suite's ten tokens, unless this says
    /// otherwise.
    fn set_truth(&mut self, verb: &str, words: &mut Words<'_>) -> Option<()> {
        match verb {
            "limits" => self.limits = serde_json::from_str(words.0).ok()?,
            "requests" => self.requests = words.next()?,
            // First and last token, events, tokens; see [`Truth::complete`].
            "complete" => {
                let (first_ms, last_ms) = (words.next()?, words.next()?);
                self.truth = Truth::complete(first_ms, last_ms, words.next()?, words.next());
            }
            // Outcome, status, and how many token-bearing events arrived.
            "ended" => {
                let truth = Truth::ended(Outcome::from_word(words.word())?, words.next());
                self.truth = Truth { token_events: Some(words.next()?), ..truth };
            }
            // Fields that differ.
            "truth" => {
                let mut truth = serde_json::to_value(&self.truth).ok()?;
                let changes = serde_json::from_str::<serde_json::Map<_, _>>(words.0).ok()?;
                truth.as_object_mut()?.extend(changes);
                self.truth = serde_json::from_value(truth).ok()?;
            }
            _ => return None,
        }
        Some(())
    }

    fn frame(&mut self, framing: Framing) {
        self.framing = framing;
        self.end.clear();
    }

    fn payload(&mut self, at_ms: u64, payload: &str) {
        let event = format!("data:{}{payload}{}{}", self.space, self.newline, self.newline);
        self.writes.push((at_ms, event.into_bytes()));
    }

    fn event(&mut self, at_ms: u64, members: &str) {
        let payload = format!("{{{}, {members}}}", self.fields);
        self.payload(at_ms, &payload);
    }

    fn delta(&mut self, at_ms: u64, delta: &str) {
        self.event(at_ms, &format!("\"choices\": [{}]", choice(0, delta, None)));
    }

    fn content(&mut self, field: &str, at_ms: u64, text: &str) {
        self.delta(at_ms, &format!("{{\"{field}\": {}}}", quote(text)));
    }

    fn tokens(&mut self, field: &str, range: Range<usize>, first_ms: u64, gap_ms: u64) {
        for (at, position) in range.enumerate() {
            self.content(field, first_ms + gap_ms * at as u64, &token(position));
        }
    }

    fn finish(&mut self, at_ms: u64, reason: &str) {
        self.event(at_ms, &format!("\"choices\": [{}]", choice(0, "{}", Some(reason))));
    }

    fn usage(&mut self, at_ms: u64, tokens: u32) {
        self.event(at_ms, &format!("\"choices\": [], \"usage\": {}", usage(tokens)));
    }

    /// The finished case.
    fn case(mut self) -> Case {
        self.writes.order_by_key(|(at_ms, _)| *at_ms);
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
    writes.order_by_key(|(at_ms, _)| *at_ms);
}

/// Joins the writes of equal time, in order.
fn joined(mut writes: Writes) -> Writes {
    writes.order_by_key(|(at_ms, _)| *at_ms);
    let mut joined: Writes = Vec::with_capacity(writes.len());
    for (at_ms, mut bytes) in writes {
        match joined.last_mut() {
            Some((due_ms, all)) if *due_ms == at_ms => all.append(&mut bytes),
            _ => joined.push((at_ms, bytes)),
        }
    }
    joined
}
