//! Runs to store: one small run with every kind of request, and any run at all.

use ifm_core::Metric;
use ifm_core::health::{ClientHealth, HealthVerdict, SpanQuantiles};
use ifm_core::manifest::{
    ClockInfo, HostInfo, LevelEnd, LevelInfo, Manifest, RunState, SCHEMA_VERSION, SentWorkload,
    ServerInfo, TemplatePlace, ToolInfo,
};
use ifm_core::spec::{
    Api, ArrivalLaw, ArrivalSpec, EarlyEnd, LimitSpec, LoadSpec, RateCurve, RateStretch, RunSpec,
    SloSpec, SloTerm, TargetSpec, WorkloadSpec,
};
use ifm_core::{
    CountSource, Counted, Outcome, Phase, RequestRecord, Series, TimeoutKind, TokenEvents,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// A manifest with something in every field.
pub fn manifest(run_id: &str) -> Manifest {
    Manifest {
        schema_version: SCHEMA_VERSION.to_string(),
        run_id: run_id.to_string(),
        name: Some("base".to_string()),
        tool: ToolInfo { name: "inferometer".to_string(), version: "0.1.0".to_string() },
        created_utc: "2026-11-20T12:14:27Z".to_string(),
        command: vec!["inferometer".to_string(), "sweep".to_string()],
        state: RunState::Complete,
        stop_reason: None,
        tags: BTreeMap::new(),
        spec: spec(),
        host: HostInfo {
            os: "Linux 6.18".to_string(),
            cpu: None,
            cpus: 2,
            memory_bytes: Some(8 << 30),
            load_average: Some(0.25),
            kernel_stamps: true,
        },
        server: ServerInfo { kind: Some("vllm".to_string()), ..ServerInfo::default() },
        facts: None,
        clock: ClockInfo {
            source: "CLOCK_MONOTONIC".to_string(),
            origin_unix_ns: 1_795_176_867_000_000_000,
            origin_monotonic_ns: None,
            offset_ns: vec![(0, 0), (1_000_000_000, -120)],
        },
        levels: vec![LevelInfo {
            level: 0,
            start_ns: 5 * MS,
            send_end_ns: 900 * MS,
            end_ns: 950 * MS,
            complete: true,
            ended_by: Some(LevelEnd::Settled),
            measured_again: None,
        }],
        prompts_sha256: Some("00".repeat(32)),
        workload: Some(sent_workload()),
        health: Some(health()),
        capacity: None,
        plan: None,
        files: Vec::new(),
        extra: serde_json::Map::new(),
    }
}

fn sent_workload() -> SentWorkload {
    SentWorkload {
        facts: serde_json::Map::from_iter([
            ("kind".to_string(), "sharegpt".into()),
            ("rules".to_string(), vec!["first two turns"].into()),
        ]),
        template_by: TemplatePlace::Server,
        prompts: 5,
        distinct_prompts: 4,
        sessions: Some(3),
        prompt_tokens: vec![(100, 3), (120, 2)],
        output_tokens: vec![(256, 5)],
    }
}

fn spec() -> RunSpec {
    RunSpec {
        target: TargetSpec {
            base_url: "http://127.0.0.1:8000/v1".to_string(),
            api: Api::Chat,
            model: "m".to_string(),
            api_key_env: Some("OPENAI_API_KEY".to_string()),
            headers: BTreeMap::new(),
            extra_body: serde_json::Map::new(),
            insecure_tls: false,
            stream: true,
            fresh_connections: false,
            request_ids: false,
        },
        workload: WorkloadSpec {
            kind: "random".to_string(),
            text: Some("1024/256".to_string()),
            prompt_tokens: Some(1024),
            output_tokens: Some(256),
            shared_prefix_tokens: 0,
            ignore_eos: true,
            temperature: Some(0.5),
            tokenizer: "built-in".to_string(),
            tokenizer_sha256: "11".repeat(32),
            seed: 7,
            prompt_lengths: None,
        },
        levels: vec![LoadSpec {
            concurrency: 2,
            arrivals: Some(ArrivalSpec {
                law: ArrivalLaw::Gamma(0.5),
                stretches: vec![RateStretch {
                    from_req_per_s: 1.0,
                    to_req_per_s: 4.0,
                    curve: RateCurve::Exponential,
                    seconds: Some(60.0),
                }],
                seed: 3,
            }),
            requests: Some(4),
            duration_s: None,
            sessions: None,
            warmup_requests: 1,
            early_end: Some(EarlyEnd {
                settled_share: Some(0.05),
                at_broken_target: true,
                requests_min: 50,
                seconds_min: 5.0,
            }),
        }],
        limits: LimitSpec {
            connect_s: Some(5.0),
            first_token_s: None,
            idle_s: None,
            total_s: Some(600.0),
        },
        slo: SloSpec {
            name: "chat".to_string(),
            terms: vec![SloTerm { metric: Metric::Ttft, percentile: Some(99.0), limit_ms: 500.0 }],
        },
        keep_text: true,
        cooldown_s: Some(5.0),
        budget_s: Some(300.0),
    }
}

fn health() -> ClientHealth {
    ClientHealth {
        verdict: HealthVerdict::Good,
        reasons: Vec::new(),
        reader_lag: Some(SpanQuantiles { n: 9, p50_ns: 2_000, p99_ns: 9_000, max_ns: 9_500 }),
        send_lateness: None,
        reads: 9,
        stamped_reads: 9,
        events: 7,
        co_arrived_events: 2,
        reader_cpu_ns: 3 * MS,
        decoder_cpu_ns: MS,
        process_cpu_ns: 5 * MS,
        wall_ns: 950 * MS,
        reader_busy_share: 0.125,
        involuntary_switches: 0,
        readers_first: None,
        steal_share: None,
        starved_sends: 0,
        late_allocations: 0,
        decoder_stalls: 0,
        clock_steps: 0,
        reconnects: 0,
    }
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
    }
}

