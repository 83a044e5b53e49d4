//! A against B: comparisons at a load, gates, runs over time, rankings, predictions against
//! measurements.
//!
//! One contrast gives every difference its interval and its verdict. Not here: the sides themselves
//! (`ifm-results`), and sentences about them (`ifm-rules`).
#![forbid(unsafe_code)]

pub mod comparison;
pub mod forecast;
pub mod gate;
pub mod history;
pub mod matrix;
pub mod starts;
