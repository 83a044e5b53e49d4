//! A bound: how short a time can be, what limits it, and how a measured time compares.
//!
//! Three levels, each at least as long as the previous one:
//! - **strict**: all bytes at peak bandwidth, all operations at peak rate, both at the same time. A
//!   measured time below it proves that an input is wrong.
//! - **balanced**: the same where a mixture of experts is used evenly: with more than one token a
//!   step more than `active` experts are read. Equal to strict for dense models.
//! - **serial**: part after part, each at its own peak. A time below it is unlikely, since engines
//!   overlap little.
//!
//! Not here: forecasts. A bound knows no overhead.

use crate::operator::Operator;
use serde::Serialize;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Question {
    /// One step that gives each of `batch` sequences a token, or as many of them as memory holds.
    Decode {
        /// Sequences.
        batch: f64,
        /// Tokens that each attends to, including its own.
        context: f64,
    },
    /// One step that reads whole prompts and gives each its first token.
    Prefill {
        /// Prompts.
        prompts: f64,
        /// Tokens of each.
        tokens: f64,
    },
    /// Users who send their next request when the previous one is answered: the mean time of a request.
    ClosedLoop {
        /// Users.
        users: f64,
        /// Prompt tokens of a request.
        input: f64,
        /// Output tokens of a request.
        output: f64,
    },
    /// Requests that start together: the time until all are answered.
    StaticBatch {
        /// Requests.
        batch: f64,
        /// Prompt tokens of each.
        input: f64,
        /// Output tokens of each.
        output: f64,
    },
}

/// What limits the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// Bytes from memory.
    MemoryBandwidth,
    /// Operations.
    Compute,
    /// Bytes between GPUs.
    Interconnect,
    /// Memory for keys and values: not all users can be served at once.
    KvCapacity,
}

impl Binding {
    /// In words.
    pub fn label(self) -> &'static str {
        match self {
            Binding::MemoryBandwidth => "memory bandwidth",
            Binding::Compute => "compute",
            Binding::Interconnect => "interconnect",
            Binding::KvCapacity => "KV capacity",
        }
    }
}

/// A shortest time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// Seconds.
    pub seconds: f64,
    /// What it comes from.
    pub binds: Binding,
}

/// The shortest times for one question, with the terms that they are made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    /// What was asked.
    pub question: Question,
    /// Certain.
    pub strict: Limit,
    /// With experts used evenly.
    pub balanced: Limit,
    /// Part after part.
    pub serial: Limit,
    /// The parts, those that have work to do.
    pub operators: Vec<Operator>,
    /// Tokens that the time yields: prompt tokens of a prefill, else output tokens.
    pub tokens: f64,
    /// Share of the bytes of a step that could stay in the last-level cache. Below the strict bound
    /// by no more than this is not proof.
    pub cache_share: f64,
}

/// Where a measured time lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Below the strict bound: an input is wrong, for certain.
    BelowStrict,
    /// Below the balanced bound: an input is wrong, or experts are used very unevenly.
    BelowBalanced,
    /// Below the serial bound only: suspicious.
    BelowSerial,
    /// Possible.
    Possible,
}

impl Verdict {
    /// In words.
    pub fn label(self) -> &'static str {
        match self {
            Verdict::BelowStrict => "impossible: faster than the strict limit",
            Verdict::BelowBalanced => "not with experts used evenly",
            Verdict::BelowSerial => "suspicious: below the serial limit",
            Verdict::Possible => "possible",
        }
    }
}

/// A measured time relative to the bound. Shares are limit over measured: 1 is the limit itself, and
/// more is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// The measured time, seconds.
    pub measured_s: f64,
    /// Of the strict bound.
    pub of_strict: f64,
    /// Of the balanced bound.
    pub of_balanced: f64,
    /// Of the serial bound: the share of the speed of light.
    pub of_serial: f64,
    /// Memory bandwidth that was used, of the peak (MBU).
    pub bandwidth: f64,
    /// Arithmetic that was used, of the peak (MFU).
    pub arithmetic: f64,
    /// What follows.
    pub verdict: Verdict,
}

