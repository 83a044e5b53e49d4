//! Statistics of one population: percentiles, mean, spread, intervals.
//!
//! What is not here: what the populations are. Every function takes values and gives values back.

pub mod distribution;
mod interval;
pub mod population;
pub mod quantile;

pub use distribution::{Distribution, Interval, Percentile};
pub use population::Population;
pub use quantile::percentile_of_sorted;
