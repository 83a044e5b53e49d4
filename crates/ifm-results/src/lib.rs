//! One model of results: whatever a run, an import, an engine, a kernel or a prediction says, opened
//! once as [`Results`] and read by comparisons, rules and reports.
//!
//! [`Results`] are [`Point`]s of [`Source`]s, and a point has [`Stat`]s. Not here: how a number is
//! computed from records (`ifm-metrics`), two sides (`ifm-compare`), what the numbers mean
//! (`ifm-rules`) and how they look (`ifm-report`).
#![forbid(unsafe_code)]

mod cold;
mod curve;
pub mod fact;
mod fitting;
mod from_requests;
mod from_run;
mod from_sheet;
mod held;
mod identity;
mod kernel;
mod point;
mod pool;
mod power;
mod price;
pub mod request_times;
mod results;
pub mod sentence;
mod side;
mod source;
mod stat;
mod stated;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use cold::Cold;
pub use curve::{Curve, CurvePoint, factor_words, loop_words, name_of};
pub use fitting::{Fitting, MEDIA_RATES, Miss, Resumed, fitting_of_points, metrics_of};
pub use held::HELD_MIN;
pub use identity::{are_repeats, setup_differences};
pub use kernel::{CeilingTime, KernelMask, KernelTime};
pub use point::{Point, Searched};
pub use pool::{CONFIDENCE, Pool, Pooled, REPEATS_MIN};
pub use power::{PowerPoint, PowerSeries};
pub use price::Yield;
pub use results::Results;
pub use side::{Given, distinct_words};
pub use source::Source;
pub use stat::Stat;
