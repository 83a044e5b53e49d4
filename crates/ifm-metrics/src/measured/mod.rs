//! What the requests of one level measured: counts, latencies, lengths, rates over windows.
//!
//! The parts that a level is judged by and that its energy is taken over, each from the records
//! alone. Not here: which requests a level is judged by, targets, and the level as a whole
//! ([`level`](crate::level)).

pub(crate) mod classes;
mod counts;
pub(crate) mod forms;
mod in_flight;
mod latency;
pub mod media;
mod part;
mod probe;
mod scatter;
pub(crate) mod sessions;
mod sound;
pub(crate) mod throughput;
mod tokens;
pub(crate) mod ttft_parts;
pub(crate) mod turns;
pub(crate) mod upload;
mod warming;

pub use classes::ClassSummary;
pub use counts::Counts;
pub use forms::{FirstOfForm, FormSummary, FormsSummary, Judgements};
pub use in_flight::Concurrency;
pub use latency::{GapLabel, Latencies, MetricValues, TpotAbsences, USER_RATE_ESTIMATED};
pub(crate) use media::MediaTally;
pub use media::{KindTokens, MediaRates, MediaSummary, SeenMedia, TokenKind};
pub use part::PartSummary;
pub use probe::ProbeSummary;
pub use scatter::Scatter;
pub use sessions::{KnownPart, Session, SessionsSummary};
pub use sound::{HeardAudio, SpokenAudio};
pub use throughput::{Window, WindowKind, WindowSummary};
pub use tokens::{
    CountDisagreement, CountSources, HiddenReasoning, Provenance, TokenFacts, UnsentTokens,
};
pub use ttft_parts::{TtftParts, TtftSplit};
pub use turns::TurnSummary;
pub use upload::Upload;
pub use warming::Warming;