impl Bound {
    /// Adds up parts. `certain` gives the strict and the balanced bound, `parts` the serial one.
    pub(crate) fn of(
        question: Question,
        tokens: f64,
        certain: &[Operator],
        parts: Vec<Operator>,
    ) -> Bound {
        let sum = |value: fn(&Operator) -> f64| certain.iter().map(value).sum::<f64>();
        let (compute, link) = (sum(|part| part.compute_s), sum(|part| part.link_floor_s));
        let strict = longest(sum(|part| part.memory_floor_s), compute, link);
        let balanced = longest(sum(|part| part.memory_s), compute, link);
        let serial = serial(&parts);
        let operators =
            parts.into_iter().filter(|part| part.serial_s > 0.0).collect::<Vec<Operator>>();
        Bound { question, strict, balanced, serial, operators, tokens, cache_share: 0.0 }
    }

    /// Tokens a second at this limit.
    pub fn tokens_per_s(&self, limit: Limit) -> f64 {
        self.tokens / limit.seconds
    }

    /// Bytes that one GPU reads, experts used evenly.
    pub fn bytes(&self) -> f64 {
        self.operators.iter().map(|part| part.bytes).sum()
    }

    /// Operations of one GPU.
    pub fn flops(&self) -> f64 {
        self.operators.iter().map(|part| part.flops).sum()
    }

    /// A measured time in seconds relative to the bound; `None` for a time that is not a positive number.
    pub fn share(&self, measured_s: f64) -> Option<Share> {
        if !(measured_s.is_finite() && measured_s > 0.0) {
            return None;
        }
        let total = |value: fn(&Operator) -> f64| self.operators.iter().map(value).sum::<f64>();
        let certain = match self.strict.binds {
            Binding::MemoryBandwidth | Binding::KvCapacity => 1.0 - self.cache_share,
            Binding::Compute | Binding::Interconnect => 1.0,
        };
        let verdict = if measured_s < self.strict.seconds * certain {
            Verdict::BelowStrict
        } else if measured_s < self.balanced.seconds * certain {
            Verdict::BelowBalanced
        } else if measured_s < self.serial.seconds {
            Verdict::BelowSerial
        } else {
            Verdict::Possible
        };
        Some(Share {
            measured_s,
            of_strict: self.strict.seconds / measured_s,
            of_balanced: self.balanced.seconds / measured_s,
            of_serial: self.serial.seconds / measured_s,
            bandwidth: total(|part| part.memory_s) / measured_s,
            arithmetic: total(|part| part.compute_s) / measured_s,
            verdict,
        })
    }

    /// A measured rate of the bound's tokens relative to the bound; `None` for a rate that is not a
    /// positive number.
    pub fn share_of_rate(&self, tokens_per_s: f64) -> Option<Share> {
        self.share(self.tokens / tokens_per_s)
    }
}

fn longest(memory: f64, compute: f64, link: f64) -> Limit {
    let candidates = [
        Limit { seconds: compute, binds: Binding::Compute },
        Limit { seconds: link, binds: Binding::Interconnect },
    ];
    let memory = Limit { seconds: memory, binds: Binding::MemoryBandwidth };
    candidates.into_iter().fold(memory, |longest, limit| {
        if limit.seconds > longest.seconds { limit } else { longest }
    })
}

/// Seconds of parts one after another, and what most of them wait for.
fn serial(parts: &[Operator]) -> Limit {
    let mut waits = (0.0, 0.0, 0.0);
    for part in parts {
        match longest(part.memory_s, part.compute_s, part.link_s).binds {
            Binding::Compute => waits.1 += part.serial_s,
            Binding::Interconnect => waits.2 += part.serial_s,
            Binding::MemoryBandwidth | Binding::KvCapacity => waits.0 += part.serial_s,
        }
    }
    Limit { seconds: waits.0 + waits.1 + waits.2, ..longest(waits.0, waits.1, waits.2) }
}
