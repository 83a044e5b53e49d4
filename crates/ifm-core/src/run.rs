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

/// The same of a run that something else keeps, such as one that is being measured.
#[derive(Debug, Clone, Copy)]
pub struct RunView<'a> {
    /// What was asked, where it ran, how it goes.
    pub manifest: &'a Manifest,
    /// Its requests.
    pub requests: &'a [RequestRecord],
    /// Sampled quantities.
    pub series: &'a [Series],
}

impl RunData {
    /// The run as its readers take it.
    pub fn view(&self) -> RunView<'_> {
        RunView { manifest: &self.manifest, requests: &self.requests, series: &self.series }
    }
}
