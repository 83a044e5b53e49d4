//! From a request or samples to the payload of a frame.
//!
//! A request: kind, numbers as base-128, flags for the optional fields that follow, times as
//! ways from `start_ns`, stamps as ways from one to the next. The order of fields is the format:
//! a change needs a new journal version. `decode` is the mirror.

use super::bytes::{put_number, put_offset, put_text};
use super::{KIND_REQUEST, KIND_SAMPLES};
use ifm_core::{
    CountSource, Counted, Outcome, Phase, RequestRecord, Series, TimeoutKind, Validity,
};

/// Largest time or size that is stored: the columns are signed 64-bit numbers.
const NUMBER_MAX: u64 = i64::MAX as u64;

/// Flags of a request, one bit each, in the order in which the fields follow.
pub(super) mod flag {
    pub(crate) const SENT: u64 = 1;
    pub(crate) const HEAD: u64 = 1 << 1;
    pub(crate) const FIRST_EVENT: u64 = 1 << 2;
    pub(crate) const FIRST_ANSWER: u64 = 1 << 3;
    pub(crate) const STREAM_END: u64 = 1 << 4;
    pub(crate) const CONNECT: u64 = 1 << 5;
    pub(crate) const TLS: u64 = 1 << 6;
    pub(crate) const PROMPT_ASKED: u64 = 1 << 7;
    pub(crate) const OUTPUT_ASKED: u64 = 1 << 8;
    pub(crate) const PROMPT_TOKENS: u64 = 1 << 9;
    pub(crate) const OUTPUT_TOKENS: u64 = 1 << 10;
    pub(crate) const FIRST_EVENT_TOKENS: u64 = 1 << 11;
    pub(crate) const REASONING: u64 = 1 << 12;
    pub(crate) const CACHED: u64 = 1 << 13;
    pub(crate) const ACCEPTED_DRAFT: u64 = 1 << 14;
    pub(crate) const REJECTED_DRAFT: u64 = 1 << 15;
    pub(crate) const HTTP_STATUS: u64 = 1 << 16;
    pub(crate) const RETRY_AFTER: u64 = 1 << 17;
    pub(crate) const FINISH_REASON: u64 = 1 << 18;
    pub(crate) const ERROR: u64 = 1 << 19;
    pub(crate) const READER_LAG: u64 = 1 << 20;
    pub(crate) const TEXT: u64 = 1 << 21;
    pub(crate) const STREAMED: u64 = 1 << 22;
    pub(crate) const MEASURED: u64 = 1 << 23;
    pub(crate) const EVENT_TOKENS: u64 = 1 << 24;
    pub(crate) const EVENT_CHOICE: u64 = 1 << 25;
    /// Since version 2.
    pub(crate) const SESSION: u64 = 1 << 26;
    /// Since version 2.
    pub(crate) const TURN: u64 = 1 << 27;
    /// Since version 3, like all that follow.
    pub(crate) const AGENT: u64 = 1 << 28;
    pub(crate) const AGENT_TURNS: u64 = 1 << 29;
    pub(crate) const CLASS: u64 = 1 << 30;
    pub(crate) const KNOWN: u64 = 1 << 31;
    pub(crate) const DRAFT_STEPS: u64 = 1 << 32;
    pub(crate) const SERVER_QUEUE: u64 = 1 << 33;
    pub(crate) const SERVER_FIRST_TOKEN: u64 = 1 << 34;
    pub(crate) const SERVER_DECODE: u64 = 1 << 35;
    pub(crate) const SERVER_PROCESSING: u64 = 1 << 36;
    pub(crate) const ACKED: u64 = 1 << 37;
    pub(crate) const MEDIA: u64 = 1 << 38;
    pub(crate) const TEXT_TOKENS: u64 = 1 << 39;
    pub(crate) const IMAGE_TOKENS: u64 = 1 << 40;
    pub(crate) const AUDIO_TOKENS: u64 = 1 << 41;
    pub(crate) const VIDEO_TOKENS: u64 = 1 << 42;
    pub(crate) const MADE_AUDIO: u64 = 1 << 43;
    pub(crate) const FORM: u64 = 1 << 44;
    pub(crate) const VALIDITY: u64 = 1 << 45;
    pub(crate) const PROBE: u64 = 1 << 46;
    /// Since version 4, like all that follow.
    pub(crate) const DEAD_CONNECTION: u64 = 1 << 47;
    pub(crate) const TEXT_BYTES: u64 = 1 << 48;
    pub(crate) const FIRST_TEXT_BYTES: u64 = 1 << 49;
    /// Every flag that this version knows.
    pub(crate) const ALL: u64 = (1 << 50) - 1;
}

