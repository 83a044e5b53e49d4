//! Tests of the store through its public interface.

// Test helpers may panic like the tests themselves.
#![allow(clippy::unwrap_used)]

mod damage;
mod fixtures;
mod folders;
mod follow;
mod fuzzed;
mod golden;
mod killed;
mod labels;
mod round_trip;
mod seeds;
mod sheet_file;
mod single_file;
