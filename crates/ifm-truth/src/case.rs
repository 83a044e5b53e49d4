//! One case: bytes on the wire at given times, and what they mean.
//!
//! A case is complete: raw bytes of the HTTP response, head included, so that there is nothing
//! between the suite and the socket. How cases are written down is in `script`; who plays
//! them is in `scripted`.

use crate::truth::{Api, Truth};
use serde::Deserialize;

ifm_core::vocabulary! {
    /// What a case is about. Tables group by it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Class {
        /// The usual stream and its usual variants in time.
        Plain = "plain",
        /// The grammar of the event stream.
        Grammar = "grammar",
        /// HTTP/1.1 message framing.
        Framing = "framing",
        /// What kinds of output count as tokens.
        Kinds = "kinds",
        /// Who counts tokens and where the count is.
        Counts = "counts",
        /// JSON texts that mean the same or look like something else.
        Text = "text",
        /// Requests that do not end well.
        Failures = "failures",
    }
}

/// What the server does at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Hands these bytes to the kernel.
    Send(Vec<u8>),
    /// Closes the connection after everything sent before has gone out.
    Close,
    /// Resets the connection (RST).
    Reset,
}

/// One moment of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Milliseconds after the server had the whole request.
    pub at_ms: u64,
    /// What happens then.
    pub action: Action,
}

/// Client limits a case needs to be over in bounded time. Absent: the client's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Longest wait for the first token, milliseconds.
    pub first_token_ms: Option<u64>,
    /// Longest silence within the stream, milliseconds.
    pub idle_ms: Option<u64>,
    /// Longest whole request, milliseconds.
    pub total_ms: Option<u64>,
}

/// A stream with a known answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Unique name, also its path segment in the server's URLs.
    pub name: &'static str,
    /// What it is about.
    pub class: Class,
    /// What the stream does, in a sentence.
    pub what: &'static str,
    /// Why the truth is what it is, in a sentence.
    pub why: &'static str,
    /// Endpoint that must be asked.
    pub api: Api,
    /// Limits the client has to run with.
    pub limits: Limits,
    /// Number of requests to send one after the other over what the client takes for one
    /// connection; the truth holds for each of them.
    pub requests: u32,
    /// What the server does, in order of time. After the last step the connection stays open,
    /// silent, until the client closes it or sends its next request.
    pub steps: Vec<Step>,
    /// What the client must report.
    pub truth: Truth,
}

impl Case {
    /// Milliseconds of the last step; 0 for a case without any.
    pub fn last_step_ms(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.at_ms)
    }
}
