//! Engines and kernels measured by themselves: repeats, what disturbed each, and the document of the
//! results.
//!
//! Each engine and each provider of kernels is a process of its own that speaks a protocol
//! (`program`), or a server that gets requests (`server_engine`). Not here: the guard that ends
//! processes if this one dies (`ifm-launch`), flags, what is printed, and the signals of this process
//! (`inferometer`).
#![forbid(unsafe_code)]

pub mod disturbance;
pub mod engine;
pub mod interrupts;
pub mod kernel;
pub mod process_tree;
pub mod program;
pub mod server_engine;
