//! Structured answers: what the user requests, and whether an answer keeps to its form.
//!
//! Not here: what a form is (`ifm_core::form`), which request gets which (`ifm-workload`), and how an
//! API encodes it (`ifm-wire`).
#![forbid(unsafe_code)]

mod asked;
mod checker;
mod error;
mod grammar;
mod preset;
mod recognise;
mod speech;

pub use asked::{Asked, specs};
pub use checker::Checker;
pub use error::FormError;
pub use speech::speech;
