//! What a level is to do, and the seams to the caller: where requests come from, where records
//! go, how to stop.

use crate::tls::TlsTarget;
use ifm_core::record::{Phase, RequestRecord};
use ifm_core::{Reply, SentMedia, Validity};
use ifm_wire::{Expect, RequestBytes};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Where to connect.
#[derive(Debug, Clone)]
pub struct Target {
    /// Addresses of the server; slots take them in turn. Must not be empty.
    pub addresses: Vec<SocketAddr>,
    /// TLS, if the URL asks for it.
    pub tls: Option<TlsTarget>,
    /// Whether each request opens its own connection, inside its own time.
    pub fresh_connections: bool,
}

/// Time limits, nanoseconds; absent means none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// TCP and TLS handshake.
    pub connect_ns: Option<u64>,
    /// Start to first token-bearing event.
    pub first_token_ns: Option<u64>,
    /// Silence after the first token; before it too where `first_token_ns` is absent.
    pub idle_ns: Option<u64>,
    /// Whole request.
    pub total_ns: Option<u64>,
}

/// Who decides when a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// The answers: each slot sends its next request when its former one ended.
    Closed,
    /// The source, which gives every measured request a due time; a slot without one rests. A
    /// request that finds no free slot waits in order and is sent late. What was due and is still
    /// unsent when the level's duration ends is a record with the outcome `Dropped`.
    Open,
}

/// One load level.
#[derive(Debug, Clone)]
pub struct LevelPlan {
    /// Index of the level in the run, written into the records.
    pub level: u16,
    /// First `seq` of this level.
    pub first_seq: u32,
    /// The server.
    pub target: Target,
    /// What the answers are decoded as.
    pub expect: Expect,
    /// Who decides when a request is sent.
    pub arrivals: Loop,
    /// Maximum requests in flight; in a closed loop, always exactly that many.
    pub slots: u32,
    /// Requests sent and answered before the first measured one.
    pub warmup_requests: u32,
    /// Measured requests; absent when the duration alone ends the level.
    pub requests: Option<u32>,
    /// Nanoseconds from the first measured request during which new ones are sent.
    pub duration_ns: Option<u64>,
    /// Time limits of one request.
    pub limits: Limits,
    /// Origin of the run's time base on the monotonic clock, nanoseconds.
    pub origin_ns: u64,
    /// Whether the source follows conversations: then answers go back to it, and a slot that has
    /// nothing to send is not a fault of the client.
    pub follows_answers: bool,
    /// Whether the kernel is asked to stamp what arrives. Without it, or where this host does not support
    /// it, the delay of the stamps is measured during the load.
    pub kernel_stamps: bool,
    /// Number of shards; at least 1.
    pub shards: usize,
    /// Processors to which shards are tied, in turn; empty leaves them free.
    pub cpus: Vec<usize>,
    /// Whether shards run before all other threads, on processors that are kept awake, and what
    /// feeds and decodes right behind them: sends are exact to some microseconds, at the cost of a
    /// processor for each shard.
    pub precise: bool,
}

/// What the feeder knows about a request in addition to its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestMeta {
    /// Index of the work item.
    pub item: u32,
    /// In an open loop, when it is due, nanoseconds since the first measured request could go.
    pub due_ns: Option<u64>,
    /// The conversation that it is a turn of, and which turn; absent for a single request.
    pub turn: Option<TurnMeta>,
    /// Its class in mixed traffic, an index; absent where all requests are of one kind.
    pub class: Option<u16>,
    /// Prompt tokens that had been said before, by the workload's arithmetic, if it counted.
    pub known_tokens: Option<u32>,
    /// Prompt length by the workload's tokenizer, if it counted.
    pub prompt_tokens_asked: Option<u32>,
    /// Output length asked for.
    pub output_tokens_asked: Option<u32>,
    /// How many results the answer must hold, for an API that answers with a list of them.
    pub results_asked: Option<u32>,
    /// Media that it carries in addition to text; absent for a text-only request.
    pub media: Option<SentMedia>,
    /// The form that the answer is to have, an index; absent where it is free.
    pub form: Option<u16>,
}

/// The position of a request in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnMeta {
    /// The conversation, unique within a run.
    pub session: u32,
    /// The agent of the session that sends it: 0 the one that began it.
    pub agent: u16,
    /// Whether the session has agents in addition to that one.
    pub has_agents: bool,
    /// Which turn of that agent, from 0.
    pub turn: u16,
    /// How many turns that agent is to have.
    pub turns: u16,
    /// When the turn was due, nanoseconds on the monotonic clock; absent: as soon as a user is
    /// free.
    pub due_ns: Option<u64>,
}

