//! Time per output token of one sequence, and how far it is known.
//!
//! TPOT = `(t_last - t_1) / (n - n_1)`, where n_1 tokens had been generated when the first
//! token-bearing event was stamped: the tokens of all events that share its stamp, and hidden
//! reasoning. With one token in the first read it is the usual `(t_last - t_1) / (n - 1)`.
//!
//! The server reports n. The number of tokens in each event is known if the server counts with each
//! event, or if events and tokens agree. Otherwise several tokens may have come in an event, or
//! none: the length of the text decides, and if it cannot, there is no TPOT. Not here: populations
//! of many requests.

use ifm_core::{CountSource, RequestRecord, TokenEvents};

/// Numbers of tokens that differ by at most this share are taken as equal: no TPOT changes by more.
const EQUAL_SHARE: f64 = 0.05;
/// Where the most and the fewest tokens that an answer can have sent differ by at most this share, a
/// time between the two is an estimate, regardless of the text.
const NEAR_SHARE: f64 = 0.25;
/// Minimum mean text of a token, bytes. English text has 4 to 5 bytes a token, Chinese 4, code and
/// JSON 3 to 4; a small vocabulary of a real vLLM gave 3.0. With less, tokens were probably counted
/// and not sent.
const TOKEN_BYTES_MIN: f64 = 2.0;
/// Least tokens after a first read whose number of tokens is an estimate or whose stamp is not that of
/// its last token. The error is about one token, so at most a quarter of the time.
const REST_MIN: f64 = 4.0;
/// Less time for a token, in an answer most of whose events shared a read, is that of the transport:
/// the whole answer had been buffered. No model generates 20,000 tokens per second for one user.
const TRANSPORT_NS: f64 = 50_000.0;
/// Hidden tokens take time before the first event. Where TTFT is shorter than this part of it, they
/// were generated later.
const HIDDEN_TIME_SHARE: f64 = 0.5;
/// Share of the surplus of tokens over events that accepted drafts have to explain.
const DRAFTS_SHARE: f64 = 0.8;
/// Above this share of estimates, a population is one of estimates.
const ESTIMATES_SHARE: f64 = 0.01;

/// Name of a time per output token that is an estimate.
pub const TPOT_ESTIMATED: &str = "estimated TPOT";

/// Why a sequence of two tokens or more has no TPOT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TpotAbsence {
    /// All or nearly all of its tokens came in one read, or the whole answer had been buffered.
    AtOnce,
    /// Tokens were counted that did not come in an event, and nothing says when they were generated.
    NotSent,
}

impl TpotAbsence {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            TpotAbsence::AtOnce => "at_once",
            TpotAbsence::NotSent => "not_sent",
        }
    }
}

/// The time per output token of one sequence, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SequenceTpot {
    /// The number of tokens in the time is known.
    Counted(f64),
    /// It is an estimate.
    Estimated(f64),
    /// It is not known.
    Unknown(TpotAbsence),
}

impl SequenceTpot {
    /// The value and whether the tokens were counted.
    pub fn value(self) -> Option<(f64, bool)> {
        match self {
            SequenceTpot::Counted(ns) => Some((ns, true)),
            SequenceTpot::Estimated(ns) => Some((ns, false)),
            SequenceTpot::Unknown(_) => None,
        }
    }
}

/// Whether values are a population of estimates: one in a hundred may be left out instead.
pub fn are_estimates(counted: usize, estimated: usize) -> bool {
    estimated as f64 > ESTIMATES_SHARE * (counted + estimated) as f64
}

/// How the counted tokens of an answer are spread over its events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TokenSpread {
    /// The server counted with each event.
    PerEvent,
    /// One token in each event, and `hidden` reasoning tokens before them; `tokens` were sent.
    OneEach { tokens: f64, hidden: u32 },
    /// Several tokens in some events, or fewer than one; `hidden` tokens before them, `tokens` sent.
    Joined { tokens: f64, hidden: u32 },
    /// Events are counted instead of tokens.
    Uncounted,
    /// Tokens were counted that did not come.
    NotSent,
}

impl TokenSpread {
    /// Of an answer with a number of output tokens and at least one event.
    pub fn of(record: &RequestRecord) -> Option<TokenSpread> {
        let counted = record.output_tokens.filter(|_| !record.is_sound_alone())?;
        let events = record.events.len();
        if events == 0 {
            return None;
        }
        if record.events.tokens.len() == events {
            return Some(TokenSpread::PerEvent);
        }
        if counted.from == CountSource::Events {
            return Some(TokenSpread::Uncounted);
        }
        Some(spread(record, f64::from(counted.tokens), events as f64))
    }