/// Adds the payload of a request. Says which value has no room, after which `out` is to be cut
/// back.
pub(super) fn put_request(out: &mut Vec<u8>, record: &RequestRecord) -> Result<(), &'static str> {
    check_times_and_sizes(record)?;
    let start_ns = record.start_ns;
    out.push(KIND_REQUEST);
    put_number(out, flags(record));
    for number in [record.seq, u32::from(record.level), record.slot, record.item] {
        put_number(out, u64::from(number));
    }
    put_number(out, start_ns);
    put_offset(out, start_ns, record.due_ns);
    put_offset(out, start_ns, record.end_ns);
    let moments = [
        record.sent_ns,
        record.head_ns,
        record.first_event_ns,
        record.first_answer_ns,
        record.stream_end_ns,
    ];
    for moment in moments.into_iter().flatten() {
        put_offset(out, start_ns, moment);
    }
    for span in [record.connect_ns, record.tls_ns].into_iter().flatten() {
        put_number(out, span);
    }
    put_counts(out, record);
    put_outcome(out, record);
    let TokenEventsSlices { at_ns, tokens, choice } = slices(record);
    put_stamps(out, start_ns, at_ns);
    put_list(out, tokens);
    put_list(out, choice);
    if let Some(session) = record.session {
        put_number(out, u64::from(session));
    }
    for small in [record.turn, record.agent, record.agent_turns, record.class].into_iter().flatten()
    {
        put_number(out, u64::from(small));
    }
    for count in [record.known_tokens, record.draft_steps].into_iter().flatten() {
        put_number(out, u64::from(count));
    }
    for span in server_spans(record).into_iter().flatten() {
        put_number(out, span);
    }
    for text in [&record.finish_reason, &record.error, &record.text].into_iter().flatten() {
        put_text(out, text);
    }
    put_media(out, record);
    for bytes in [record.text_bytes, record.first_text_bytes].into_iter().flatten() {
        put_number(out, u64::from(bytes));
    }
    Ok(())
}

/// Media that were sent and received.
fn put_media(out: &mut Vec<u8>, record: &RequestRecord) {
    if let Some(at_ns) = record.acked_ns {
        put_offset(out, record.start_ns, at_ns);
    }
    if let Some(media) = &record.media {
        for count in [media.images, media.audios, media.videos, media.seen] {
            put_number(out, u64::from(count));
        }
        let frames = media.frames.map(u64::from);
        for number in [media.pixels, media.audio_ns, frames, media.file_bytes] {
            put_maybe(out, number);
        }
    }
    for Counted { tokens, from } in media_tokens(record).into_iter().flatten() {
        out.push(source_code(from));
        put_number(out, u64::from(tokens));
    }
    if let Some(made) = &record.made_audio {
        put_offset(out, record.start_ns, made.first_ns);
        put_number(out, made.bytes);
        for number in [made.audio_ns, made.silence_ns, made.silences.map(u64::from)] {
            put_maybe(out, number);
        }
    }
    if let Some(form) = record.form {
        put_number(out, u64::from(form));
    }
    if let Some(validity) = record.validity {
        out.push(validity_code(validity));
    }
    if let Some(span) = record.dead_connection_ns {
        put_number(out, span);
    }
}

/// A number that may be absent: 0, or one more than it. Of those that `check_times_and_sizes` lets
/// through none is the largest.
fn put_maybe(out: &mut Vec<u8>, number: Option<u64>) {
    put_number(out, number.map_or(0, |number| number.saturating_add(1)));
}

/// Tokens of the prompt by the kind of input that they encode.
fn media_tokens(record: &RequestRecord) -> [Option<Counted>; 4] {
    [record.text_tokens, record.image_tokens, record.audio_tokens, record.video_tokens]
}

/// The server's own times.
fn server_spans(record: &RequestRecord) -> [Option<u64>; 4] {
    [
        record.server_queue_ns,
        record.server_first_token_ns,
        record.server_decode_ns,
        record.server_processing_ns,
    ]
}

struct TokenEventsSlices<'a> {
    at_ns: &'a [u64],
    tokens: &'a [u32],
    choice: &'a [u16],
}

fn slices(record: &RequestRecord) -> TokenEventsSlices<'_> {
    let events = &record.events;
    TokenEventsSlices { at_ns: &events.at_ns, tokens: &events.tokens, choice: &events.choice }
}

