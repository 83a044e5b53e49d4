//! The decoder's thread: raw bytes and stamps in, records out.

use crate::Histogram;
use crate::feed::Feed;
use crate::modalities::told;
use crate::plan::{Answered, LevelPlan, Loop, Sink, StopLevel, TurnMeta};
use crate::shared::Shared;
use crate::slot::{Done, Message, NO_KERNEL_STAMP, Segment};
use ifm_core::finish::Ending;
use ifm_core::outcome::Outcome;
use ifm_core::record::{Phase, RequestRecord};
use ifm_core::{Reply, Validity};
use ifm_sys::{mono_ns, thread};
use ifm_wire::dialect::Generated;
use ifm_wire::exchange::Answer;
use ifm_wire::request::{MASK, SECRET_CHARS_MIN, session_token_of};
use ifm_wire::{EndCause, ExchangeDecoder};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Rest when there is nothing to decode.
const REST: Duration = Duration::from_millis(1);
/// The same where the next turn of a conversation waits for the answer.
const REST_WHEN_FOLLOWED: Duration = Duration::from_micros(100);
/// How long the feeder is waited for at the end of an open loop.
const FEEDER_END_NS: u64 = 5_000_000_000;
/// Time between two calls of [`Sink::tick`].
const TICK_NS: u64 = 50_000_000;
/// Memory that the unfinished answers of all slots may take together, bytes.
const HELD_BYTES_MAX: usize = 2 << 30;
/// Ends a sentence of which the rest was cut off.
const CUT_OFF: char = '…';
/// Failures without any success before a level is given up: at least this many, or one a slot.
const HOPELESS_MIN: u64 = 8;

/// The decoder's report on the level.
#[derive(Debug, Default)]
pub(crate) struct DecoderReport {
    pub cpu_ns: u64,
    pub lag: Histogram,
    pub reads: u64,
    pub stamped_reads: u64,
    pub events: u64,
    pub co_arrived_events: u64,
    /// Why the sink failed.
    pub sink_failure: Option<String>,
    /// Why the level was given up: the last error of a server that refuses everything.
    pub gave_up: Option<String>,
}

/// What has been seen of a slot's current exchange.
#[derive(Debug, Default, Clone)]
struct Reads {
    reads: u32,
    stamped: u32,
    lag_ns_max: Option<u64>,
    bytes: u64,
    noted_first_token: bool,
}

pub(crate) struct Decoder<'level> {
    plan: &'level LevelPlan,
    feed: &'level Feed,
    shared: &'level Shared,
    exchanges: Vec<ExchangeDecoder>,
    reads: Vec<Reads>,
    /// Memory that all unfinished answers take, bytes.
    held_bytes: usize,
    successes: u64,
    hopeless: u64,
    /// Error of the last request since the last answer for which there was no server.
    last_gone: Option<String>,
    report: DecoderReport,
}

impl<'level> Decoder<'level> {
    pub fn new(plan: &'level LevelPlan, feed: &'level Feed, shared: &'level Shared) -> Self {
        let slots = plan.slots as usize;
        Decoder {
            plan,
            feed,
            shared,
            exchanges: (0..slots).map(|_| ExchangeDecoder::new(plan.expect)).collect(),
            reads: vec![Reads::default(); slots],
            held_bytes: 0,
            successes: 0,
            hopeless: 0,
            last_gone: None,
            report: DecoderReport::default(),
        }
    }

    /// Decodes until the shards are done and the queue is empty.
    pub fn run(mut self, sink: &mut dyn Sink) -> DecoderReport {
        match self.plan.precise {
            // Lower priority than the shards, but higher than anything else on their processors: a
            // shard whose decoder starves waits for it. Without permission the priority stays
            // unchanged, and the shards report that.
            true => {
                let _ = thread::run_second();
            }
            false => thread::be_nice(10),
        }
        let before_ns = thread::usage().cpu_ns;
        let rest = match self.feed.follows_answers() {
            true => REST_WHEN_FOLLOWED,
            false => REST,
        };
        let mut next_tick_ns = mono_ns() + TICK_NS;
        loop {
            // Read the flag before the queue: what was posted before it was set is then seen.
            let over = self.shared.shards_done.load(Ordering::Acquire);
            match self.shared.next_message() {
                Some(message) => self.take(message, sink),
                None if over => break,
                None => std::thread::sleep(rest),
            }
            let now = mono_ns();
            if now >= next_tick_ns {
                next_tick_ns = now + TICK_NS;
                let result = sink.tick();
                self.note_sink(result);
                self.end_if_enough(sink);
            }
        }
        self.note_gone();
        self.record_unsent(sink);
        let result = sink.tick();
        self.note_sink(result);
        self.report.cpu_ns = thread::usage().cpu_ns - before_ns;
        self.report
    }

