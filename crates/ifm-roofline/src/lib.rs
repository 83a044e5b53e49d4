#![forbid(unsafe_code)]
//! What a machine and a model can do at most.
//!
//! Two tables, [`Machine`] and [`Model`], and arithmetic: bytes over peak bandwidth, operations over
//! peak rate. No constant here was fitted to a measurement, so that a bound is a bound: what was
//! measured below the strict one has a wrong input.
//!
//! ```
//! use ifm_roofline::{Machine, Model, Precision, Setup};
//!
//! # fn main() -> Result<(), ifm_roofline::RooflineError> {
//! let setup = Setup::new(
//!     Machine::find("L40S")?,
//!     Model::find("Llama-3.1-8B-Instruct")?,
//!     Precision::find("bf16")?,
//!     1,
//! )?;
//! let step = setup.decode(1.0, 1314.0);
//! assert!((step.strict.seconds * 1e3 - 17.57).abs() < 0.01);
//! assert_eq!(step.strict.binds.label(), "memory bandwidth");
//! # Ok(())
//! # }
//! ```
//!
//! Not here: forecasts, fitted efficiencies, and simulated servers.

mod bound;
mod config;
mod count;
mod error;
mod format;
mod machine;
mod model;
mod models;
mod operator;
mod question;
mod setup;
mod weights;
mod words;
mod work;

pub use bound::{Binding, Bound, Limit, Question, Share, Verdict};
pub use config::architectures;
pub use error::RooflineError;
pub use format::{Arithmetic, KvFormat, Precision, WeightFormat, Wider, WiderLayers};
pub use machine::{Confidence, Machine};
pub use model::{Attention, Block, FeedForward, Model};
pub use operator::Operator;
pub use question::Capacity;
pub use setup::Setup;
pub use work::{AttentionWork, ExpertWork, Work};