    /// Reasoning tokens that came in no event.
    pub(crate) fn hidden(self, record: &RequestRecord) -> u32 {
        match self {
            TokenSpread::OneEach { hidden, .. } | TokenSpread::Joined { hidden, .. } => hidden,
            TokenSpread::PerEvent => {
                // Reasoning before the first event is counted with it.
                let thought = record.reasoning_tokens.unwrap_or(0);
                let first = record.events.tokens.first().copied().unwrap_or(0);
                let is_streamed = record.first_answer_ns > record.first_token_ns();
                if thought < first && thought > 1 && !is_streamed { thought } else { 0 }
            }
            TokenSpread::Uncounted | TokenSpread::NotSent => 0,
        }
    }
}

fn spread(record: &RequestRecord, counted: f64, events: f64) -> TokenSpread {
    let hidden = record.reasoning_tokens.unwrap_or(0);
    let sent = counted - f64::from(hidden);
    let sequences = f64::from(record.choices.max(1));
    let is_cut = matches!(record.finish_reason.as_deref(), Some("length" | "max_tokens"));
    let equals = |tokens: f64| (tokens - events).abs() <= EQUAL_SHARE * tokens;
    // An end-of-text token is often counted and not sent.
    let has_ends = |tokens: f64| tokens == events || (!is_cut && tokens == events + sequences);
    let has_text = |tokens: f64| {
        record.text_bytes.is_some_and(|bytes| f64::from(bytes) >= TOKEN_BYTES_MIN * tokens)
    };
    let is_near = |tokens: f64| tokens <= events * (1.0 + NEAR_SHARE);
    let has_drafts = || {
        let accepted = record.accepted_draft_tokens.map_or(0.0, f64::from);
        accepted > 0.0 && accepted >= DRAFTS_SHARE * (counted - events)
    };
    if counted == events {
        TokenSpread::OneEach { tokens: counted, hidden: 0 }
    } else if hidden > 0 && has_ends(sent) {
        TokenSpread::OneEach { tokens: events, hidden }
    } else if has_ends(counted) {
        TokenSpread::OneEach { tokens: events, hidden: 0 }
    } else if equals(counted) {
        TokenSpread::OneEach { tokens: counted, hidden: 0 }
    } else if hidden > 0 && sent >= 1.0 && equals(sent) {
        TokenSpread::OneEach { tokens: sent, hidden }
    } else if counted < events || has_drafts() || has_text(counted) {
        TokenSpread::Joined { tokens: counted, hidden: 0 }
    } else if hidden > 0 && sent > events && (is_near(sent) || has_text(sent)) {
        TokenSpread::Joined { tokens: sent, hidden }
    } else if is_near(counted) {
        TokenSpread::Joined { tokens: counted, hidden: 0 }
    } else {
        TokenSpread::NotSent
    }
}

/// One choice of one answer: a sequence of tokens of its own.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    choice: u16,
    /// Stamp of its first token-bearing event.
    first_ns: u64,
    /// Stamp of its last one.
    last_ns: u64,
    events: f64,
    /// Events with the stamp of the first one.
    first_events: f64,
    /// Tokens of all events, of those with the first stamp, and of the first one alone; where the
    /// server counted with each event.
    counts: (f64, f64, f64),
}

impl Sequence {
    /// All events; only the first timestamps and the last one are used.
    fn of_all(events: &TokenEvents) -> Option<Sequence> {
        let (&first_ns, &last_ns) = (events.at_ns.first()?, events.at_ns.last()?);
        let first_events = events.at_ns.iter().take_while(|at_ns| **at_ns == first_ns).count();
        let sum = |tokens: &[u32]| tokens.iter().map(|tokens| f64::from(*tokens)).sum::<f64>();
        let of_first = |count: usize| events.tokens.get(..count).map_or(0.0, sum);
        Some(Sequence {
            choice: 0,
            first_ns,
            last_ns,
            events: events.len() as f64,
            first_events: first_events as f64,
            counts: (sum(&events.tokens), of_first(first_events), of_first(1)),
        })
    }

    fn begin(choice: u16, at_ns: u64, tokens: f64) -> Sequence {
        let counts = (tokens, tokens, tokens);
        Sequence { choice, first_ns: at_ns, last_ns: at_ns, events: 1.0, first_events: 1.0, counts }
    }

    fn add(&mut self, at_ns: u64, tokens: f64) {
        self.last_ns = at_ns;
        self.events += 1.0;
        self.counts.0 += tokens;
        if at_ns == self.first_ns {
            self.first_events += 1.0;
            self.counts.1 += tokens;
        }
    }