fn put_counts(out: &mut Vec<u8>, record: &RequestRecord) {
    let counts = [record.prompt_tokens_asked, record.output_tokens_asked];
    for count in counts.into_iter().flatten() {
        put_number(out, u64::from(count));
    }
    for Counted { tokens, from } in
        [record.prompt_tokens, record.output_tokens].into_iter().flatten()
    {
        out.push(source_code(from));
        put_number(out, u64::from(tokens));
    }
    let counts = [
        record.first_event_tokens,
        record.reasoning_tokens,
        record.cached_tokens,
        record.accepted_draft_tokens,
        record.rejected_draft_tokens,
    ];
    for count in counts.into_iter().flatten() {
        put_number(out, u64::from(count));
    }
}

fn put_outcome(out: &mut Vec<u8>, record: &RequestRecord) {
    put_number(out, u64::from(record.choices));
    if let Some(status) = record.http_status {
        put_number(out, u64::from(status));
    }
    if let Some(seconds) = record.retry_after_s {
        put_number(out, u64::from(seconds));
    }
    out.push(outcome_code(record.outcome));
    for number in [record.reads, record.stamped_reads, record.co_arrived_events] {
        put_number(out, u64::from(number));
    }
    if let Some(lag_ns) = record.reader_lag_ns_max {
        put_number(out, lag_ns);
    }
    put_number(out, record.wire_bytes);
    put_number(out, record.sent_bytes);
}

fn put_stamps(out: &mut Vec<u8>, start_ns: u64, stamps: &[u64]) {
    put_number(out, stamps.len() as u64);
    out.reserve(stamps.len() * 5);
    let mut former = start_ns;
    for &stamp in stamps {
        put_offset(out, former, stamp);
        former = stamp;
    }
}

/// A list that is left out if empty, which its flag shows.
fn put_list<T: Copy + Into<u64>>(out: &mut Vec<u8>, list: &[T]) {
    if list.is_empty() {
        return;
    }
    put_number(out, list.len() as u64);
    out.reserve(list.len());
    for &value in list {
        put_number(out, value.into());
    }
}

/// Adds the payload of some samples of one series.
pub(super) fn put_samples(out: &mut Vec<u8>, series: &Series) -> Result<(), &'static str> {
    if series.at_ns.len() != series.value.len() {
        return Err("a series has as many times as values");
    }
    if series.at_ns.iter().any(|&at_ns| at_ns > NUMBER_MAX) {
        return Err("a time above 2^63 ns");
    }
    out.push(KIND_SAMPLES);
    for text in [&series.name, &series.unit, &series.source] {
        put_text(out, text);
    }
    put_stamps(out, 0, &series.at_ns);
    for value in &series.value {
        out.extend_from_slice(&value.to_bits().to_le_bytes());
    }
    Ok(())
}

fn check_times_and_sizes(record: &RequestRecord) -> Result<(), &'static str> {
    let always =
        [record.due_ns, record.start_ns, record.end_ns, record.wire_bytes, record.sent_bytes];
    let sometimes = [
        record.sent_ns,
        record.head_ns,
        record.first_event_ns,
        record.first_answer_ns,
        record.stream_end_ns,
        record.connect_ns,
        record.tls_ns,
        record.reader_lag_ns_max,
        record.dead_connection_ns,
    ];
    let told = server_spans(record);
    let media = record.media.unwrap_or_default();
    let made = record.made_audio.unwrap_or_default();
    let of_media = [
        record.acked_ns,
        media.pixels,
        media.audio_ns,
        media.file_bytes,
        Some(made.first_ns),
        Some(made.bytes),
        made.audio_ns,
        made.silence_ns,
    ];
    let sometimes = sometimes.into_iter().chain(told).chain(of_media).flatten();
    let all = always.into_iter().chain(sometimes);
    let stamps = record.events.at_ns.iter().copied();
    // A bit that any value has is in the union of all: no branch for each stamp.
    let union = all.fold(0, |union, value| union | value) | stamps.fold(0, |union, at| union | at);
    if union > NUMBER_MAX { Err("a time or a number of bytes above 2^63") } else { Ok(()) }
}

fn flags(record: &RequestRecord) -> u64 {
    told(record).into_iter().filter(|(_, is_so)| *is_so).fold(0, |flags, (bit, _)| flags | bit)
}

