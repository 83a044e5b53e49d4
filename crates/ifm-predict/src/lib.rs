//! What a deployment could reach, and what it will probably do: limits, simulated servers,
//! calibrations of their constants, and what-if questions.
//!
//! Not here: the arithmetic of a machine and a model (`ifm-roofline`), the simulation
//! (`ifm-sim`), flags and commands (`inferometer`).
#![forbid(unsafe_code)]

mod calibration;
mod content;
mod drive;
mod fitted;
mod grammars;
pub mod limit;
mod page;
mod range;
mod rows;
mod simulated;
pub mod what_if;

pub use calibration::{Calibration, CalibrationDocument, misses};
pub use fitted::{Fitted, MEASURE_IT, ending, fitted, text};
pub use page::page;
pub use rows::{MeasuredRow, of_run, rows};
pub use simulated::{Simulated, SimulatedDeployment};
