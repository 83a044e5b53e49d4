//! What a session of load sends next, and what it sent in all.
//!
//! `source` turns work items into requests, `media_token_estimate` knows the tokens of media that a
//! server does not report. Not here: items (`ifm-workload`), the load itself (`ifm-drive`), the
//! course of a session and everything that is printed (`inferometer`).
#![forbid(unsafe_code)]

pub mod media_token_estimate;
pub mod source;
