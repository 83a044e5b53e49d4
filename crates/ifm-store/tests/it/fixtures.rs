//! Runs to store: one small run with every kind of request, and any run at all.

use ifm_core::manifest::{Manifest, SCHEMA_VERSION};
use ifm_core::{
    CountSource, Counted, MadeAudio, Outcome, Phase, RequestRecord, SentMedia, Series, TimeoutKind,
    TokenEvents, Validity,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A manifest with something in every field: the head of the newest golden run.
pub fn manifest(run_id: &str) -> Manifest {
    let text = include_str!("../golden/v1.2/manifest.json");
    let mut head: Manifest = serde_json::from_str(text).unwrap();
    (head.run_id, head.schema_version) = (run_id.to_string(), SCHEMA_VERSION.to_string());
    head.files.clear();
    head.extra.clear();
    head
}

/// A request that has every optional field.
pub fn full_record(seq: u32) -> RequestRecord {
    let start_ns = u64::from(seq) * 30 * MS + 17;
    RequestRecord {
        seq,
        level: 1,
        phase: Phase::Measure,
        slot: 3,
        item: seq + 100,
        session: Some(seq + 70_000),
        turn: Some(9),
        due_ns: start_ns - 5,
        start_ns,
        sent_ns: Some(start_ns + 90_000),
        head_ns: Some(start_ns + 190 * MS),
        first_event_ns: Some(start_ns + 191 * MS),
        first_answer_ns: Some(start_ns + 240 * MS),
        stream_end_ns: Some(start_ns + 280 * MS),
        end_ns: start_ns + 281 * MS,
        connect_ns: Some(400_000),
        tls_ns: Some(900_000),
        streamed: true,
        events: TokenEvents {
            at_ns: [200, 220, 240, 240, 260].map(|ms| start_ns + ms * MS).to_vec(),
            tokens: vec![1, 2, 1, 1, 300],
            choice: vec![0, 1, 0, 1, 0],
        },
        prompt_tokens_asked: Some(1024),
        output_tokens_asked: Some(256),
        prompt_tokens: Some(Counted { tokens: 1026, from: CountSource::FinalUsage }),
        output_tokens: Some(Counted { tokens: 305, from: CountSource::ChunkUsage }),
        first_event_tokens: Some(1),
        reasoning_tokens: Some(40),
        cached_tokens: Some(0),
        accepted_draft_tokens: Some(12),
        rejected_draft_tokens: Some(4),
        agent: Some(3),
        agent_turns: Some(20),
        class: Some(1),
        known_tokens: Some(1_000),
        draft_steps: Some(4),
        server_queue_ns: Some(7 * MS),
        server_first_token_ns: Some(150 * MS),
        server_decode_ns: Some(80 * MS),
        server_processing_ns: Some(0),
        choices: 2,
        http_status: Some(200),
        retry_after_s: Some(3),
        finish_reason: Some("length".to_string()),
        outcome: Outcome::Ok,
        error: Some("none, but the field is kept".to_string()),
        reads: 4,
        stamped_reads: 3,
        co_arrived_events: 2,
        reader_lag_ns_max: Some(8_000),
        wire_bytes: 1_900,
        sent_bytes: 5_000,
        text: Some("Ärger — naïve \u{1f600}\n\0".to_string()),
        acked_ns: Some(start_ns + 95_000),
        media: Some(SentMedia {
            images: 2,
            pixels: Some(1_843_200),
            audios: 1,
            audio_ns: Some(4_000 * MS),
            videos: 1,
            frames: None,
            file_bytes: Some(0),
            seen: 1,
        }),
        text_tokens: Some(Counted { tokens: 26, from: CountSource::Pair }),
        image_tokens: Some(Counted { tokens: 598, from: CountSource::FinalUsage }),
        audio_tokens: Some(Counted { tokens: 400, from: CountSource::FinalUsage }),
        video_tokens: Some(Counted { tokens: 2, from: CountSource::FinalUsage }),
        made_audio: Some(MadeAudio {
            first_ns: start_ns + 210 * MS,
            audio_ns: Some(1_500 * MS),
            bytes: 72_000,
            silence_ns: Some(0),
            silences: None,
        }),
        form: Some(2),
        validity: Some(Validity::Cut),
        dead_connection_ns: Some(50 * MS),
        text_bytes: Some(1_200),
        first_text_bytes: Some(0),
    }
}

/// A request that has no optional field.
pub fn bare_record(seq: u32) -> RequestRecord {
    RequestRecord { seq, phase: Phase::Warmup, outcome: Outcome::Dropped, ..RequestRecord::blank() }
}

/// One request of every outcome, in the order of `seq`.
pub fn records() -> Vec<RequestRecord> {
    let mut records = vec![full_record(0), bare_record(1)];
    for (seq, outcome) in (2..).zip(Outcome::ALL) {
        let mut record = if seq % 2 == 0 { full_record(seq) } else { bare_record(seq) };
        record.outcome = outcome;
        records.push(record);
    }
    records
}

/// Two series, one of them without a sample, with values that text formats would corrupt.
pub fn series() -> Vec<Series> {
    vec![
        Series {
            name: "requests_in_flight".to_string(),
            unit: "requests".to_string(),
            source: "client".to_string(),
            at_ns: vec![0, 100 * MS, 200 * MS],
            value: vec![0.1, f64::MIN_POSITIVE, -0.0],
        },
        Series {
            name: "power_w".to_string(),
            unit: "W".to_string(),
            source: "nvml".to_string(),
            at_ns: Vec::new(),
            value: Vec::new(),
        },
    ]
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![0..10_000_000_000_u64, 0..=i64::MAX as u64, Just(0), Just(i64::MAX as u64)]
}

fn maybe_time() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(time())
}

