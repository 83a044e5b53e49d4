//! Synthetic runs for tests, here and in the crates that show results.
//!
//! A synthetic run is small and regular, so that a test can verify every number and then corrupt
//! one thing. Not here: anything a program should use.

use crate::stat::random::RandomStream;
use ifm_core::Metric;
use ifm_core::manifest::{
    ClockInfo, HostInfo, LevelEnd, LevelInfo, SentWorkload, ServerInfo, TemplatePlace, ToolInfo,
};
use ifm_core::series::Signal;
use ifm_core::spec::{
    Api, LimitSpec, LoadSpec, RunSpec, SloSpec, SloTerm, TargetSpec, WorkloadSpec,
};
use ifm_core::{
    ClientHealth, CountSource, Counted, Manifest, Outcome, Phase, RequestRecord, RunData, RunState,
    SentMedia, Series, TokenEvents,
};
use std::collections::BTreeMap;

/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;

fn ns(ms: f64) -> u64 {
    (ms * MS as f64).round() as u64
}

/// A complete, streamed answer: started at `start_ms`, one token at each of `tokens_ms` after the
/// start, counted by the server, done with its last token. The prompt has 100 tokens.
pub fn request(seq: u32, level: u16, slot: u32, start_ms: f64, tokens_ms: &[f64]) -> RequestRecord {
    let start_ns = ns(start_ms);
    let at_ns: Vec<u64> = tokens_ms.iter().map(|&at| start_ns + ns(at)).collect();
    let end_ns = at_ns.last().copied().unwrap_or(start_ns + MS);
    let tokens = at_ns.len() as u32;
    RequestRecord {
        seq,
        level,
        phase: Phase::Measure,
        slot,
        item: seq,
        due_ns: start_ns,
        start_ns,
        sent_ns: Some(start_ns),
        head_ns: at_ns.first().copied(),
        first_event_ns: at_ns.first().copied(),
        first_answer_ns: at_ns.first().copied(),
        stream_end_ns: Some(end_ns),
        end_ns,
        streamed: true,
        events: TokenEvents { at_ns, tokens: Vec::new(), choice: Vec::new() },
        prompt_tokens_asked: Some(100),
        output_tokens_asked: Some(tokens),
        prompt_tokens: Some(Counted { tokens: 100, from: CountSource::FinalUsage }),
        output_tokens: Some(Counted { tokens, from: CountSource::FinalUsage }),
        cached_tokens: Some(0),
        choices: 1,
        http_status: Some(200),
        finish_reason: Some("length".to_owned()),
        outcome: Outcome::Ok,
        reads: tokens,
        stamped_reads: tokens,
        reader_lag_ns_max: Some(10_000),
        wire_bytes: 250 * u64::from(tokens),
        sent_bytes: 700,
        ..RequestRecord::blank()
    }
}

/// A request that failed `after_ms`, without any token.
pub fn failed(seq: u32, level: u16, slot: u32, start_ms: f64, after_ms: f64) -> RequestRecord {
    let mut record = request(seq, level, slot, start_ms, &[]);
    record.end_ns = record.start_ns + ns(after_ms);
    record.output_tokens = None;
    record.prompt_tokens = None;
    record.cached_tokens = None;
    record.stream_end_ns = None;
    record.finish_reason = None;
    record.http_status = Some(503);
    record.outcome = Outcome::HttpError;
    record.error = Some("the server answered 503".to_owned());
    record
}

/// A closed loop without surprises: `concurrency` slots send `rounds` requests each, one after the
/// other; every answer has `tokens` tokens, the first after `ttft_ms`, the next ones `itl_ms`
/// apart. Starts at `start_ms`; the first sequence number is `seq`.
pub fn closed_loop(
    (seq, level): (u32, u16),
    (concurrency, rounds): (u32, u32),
    start_ms: f64,
    (ttft_ms, itl_ms, tokens): (f64, f64, u32),
) -> Vec<RequestRecord> {
    let stamps: Vec<f64> = (0..tokens).map(|token| ttft_ms + itl_ms * f64::from(token)).collect();
    let lasts = stamps.last().copied().unwrap_or(0.0);
    (0..rounds * concurrency)
        .map(|index| {
            let (round, slot) = (index / concurrency, index % concurrency);
            request(seq + index, level, slot, start_ms + lasts * f64::from(round), &stamps)
        })
        .collect()
}