/// A request that has no optional field.
pub fn bare_record(seq: u32) -> RequestRecord {
    RequestRecord {
        seq,
        level: 0,
        phase: Phase::Warmup,
        slot: 0,
        item: 0,
        session: None,
        turn: None,
        due_ns: 0,
        start_ns: 0,
        sent_ns: None,
        head_ns: None,
        first_event_ns: None,
        first_answer_ns: None,
        stream_end_ns: None,
        end_ns: 0,
        connect_ns: None,
        tls_ns: None,
        streamed: false,
        events: TokenEvents::default(),
        prompt_tokens_asked: None,
        output_tokens_asked: None,
        prompt_tokens: None,
        output_tokens: None,
        first_event_tokens: None,
        reasoning_tokens: None,
        cached_tokens: None,
        accepted_draft_tokens: None,
        rejected_draft_tokens: None,
        choices: 0,
        http_status: None,
        retry_after_s: None,
        finish_reason: None,
        outcome: Outcome::Dropped,
        error: None,
        reads: 0,
        stamped_reads: 0,
        co_arrived_events: 0,
        reader_lag_ns_max: None,
        wire_bytes: 0,
        sent_bytes: 0,
        text: None,
    }
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

/// Two series, one of them without a sample, with values that text formats spoil.
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
    fn counts()(
        record in moments(),
        counts in proptest::array::uniform7(any::<Option<u32>>()),
        prompt_tokens in counted(),
        output_tokens in counted(),
        numbers in any::<[u32; 6]>(),
        small in any::<[u16; 2]>(),
        http_status in any::<Option<u16>>(),
        retry_after_s in any::<Option<u32>>(),
        sizes in [time(), time()],
        conversation in any::<(Option<u32>, Option<u16>)>(),
    ) -> RequestRecord {
        let [slot, item, reads, stamped_reads, co_arrived_events, seq] = numbers;
        RequestRecord {
            seq, slot, item, reads, stamped_reads, co_arrived_events,
            session: conversation.0,
            turn: conversation.1,
            level: small[0],
            choices: small[1],
            prompt_tokens_asked: counts[0],
            output_tokens_asked: counts[1],
            first_event_tokens: counts[2],
            reasoning_tokens: counts[3],
            cached_tokens: counts[4],
            accepted_draft_tokens: counts[5],
            rejected_draft_tokens: counts[6],
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
        record in counts(),
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
    proptest::collection::vec(any_record(), 0..12).prop_map(|mut records| {
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
