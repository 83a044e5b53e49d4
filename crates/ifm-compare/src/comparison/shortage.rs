//! What keeps a value from carrying a verdict, and what it needs.
//!
//! Not here: which values these are, see [`evidence`](super::evidence).

use ifm_core::words::counted;
use std::fmt;

/// Why a value cannot carry a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shortage {
    /// Too few values.
    Values {
        /// How many there are.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
    /// Too few values for an interval of this percentile: what a limit is compared with, and each
    /// repeat needs.
    Bounds {
        /// The percentile, 0 to 100.
        p: f64,
        /// How many there are.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
    /// Requests that depend on those before them are, in effect, too few.
    Dependent {
        /// Requests in effect.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
    /// Two repeats: an interval of one degree of freedom says nothing.
    Repeats {
        /// How many there are.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
    /// A few long requests are most of the variance, so that it is hardly known.
    Tail {
        /// Requests in effect.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
    /// Other work disturbed repeats while they were measured.
    Disturbed {
        /// How many.
        n: u64,
        /// Of how many.
        of: u64,
    },
    /// Too few runs before this one.
    Runs {
        /// How many there are.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
}

impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shortage::Values { n, needed } => write!(formatter, "n = {n}, {needed} are needed"),
            Shortage::Bounds { p, n, needed } => {
                write!(formatter, "n = {n}, {needed} are needed for an interval of P{p}")
            }
            Shortage::Repeats { n, needed } => {
                write!(formatter, "{}, {needed} are needed", counted(*n, "repeat"))
            }
            Shortage::Runs { n, needed } => {
                write!(formatter, "{}, {needed} are needed", counted(*n, "run"))
            }
            Shortage::Dependent { n, needed } => {
                write!(formatter, "correlated requests count as {n}, {needed} are needed")
            }
            Shortage::Tail { n, needed } => write!(
                formatter,
                "a few long requests dominate: all count as {n}, {needed} are needed"
            ),
            Shortage::Disturbed { n, of } => {
                write!(formatter, "other work disturbed {n} of {}", counted(*of, "repeat"))
            }
        }
    }
}
