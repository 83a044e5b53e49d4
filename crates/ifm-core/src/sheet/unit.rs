//! The unit in which a figure was written.

use serde::{Deserialize, Serialize};

/// A unit as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Minutes.
    Min,
    /// Hours.
    H,
    /// Something per second: tokens, requests.
    PerS,
    /// Something per minute.
    PerMin,
    /// Something per hour.
    PerH,
    /// A number of things.
    Count,
    /// A share between 0 and 1, a ratio.
    One,
    /// Hundredths.
    Percent,
    /// Watts.
    W,
    /// Joules.
    J,
    /// Bytes.
    Bytes,
    /// 2^20 bytes.
    MiB,
    /// 2^30 bytes.
    GiB,
    /// 10^9 bytes.
    Gb,
    /// 10^9 bytes per second.
    GbPerS,
    /// 10^12 floating-point operations per second.
    TflopPerS,
    /// 10^6 things, as in millions of parameters.
    Million,
    /// 10^9 things, as in billions of parameters.
    Billion,
    /// US dollars.
    Usd,
    /// Another, as written; such figures have no canonical value.
    Other(String),
}

impl Unit {
    /// What one of it is in the canonical unit of its kind: ms for times, per second for rates,
    /// bytes for sizes, shares for percentages. Absent for a unit that is not known.
    pub fn factor(&self) -> Option<f64> {
        Some(match self {
            Unit::Ns => 1e-6,
            Unit::Us => 1e-3,
            Unit::Ms => 1.0,
            Unit::S => 1e3,
            Unit::Min => 60e3,
            Unit::H => 3600e3,
            Unit::PerS | Unit::Count | Unit::One => 1.0,
            Unit::PerMin => 1.0 / 60.0,
            Unit::PerH => 1.0 / 3600.0,
            Unit::Percent => 0.01,
            Unit::W | Unit::J | Unit::Bytes | Unit::Usd => 1.0,
            Unit::MiB => 1_048_576.0,
            Unit::GiB => 1_073_741_824.0,
            Unit::Million => 1e6,
            Unit::Gb | Unit::GbPerS | Unit::Billion => 1e9,
            Unit::TflopPerS => 1e12,
            Unit::Other(_) => return None,
        })
    }
}
