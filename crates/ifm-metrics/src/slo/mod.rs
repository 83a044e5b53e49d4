//! Latency targets: how they are written, and whether a level is inside.
//!
//! A target is a list of terms such as `itl:p99<50ms` or `speed:p10>20`. A speed is a bound on the
//! time per output token, read from the other end: P10 of the speed is at least 20 tok/s exactly
//! where P90 of the TPOT is at most 50 ms, and so it is kept and judged. So too for shares that are to be
//! large, of sessions and of their cached prompts: what is bounded is the rest. A level passes if each term holds for the
//! percentile over its complete answers, and if at most 1 % of its requests failed. What is not
//! here: goodput, which asks the terms of single requests, and answers over several levels.

mod error;
mod evidence;
mod judge;
mod parse;
mod preset;
#[cfg(test)]
mod tests;

pub use error::{SloError, metrics};
pub use evidence::{Evidence, failed_sessions, mean};
pub use judge::{Bounded, Known, judge};
pub use judge::{ERROR_RATE_MAX, TermVerdict, Verdict, VerdictState};
pub use parse::SPEED;
pub use parse::{parse, parse_goodput, words};
pub use preset::{PRESETS, Preset, default_of, preset};