    /// The time of a token; absent where fewer than two tokens were counted.
    fn tpot(&self, record: &RequestRecord, spread: TokenSpread) -> Option<SequenceTpot> {
        let all_events = record.events.len() as f64;
        // Tokens that were sent, tokens in the first read, and tokens in the first event.
        let (sent, first_read, first_event) = match spread {
            TokenSpread::PerEvent => self.counts,
            TokenSpread::OneEach { tokens, .. } => {
                (tokens * self.events / all_events, self.first_events, 1.0)
            }
            TokenSpread::Uncounted => (self.events, self.first_events, 1.0),
            TokenSpread::Joined { tokens, .. } => {
                let first = self.joined_in_first(record, tokens);
                (tokens * self.events / all_events, first, first)
            }
            TokenSpread::NotSent => {
                return Some(SequenceTpot::Unknown(TpotAbsence::NotSent));
            }
        };
        let hidden = spread.hidden(record);
        if sent + f64::from(hidden) < 2.0 {
            return None;
        }
        let (rest, late) = (sent - first_read, first_read - first_event);
        let span_ns = self.last_ns.saturating_sub(self.first_ns) as f64;
        let ns = span_ns / rest;
        let is_joined = matches!(spread, TokenSpread::Joined { .. });
        let is_rough = late > 0.0 || is_joined;
        let is_transport = ns < TRANSPORT_NS
            && (is_joined || f64::from(record.co_arrived_events) * 2.0 > all_events);
        if span_ns == 0.0 || rest <= 0.0 || (is_rough && rest < REST_MIN) || is_transport {
            return Some(SequenceTpot::Unknown(TpotAbsence::AtOnce));
        }
        let ttft_ns = self.first_ns.saturating_sub(record.start_ns) as f64;
        let is_counted_first = spread == TokenSpread::PerEvent;
        if !is_counted_first && HIDDEN_TIME_SHARE * f64::from(hidden) * ns > ttft_ns {
            return Some(SequenceTpot::Unknown(TpotAbsence::NotSent));
        }
        // The stamp of a read is that of its last token, or later by up to the time of one more.
        let is_exact = late <= EQUAL_SHARE * rest
            && matches!(spread, TokenSpread::PerEvent | TokenSpread::OneEach { .. });
        Some(if is_exact { SequenceTpot::Counted(ns) } else { SequenceTpot::Estimated(ns) })
    }

    /// Tokens of the first read where events hold several: by its share of the text, which one
    /// sequence alone has to itself, or else of the events.
    fn joined_in_first(&self, record: &RequestRecord, tokens: f64) -> f64 {
        let (all, first) = (record.text_bytes, record.first_text_bytes);
        let by_events = self.first_events * tokens / record.events.len() as f64;
        let later = self.events - self.first_events;
        match all.zip(first).filter(|(all, _)| *all > 0 && is_one_sequence(record)) {
            Some((all, first)) if tokens > self.events => {
                let by_text = tokens * f64::from(first) / f64::from(all);
                by_text.clamp(self.first_events, tokens - later)
            }
            _ => by_events,
        }
    }
}

/// Whether two tokens or more were counted and none came.
fn is_without_events(record: &RequestRecord) -> bool {
    let counted = record.output_tokens.filter(|_| !record.is_sound_alone());
    record.events.is_empty() && counted.is_some_and(|counted| counted.tokens >= 2)
}

/// Whether all token-bearing events belong to one choice.
pub(crate) fn is_one_sequence(record: &RequestRecord) -> bool {
    record.events.choice.len() != record.events.len()
        || record.events.choice.windows(2).all(|pair| pair.first() == pair.last())
}

/// Calls `each` with the time per output token of every sequence of a complete, streamed answer that
/// has two tokens or more. Choices whose tokens were counted together share them by their events.
pub(crate) fn each_tpot(record: &RequestRecord, mut each: impl FnMut(SequenceTpot)) {
    if !record.streamed || !record.outcome.is_ok() {
        return;
    }
    let Some(spread) = TokenSpread::of(record) else {
        if is_without_events(record) {
            each(SequenceTpot::Unknown(TpotAbsence::NotSent));
        }
        return;
    };
    let events = &record.events;
    if is_one_sequence(record) {
        let sequence = Sequence::of_all(events);
        return sequence.and_then(|of| of.tpot(record, spread)).into_iter().for_each(each);
    }
    let stamps = events.at_ns.iter().enumerate();
    let of_event = |index: usize| events.tokens.get(index).copied().map_or(0.0, f64::from);
    let mut sequences: Vec<Sequence> = Vec::with_capacity(usize::from(record.choices));
    for ((index, &at_ns), &choice) in stamps.zip(&events.choice) {
        let tokens = of_event(index);
        match sequences.iter_mut().find(|sequence| sequence.choice == choice) {
            Some(sequence) => sequence.add(at_ns, tokens),
            None => sequences.push(Sequence::begin(choice, at_ns, tokens)),
        }
    }
    sequences.iter().filter_map(|sequence| sequence.tpot(record, spread)).for_each(&mut each);
}

