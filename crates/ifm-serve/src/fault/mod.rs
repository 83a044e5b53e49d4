//! Faults on demand: what a server in the field does to its clients, on purpose and in
//! shares that are known, so that a client can be seen to count it.
//!
//! Which requests meet with what follows from a seed and from the number of the request,
//! in the order of arrival: a run that is repeated meets with the same.
//!
//! Not here: the socket that is reset (`socket`), steps that become slower (`simulated`).

mod body;
mod fate;
mod parse;

use std::time::Duration;

pub(crate) use body::FaultBody;
pub(crate) use fate::{Cut, Fate};
pub use parse::{FaultError, KNOWN};

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// A share of requests is refused with a status.
    Refuse {
        /// 429, 500 or 503.
        status: u16,
        /// Of all requests, 0 to 1.
        share: f64,
    },
    /// A share of answers breaks off.
    Cut {
        /// How.
        how: HowCut,
        /// Of all requests, 0 to 1.
        share: f64,
    },
    /// A share of answers pauses once.
    Stall {
        /// Of all requests, 0 to 1.
        share: f64,
        /// How long.
        pause: Duration,
    },
    /// A share of requests is handed in late, so that its first token comes late.
    SlowFirst {
        /// Of all requests, 0 to 1.
        share: f64,
        /// How long.
        delay: Duration,
    },
    /// The first request is handed in late, as if something were compiled for it.
    Cold {
        /// How long.
        delay: Duration,
    },
    /// Steps take longer from some time on, as on a processor that became too hot. Needs a
    /// simulated server.
    Throttle {
        /// After the server's start.
        after: Duration,
        /// What a step's time is multiplied by, at least 1.
        factor: f64,
    },
    /// Events go out so many at once.
    Coalesce {
        /// At least 1.
        events: usize,
    },
    /// An event has so many tokens.
    MultiToken {
        /// At least 1.
        tokens: usize,
    },
    /// A share of the answers that are to have a form does not have it.
    InvalidForm {
        /// Of these requests, 0 to 1.
        share: f64,
    },
    /// No answer tells its usage.
    NoUsage,
}

/// How an answer breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowCut {
    /// The connection is reset.
    Reset,
    /// The stream has an event with an error, and ends.
    Error,
    /// The stream ends as if it were complete, without its last events and its end mark.
    Truncate,
}

/// The faults of a server, and the seed that says whom they strike.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    list: Vec<Fault>,
    /// As they were written.
    text: String,
    seed: u64,
}

impl Faults {
    /// Reads a list such as `429:0.05,stall:0.01:2s,no-usage`; an empty one has none.
    ///
    /// # Errors
    /// [`FaultError`].
    pub fn parse(text: &str, seed: u64) -> Result<Self, FaultError> {
        Ok(Self { list: parse::read(text)?, text: text.trim().to_owned(), seed })
    }

    /// The faults, in the order in which they were written.
    pub fn list(&self) -> &[Fault] {
        &self.list
    }

    /// As they were written; none without any.
    pub(crate) fn text(&self) -> Option<&str> {
        (!self.list.is_empty()).then_some(self.text.as_str())
    }

    /// When steps become slower, and by what factor.
    pub(crate) fn throttle(&self) -> Option<(Duration, f64)> {
        self.list.iter().find_map(|fault| match *fault {
            Fault::Throttle { after, factor } => Some((after, factor)),
            _ => None,
        })
    }

    /// What request number `number`, counted from 0, meets with.
    pub(crate) fn fate(&self, number: u64) -> Fate {
        Fate::of(&self.list, self.seed, number)
    }
}
