#![forbid(unsafe_code)]
//! What a deployment will probably do: the time of a step, and a server in virtual time.
//!
//! [`StepModel`] says how long one step of an engine takes: the bounds of `ifm-roofline`, less what
//! [`Constants`] lose. [`Simulation`] puts requests into steps as a server does: continuous
//! batching, prompts in pieces, blocks of keys and values, a prefix cache, drafts, replicas.
//! [`steady`] gives the average output in closed form, [`predict`] by the simulation under one
//! load, and [`fit()`] finds the constants of a deployment from what was measured of it.
//!
//! # Not here
//! Clocks, files, requests and records of runs: the caller of a simulation has those.

mod constants;
mod deployment;
mod fit;
mod grammars;
mod kv;
pub mod power;
mod predict;
mod replica;
mod simulation;
mod stats;
pub mod steady;
mod step;

pub use constants::{CONSTANTS, ConstantName, Constants, Kind};
pub use deployment::{
    Deployment, DeploymentError, Disaggregation, Policy, REPLICAS_MAX, Router, Settings,
    Speculation,
};
pub use fit::{
    Compared, Doubt, Estimate, Fit, FitError, HeldOut, MISS, Pair, Row, Spread, Suspect, estimate,
    fit, free_by_default, held_out,
};
pub use grammars::Grammars;
pub use kv::BLOCK_TOKENS;
pub use predict::{Load, Observation, PredictError, Predicted, Span, Statistic, predict};
pub use replica::Emitted;
pub use simulation::{Ask, Finished, Gauges, Simulation, TooLong};
pub use stats::Stats;
pub use step::{StepLoad, StepModel, StepTime};
