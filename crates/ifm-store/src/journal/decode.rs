//! From the payload of a frame to a request or samples: the mirror of `encode`.
//!
//! `None` everywhere means that the bytes make no sense. Lengths are checked against the bytes
//! that are left before anything is allocated.

use super::bytes::Cursor;
use super::encode::{flag, outcome_code, source_code, validity_code};
use super::{KIND_REQUEST, KIND_SAMPLES};
use ifm_core::{
    CountSource, Counted, MadeAudio, Outcome, Phase, RequestRecord, SentMedia, Series, TokenEvents,
    Validity,
};

/// What one frame holds.
pub(super) enum Payload {
    Request(Box<RequestRecord>),
    Samples(Series),
}

pub(super) fn payload(bytes: &[u8]) -> Option<Payload> {
    let mut cursor = Cursor::new(bytes);
    let payload = match cursor.byte()? {
        KIND_REQUEST => Payload::Request(Box::new(request(&mut cursor)?)),
        KIND_SAMPLES => Payload::Samples(samples(&mut cursor)?),
        _ => return None,
    };
    (cursor.left() == 0).then_some(payload)
}

/// The fields of a request, some of which are there only where their flag says so.
struct Fields<'a, 'b> {
    cursor: &'a mut Cursor<'b>,
    flags: u64,
    start_ns: u64,
}

impl Fields<'_, '_> {
    fn has(&self, bit: u64) -> bool {
        self.flags & bit != 0
    }

    fn moment(&mut self, bit: u64) -> Option<Option<u64>> {
        if self.has(bit) { self.cursor.offset(self.start_ns).map(Some) } else { Some(None) }
    }

    fn number<T: TryFrom<u64>>(&mut self, bit: u64) -> Option<Option<T>> {
        if self.has(bit) { self.cursor.small().map(Some) } else { Some(None) }
    }

    fn counted(&mut self, bit: u64) -> Option<Option<Counted>> {
        if !self.has(bit) {
            return Some(None);
        }
        let code = self.cursor.byte()?;
        let from = CountSource::ALL.into_iter().find(|source| source_code(*source) == code)?;
        Some(Some(Counted { tokens: self.cursor.small()?, from }))
    }

    fn list<T: TryFrom<u64>>(&mut self, bit: u64) -> Option<Vec<T>> {
        if !self.has(bit) {
            return Some(Vec::new());
        }
        let count = self.cursor.count(1)?;
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(self.cursor.small()?);
        }
        Some(list)
    }

    /// A number that may be absent: see `put_maybe`.
    fn maybe(&mut self) -> Option<Option<u64>> {
        self.cursor.number().map(|number| number.checked_sub(1))
    }

    fn media(&mut self) -> Option<SentMedia> {
        let (images, audios) = (self.cursor.small()?, self.cursor.small()?);
        let (videos, seen) = (self.cursor.small()?, self.cursor.small()?);
        let (pixels, audio_ns) = (self.maybe()?, self.maybe()?);
        let frames = self.maybe()?.map(u32::try_from).transpose().ok()?;
        let file_bytes = self.maybe()?;
        Some(SentMedia { images, pixels, audios, audio_ns, videos, frames, file_bytes, seen })
    }

    fn made_audio(&mut self) -> Option<MadeAudio> {
        let first_ns = self.cursor.offset(self.start_ns)?;
        let bytes = self.cursor.number()?;
        let (audio_ns, silence_ns) = (self.maybe()?, self.maybe()?);
        let silences = self.maybe()?.map(u32::try_from).transpose().ok()?;
        Some(MadeAudio { first_ns, audio_ns, bytes, silence_ns, silences })
    }

    fn text(&mut self, bit: u64) -> Option<Option<String>> {
        if self.has(bit) { self.cursor.text().map(Some) } else { Some(None) }
    }
}