    fn take(&mut self, message: Message, sink: &mut dyn Sink) {
        match message {
            Message::Part { slot, seq, tokens_asked, segment } => {
                let slot = slot as usize;
                let mark = seq.wrapping_add(1);
                if self.decode(slot, tokens_asked, segment) {
                    self.shared.first_token_of[slot].store(mark, Ordering::Relaxed);
                }
                if self.exchanges[slot].is_refused() {
                    self.shared.refused_of[slot].store(mark, Ordering::Relaxed);
                }
            }
            Message::End { slot, segment, done } => {
                self.decode(slot as usize, done.request.meta.output_tokens_asked, segment);
                let record = self.finish(slot as usize, *done, sink);
                let result = sink.record(record);
                self.note_sink(result);
                self.end_if_enough(sink);
            }
        }
    }

    /// Ends the level as its duration would, if the sink has enough.
    fn end_if_enough(&self, sink: &dyn Sink) {
        if sink.has_enough() {
            self.feed.end(mono_ns());
        }
    }

    /// Records what an open loop had no time to send.
    fn record_unsent(&mut self, sink: &mut dyn Sink) {
        if self.plan.arrivals == Loop::Closed {
            return;
        }
        let patience_ns = mono_ns() + FEEDER_END_NS;
        while !self.feed.is_exhausted() && mono_ns() < patience_ns {
            std::thread::sleep(REST);
        }
        let end_ns = self.feed.send_end_ns().unwrap_or_else(mono_ns);
        for request in self.feed.take_unsent(end_ns) {
            let due_ns = self.feed.due_ns(&request).unwrap_or(end_ns);
            let done = Done {
                request: Box::new(request),
                start_ns: due_ns,
                sent_ns: None,
                acked_ns: None,
                end_ns,
                connect_ns: None,
                tls_ns: None,
                dead_ns: None,
                sent_bytes: 0,
                cause: EndCause::Cancelled,
            };
            let mut record = self.finish(0, done, sink);
            record.outcome = Outcome::Dropped;
            record.error = Some("it was due, and the level ended before it could go".to_owned());
            let result = sink.record(record);
            self.note_sink(result);
        }
    }

    fn note_sink(&mut self, result: Result<(), String>) {
        if let Err(error) = result
            && self.report.sink_failure.is_none()
        {
            self.report.sink_failure = Some(error);
            self.shared.stop.raise(StopLevel::Cancel);
        }
    }

    /// Feeds the reads of a segment; true if the exchange has a token by now.
    fn decode(
        &mut self,
        slot: usize,
        tokens_asked: Option<u32>,
        mut segment: Box<Segment>,
    ) -> bool {
        let exchange = &mut self.exchanges[slot];
        exchange.expect_tokens(tokens_asked);
        let held_before = exchange.held_bytes();
        let reads = &mut self.reads[slot];
        let events_before = exchange.events_so_far();
        let mut start = 0;
        for stamp in &segment.stamps {
            let end = stamp.end as usize;
            // Stamps from before the origin cannot be: the origin is taken before the first send.
            exchange.feed(&segment.bytes[start..end], stamp.at_ns - self.plan.origin_ns);
            start = end;
            reads.reads += 1;
            if stamp.lag_ns != NO_KERNEL_STAMP {
                let lag_ns = u64::from(stamp.lag_ns);
                reads.stamped += 1;
                reads.lag_ns_max = reads.lag_ns_max.max(Some(lag_ns));
                self.report.lag.record(lag_ns);
            }
        }
        reads.bytes += segment.bytes.len() as u64;
        let held_by_others = self.held_bytes - held_before;
        if held_by_others + exchange.held_bytes() > HELD_BYTES_MAX {
            exchange.refuse("unfinished answers take more than 2 GiB together");
        }
        self.held_bytes = held_by_others + exchange.held_bytes();
        let events = exchange.events_so_far();
        let fresh = events.saturating_sub(events_before) as u64;
        self.shared.progress.events.fetch_add(fresh, Ordering::Relaxed);
        let seen = exchange.has_token() && !reads.noted_first_token;
        reads.noted_first_token |= seen;
        segment.clear();
        // A full pool drops the segment.
        let _ = self.shared.spare_segments.push(segment);
        seen
    }

