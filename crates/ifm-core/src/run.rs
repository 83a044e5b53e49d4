//! A whole run in memory, as analysis and reports read it.

use crate::{Manifest, RequestRecord, Series};

/// A run: the request and where it went, every record, and the samples taken meanwhile.
#[derive(Debug, Clone)]
pub struct RunData {
    /// What was asked, where it ran, how it went.
    pub manifest: Manifest,
    /// All requests, in the order of `seq`.
    pub requests: Vec<RequestRecord>,
    /// Sampled quantities.
    pub series: Vec<Series>,
}
