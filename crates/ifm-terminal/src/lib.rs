//! What every command says, and how it ends: the two streams, errors with a hint and an exit code,
//! and secrets that appear in neither.
//!
//! Not here: arguments and commands (`inferometer`), tables and pages (`ifm-report`), the live view
//! of a run (`ifm-live`).
#![forbid(unsafe_code)]

pub mod exit;
pub mod secrets;
pub mod streams;
