//! A session of load: which levels follow the measured ones and when, what is sent next, and what
//! a search for the capacity answers.
//!
//! Not here: items (`ifm-workload`), the load itself (`ifm-drive`), numbers (`ifm-metrics`), running
//! a session and everything that is printed (`inferometer`).
#![forbid(unsafe_code)]

pub mod background_probe;
pub mod capacity_answer;
pub mod level_monitor;
pub mod level_planner;
pub mod media_token_estimate;
pub mod pacing;
pub mod remeasure;
pub mod source;
