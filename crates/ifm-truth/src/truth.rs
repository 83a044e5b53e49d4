//! What a client must report for one case.
//!
//! The definitions are the project's own: times count from the moment when the server had the
//! whole request; an event's time is that of its last payload byte; an output token count that
//! the server never reported is not knowable; TPOT needs two tokens. What a client did report, and
//! how the two are compared, is not here: the caller of the suite does that.

use ifm_core::Outcome;
use serde::{Deserialize, Serialize};

ifm_core::vocabulary! {
    /// Which of the two OpenAI endpoints a case speaks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Api {
        /// `/v1/chat/completions`.
        Chat = "chat",
        /// `/v1/completions`.
        Completions = "completions",
    }
}

impl Api {
    /// The path below the base URL that a client posts to.
    pub fn path(self) -> &'static str {
        match self {
            Api::Chat => "/v1/chat/completions",
            Api::Completions => "/v1/completions",
        }
    }
}

/// What a client must report for one request of a case.
///
/// For an outcome that is not ok the latencies are absent: latencies are over complete answers
/// only, so a client may keep them or not and nothing is compared but the outcome, the status
/// and (where given) the number of token-bearing events that arrived before the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// How the request ended.
    pub outcome: Outcome,
    /// Milliseconds from request to the first token of any kind; absent without a token.
    pub ttft_ms: Option<f64>,
    /// Milliseconds to the first token that is not reasoning; absent without one.
    pub ttfat_ms: Option<f64>,
    /// Milliseconds to the last token-bearing event; absent without a token.
    pub last_token_ms: Option<f64>,
    /// Output tokens; absent when the server never reports them, so that only an estimate is possible.
    pub output_tokens: Option<u32>,
    /// `(last - first) / (tokens - 1)` in milliseconds, per sequence; absent below two tokens or
    /// when the number of tokens is not knowable.
    pub tpot_ms: Option<f64>,
    /// `(last - first) / (tokens - tokens of the first event)`; only where per-chunk usage gives
    /// the size of the first event.
    pub tpot_after_first_event_ms: Option<f64>,
    /// Number of token-bearing events; absent where it is not compared.
    pub token_events: Option<u32>,
    /// Number of choices (sequences) in the answer; absent where it is not compared.
    pub choices: Option<u16>,
    /// HTTP status; absent when no head arrives.
    pub http_status: Option<u16>,
    /// Seconds of the `Retry-After` header, if one is sent.
    pub retry_after_s: Option<u32>,
    /// Whether the answer is a stream of events rather than one document.
    pub streamed: bool,
}

impl Truth {
    /// A complete answer of one sequence: `events` token-bearing events holding `tokens` tokens,
    /// the first at `first_ms`, the last at `last_ms`, none of them reasoning.
    pub fn complete(first_ms: u64, last_ms: u64, events: u32, tokens: Option<u32>) -> Truth {
        let (first, last) = (first_ms as f64, last_ms as f64);
        Truth {
            ttft_ms: Some(first),
            ttfat_ms: Some(first),
            last_token_ms: Some(last),
            output_tokens: tokens,
            tpot_ms: tokens
                .filter(|count| *count > 1)
                .map(|count| (last - first) / f64::from(count - 1)),
            token_events: Some(events),
            choices: Some(1),
            ..Truth::ended(Outcome::Ok, Some(200))
        }
    }

    /// A request that ended with `outcome`; nothing is known but the status.
    pub fn ended(outcome: Outcome, http_status: Option<u16>) -> Truth {
        Truth {
            outcome,
            ttft_ms: None,
            ttfat_ms: None,
            last_token_ms: None,
            output_tokens: None,
            tpot_ms: None,
            tpot_after_first_event_ms: None,
            token_events: None,
            choices: None,
            http_status,
            retry_after_s: None,
            streamed: true,
        }
    }

    /// Whether times and counts are to be compared, not the outcome alone.
    pub fn has_latencies(&self) -> bool {
        self.outcome.is_ok()
    }
}
