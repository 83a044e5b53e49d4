//! What the events of one stream have told so far, and how that becomes columns and counts.

use super::{Answer, Expect};
use crate::dialect::template::Template;
use crate::dialect::{self, ChunkFacts, Dialect, End, Envelope, Generated, Memory, Usage};
use crate::sound::SoundMeter;
use crate::sse::Event;
use ifm_core::finish::Ending;
use ifm_core::record::{CountSource, Counted};
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// How much of a payload that means nothing is shown, characters.
pub(super) const BLANK_CHARS_MAX: usize = 80;

/// Events for which a column keeps its buffer between two answers.
const EVENTS_KEPT: usize = 262_144;

/// What an event that may carry a token is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Answer,
    Reasoning,
    /// An empty text: a token only if the usage reports one for it.
    Empty,
    /// An empty text in the event that ends its choice. Likewise: an end-of-text token has no text,
    /// and is no answer.
    Closing,
}

/// What the events have told so far.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) expect: Expect,
    pub(super) dialect: &'static Dialect,
    memory: Memory,
    template: Template,
    pub(super) read: u32,
    pub(super) at_ns: Vec<u64>,
    tokens: Vec<u32>,
    choice: Vec<u16>,
    kind: Vec<Kind>,
    /// Bytes of generated text in all events.
    text_bytes: u32,
    /// Stamp of the first event that carries text, and bytes of text in all events with that stamp.
    first_text: Option<(u64, u32)>,
    /// Read that each event came with, to tell co-arrival.
    read_of: Vec<u32>,
    empties: u32,
    closings: u32,
    /// Closing texts without a count in their event, which take nothing from the others' counts.
    closings_uncounted: u32,
    /// Whether a choice ended because it was long enough: then no end-of-text token was generated.
    cut_at_length: bool,
    many_choices: bool,
    /// Events with both a usage object and output.
    counted_events: u32,
    /// Completion tokens that the last usage of each choice stated.
    counted: Vec<u32>,
    usage: Option<Usage>,
    usage_alone: bool,
    pub(super) choices_seen: u16,
    finished: Vec<bool>,
    pub(super) filtered: bool,
    pub(super) finish_reason: Option<String>,
    pub(super) error: Option<String>,
    /// The finish reason of the first choice that the engine did not bring to its end.
    pub(super) given_up: Option<String>,
    /// A sentence of the server that is an error if the answer is not complete.
    pub(super) sentence: Option<String>,
    /// How the first payload begins in which the API finds nothing.
    pub(super) blank: String,
    /// Whether an error said that the prompt is longer than the context.
    pub(super) is_overflow: bool,
    pub(super) first_event_ns: Option<u64>,
    pub(super) end_mark_ns: Option<u64>,
    /// Whether a whole answer that was not streamed says that it is complete.
    pub(super) document_ended: bool,
    /// How many results the answer must hold, where that is known.
    pub(super) results_asked: Option<u32>,
    /// How many it holds.
    pub(super) results: Option<u32>,
    /// Sound that arrived.
    pub(super) sound: SoundMeter,
    pub(super) text: Generated,
}

impl Facts {
    pub(super) fn new(expect: Expect) -> Facts {
        Facts {
            expect,
            dialect: dialect::of(expect.api),
            memory: Memory::default(),
            template: Template::default(),
            read: 0,
            at_ns: Vec::new(),
            tokens: Vec::new(),
            choice: Vec::new(),
            kind: Vec::new(),
            text_bytes: 0,
            first_text: None,
            read_of: Vec::new(),
            empties: 0,
            closings: 0,
            closings_uncounted: 0,
            cut_at_length: false,
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
            given_up: None,
            sentence: None,
            blank: String::new(),
            is_overflow: false,
            first_event_ns: None,
            end_mark_ns: None,
            document_ended: false,
            results_asked: None,
            results: None,
            sound: SoundMeter::default(),
            text: Generated::default(),
        }
    }

    pub(super) fn reset(&mut self, expect: Expect) {
        if self.expect.api != expect.api {
            self.dialect = dialect::of(expect.api);
        }
        self.expect = expect;
        self.memory.reset();
        self.template.reset();
        self.read = 0;
        clear(&mut self.at_ns);
        clear(&mut self.tokens);
        clear(&mut self.choice);
        clear(&mut self.kind);
        self.text_bytes = 0;
        self.first_text = None;
        clear(&mut self.read_of);
        self.empties = 0;
        self.closings = 0;
        self.closings_uncounted = 0;
        self.cut_at_length = false;
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
        self.given_up = None;
        self.sentence = None;
        self.blank.clear();
        self.is_overflow = false;
        self.first_event_ns = None;
        self.end_mark_ns = None;
        self.document_ended = false;
        self.results_asked = None;
        self.results = None;
        self.sound.reset();
        self.text.clear();
    }

