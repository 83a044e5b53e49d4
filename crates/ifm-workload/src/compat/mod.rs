//! Random numbers as other tools draw them, bit for bit.
//!
//! Which conversations vLLM takes from a file, and which lengths it draws, follows
//! from Python's and numpy's generators. To ask for the same workload, the same
//! numbers are needed; for everything of our own there is `rng`.
//!
//! Not here: what the tools do with the numbers (`dataset`, [`lengths`]).

mod mt19937;
mod numpy;
mod numpy_legacy;
mod python;

pub mod lengths;

pub use numpy::NumpyGenerator;
pub use numpy_legacy::NumpyLegacy;
pub use python::PythonRandom;
