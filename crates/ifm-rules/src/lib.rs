//! What results mean: the findings of reports (`insight`) and the audit of anybody's results
//! (`audit`), one file for each rule.
//!
//! The checks of a run that needs its records are in `ifm-metrics` (`warning`). Not here: how a
//! finding is shown (`ifm-report`).
#![forbid(unsafe_code)]

pub mod audit;
pub mod insight;