    /// Memory that the columns and the kept text take, bytes.
    pub(super) fn held_bytes(&self) -> usize {
        const EVENT_BYTES: usize = size_of::<u64>() + 2 * size_of::<u32>() + size_of::<u16>() + 1;
        self.at_ns.len() * EVENT_BYTES + self.text.held_bytes() + self.memory.held_bytes()
    }

    /// Forgets all output of an answer that has failed, buffers included.
    #[cold]
    pub(super) fn discard_output(&mut self) {
        *self = Facts {
            read: self.read,
            error: self.error.take(),
            is_overflow: self.is_overflow,
            first_event_ns: self.first_event_ns,
            results_asked: self.results_asked,
            ..Facts::new(self.expect)
        };
    }

    pub(super) fn fail(&mut self, sentence: String) {
        self.error.get_or_insert(sentence);
    }

    /// Takes one event of the stream.
    #[inline]
    pub(super) fn take(&mut self, event: Event<'_>) {
        if self.end_mark_ns.is_some() {
            return; // Nothing behind the end mark belongs to the answer.
        }
        self.first_event_ns.get_or_insert(event.at_ns);
        if !event.is_error
            && !self.expect.keep_text
            && let Some(text_bytes) = self.template.text_bytes(event.data)
        {
            // Same structure as the last full read: one more event of output of that choice.
            let choice = self.choice.last().copied().unwrap_or(0);
            let kind = self.kind.last().copied().unwrap_or(Kind::Answer);
            return self.push(event.at_ns, choice, kind, text_bytes);
        }
        self.take_in_full(event);
    }

    /// Reads the event at the end of the stream without a blank line after it, if the event is
    /// complete: some servers omit that line. A truncated object is ignored.
    pub(super) fn take_unended(&mut self, event: Event<'_>) {
        let is_object = || {
            event.data.trim_ascii_start().starts_with(b"{")
                && serde_json::from_slice::<IgnoredAny>(event.data).is_ok()
        };
        if event.is_error || self.dialect.is_end_mark(event.data) || is_object() {
            self.take(event);
        }
    }

    #[cold]
    fn take_in_full(&mut self, event: Event<'_>) {
        self.template.reset();
        if self.dialect.is_end_mark(event.data) {
            self.end_mark_ns = Some(event.at_ns);
            return;
        }
        if event.is_error {
            self.is_overflow |= dialect::is_overflow(event.data);
            return self.fail(match event.data {
                [] => "the server sent an error event without a message".to_owned(),
                data => dialect::error_sentence(data),
            });
        }
        // The grammar decodes streams leniently; so do we. (The strict check is the faster one.)
        let data = match std::str::from_utf8(event.data) {
            Ok(data) => Cow::Borrowed(data),
            Err(_) => String::from_utf8_lossy(event.data),
        };
        let data = data.as_ref();
        let text = self.expect.keep_text.then_some(&mut self.text);
        match self.dialect.read_event(data, &mut self.memory, text) {
            Err(error) => self.fail(dialect::words_of_envelope(data).unwrap_or(error)),
            Ok(facts) if facts.is_blank() => self.take_blank(data),
            Ok(facts) => {
                self.is_overflow |= facts.error.is_some() && dialect::is_overflow(data.as_bytes());
                self.take_facts(&facts, event.at_ns);
                let mut choices = facts.choices.iter();
                if let (Some(choice), None) = (choices.next(), choices.next())
                    && (choice.has_answer || choice.has_reasoning)
                    && choice.finish_reason.is_none()
                    && facts.usage.is_none()
                    && facts.error.is_none()
                    && !facts.is_end
                {
                    let keys = self.dialect.output_keys;
                    self.template.learn(data.as_bytes(), keys, choice.text_bytes);
                }
            }
        }
    }

    /// Takes a payload in which the API finds nothing: it may report an error in other words.
    #[cold]
    fn take_blank(&mut self, data: &str) {
        match dialect::read_envelope(data) {
            Some(Envelope::Error(words)) => {
                self.is_overflow |= dialect::is_overflow(data.as_bytes());
                self.fail(words);
            }
            Some(Envelope::Sentence(words)) => {
                self.sentence.get_or_insert(words);
            }
            None => {}
        }
        if self.blank.is_empty() {
            self.blank.extend(data.chars().take(BLANK_CHARS_MAX));
        }
    }

