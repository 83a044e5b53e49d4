//! Programs that inferometer starts and ends: servers, measured commands and itself; and the guard
//! that ends them and restores settings if this process dies.
//!
//! Not here: what is measured of a server (`ifm-session`, `ifm-bench`), the order of a plan, flags
//! and what is printed at the end (`inferometer`).
#![forbid(unsafe_code)]

pub mod guard;
pub mod measured_command;
pub mod own_program;
pub mod server;
