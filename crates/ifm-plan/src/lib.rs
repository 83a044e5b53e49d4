//! An experiment as data: servers, workloads, loads and conditions become cells in an order, and a
//! journal says which of them are done.
//!
//! Everything here is a pure function of the plan's text and of the journal's lines, so that `plan
//! check` and `plan run` cannot disagree. Not here: processes, sockets, clocks and files, which
//! belong to the binary; what a cell measures is an ordinary run of it.
#![forbid(unsafe_code)]

mod cell;
mod command;
#[cfg(test)]
mod damage_tests;
mod effect;
mod estimate;
mod filter;
#[cfg(test)]
mod fuzzed;
mod journal;
mod kubernetes;
mod matrix;
mod order;
mod slurm;
mod spec;
mod template;

pub use cell::{Cell, CellLoad};
pub use command::{Words, start_words, words};
pub use effect::{Deed, Effect, effects};
pub use estimate::{Estimate, estimate};
pub use journal::{Event, Fate, Journal, Line};
pub use kubernetes::manifests;
pub use matrix::{Group, cells, groups};
pub use slurm::{Submission, script};
pub use spec::{
    Condition, Head, Kubernetes, Load, Order, Plan, PlanError, Server, Setter, Slurm, Workload,
};
pub use template::{TEMPLATES, Template};