    fn take_facts(&mut self, facts: &ChunkFacts<'_>, at_ns: u64) {
        if let Some(error) = &facts.error {
            return self.take_error(facts, error);
        }
        if let Some(base64) = &facts.sound {
            self.sound.feed_base64(base64, at_ns);
            if facts.choices.is_empty() {
                self.push(at_ns, 0, Kind::Answer, 0);
            }
        }
        let several = facts.choices.len() > 1;
        let mut carried = 0;
        for choice in facts.choices.iter() {
            self.note_choice(choice.index, choice.finish_reason.as_deref());
            self.filtered |= choice.has_refusal;
            let kind = match (choice.has_answer, choice.has_reasoning, choice.has_empty_text) {
                (true, ..) => Kind::Answer,
                (false, true, _) => Kind::Reasoning,
                (false, false, true) if choice.finish_reason.is_some() || facts.is_end => {
                    Kind::Closing
                }
                (false, false, true) => Kind::Empty,
                _ => continue,
            };
            self.push(at_ns, choice.index, kind, choice.text_bytes);
            let counted_before = self.counted_events;
            if let (Some(usage), false) = (&facts.usage, several) {
                self.note_chunk_usage(choice.index, usage);
            }
            match kind == Kind::Closing && self.counted_events == counted_before {
                true => self.closings_uncounted += 1,
                false => carried += 1,
            }
        }
        if let Some(usage) = &facts.usage {
            self.usage_alone |= carried == 0;
            let mut merged = *usage;
            if let Some(former) = &self.usage {
                merged.prompt_tokens = merged.prompt_tokens.or(former.prompt_tokens);
                merged.cached_tokens = merged.cached_tokens.or(former.cached_tokens);
                merged.prompt_kinds = merged.prompt_kinds.or(former.prompt_kinds);
                merged.times = merged.times.or(former.times);
            }
            self.usage = Some(merged);
        }
        if facts.is_end {
            self.end_mark_ns = Some(at_ns);
        }
    }

    /// Takes an error and the reasons next to it. What it holds of an answer is no output.
    #[cold]
    fn take_error(&mut self, facts: &ChunkFacts<'_>, error: &str) {
        self.fail(error.to_owned());
        for choice in facts.choices.iter() {
            self.note_choice(choice.index, choice.finish_reason.as_deref());
        }
        self.usage = facts.usage.or(self.usage);
    }

    /// Takes what one read brought of a body that is sound. A read is one event, however many chunks
    /// it brought.
    pub(super) fn take_sound(&mut self, bytes: &[u8], at_ns: u64) {
        self.first_event_ns.get_or_insert(at_ns);
        self.sound.feed(bytes, at_ns);
        if self.read_of.last() != Some(&self.read) {
            self.push(at_ns, 0, Kind::Answer, 0);
        }
    }

