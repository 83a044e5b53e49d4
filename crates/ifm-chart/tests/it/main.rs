//! Charts of every kind, drawn in every way, and read again.

// Helper functions of the tests may fail as the tests do.
#![allow(clippy::unwrap_used)]

mod look;
mod page;
mod sample;
mod svg;
mod text;