fn counted() -> impl Strategy<Value = Option<Counted>> {
    let source = proptest::sample::select(CountSource::ALL.to_vec());
    proptest::option::of((any::<u32>(), source).prop_map(|(tokens, from)| Counted { tokens, from }))
}

fn events() -> impl Strategy<Value = TokenEvents> {
    use proptest::collection::vec;
    let steady = (time(), vec(0..40_000_000_u64, 0..200)).prop_map(|(start, gaps)| {
        gaps.iter()
            .scan(start / 2, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect()
    });
    let at_ns = prop_oneof![steady, vec(time(), 0..8)];
    let tokens = prop_oneof![Just(Vec::new()), vec(0..5_u32, 0..200), vec(any::<u32>(), 0..8)];
    let choice = prop_oneof![Just(Vec::new()), vec(0..4_u16, 0..200), vec(any::<u16>(), 0..8)];
    (at_ns, tokens, choice).prop_map(|(at_ns, tokens, choice)| TokenEvents {
        at_ns,
        tokens,
        choice,
    })
}

fn text() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(prop_oneof![Just(String::new()), Just("stop".to_string()), ".{0,30}"])
}

prop_compose! {
    fn moments()(
        always in [time(), time(), time()],
        head in [maybe_time(), maybe_time(), maybe_time(), maybe_time(), maybe_time()],
        spans in [maybe_time(), maybe_time(), maybe_time()],
    ) -> RequestRecord {
        let ([due_ns, start_ns, end_ns], [connect_ns, tls_ns, reader_lag_ns_max]) = (always, spans);
        let [sent_ns, head_ns, first_event_ns, first_answer_ns, stream_end_ns] = head;
        RequestRecord {
            due_ns, start_ns, end_ns, connect_ns, tls_ns, reader_lag_ns_max,
            sent_ns, head_ns, first_event_ns, first_answer_ns, stream_end_ns,
            ..bare_record(0)
        }
    }
}

prop_compose! {
    fn media()(
        counts in any::<[u32; 4]>(),
        frames in any::<Option<u32>>(),
        sizes in [maybe_time(), maybe_time(), maybe_time()],
    ) -> SentMedia {
        let ([images, audios, videos, seen], [pixels, audio_ns, file_bytes]) = (counts, sizes);
        SentMedia { images, pixels, audios, audio_ns, videos, frames, file_bytes, seen }
    }
}