#[cfg(test)]
mod tests {
    use super::SequenceTpot::{Counted as Exact, Estimated, Unknown};
    use super::TpotAbsence::{AtOnce, NotSent};
    use super::*;
    use crate::testing::{MS, request};
    use ifm_core::Counted;

    const MS_F64: f64 = MS as f64;

    /// An answer with `n` tokens, counted at its end, with events at these moments.
    fn answer(tokens: u32, tokens_ms: &[f64]) -> RequestRecord {
        let mut record = request(0, 0, 0, 1000.0, tokens_ms);
        record.output_tokens = Some(Counted { tokens, from: CountSource::FinalUsage });
        record
    }

    /// `events` moments, 5 ms apart, the first at `first_ms`.
    fn every_5_ms(first_ms: f64, events: u32) -> Vec<f64> {
        (0..events).map(|event| first_ms + 5.0 * f64::from(event)).collect()
    }

    fn tpots(record: &RequestRecord) -> Vec<SequenceTpot> {
        let mut found = Vec::new();
        each_tpot(record, |tpot| found.push(tpot));
        found
    }

    fn tpot(record: &RequestRecord) -> SequenceTpot {
        let found = tpots(record);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0]
    }

    #[test]
    fn one_token_in_each_event_is_the_usual_formula() {
        assert_eq!(tpot(&answer(3, &[100.0, 120.0, 160.0])), Exact(30.0 * MS_F64));
        assert_eq!(tpot(&answer(2, &[100.0, 120.0])), Exact(20.0 * MS_F64));
        assert!(tpots(&answer(1, &[100.0])).is_empty());
    }

    #[test]
    fn an_end_of_text_token_that_was_not_sent_is_not_in_the_time() {
        let mut record = answer(9, &every_5_ms(100.0, 8));
        record.finish_reason = Some("stop".to_owned());
        assert_eq!(tpot(&record), Exact(5.0 * MS_F64));
        // The limit of the length ended it: one event has two tokens.
        record.finish_reason = Some("length".to_owned());
        assert!(matches!(tpot(&record), Estimated(ns) if (4.0..5.0).contains(&(ns / MS_F64))));
        let mut record = answer(2, &[100.0]);
        record.finish_reason = Some("stop".to_owned());
        assert!(tpots(&record).is_empty());
    }

    #[test]
    fn hidden_reasoning_is_not_in_the_time() {
        let mut record = answer(64, &every_5_ms(265.0, 16));
        record.reasoning_tokens = Some(48);
        assert_eq!(tpot(&record), Exact(5.0 * MS_F64));
        record.text_bytes = Some(54);
        assert_eq!(tpot(&record), Exact(5.0 * MS_F64));
        // Not reported: 64 tokens do not fit into 54 bytes.
        record.reasoning_tokens = None;
        assert_eq!(tpot(&record), Unknown(NotSent));
        record.text_bytes = None;
        assert_eq!(tpot(&record), Unknown(NotSent));
        // Reasoning that was sent is visible.
        let mut record = answer(64, &every_5_ms(100.0, 64));
        record.reasoning_tokens = Some(48);
        assert_eq!(tpot(&record), Exact(5.0 * MS_F64));
        // A summary of the reasoning: events do not say when what was sent was generated.
        let mut record = answer(1016, &every_5_ms(1000.0, 66));
        (record.reasoning_tokens, record.text_bytes) = (Some(1000), Some(300));
        assert_eq!(tpot(&record), Unknown(NotSent));
    }

    #[test]
    fn reasoning_that_was_hidden_after_the_first_token_leaves_no_tpot() {
        let mut stamps = every_5_ms(20.0, 4);
        stamps.extend(every_5_ms(280.0, 12));
        let mut record = answer(64, &stamps);
        record.reasoning_tokens = Some(48);
        assert_eq!(tpot(&record), Unknown(NotSent));
    }

    #[test]
    fn joined_tokens_are_estimated_where_the_text_holds_them() {
        // 1 token in the first event, 3 in each of the others.
        let mut record = answer(64, &every_5_ms(100.0, 22));
        (record.text_bytes, record.first_text_bytes) = (Some(256), Some(4));
        assert_eq!(tpot(&record), Estimated(5.0 * 21.0 / 63.0 * MS_F64));
        record.text_bytes = Some(64 * 2 - 1);
        assert_eq!(tpot(&record), Unknown(NotSent));
        record.accepted_draft_tokens = Some(42);
        assert!(matches!(tpot(&record), Estimated(_)), "accepted drafts explain the tokens");
        // 53 of 60 tokens in the first of two events.
        let mut record = answer(60, &[265.0, 300.0]);
        (record.text_bytes, record.first_text_bytes) = (Some(240), Some(212));
        assert_eq!(tpot(&record), Estimated(5.0 * MS_F64));
        record.first_text_bytes = Some(228);
        assert_eq!(tpot(&record), Unknown(AtOnce), "3 tokens carry no time");
    }

    #[test]
    fn bounds_that_are_near_need_no_text() {
        assert!(matches!(tpot(&answer(105, &every_5_ms(100.0, 100))), Exact(_)));
        assert!(matches!(tpot(&answer(95, &every_5_ms(100.0, 100))), Estimated(_)));
        assert!(matches!(tpot(&answer(125, &every_5_ms(100.0, 100))), Estimated(_)));
        assert_eq!(tpot(&answer(126, &every_5_ms(100.0, 100))), Unknown(NotSent));
    }

    #[test]
    fn tokens_of_the_first_read_are_not_in_the_time() {
        // One token every 5 ms, delayed until 53 had come together.
        let held = |tokens: usize| {
            let mut stamps = vec![260.0; 53.min(tokens)];
            stamps.resize(tokens.clamp(53, 106), 5.0 * (tokens.min(106) as f64 - 1.0));
            answer(tokens as u32, &stamps)
        };
        assert_eq!(tpot(&held(60)), Estimated(5.0 * MS_F64));
        assert_eq!(tpot(&held(100)), Estimated(5.0 * MS_F64));
        assert_eq!(tpot(&held(56)), Unknown(AtOnce), "3 tokens carry no time");
        assert_eq!(tpot(&held(53)), Unknown(AtOnce));
        // Two tokens of 64 are too few to matter.
        let mut stamps = every_5_ms(100.0, 64);
        stamps[0] = stamps[1];
        assert_eq!(tpot(&answer(64, &stamps)), Exact(5.0 * MS_F64));
    }

    #[test]
    fn an_answer_that_had_been_buffered_has_no_tpot() {
        // Two reads, 0.1 ms apart.
        let mut stamps = vec![300.0; 30];
        stamps.resize(60, 300.1);
        let mut record = answer(60, &stamps);
        record.co_arrived_events = 60;
        assert_eq!(tpot(&record), Unknown(AtOnce));
        let mut record = answer(60, &[300.0, 300.1]);
        (record.text_bytes, record.first_text_bytes) = (Some(240), Some(120));
        assert_eq!(tpot(&record), Unknown(AtOnce));
        // No event carried text.
        assert_eq!(tpot(&answer(16, &[])), Unknown(NotSent));
    }

    #[test]
    fn counts_of_each_event_say_how_many_tokens_are_in_the_time() {
        let mut record = answer(64, &every_5_ms(265.0, 16));
        record.events.tokens = vec![1; 16];
        record.events.tokens[0] = 49;
        assert_eq!(tpot(&record), Exact(5.0 * MS_F64));
        let spread = TokenSpread::of(&record).expect("events");
        assert_eq!(spread.hidden(&record), 0, "drafts, or a joined first event");
        record.reasoning_tokens = Some(48);
        assert_eq!(spread.hidden(&record), 48);
        // Hidden later, and counted with the event after it.
        let mut stamps = every_5_ms(20.0, 4);
        stamps.extend(every_5_ms(280.0, 12));
        record.events.at_ns = request(0, 0, 0, 1000.0, &stamps).events.at_ns;
        record.events.tokens = vec![1; 16];
        record.events.tokens[4] = 49;
        assert!(matches!(tpot(&record), Exact(ns) if (ns / MS_F64 - 5.0).abs() < 0.01));
    }

    #[test]
    fn choices_share_the_tokens_by_their_events() {
        let mut record = answer(16, &[100.0, 105.0, 110.0, 115.0, 120.0, 125.0, 130.0, 135.0]);
        record.events.choice = vec![0, 1, 0, 1, 0, 1, 0, 1];
        (record.choices, record.reasoning_tokens) = (2, Some(8));
        assert_eq!(tpots(&record), [Exact(10.0 * MS_F64); 2]);
        record.reasoning_tokens = None;
        assert_eq!(tpots(&record), [Unknown(NotSent); 2]);
    }
}
