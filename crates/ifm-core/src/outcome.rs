//! How a request ended: a closed list, one word each.
//!
//! The words are part of the stored format and of the JSON output. A new way to end gets a new
//! word here and nowhere else.

use serde::{Deserialize, Serialize};

/// Which limit a request ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutKind {
    /// The TCP or TLS handshake took too long.
    Connect,
    /// No token arrived within the first-token limit.
    FirstToken,
    /// The stream went silent for longer than the idle limit.
    Idle,
    /// The whole request took longer than the total limit.
    Total,
}

/// How one request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// The answer is complete: a finish reason or the end-of-stream mark arrived.
    Ok,
    /// Complete, but ended by a content filter or a refusal.
    OkFiltered,
    /// The stream ended without a finish reason and without the end-of-stream mark.
    Truncated,
    /// An error object arrived under HTTP status 200, or the body could not be understood.
    InBandError,
    /// The status was not 2xx; the record holds the status (429 among them).
    HttpError,
    /// The connection could not be made, was reset, or did not speak HTTP.
    TransportError,
    /// A time limit was reached.
    Timeout(TimeoutKind),
    /// Cut off by us because the phase ended or the user stopped the run.
    Cancelled,
    /// Never sent, because a limit of inferometer was reached.
    Dropped,
}

impl Outcome {
    /// Every outcome, in the order in which tables list them.
    pub const ALL: [Outcome; 12] = [
        Outcome::Ok,
        Outcome::OkFiltered,
        Outcome::Truncated,
        Outcome::InBandError,
        Outcome::HttpError,
        Outcome::TransportError,
        Outcome::Timeout(TimeoutKind::Connect),
        Outcome::Timeout(TimeoutKind::FirstToken),
        Outcome::Timeout(TimeoutKind::Idle),
        Outcome::Timeout(TimeoutKind::Total),
        Outcome::Cancelled,
        Outcome::Dropped,
    ];

    /// The stored word.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::OkFiltered => "ok_filtered",
            Outcome::Truncated => "truncated",
            Outcome::InBandError => "in_band_error",
            Outcome::HttpError => "http_error",
            Outcome::TransportError => "transport_error",
            Outcome::Timeout(TimeoutKind::Connect) => "timeout_connect",
            Outcome::Timeout(TimeoutKind::FirstToken) => "timeout_first_token",
            Outcome::Timeout(TimeoutKind::Idle) => "timeout_idle",
            Outcome::Timeout(TimeoutKind::Total) => "timeout_total",
            Outcome::Cancelled => "cancelled",
            Outcome::Dropped => "dropped",
        }
    }

    /// The outcome of a stored word, or `None` for a word that is not on the list.
    pub fn from_word(word: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.word() == word)
    }

    /// Whether the answer is complete, so that its latencies count.
    pub fn is_ok(self) -> bool {
        matches!(self, Outcome::Ok | Outcome::OkFiltered)
    }

    /// Whether the request failed. A request that we cancelled or dropped did not fail; it was
    /// not measured to its end.
    pub fn is_failure(self) -> bool {
        !self.is_ok() && !matches!(self, Outcome::Cancelled | Outcome::Dropped)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.word())
    }
}

crate::vocabulary::stored_as_word!(Outcome, "outcome");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_unique_and_reads_back() {
        for (position, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(Outcome::from_word(outcome.word()), Some(outcome));
            let first = Outcome::ALL.iter().position(|other| other.word() == outcome.word());
            assert_eq!(first, Some(position));
        }
        assert_eq!(Outcome::from_word("success"), None);
    }

    #[test]
    fn what_we_cut_ourselves_is_neither_ok_nor_a_failure() {
        for outcome in [Outcome::Cancelled, Outcome::Dropped] {
            assert!(!outcome.is_ok() && !outcome.is_failure());
        }
    }
}
