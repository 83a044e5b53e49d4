//! Engines and kernels measured without a server in between: repeats, what disturbed each, and the
//! document of the results.
//!
//! Each engine and each provider of kernels is a process of its own that speaks a protocol
//! (`program`). Not here: flags, what is printed, the signals of this process, and the guard that
//! ends processes if this one dies (`inferometer`); servers as engines, which the caller adds by
//! [`engine::ServerEngine`].
#![forbid(unsafe_code)]

pub mod disturbance;
pub mod engine;
pub mod interrupts;
pub mod kernel;
pub mod process_tree;
pub mod program;