prop_compose! {
    fn made_audio()(
        always in [time(), time()],
        sometimes in [maybe_time(), maybe_time()],
        silences in any::<Option<u32>>(),
    ) -> MadeAudio {
        let ([first_ns, bytes], [audio_ns, silence_ns]) = (always, sometimes);
        MadeAudio { first_ns, audio_ns, bytes, silence_ns, silences }
    }
}

prop_compose! {
    fn with_media()(
        record in moments().boxed(),
        acked_ns in maybe_time(),
        media in proptest::option::of(media()),
        tokens in [counted(), counted(), counted(), counted()],
        made_audio in proptest::option::of(made_audio()),
        form in any::<Option<u16>>(),
        validity in proptest::option::of(proptest::sample::select(Validity::ALL.to_vec())),
        dead_connection_ns in maybe_time(),
        [text_bytes, first_text_bytes] in any::<[Option<u32>; 2]>(),
    ) -> RequestRecord {
        let [text_tokens, image_tokens, audio_tokens, video_tokens] = tokens;
        RequestRecord {
            acked_ns, media, made_audio, form, validity, dead_connection_ns, text_bytes, first_text_bytes,
            text_tokens, image_tokens, audio_tokens, video_tokens,
            ..record
        }
    }
}

prop_compose! {
    fn counts()(
        record in with_media().boxed(),
        counts in proptest::array::uniform9(any::<Option<u32>>()),
        prompt_tokens in counted(),
        output_tokens in counted(),
        numbers in any::<[u32; 6]>(),
        small in any::<[u16; 2]>(),
        http_status in any::<Option<u16>>(),
        retry_after_s in any::<Option<u32>>(),
        sizes in [time(), time()],
        session in any::<Option<u32>>(),
        places in proptest::array::uniform4(any::<Option<u16>>()),
        server in proptest::array::uniform4(proptest::option::of(time())),
    ) -> RequestRecord {
        let [slot, item, reads, stamped_reads, co_arrived_events, seq] = numbers;
        RequestRecord {
            seq, slot, item, reads, stamped_reads, co_arrived_events,
            session,
            turn: places[0],
            agent: places[1],
            agent_turns: places[2],
            class: places[3],
            server_queue_ns: server[0],
            server_first_token_ns: server[1],
            server_decode_ns: server[2],
            server_processing_ns: server[3],
            level: small[0],
            choices: small[1],
            prompt_tokens_asked: counts[0],
            output_tokens_asked: counts[1],
            first_event_tokens: counts[2],
            reasoning_tokens: counts[3],
            cached_tokens: counts[4],
            accepted_draft_tokens: counts[5],
            rejected_draft_tokens: counts[6],
            known_tokens: counts[7],
            draft_steps: counts[8],
            prompt_tokens, output_tokens, http_status, retry_after_s,
            wire_bytes: sizes[0],
            sent_bytes: sizes[1],
            ..record
        }
    }
}

prop_compose! {
    /// Any request that can be stored.
    pub fn any_record()(
        record in counts().boxed(),
        events in events(),
        streamed: bool,
        warmup: bool,
        outcome in proptest::sample::select(Outcome::ALL.to_vec()),
        finish_reason in text(),
        error in text(),
        text in text(),
    ) -> RequestRecord {
        let phase = if warmup { Phase::Warmup } else { Phase::Measure };
        RequestRecord {
            events, streamed, phase, outcome, finish_reason, error, text,
            ..record
        }
    }
}

/// Any requests, their `seq` distinct but not in order.
pub fn any_records() -> impl Strategy<Value = Vec<RequestRecord>> {
    proptest::collection::vec(any_record().boxed(), 0..12).prop_map(|mut records| {
        let mut seen = std::collections::BTreeSet::new();
        records.retain(|record| seen.insert(record.seq));
        records
    })
}

/// In the order of `seq`.
pub fn sorted(mut records: Vec<RequestRecord>) -> Vec<RequestRecord> {
    records.sort_by_key(|record| record.seq);
    records
}

/// A timeout, for tests that want a failed request.
pub const IDLE_TIMEOUT: Outcome = Outcome::Timeout(TimeoutKind::Idle);