/// Conversations without surprises: `users` hold `each` sessions, one after the other, of `turns`
/// turns with `pause_ms` between them. Every answer takes 260 ms and has 17 tokens; of the 100 prompt
/// tokens of a later turn 80 had been said before, and the server says that 60 came from its cache.
pub fn conversations(
    (seq, level): (u32, u16),
    (users, each): (u32, u32),
    turns: u16,
    pause_ms: f64,
    start_ms: f64,
) -> Vec<RequestRecord> {
    let stamps: Vec<f64> = (0..17).map(|token| 100.0 + 10.0 * f64::from(token)).collect();
    let session_ms = 260.0 * f64::from(turns) + pause_ms * f64::from(turns.saturating_sub(1));
    let mut requests = Vec::new();
    for number in 0..users * each {
        let (round, user) = (number / users, number % users);
        for turn in 0..turns {
            let at_ms = session_ms * f64::from(round) + (260.0 + pause_ms) * f64::from(turn);
            let mut record =
                request(seq + requests.len() as u32, level, user, start_ms + at_ms, &stamps);
            (record.item, record.session) = (number, Some(number));
            (record.turn, record.agent_turns) = (Some(turn), Some(turns));
            let known = |tokens| if turn > 0 { tokens } else { 0 };
            (record.known_tokens, record.cached_tokens) = (Some(known(80)), Some(known(60)));
            requests.push(record);
        }
    }
    requests
}

/// What a closed loop with chance in it does.
#[derive(Debug, Clone, Copy)]
pub struct NoisyLoop {
    /// Requests in flight.
    pub users: u32,
    /// Requests of each user, one after the other.
    pub rounds: u32,
    /// Median time to first token, milliseconds.
    pub ttft_ms: f64,
    /// Median gap between tokens, milliseconds.
    pub itl_ms: f64,
    /// Tokens of each answer.
    pub tokens: u32,
    /// Standard deviation of the logarithm of a TTFT, and of a gap.
    pub spread: f64,
    /// How much of a TTFT's deviation the next request inherits, 0 to 1: requests that depend on
    /// those before them.
    pub memory: f64,
    /// Seed of the chance.
    pub seed: u64,
}

impl NoisyLoop {
    /// The requests of one level. The first sequence number is `seq`, the first start `start_ms`.
    pub fn requests(&self, (seq, level): (u32, u16), start_ms: f64) -> Vec<RequestRecord> {
        let mut stream = RandomStream::named(self.seed, "noisy loop");
        let mut records = Vec::new();
        // The slot that is free first sends next.
        let mut free_ms: Vec<f64> = vec![start_ms; self.users as usize];
        let mut drift = 0.0;
        for index in 0..self.rounds * self.users {
            let next = free_ms.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
            let (slot, at) = next.map_or((0, start_ms), |(slot, at)| (slot, *at));
            let fresh = (1.0 - self.memory * self.memory).sqrt();
            drift = self.memory * drift + fresh * stream.normal();
            let slow = (self.spread * drift).exp();
            let mut stamps = vec![self.ttft_ms * slow];
            for _ in 1..self.tokens {
                let gap = self.itl_ms * (self.spread * stream.normal()).exp() * slow.powf(0.2);
                stamps.push(stamps.last().copied().unwrap_or(0.0) + gap);
            }
            let lasts = stamps.last().copied().unwrap_or(0.0);
            if let Some(free) = free_ms.get_mut(slot) {
                *free += lasts;
            }
            records.push(request(seq + index, level, slot as u32, at, &stamps));
        }
        records
    }
}

/// A run of noisy levels, one after the other.
pub fn noisy_run(levels: &[NoisyLoop]) -> RunData {
    let mut requests: Vec<RequestRecord> = Vec::new();
    for (level, noisy) in levels.iter().enumerate() {
        let start_ms =
            requests.iter().map(|record| record.end_ns).max().unwrap_or(0) as f64 / MS as f64;
        let seq = requests.len() as u32;
        requests.extend(noisy.requests((seq, level as u16), start_ms));
    }
    let users: Vec<u32> = levels.iter().map(|noisy| noisy.users).collect();
    run(&users, requests)
}

/// A closed loop of 2 users and 120 requests, each with an image of 640 x 360 that was not sent
/// before: 299 tokens of the image, as reported by the server, 100 of text and 20 that its template
/// added.
pub fn sound_images() -> RunData {
    images(|_, _| {})
}