/// What a source has to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// A whole request, written into the buffer.
    Request(RequestMeta),
    /// Nothing now: it waits for an answer, or for a pause to end.
    Later,
    /// Nothing any more.
    End,
}

/// A finished request, as a source that follows conversations sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The conversation.
    pub session: u32,
    /// The agent of the session.
    pub agent: u16,
    /// Which turn of that agent.
    pub turn: u16,
    /// When the request ended, nanoseconds on the monotonic clock.
    pub end_ns: u64,
    /// What a complete answer said; absent where the request failed.
    pub reply: Option<Reply>,
    /// Whether the server refused the prompt because it is longer than its context.
    pub is_overflow: bool,
    /// Value that a router expects in later requests of the session.
    pub session_token: Option<String>,
}

/// Makes requests, one after another, on a thread of its own.
pub trait RequestSource: Send {
    /// Writes the next whole request into `buffer` (which it clears first), if there is one now.
    /// Called about every 100 µs while it says [`Offer::Later`].
    ///
    /// # Errors
    /// Why no request can be made; this ends the level.
    fn next(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String>;

    /// Passes over the next request of an open loop without making its bytes; absent at the end.
    /// Called when there is no time left to send it, so that it can be counted.
    fn skip(&mut self) -> Option<RequestMeta> {
        None
    }

    /// Takes the answer to a turn of a conversation, in the order of their ends. Called only with
    /// requests whose [`RequestMeta`] has a turn.
    fn answered(&mut self, _answered: Answered) {}
}

/// What a source is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextAsk {
    /// The phase that the request will belong to.
    pub phase: Phase,
    /// Its position in the run's schedule.
    pub seq: u32,
    /// The time, nanoseconds on the monotonic clock.
    pub now_ns: u64,
    /// Whether every request that warms up has been answered.
    pub is_warm: bool,
}

/// Takes finished requests, on the decoder's thread.
pub trait Sink: Send {
    /// Takes one finished request, in order of completion.
    ///
    /// # Errors
    /// Why it cannot be kept; this ends the level.
    fn record(&mut self, record: RequestRecord) -> Result<(), String>;

    /// Called about every 50 ms, and at the end: hand what was taken to the system.
    ///
    /// # Errors
    /// As [`Sink::record`].
    fn tick(&mut self) -> Result<(), String>;

    /// Whether a complete answer, without what was thought, keeps to the form that was asked for.
    /// Asked for requests with a form, on the decoder's thread: it must not take long.
    fn validity(&mut self, _record: &RequestRecord, _answer: &str) -> Option<Validity> {
        None
    }

    /// Whether the level may end now, before its number of requests or its duration. Asked after
    /// each record and each tick; from the first yes on nothing new is sent, and what is in flight
    /// finishes, as at the end of the duration.
    fn has_enough(&self) -> bool {
        false
    }
}

/// How far a level is to be wound down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// Go on.
    Run = 0,
    /// Send nothing new, let what is in flight finish.
    Drain = 1,
    /// Cancel what is in flight.
    Cancel = 2,
}

/// A request to stop that any thread may raise; it never goes back.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// Raises the stop to at least this level.
    pub fn raise(&self, level: StopLevel) {
        self.0.fetch_max(level as u8, Ordering::Relaxed);
    }

    /// How far to wind down.
    pub fn level(&self) -> StopLevel {
        match self.0.load(Ordering::Relaxed) {
            0 => StopLevel::Run,
            1 => StopLevel::Drain,
            _ => StopLevel::Cancel,
        }
    }
}

/// Counters of the level in progress, for display.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests in flight.
    pub in_flight: AtomicU64,
    /// Measured requests finished, whatever the outcome.
    pub finished: AtomicU64,
    /// Of these, failed.
    pub failed: AtomicU64,
    /// Token-bearing events decoded, warm-up included.
    pub events: AtomicU64,
    /// When the first measured request of the level could go, nanoseconds on the monotonic clock;
    /// 0 before. Told some milliseconds late.
    pub measure_start_ns: AtomicU64,
    /// When sending ended, likewise.
    pub send_end_ns: AtomicU64,
}

/// The phase of the `position`-th request of a level.
pub(crate) fn phase_of(position: u32, warmup_requests: u32) -> Phase {
    if position < warmup_requests { Phase::Warmup } else { Phase::Measure }
}
