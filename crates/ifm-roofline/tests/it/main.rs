//! The physical limit from outside: bounds, configurations of models, and the tables.

// Helper functions of the tests may fail as the tests do.
#![allow(clippy::unwrap_used)]

mod bounds;
mod config;
mod tables;
