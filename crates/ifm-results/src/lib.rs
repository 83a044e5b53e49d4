//! One model of results: whatever a run, an import, an engine, a kernel or a prediction says, opened
//! once and read by comparisons, rules and reports.
//!
//! Not here: how a number is computed from records (`ifm-metrics`), two sides (`ifm-compare`), what
//! the numbers mean (`ifm-rules`) and how they look (`ifm-report`).
#![forbid(unsafe_code)]

pub mod fact;
pub mod sentence;
pub mod survey;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
