//! What the requests of one level measured: counts, latencies, lengths, rates over windows.
//!
//! The parts that a level is judged by and that its energy is taken over, each from the records
//! alone. What is not here: which requests a level is judged by, targets, and the level as a whole
//! ([`level`](crate::level)).

pub(crate) mod classes;
mod counts;
mod in_flight;
mod latency;
mod part;
mod probe;
pub(crate) mod sessions;
pub(crate) mod throughput;
mod tokens;
pub(crate) mod ttft_parts;
pub(crate) mod turns;
mod warming;

pub use classes::ClassSummary;
pub use counts::Counts;
pub use in_flight::Concurrency;
pub use latency::{GapLabel, Latencies};
pub use part::PartSummary;
pub use probe::ProbeSummary;
pub use sessions::{KnownPart, Session, SessionsSummary};
pub use throughput::{Window, WindowKind, WindowSummary};
pub use tokens::{CountDisagreement, CountSources, Provenance, TokenFacts};
pub use ttft_parts::{TtftParts, TtftSplit};
pub use turns::TurnSummary;
pub use warming::Warming;
