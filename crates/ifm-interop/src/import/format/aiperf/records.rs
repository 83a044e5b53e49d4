//! AIPerf's records of single requests, `profile_export.jsonl`: one line each, failed ones with
//! their error. A warm-up phase is a row of its own. Turns of conversations name their session: a
//! row counts the sessions, and the sessions that ended at a full context (`context_overflow_skip`,
//! which the tool leaves out of its own numbers).

use super::super::super::bounds::REQUESTS_MAX;
use super::super::super::error::ImportError;
use super::super::super::json::{self, Number, Word};
use super::super::super::{Input, measure};
use super::super::collect::Gathered;
use super::super::{Format, Like, collect};
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Figure, PartKind, Place, Row, RowRole, SheetRequest, Statistic, Unit};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub(in super::super) const FORMAT: Format = Format {
    id: "aiperf-records",
    title: "AIPerf, single requests",
    tool: Some("aiperf"),
    kind: PartKind::Serving,
    like: Like::Json(&[&["metadata", "metrics", "request_start_ns"]]),
    marks: &["metadata", "metrics", "benchmark_phase", "request_start_ns"],
    read,
};

#[derive(Debug, Deserialize)]
struct Wire {
    metadata: Metadata,
    #[serde(default)]
    metrics: Metrics,
    #[serde(default)]
    error: Option<Failure>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    request_start_ns: Number,
    benchmark_phase: Word,
    was_cancelled: Option<bool>,
    context_overflow_skip: Option<bool>,
    turn_index: Number,
    agent_depth: Number,
    /// The session, sub-agents among it; older versions have only the agent's own.
    root_correlation_id: Word,
    x_correlation_id: Word,
}

impl Metadata {
    fn session(&self) -> Option<&String> {
        self.root_correlation_id.0.as_ref().or(self.x_correlation_id.0.as_ref())
    }

    /// Whether it is more than the first word of the only agent.
    fn is_of_many(&self) -> bool {
        [&self.turn_index, &self.agent_depth].iter().any(|number| number.0 > Some(0.0))
    }

    fn is_overflow(&self) -> bool {
        self.context_overflow_skip == Some(true)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metrics {
    time_to_first_token: Stated,
    request_latency: Stated,
    input_sequence_length: Stated,
    /// Prompt tokens of a request that failed.
    error_isl: Stated,
    output_sequence_length: Stated,
    inter_chunk_latency: Stated,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stated {
    value: Value,
    unit: Word,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failure {
    code: Word,
    r#type: Word,
    message: Word,
}

impl Stated {
    fn number(&self) -> Option<f64> {
        json::number(Some(&self.value))
    }

    fn count(&self) -> Option<u64> {
        json::count(Some(&self.value))
    }

    /// What one of its unit is in ms.
    fn factor(&self) -> Option<f64> {
        measure::unit_field(self.unit.0.as_deref()?)?.factor()
    }

    fn ms(&self) -> Option<f64> {
        Some(self.number()? * self.factor()?)
    }
}

fn read(format: &Format, mut input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut phases: BTreeMap<String, Phase> = BTreeMap::new();
    let mut all = Gathered::default();
    all.remarks.push(collect::lost("", "metrics of the exchange are not kept per request"));
    let (mut requests, mut beyond) = (0, 0);
    let (gone, ()) = collect::counted(&mut input, |reader| {
        json::lines::read::<Wire>(reader, |line, wire| match wire {
            Ok(_) if requests == REQUESTS_MAX => beyond += 1,
            Ok(wire) => {
                requests += 1;
                let phase = wire.metadata.benchmark_phase.0.clone().unwrap_or_default();
                phases.entry(phase).or_insert_with(|| Phase::begin(line)).take(wire);
            }
            Err(reason) => collect::skip(&mut all.remarks, line, &reason),
        })
    })?;
    if beyond > 0 {
        let text = format!("{beyond} requests beyond the first {REQUESTS_MAX} are not kept");
        all.remarks.push(collect::lost("", &text));
    }
    phases.into_iter().for_each(|(name, phase)| all.push(phase.row(name)));
    all.rows.order_by_key(|row| row.place.line);
    all.finish(format, gone, "no request in it")
}

/// The requests of a phase.
struct Phase {
    line: u32,
    requests: Vec<SheetRequest>,
    sessions: BTreeSet<String>,
    /// Sessions that a full context ended.
    overflowed: BTreeSet<String>,
    /// Whether a session has more than one request, or had been meant to.
    are_sessions: bool,
}

impl Phase {
    fn begin(line: u32) -> Phase {
        Phase {
            line,
            requests: Vec::new(),
            sessions: BTreeSet::new(),
            overflowed: BTreeSet::new(),
            are_sessions: false,
        }
    }

    fn take(&mut self, wire: Wire) {
        self.requests.push(request(&wire));
        let of = &wire.metadata;
        self.are_sessions |= of.is_of_many() || of.is_overflow();
        if let Some(session) = of.session() {
            self.sessions.insert(session.clone());
            if of.is_overflow() {
                self.overflowed.insert(session.clone());
            }
        }
    }

    fn row(self, name: String) -> Row {
        let mut row = Row::new(RowRole::Measured, Place::line(self.line));
        row.label = Some(name).filter(|name| !name.is_empty() && name != "profiling");
        row.requests = self.requests;
        let counts =
            [("sessions", self.sessions.len()), ("sessions_overflowed", self.overflowed.len())];
        if self.are_sessions && !self.sessions.is_empty() {
            row.figures.extend(counts.map(|(name, count)| {
                let quantity = Metric::other(name);
                Figure::new(quantity, Statistic::Value, count as f64, Unit::Count)
            }));
        }
        collect::from_first_start(&mut row.requests);
        row
    }
}

fn request(wire: &Wire) -> SheetRequest {
    let metrics = &wire.metrics;
    let cancelled = (wire.metadata.was_cancelled == Some(true)).then(|| "cancelled".to_owned());
    // It has no error of its own, and no answer.
    let overflow = wire.metadata.is_overflow().then(|| "the context was full".to_owned());
    let error = wire.error.as_ref().map(Failure::text).or(cancelled).or(overflow);
    let start_s = wire.metadata.request_start_ns.0.map(|ns| ns / 1e9);
    let input_tokens = metrics.input_sequence_length.count().or(metrics.error_isl.count());
    if error.is_some() {
        return SheetRequest { start_s, input_tokens, error, ..SheetRequest::default() };
    }
    let gaps = metrics.inter_chunk_latency.value.as_array();
    let gaps = gaps.zip(metrics.inter_chunk_latency.factor()).map(|(gaps, factor)| {
        let lengths = gaps.iter().filter_map(|gap| json::number(Some(gap)));
        lengths.map(|gap| gap * factor).collect::<Vec<f64>>()
    });
    SheetRequest {
        start_s,
        client_queue_ms: None,
        ttft_ms: metrics.time_to_first_token.ms(),
        e2e_ms: metrics.request_latency.ms(),
        gaps: gaps.as_ref().and_then(|gaps| u32::try_from(gaps.len()).ok()),
        gaps_sum_ms: gaps.as_ref().map(|gaps| gaps.iter().sum()),
        gap_max_ms: gaps.and_then(|gaps| gaps.into_iter().reduce(f64::max)),
        input_tokens,
        output_tokens: metrics.output_sequence_length.count(),
        error: None,
        status: None,
    }
}

impl Failure {
    fn text(&self) -> String {
        let words = [&self.code.0, &self.r#type.0, &self.message.0];
        let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        match words.is_empty() {
            true => "failed".to_owned(),
            false => words.join(" "),
        }
    }
}
