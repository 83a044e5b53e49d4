//! Statistics: percentiles, mean, spread, intervals of one population; tests of two;
//! repeats, drift, steps and fit.
//!
//! Pure functions of values, and of a seed where values are drawn again. Not here: what
//! the populations are. Every function takes values and gives values back.

pub mod blocks;
pub mod bootstrap;
pub mod center;
pub mod course;
pub mod cumulative;
pub mod distribution;
pub mod early_stopping;
pub mod effective;
pub mod interval;
pub mod multiple;
pub mod outlier;
pub mod population;
pub mod power;
pub mod proportion;
pub mod quantile;
pub mod random;
pub mod rank_correlation;
pub mod special;
pub mod transient;
pub mod trend;
pub mod welch;

pub use center::{Scale, center, center_interval};
pub use cumulative::Cumulative;
pub use distribution::{Distribution, Percentile};
pub use interval::Interval;
pub use population::Population;
pub use quantile::percentile_of_sorted;
pub use welch::Estimate;