    /// Takes a whole answer that was not streamed: counts and reasons, but no token stamps.
    pub(super) fn take_document(&mut self, facts: &ChunkFacts<'_>) {
        if let Some(error) = &facts.error {
            return self.take_error(facts, error);
        }
        for choice in facts.choices.iter() {
            self.note_choice(choice.index, choice.finish_reason.as_deref());
            self.filtered |= choice.has_refusal;
        }
        self.usage = facts.usage;
        // A document is whole by itself. Where a stream was asked for, that it came as one says
        // that the server did something else, and only its finish reason that this is the end.
        let has_answer = || facts.choices.iter().any(|choice| choice.has_answer);
        self.document_ended =
            facts.is_end || self.all_finished() || (!self.expect.stream && has_answer());
        if let Some(results) = facts.results {
            self.results = Some(results);
            match self.results_asked {
                Some(asked) if results > asked => {
                    self.fail(format!("the answer holds {results} results instead of {asked}"));
                }
                Some(asked) => self.document_ended = results == asked,
                None => self.document_ended = results > 0,
            }
        }
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
            let ending = Ending::from_reason(reason);
            self.filtered |= ending == Ending::Filter;
            self.cut_at_length |= ending == Ending::Length;
            let reason: String = reason.chars().take(64).collect();
            if ending == Ending::Failure {
                self.given_up.get_or_insert_with(|| reason.clone());
            }
            self.finish_reason = Some(self.given_up.clone().unwrap_or(reason));
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
    fn push(&mut self, at_ns: u64, choice: u16, kind: Kind, text_bytes: u32) {
        // Reads of one exchange are in order, but a timestamp may be slightly earlier than the
        // previous one when the wall clock is slewed: timestamps in a record never decrease.
        let at_ns = self.at_ns.last().map_or(at_ns, |former| at_ns.max(*former));
        self.at_ns.push(at_ns);
        self.tokens.push(0);
        self.choice.push(choice);
        self.kind.push(kind);
        self.read_of.push(self.read);
        if text_bytes > 0 {
            self.text_bytes = self.text_bytes.saturating_add(text_bytes);
            let (first_ns, bytes) = self.first_text.get_or_insert((at_ns, 0));
            if *first_ns == at_ns {
                *bytes = bytes.saturating_add(text_bytes);
            }
        }
        self.many_choices |= choice != 0;
        self.empties += u32::from(kind == Kind::Empty);
        self.closings += u32::from(kind == Kind::Closing);
    }

    /// Whether anything of an answer arrived: a choice, a count, a result, output.
    pub(super) fn has_answer(&self) -> bool {
        self.choices_seen > 0
            || self.usage.is_some_and(|usage| usage != Usage::default())
            || self.results.is_some()
            || !self.at_ns.is_empty()
    }

    pub(super) fn all_finished(&self) -> bool {
        !self.finished.is_empty() && self.finished.iter().all(|finished| *finished)
    }

    /// Whether a streamed answer is complete: `is_whole` says that the response ended by its own
    /// framing, `says_length` that this framing told where.
    pub(super) fn is_complete(&self, is_whole: bool, says_length: bool) -> bool {
        self.end_mark_ns.is_some()
            || match self.dialect.end {
                End::Mark => false,
                End::MarkOrFinish => is_whole && self.all_finished(),
                End::Response => is_whole && says_length && self.choices_seen > 0,
            }
    }

    /// Writes the columns and counts into the answer, once the stream is over.
    pub(super) fn fill(&mut self, answer: &mut Answer) {
        let per_chunk = self.counted_events > 0
            && (self.counted_events + self.closings_uncounted) as usize == self.at_ns.len();
        let mut usage = self.usage.unwrap_or_default();
        if per_chunk && !self.usage_alone {
            let total = self.counted.iter().fold(0, |sum: u32, count| sum.saturating_add(*count));
            usage.completion_tokens = Some(total);
        }
        if self.empties + self.closings > 0 {
            self.settle_empties(per_chunk, usage.completion_tokens);
        }
        answer.first_answer_ns = self
            .kind
            .iter()
            .position(|kind| !matches!(kind, Kind::Reasoning | Kind::Closing))
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
        // Pieces of sound are no tokens: without a choice there is no sequence of them.
        if answer.output_tokens.is_none() && !self.at_ns.is_empty() && self.choices_seen > 0 {
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
        answer.text_bytes = Some(self.text_bytes).filter(|bytes| *bytes > 0);
        // Where an empty text was the first token, no text came with it.
        answer.first_text_bytes = self
            .first_text
            .filter(|_| !self.at_ns.is_empty())
            .map(|(at_ns, bytes)| if self.at_ns.first() == Some(&at_ns) { bytes } else { 0 });
        answer.made_audio = self.sound.finish();
        answer.usage = usage;
        if self.expect.keep_text {
            answer.text = Some(std::mem::take(&mut self.text));
        }
    }

    /// Decides which empty texts represent tokens. Per-chunk usage decides exactly. Otherwise,
    /// empty texts within the answer all count if the reported total has room for them. None of
    /// them counts if there is no room or the total is unknown. Empty texts that close a choice
    /// count if there is room after the others. If no end-of-text token was generated, more room
    /// than that means that events hold several tokens, and says nothing about the closing texts.
    fn settle_empties(&mut self, per_chunk: bool, total: Option<u32>) {
        let full = self.at_ns.len() as u32 - self.empties - self.closings;
        let has_room = |events: u32| total.is_some_and(|total| total >= full + events);
        let within = has_room(self.empties);
        let events = self.at_ns.len() as u32;
        let closing = has_room(self.empties + self.closings)
            && (!self.cut_at_length || total == Some(events));
        let keep: Vec<bool> = self
            .kind
            .iter()
            .zip(&self.tokens)
            .map(|(kind, tokens)| match kind {
                Kind::Answer | Kind::Reasoning => true,
                Kind::Empty | Kind::Closing if per_chunk => *tokens > 0,
                Kind::Empty => within,
                Kind::Closing => closing,
            })
            .collect();
        retain(&mut self.at_ns, &keep);
        retain(&mut self.tokens, &keep);
        retain(&mut self.choice, &keep);
        retain(&mut self.kind, &keep);
        retain(&mut self.read_of, &keep);
        (self.empties, self.closings) = (0, 0);
    }
}

/// Clears a column and keeps its buffer, unless an answer much longer than usual has filled it.
fn clear<T>(column: &mut Vec<T>) {
    column.clear();
    column.shrink_to(EVENTS_KEPT);
}

fn retain<T>(column: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    column.retain(|_| flags.next().copied().unwrap_or(true));
}
