//! Answers that are to have a form: what the user asks for, and whether an answer keeps to it.
//!
//! Not here: what a form is (`ifm_core::form`), which request gets which (`ifm-workload`), how an API
//! is told (`ifm-wire`).

mod asked;
mod checker;
mod grammar;
mod preset;
mod recognise;
mod speech;

pub use asked::{Asked, specs};
pub use checker::Checker;
pub use speech::speech;