/// The initializer reads the fields in the order in which it names them, which is the order of the
/// format.
fn request(cursor: &mut Cursor) -> Option<RequestRecord> {
    let flags = cursor.number()?;
    if flags & !flag::ALL != 0 {
        return None;
    }
    let (seq, level) = (cursor.small()?, cursor.small()?);
    let (slot, item) = (cursor.small()?, cursor.small()?);
    let start_ns = cursor.number()?;
    let mut fields = Fields { cursor, flags, start_ns };
    let mut record = RequestRecord {
        seq,
        level,
        slot,
        item,
        start_ns,
        due_ns: fields.cursor.offset(start_ns)?,
        end_ns: fields.cursor.offset(start_ns)?,
        sent_ns: fields.moment(flag::SENT)?,
        head_ns: fields.moment(flag::HEAD)?,
        first_event_ns: fields.moment(flag::FIRST_EVENT)?,
        first_answer_ns: fields.moment(flag::FIRST_ANSWER)?,
        stream_end_ns: fields.moment(flag::STREAM_END)?,
        connect_ns: fields.number(flag::CONNECT)?,
        tls_ns: fields.number(flag::TLS)?,
        prompt_tokens_asked: fields.number(flag::PROMPT_ASKED)?,
        output_tokens_asked: fields.number(flag::OUTPUT_ASKED)?,
        prompt_tokens: fields.counted(flag::PROMPT_TOKENS)?,
        output_tokens: fields.counted(flag::OUTPUT_TOKENS)?,
        first_event_tokens: fields.number(flag::FIRST_EVENT_TOKENS)?,
        reasoning_tokens: fields.number(flag::REASONING)?,
        cached_tokens: fields.number(flag::CACHED)?,
        accepted_draft_tokens: fields.number(flag::ACCEPTED_DRAFT)?,
        rejected_draft_tokens: fields.number(flag::REJECTED_DRAFT)?,
        choices: fields.cursor.small()?,
        http_status: fields.number(flag::HTTP_STATUS)?,
        retry_after_s: fields.number(flag::RETRY_AFTER)?,
        outcome: outcome(fields.cursor)?,
        reads: fields.cursor.small()?,
        stamped_reads: fields.cursor.small()?,
        co_arrived_events: fields.cursor.small()?,
        reader_lag_ns_max: fields.number(flag::READER_LAG)?,
        wire_bytes: fields.cursor.number()?,
        sent_bytes: fields.cursor.number()?,
        events: TokenEvents {
            at_ns: stamps(fields.cursor, start_ns)?,
            tokens: fields.list(flag::EVENT_TOKENS)?,
            choice: fields.list(flag::EVENT_CHOICE)?,
        },
        streamed: fields.has(flag::STREAMED),
        session: fields.number(flag::SESSION)?,
        turn: fields.number(flag::TURN)?,
        agent: fields.number(flag::AGENT)?,
        agent_turns: fields.number(flag::AGENT_TURNS)?,
        class: fields.number(flag::CLASS)?,
        known_tokens: fields.number(flag::KNOWN)?,
        draft_steps: fields.number(flag::DRAFT_STEPS)?,
        server_queue_ns: fields.number(flag::SERVER_QUEUE)?,
        server_first_token_ns: fields.number(flag::SERVER_FIRST_TOKEN)?,
        server_decode_ns: fields.number(flag::SERVER_DECODE)?,
        server_processing_ns: fields.number(flag::SERVER_PROCESSING)?,
        phase: match (fields.has(flag::MEASURED), fields.has(flag::PROBE)) {
            (true, _) => Phase::Measure,
            (false, true) => Phase::Probe,
            (false, false) => Phase::Warmup,
        },
        ..RequestRecord::blank()
    };
    record.finish_reason = fields.text(flag::FINISH_REASON)?;
    record.error = fields.text(flag::ERROR)?;
    record.text = fields.text(flag::TEXT)?;
    record.acked_ns = fields.moment(flag::ACKED)?;
    record.media = if fields.has(flag::MEDIA) { Some(fields.media()?) } else { None };
    record.text_tokens = fields.counted(flag::TEXT_TOKENS)?;
    record.image_tokens = fields.counted(flag::IMAGE_TOKENS)?;
    record.audio_tokens = fields.counted(flag::AUDIO_TOKENS)?;
    record.video_tokens = fields.counted(flag::VIDEO_TOKENS)?;
    record.made_audio =
        if fields.has(flag::MADE_AUDIO) { Some(fields.made_audio()?) } else { None };
    record.form = fields.number(flag::FORM)?;
    record.validity =
        if fields.has(flag::VALIDITY) { Some(validity(fields.cursor)?) } else { None };
    record.dead_connection_ns = fields.number(flag::DEAD_CONNECTION)?;
    record.text_bytes = fields.number(flag::TEXT_BYTES)?;
    record.first_text_bytes = fields.number(flag::FIRST_TEXT_BYTES)?;
    Some(record)
}

fn validity(cursor: &mut Cursor) -> Option<Validity> {
    let code = cursor.byte()?;
    Validity::ALL.into_iter().find(|validity| validity_code(*validity) == code)
}

fn outcome(cursor: &mut Cursor) -> Option<Outcome> {
    let code = cursor.byte()?;
    Outcome::ALL.into_iter().find(|outcome| outcome_code(*outcome) == code)
}

fn stamps(cursor: &mut Cursor, start_ns: u64) -> Option<Vec<u64>> {
    let count = cursor.count(1)?;
    let mut stamps = Vec::with_capacity(count);
    let mut former = start_ns;
    for _ in 0..count {
        former = cursor.offset(former)?;
        stamps.push(former);
    }
    Some(stamps)
}

fn samples(cursor: &mut Cursor) -> Option<Series> {
    let (name, unit, source) = (cursor.text()?, cursor.text()?, cursor.text()?);
    let at_ns = stamps(cursor, 0)?;
    let values = cursor.take(at_ns.len().checked_mul(8)?)?;
    let value = values
        .chunks_exact(8)
        .filter_map(|eight| <[u8; 8]>::try_from(eight).ok())
        .map(|eight| f64::from_bits(u64::from_le_bytes(eight)))
        .collect();
    Some(Series { name, unit, source, at_ns, value })
}