    fn finish(&mut self, slot: usize, done: Done, sink: &mut dyn Sink) -> RequestRecord {
        let exchange = &mut self.exchanges[slot];
        exchange.expect_results(done.request.meta.results_asked);
        self.held_bytes -= exchange.held_bytes();
        let mut answer = exchange.finish(done.cause, self.plan.expect);
        if let Some(error) = &mut answer.error {
            let sent = session_token_of(done.request.bytes.own());
            for token in [sent, answer.session_token.as_deref()].into_iter().flatten() {
                hide(token, error);
            }
        }
        let reads = std::mem::take(&mut self.reads[slot]);
        let is_turn = done.request.meta.turn.is_some() && answer.outcome.is_ok();
        let reply = is_turn.then(|| reply_of(&answer));
        let since = |at: u64| at - self.plan.origin_ns;
        self.report.reads += u64::from(reads.reads);
        self.report.stamped_reads += u64::from(reads.stamped);
        self.report.events += answer.events.len() as u64;
        self.report.co_arrived_events += u64::from(answer.co_arrived_events);
        let meta = done.request.meta;
        let of_turn = meta.turn.and_then(|turn| turn.due_ns);
        let due_ns = self.feed.due_ns(&done.request).or(of_turn).unwrap_or(done.start_ns);
        let kinds = told(answer.usage.prompt_kinds, answer.prompt_tokens, meta.media);
        let said = meta.form.and(answer.text.as_ref()).map(Generated::answer);
        let mut record = RequestRecord {
            seq: done.request.seq,
            level: self.plan.level,
            phase: done.request.phase,
            slot: slot as u32,
            item: meta.item,
            session: meta.turn.map(|turn| turn.session),
            turn: meta.turn.map(|turn| turn.turn),
            agent: meta.turn.filter(|turn| turn.has_agents).map(|turn| turn.agent),
            agent_turns: meta.turn.map(|turn| turn.turns),
            class: meta.class,
            known_tokens: meta.known_tokens,
            draft_steps: answer.usage.draft_steps,
            server_queue_ns: answer.usage.times.queue_ns,
            server_first_token_ns: answer.usage.times.first_token_ns,
            server_decode_ns: answer.usage.times.decode_ns,
            server_processing_ns: answer.processing_ns,
            due_ns: since(due_ns),
            start_ns: since(done.start_ns),
            sent_ns: done.sent_ns.map(since),
            head_ns: answer.head_ns,
            first_event_ns: answer.first_event_ns,
            first_answer_ns: answer.first_answer_ns,
            stream_end_ns: answer.stream_end_ns,
            end_ns: since(done.end_ns),
            connect_ns: done.connect_ns,
            tls_ns: done.tls_ns,
            streamed: answer.streamed,
            events: answer.events,
            prompt_tokens_asked: meta.prompt_tokens_asked,
            output_tokens_asked: meta.output_tokens_asked,
            prompt_tokens: answer.prompt_tokens,
            output_tokens: answer.output_tokens,
            first_event_tokens: answer.first_event_tokens,
            text_bytes: answer.text_bytes,
            first_text_bytes: answer.first_text_bytes,
            reasoning_tokens: answer.usage.reasoning_tokens,
            cached_tokens: answer.usage.cached_tokens,
            accepted_draft_tokens: answer.usage.accepted_draft_tokens,
            rejected_draft_tokens: answer.usage.rejected_draft_tokens,
            choices: answer.choices,
            http_status: answer.http_status,
            retry_after_s: answer.retry_after_s,
            finish_reason: answer.finish_reason,
            outcome: answer.outcome,
            error: answer.error,
            reads: reads.reads,
            stamped_reads: reads.stamped,
            co_arrived_events: answer.co_arrived_events,
            reader_lag_ns_max: reads.lag_ns_max,
            wire_bytes: reads.bytes,
            sent_bytes: done.sent_bytes as u64,
            text: answer.text.map(String::from),
            acked_ns: done.acked_ns.map(since),
            media: meta.media,
            text_tokens: kinds.text,
            image_tokens: kinds.image,
            audio_tokens: kinds.audio,
            video_tokens: kinds.video,
            made_audio: answer.made_audio,
            form: meta.form,
            validity: None,
            dead_connection_ns: done.dead_ns,
        };
        // A turn that follows does not wait for it.
        if let Some(TurnMeta { session, agent, turn, .. }) = meta.turn {
            self.feed.give_back(Answered {
                session,
                agent,
                turn,
                end_ns: done.end_ns,
                reply,
                is_overflow: answer.is_overflow,
                session_token: answer.session_token,
            });
        }
        self.feed.recycle(done.request.bytes);
        self.note_outcome(&record);
        record.validity = validity(&record, said.as_deref(), sink);
        record
    }

    /// Number of consecutive failures after which a server that never answered counts as
    /// unreachable.
    fn hopeless_limit(&self) -> u64 {
        HOPELESS_MIN.max(u64::from(self.plan.slots))
    }

    /// A server that was not there any more when the level ended: there was no time to see it as
    /// often as in the middle of one.
    fn note_gone(&mut self) {
        if self.report.gave_up.is_none() && self.hopeless >= self.hopeless_limit() {
            self.report.gave_up = self.last_gone.take();
        }
    }

