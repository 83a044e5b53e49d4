//! A quantity sampled over time.

use serde::{Deserialize, Serialize};

/// One sampled quantity. The two columns have the same length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What was sampled, unit last: `client_cpu_share`, `requests_in_flight`.
    pub name: String,
    /// Unit in words: `share`, `requests`, `bytes`.
    pub unit: String,
    /// Who measured it: `client`, `server /metrics`.
    pub source: String,
    /// Nanoseconds since the run's origin.
    pub at_ns: Vec<u64>,
    /// Values.
    pub value: Vec<f64>,
}