/// Each flag, and whether it is so of the request.
fn told(record: &RequestRecord) -> [(u64, bool); flag::ALL.count_ones() as usize] {
    [
        (flag::SENT, record.sent_ns.is_some()),
        (flag::HEAD, record.head_ns.is_some()),
        (flag::FIRST_EVENT, record.first_event_ns.is_some()),
        (flag::FIRST_ANSWER, record.first_answer_ns.is_some()),
        (flag::STREAM_END, record.stream_end_ns.is_some()),
        (flag::CONNECT, record.connect_ns.is_some()),
        (flag::TLS, record.tls_ns.is_some()),
        (flag::PROMPT_ASKED, record.prompt_tokens_asked.is_some()),
        (flag::OUTPUT_ASKED, record.output_tokens_asked.is_some()),
        (flag::PROMPT_TOKENS, record.prompt_tokens.is_some()),
        (flag::OUTPUT_TOKENS, record.output_tokens.is_some()),
        (flag::FIRST_EVENT_TOKENS, record.first_event_tokens.is_some()),
        (flag::REASONING, record.reasoning_tokens.is_some()),
        (flag::CACHED, record.cached_tokens.is_some()),
        (flag::ACCEPTED_DRAFT, record.accepted_draft_tokens.is_some()),
        (flag::REJECTED_DRAFT, record.rejected_draft_tokens.is_some()),
        (flag::HTTP_STATUS, record.http_status.is_some()),
        (flag::RETRY_AFTER, record.retry_after_s.is_some()),
        (flag::FINISH_REASON, record.finish_reason.is_some()),
        (flag::ERROR, record.error.is_some()),
        (flag::READER_LAG, record.reader_lag_ns_max.is_some()),
        (flag::TEXT, record.text.is_some()),
        (flag::STREAMED, record.streamed),
        (flag::MEASURED, record.phase == Phase::Measure),
        (flag::PROBE, record.phase == Phase::Probe),
        (flag::EVENT_TOKENS, !record.events.tokens.is_empty()),
        (flag::EVENT_CHOICE, !record.events.choice.is_empty()),
        (flag::SESSION, record.session.is_some()),
        (flag::TURN, record.turn.is_some()),
        (flag::AGENT, record.agent.is_some()),
        (flag::AGENT_TURNS, record.agent_turns.is_some()),
        (flag::CLASS, record.class.is_some()),
        (flag::KNOWN, record.known_tokens.is_some()),
        (flag::DRAFT_STEPS, record.draft_steps.is_some()),
        (flag::SERVER_QUEUE, record.server_queue_ns.is_some()),
        (flag::SERVER_FIRST_TOKEN, record.server_first_token_ns.is_some()),
        (flag::SERVER_DECODE, record.server_decode_ns.is_some()),
        (flag::SERVER_PROCESSING, record.server_processing_ns.is_some()),
        (flag::ACKED, record.acked_ns.is_some()),
        (flag::MEDIA, record.media.is_some()),
        (flag::TEXT_TOKENS, record.text_tokens.is_some()),
        (flag::IMAGE_TOKENS, record.image_tokens.is_some()),
        (flag::AUDIO_TOKENS, record.audio_tokens.is_some()),
        (flag::VIDEO_TOKENS, record.video_tokens.is_some()),
        (flag::MADE_AUDIO, record.made_audio.is_some()),
        (flag::FORM, record.form.is_some()),
        (flag::VALIDITY, record.validity.is_some()),
        (flag::DEAD_CONNECTION, record.dead_connection_ns.is_some()),
        (flag::TEXT_BYTES, record.text_bytes.is_some()),
        (flag::FIRST_TEXT_BYTES, record.first_text_bytes.is_some()),
    ]
}

/// Codes are part of the journal's format: a number is never given to another meaning.
pub(super) fn outcome_code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Ok => 0,
        Outcome::OkFiltered => 1,
        Outcome::Truncated => 2,
        Outcome::InBandError => 3,
        Outcome::HttpError => 4,
        Outcome::TransportError => 5,
        Outcome::Timeout(TimeoutKind::Connect) => 6,
        Outcome::Timeout(TimeoutKind::FirstToken) => 7,
        Outcome::Timeout(TimeoutKind::Idle) => 8,
        Outcome::Timeout(TimeoutKind::Total) => 9,
        Outcome::Cancelled => 10,
        Outcome::Dropped => 11,
    }
}

/// See [`outcome_code`].
pub(super) fn source_code(source: CountSource) -> u8 {
    match source {
        CountSource::ChunkUsage => 0,
        CountSource::FinalUsage => 1,
        CountSource::Tokenizer => 2,
        CountSource::Events => 3,
        CountSource::Pair => 4,
    }
}

/// See [`outcome_code`].
pub(super) fn validity_code(validity: Validity) -> u8 {
    match validity {
        Validity::Valid => 0,
        Validity::Invalid => 1,
        Validity::Cut => 2,
        Validity::Unchecked => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_a_bit_of_its_own_that_readers_know() {
        let bits = told(&RequestRecord::blank()).map(|(bit, _)| bit);
        assert!(bits.iter().all(|bit| bit.is_power_of_two()));
        // As many bits as flags, so no two of them are one.
        assert_eq!(bits.iter().fold(0, |all, bit| all | bit), flag::ALL);
    }
}
