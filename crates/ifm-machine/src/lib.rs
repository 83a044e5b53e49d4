//! The machine of a measurement: its facts, what on it distorts measurements, what it reaches by
//! stored results of kernels, and the telemetry that is recorded while something runs on it.
//!
//! Not here: how counters, GPUs and processors are read (`ifm-telemetry`), flags and commands
//! (`inferometer`).
#![forbid(unsafe_code)]

pub mod doctor;
pub mod facts;
pub mod measured_machine;
pub mod telemetry;
