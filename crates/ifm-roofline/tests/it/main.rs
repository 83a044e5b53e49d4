//! The physical limit from outside: bounds, configurations of models, and the tables.

// Helpers beside the tests may fail as the tests do.
#![allow(clippy::unwrap_used)]

mod bounds;
mod config;
mod tables;