    fn note_outcome(&mut self, record: &RequestRecord) {
        let progress = &self.shared.progress;
        if record.phase == Phase::Measure {
            progress.finished.fetch_add(1, Ordering::Relaxed);
            let failed = u64::from(record.outcome.is_failure());
            progress.failed.fetch_add(failed, Ordering::Relaxed);
        }
        self.successes += u64::from(record.outcome.is_ok());
        self.hopeless += u64::from(is_hopeless(record));
        if record.outcome.is_ok() {
            self.hopeless = 0;
            self.last_gone = None;
        }
        if let (true, Outcome::TransportError) = (self.hopeless > 0, record.outcome) {
            self.last_gone.clone_from(&record.error);
        }
        let limit = self.hopeless_limit();
        let never_worked = self.successes == 0;
        let gone = record.outcome == Outcome::TransportError && self.hopeless >= 4 * limit;
        if (never_worked && self.hopeless >= limit || gone) && self.report.gave_up.is_none() {
            self.report.gave_up = Some(record.error.clone().unwrap_or_default());
            self.shared.stop.raise(StopLevel::Drain);
        }
    }
}

/// Masks a router's token in a sentence that repeats it, and where the sentence was cut off within it
/// the part that is left.
fn hide(token: &str, sentence: &mut String) {
    if token.chars().count() < SECRET_CHARS_MIN {
        return;
    }
    if sentence.contains(token) {
        *sentence = sentence.replace(token, MASK);
    }
    let Some(whole) = sentence.strip_suffix(CUT_OFF) else { return };
    let ends = token.char_indices().map(|(at, _)| at).skip(SECRET_CHARS_MIN);
    let left = ends.filter_map(|end| whole.strip_suffix(token.get(..end)?)).last();
    if let Some(left) = left {
        *sentence = format!("{left}{MASK}{CUT_OFF}");
    }
}

/// Whether an answer keeps to the form that was asked for, and whether it could: one that its length
/// cut off is no broken one.
fn validity(record: &RequestRecord, said: Option<&str>, sink: &mut dyn Sink) -> Option<Validity> {
    record.form?;
    if !record.outcome.is_ok() {
        return Some(Validity::Unchecked);
    }
    let found = said.and_then(|said| sink.validity(record, said)).unwrap_or(Validity::Unchecked);
    let is_cut = is_cut(record.finish_reason.as_deref());
    Some(if found == Validity::Invalid && is_cut { Validity::Cut } else { found })
}

/// Whether a limit of its length ended an answer.
fn is_cut(finish_reason: Option<&str>) -> bool {
    finish_reason.is_some_and(|reason| Ending::from_reason(reason).is_cut())
}

/// What a conversation can carry on of an answer.
fn reply_of(answer: &Answer) -> Reply {
    let text = answer.text.as_ref();
    Reply {
        content: text.map(Generated::answer).unwrap_or_default(),
        reasoning: text.map(Generated::reasoning).unwrap_or_default(),
        tool_calls: text.map(|text| text.tool_calls().to_vec()).unwrap_or_default(),
        prompt_tokens: answer.prompt_tokens.filter(|it| !it.from.is_estimate()).map(|it| it.tokens),
        // Of several choices one is carried on, and the count is that of all.
        output_tokens: answer
            .output_tokens
            .filter(|it| !it.from.is_estimate() && answer.choices <= 1)
            .map(|it| it.tokens),
        reasoning_tokens: answer.usage.reasoning_tokens.filter(|_| answer.choices <= 1),
        is_cut: answer.outcome == Outcome::OkFiltered || is_cut(answer.finish_reason.as_deref()),
    }
}

/// Whether the failure is of a kind that more of the same requests will meet again: a refusal by
/// the server (but not a busy one), or a server that is not there.
fn is_hopeless(record: &RequestRecord) -> bool {
    match record.outcome {
        Outcome::TransportError | Outcome::InBandError => record.events.is_empty(),
        Outcome::HttpError => {
            record.http_status.is_some_and(|s| (300..500).contains(&s) && s != 429 && s != 408)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_masked_whole_and_cut_off() {
        for (token, said, expect) in [
            ("tok-12345", "no tok-12345 and tok-12345", "no *** and ***"),
            ("tok-12345", "no tok-123…", "no ***…"),
            ("tok-12345", "no tok…", "no tok…"),
            ("tok-12345", "no tok-123", "no tok-123"),
            ("abc", "abc", "abc"),
        ] {
            let mut sentence = said.to_owned();
            hide(token, &mut sentence);
            assert_eq!(sentence, expect, "{said}");
        }
    }
}
