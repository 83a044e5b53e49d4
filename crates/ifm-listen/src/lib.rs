#![forbid(unsafe_code)]
//! Accepts HTTP connections within bounds, for every server of this program.
//!
//! A client that sends half a request and waits, sends a body byte by byte, or opens connections without end must not
//! keep other clients from their answers or fill the memory. [`Limits`] bounds all of that, and [`serve`] enforces it
//! around any router.
//!
//! Not here: paths, answers and who may ask (`ifm-serve`, `ifm-ui`).

mod activity;
mod at_once;
mod body;
mod limits;
mod patient;
mod serve;
mod shutdown;

pub use limits::{Limits, Refusal};
pub use serve::{Service, serve};
pub use shutdown::Shutdown;