/// The same after `change` of each request, which gets its number.
pub fn images(change: impl Fn(usize, &mut RequestRecord)) -> RunData {
    let mut requests = closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16));
    for (number, record) in requests.iter_mut().enumerate() {
        let counted = |tokens| Some(Counted { tokens, from: CountSource::FinalUsage });
        record.media = Some(SentMedia {
            images: 1,
            pixels: Some(640 * 360),
            audio_ns: Some(0),
            frames: Some(0),
            file_bytes: Some(50_000),
            ..SentMedia::default()
        });
        record.prompt_tokens = counted(419);
        (record.text_tokens, record.image_tokens) = (counted(120), counted(299));
        record.sent_bytes = 67_400;
        change(number, record);
    }
    run(&[2], requests)
}

/// A run of `requests` with one level for each of `concurrency`, all complete. The latency target
/// is TTFT P99 at most 500 ms and ITL P99 at most 50 ms.
pub fn run(concurrency: &[u32], requests: Vec<RequestRecord>) -> RunData {
    let levels = (0..concurrency.len() as u16)
        .map(|level| {
            let of_level = || requests.iter().filter(move |record| record.level == level);
            let end_ns = of_level().map(|record| record.end_ns).max().unwrap_or(0);
            LevelInfo {
                level,
                start_ns: of_level().map(|record| record.start_ns).min().unwrap_or(0),
                send_end_ns: end_ns,
                end_ns,
                complete: true,
                ended_by: Some(LevelEnd::Planned),
                measured_again: None,
            }
        })
        .collect();
    let mut manifest = manifest(concurrency, levels);
    let prompts = requests.len() as u64;
    manifest.workload = Some(SentWorkload {
        facts: serde_json::Map::new(),
        template_by: TemplatePlace::Server,
        prompts,
        distinct_prompts: prompts,
        sessions: None,
        ended_sessions: Vec::new(),
        prompt_tokens: vec![(100, prompts)],
        output_tokens: vec![(16, prompts)],
    });
    RunData { manifest, requests, series: Vec::new() }
}

/// A quantity sampled once a second, from one moment to another: `value` of each moment, seconds.
pub fn telemetry(
    quantity: Signal,
    source: &str,
    (from_s, to_s): (f64, f64),
    value: &dyn Fn(f64) -> f64,
) -> Series {
    let moments = (0..).map(|step| from_s + f64::from(step)).take_while(|at_s| *at_s <= to_s);
    let (at_ns, value) = moments.map(|at_s| (ns(at_s * 1e3), value(at_s))).unzip();
    Series {
        name: quantity.word().to_owned(),
        unit: quantity.unit().to_owned(),
        source: source.to_owned(),
        at_ns,
        value,
    }
}

/// The same run as if it had been computed: without what only a client knows.
pub fn predicted(mut run: RunData) -> RunData {
    let level = |level: &LevelInfo| ifm_core::PredictedLevel {
        level: level.level,
        steps: 1200,
        preemptions: 3,
        cached_tokens: 0,
        kv_peak_share: Some(0.62),
        batch_mean: Some(1.9),
        closed_form: Some(ifm_core::ClosedForm {
            ttft_ms: Some(98.0),
            itl_ms: Some(9.7),
            output_tok_per_s: None,
        }),
        binds: Some("memory bandwidth".to_owned()),
    };
    let manifest = &mut run.manifest;
    manifest.predicted = Some(ifm_core::Prediction {
        machine: "H100 SXM".to_owned(),
        model: "made-up-model".to_owned(),
        quantization: "bf16".to_owned(),
        kv: "bf16".to_owned(),
        gpus: 1,
        replicas: 1,
        server: "vllm".to_owned(),
        constants_from: "defaults".to_owned(),
        constants: BTreeMap::from([("bandwidth_share".to_owned(), 0.8)]),
        settings: BTreeMap::from([("token budget".to_owned(), "8192".to_owned())]),
        levels: manifest.levels.iter().map(level).collect(),
    });
    (manifest.health, manifest.host.kernel_stamps) = (None, false);
    manifest.clock.source = "simulated".to_owned();
    run
}

