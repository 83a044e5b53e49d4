//! The load generator: sends requests on time, stamps every read, decodes off the hot path.
//!
//! ```text
//! feeder ──requests──► shard 0..n ──segments of raw bytes and stamps──► decoder ──records──► sink
//! ```
//!
//! A shard is one thread with its own epoll instance and its own connections. It stamps reads
//! and follows the framing, nothing more: meaning is found by the decoder thread, which is nicer
//! to the scheduler. Queues between the threads are bounded; none of them is waited on with a
//! lock. This crate knows no metric, no file format and no workload.
#![forbid(unsafe_code)]

mod decoder;
mod feed;
pub mod level;
mod mark;
pub mod modalities;
mod plan;
mod shard;
mod shared;
mod slot;
pub mod tls;
mod transport;
mod upload;
mod waiting;

pub use ifm_core::Histogram;
pub use level::{DriveError, Evidence, LevelResult, drive_level};
pub use mark::LateStamps;
pub use plan::{
    Answered, LevelPlan, Limits, Loop, NextAsk, Offer, Progress, RequestMeta, RequestSource, Sink,
    Stop, StopLevel, Target, TurnMeta,
};
pub use tls::{TlsError, TlsTarget};
