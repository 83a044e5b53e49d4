//! One number of a point.

use ifm_core::Metric;
use ifm_core::sheet::{Definition, Place, Statistic};

/// One number, in the canonical unit of its metric: ms, per second, bytes, shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Stat {
    /// What it measures.
    pub metric: Metric,
    /// Which number of the population.
    pub statistic: Statistic,
    /// The number.
    pub value: f64,
    /// Lower bound with 95 % confidence; absent if unknown.
    pub low: Option<f64>,
    /// Upper bound with 95 % confidence.
    pub high: Option<f64>,
    /// Size of the population; absent if not stated.
    pub n: Option<u64>,
    /// Whether the population is large enough for the statistic; true where its size is unknown.
    pub is_enough: bool,
    /// Whether the number proves nothing without an interval, as a number of a document does: its
    /// requests may depend on each other, and their law is unknown.
    pub needs_interval: bool,
    /// The characters that stood in the document.
    pub printed: Option<String>,
    /// What the tool means by it.
    pub definition: Definition,
    /// Its position, if it differs from that of the point.
    pub place: Option<Place>,
}

impl Stat {
    /// A number without an interval.
    pub fn new(metric: Metric, statistic: Statistic, value: f64) -> Stat {
        Stat {
            metric,
            statistic,
            value,
            low: None,
            high: None,
            n: None,
            is_enough: true,
            needs_interval: true,
            printed: None,
            definition: Definition::default(),
            place: None,
        }
    }
}
