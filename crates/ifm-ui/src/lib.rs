//! A local web page over the run store: the list of runs and imports, a run's report and audit,
//! comparisons, a run while it goes on, and files of other tools dropped in.
//!
//! The page is for the user of this machine alone. It listens on a loopback address, and answers
//! only whoever brings the session that the printed address gives. It reads the store; what it
//! writes are names and tags, imports, and folders moved out of sight. No path comes from a
//! request: runs are looked up by id among those that are listed.
//!
//! Pages are made here, on the server, and work without a script; htmx (vendored) replaces parts
//! of them, and a small script of ours takes dropped files. Not here: numbers (`ifm-metrics`),
//! their words and the report itself (`ifm-report`).
#![forbid(unsafe_code)]

mod app;
mod assets;
mod catalogue;
mod digest;
mod download;
mod failure;
mod form;
mod guard;
mod importing;
mod live;
mod page;
mod report;
mod router;
mod server;
mod time;

pub use ifm_listen::{Limits, Shutdown};
pub use server::{Ui, UiError, UiOptions};
