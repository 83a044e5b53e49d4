//! Tests of the store through its public interface.

// Helpers beside the tests may fail as the tests do.
#![allow(clippy::unwrap_used)]

mod damage;
mod fixtures;
mod folders;
mod follow;
mod golden;
mod killed;
mod labels;
mod round_trip;
mod sheet_file;
mod single_file;