fn manifest(concurrency: &[u32], levels: Vec<LevelInfo>) -> Manifest {
    Manifest {
        schema_version: ifm_core::manifest::SCHEMA_VERSION.to_owned(),
        run_id: "7f3a91c2".to_owned(),
        name: Some("made-up".to_owned()),
        tool: ToolInfo { name: "inferometer".to_owned(), version: "0.0.0".to_owned() },
        created_utc: "2026-11-20T11:00:00Z".to_owned(),
        command: ["inferometer", "sweep", "http://127.0.0.1:8000"].map(str::to_owned).to_vec(),
        settings: Vec::new(),
        state: RunState::Complete,
        stop_reason: None,
        tags: BTreeMap::new(),
        spec: spec(concurrency),
        host: HostInfo {
            os: "Linux 6.18".to_owned(),
            cpu: Some("made-up processor".to_owned()),
            cpus: 2,
            memory_bytes: Some(8 << 30),
            load_average: Some(0.1),
            kernel_stamps: true,
        },
        server: ServerInfo {
            server_header: None,
            kind: Some("vllm".to_owned()),
            version: Some("0.33.0".to_owned()),
            models: vec!["made-up-model".to_owned()],
            context_tokens: Some(4096),
            notes: BTreeMap::new(),
        },
        facts: None,
        clock: ClockInfo {
            source: "CLOCK_MONOTONIC".to_owned(),
            origin_unix_ns: 1_795_000_000_000_000_000,
            origin_monotonic_ns: None,
            offset_ns: Vec::new(),
        },
        levels,
        prompts_sha256: None,
        prompts_blake3: None,
        workload: None,
        media_pairs: Vec::new(),
        rejected_fields: Vec::new(),
        health: Some(health()),
        capacity: None,
        plan: None,
        predicted: None,
        files: Vec::new(),
        extra: serde_json::Map::new(),
    }
}

fn spec(concurrency: &[u32]) -> RunSpec {
    let load = |&concurrency: &u32| LoadSpec {
        concurrency,
        arrivals: None,
        requests: None,
        duration_s: None,
        sessions: None,
        warmup_requests: 0,
        early_end: None,
        scout: false,
    };
    let term = |metric: Metric, limit_ms: f64| SloTerm {
        metric,
        percentile: Some(99.0),
        limit_ms,
        speed_min: None,
    };
    RunSpec {
        target: TargetSpec {
            base_url: "http://127.0.0.1:8000/v1".to_owned(),
            api: Api::Chat,
            api_file: None,
            path: None,
            model: "made-up-model".to_owned(),
            api_key_env: None,
            headers: BTreeMap::new(),
            extra_body: serde_json::Map::new(),
            insecure_tls: false,
            stream: true,
            fresh_connections: false,
            request_ids: false,
            echo_reasoning: false,
            session_headers: BTreeMap::new(),
        },
        workload: WorkloadSpec {
            kind: "random".to_owned(),
            text: None,
            prompt_tokens: Some(100),
            output_tokens: Some(16),
            shared_prefix_tokens: 0,
            ignore_eos: true,
            temperature: None,
            tokenizer: "made-up".to_owned(),
            tokenizer_sha256: "0".repeat(64),
            seed: 1,
            classes: Vec::new(),
            prompt_lengths: None,
            max_context_tokens: None,
            cadence_s: None,
            forms: Vec::new(),
            probe: None,
        },
        levels: concurrency.iter().map(load).collect(),
        limits: LimitSpec { connect_s: None, first_token_s: None, idle_s: None, total_s: None },
        slo: SloSpec {
            name: "chat".to_owned(),
            terms: vec![term(Metric::Ttft, 500.0), term(Metric::Itl, 50.0)],
            is_default: false,
        },
        keep_text: false,
        cooldown_s: None,
        budget_s: None,
    }
}

/// A client that kept up.
pub fn health() -> ClientHealth {
    ClientHealth {
        reads: 100,
        stamped_reads: 100,
        events: 100,
        reader_cpu_ns: 5 * MS,
        decoder_cpu_ns: MS,
        process_cpu_ns: 8 * MS,
        wall_ns: 1000 * MS,
        reader_busy_share: 0.005,
        steal_share: Some(0.0),
        ..ClientHealth::default()
    }
}

/// A form of this share, which any JSON object has.
pub fn form_spec(word: &str, share: f64) -> ifm_core::FormSpec {
    ifm_core::FormSpec {
        word: word.to_owned(),
        kind: ifm_core::FormKind::JsonObject,
        share,
        text: None,
        bytes: 0,
        sha256: String::new(),
        ignore_eos: false,
    }
}
