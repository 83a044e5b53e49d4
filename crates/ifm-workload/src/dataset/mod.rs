//! Where prompts come from: one file per data set, one line in [`DATASETS`].
//!
//! Not here: handing items out and keeping count (`generator`).

pub mod random;

use crate::error::WorkloadError;

/// One request to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkItem {
    /// Its number in the workload, from 0.
    pub id: u32,
    /// The text to send.
    pub prompt: String,
    /// Tokens of the text, without any that a server's template adds.
    pub prompt_tokens: u32,
    /// Tokens to ask for.
    pub output_tokens: u32,
}

/// A source of items, any of which can be made at any time, by any thread.
pub trait Dataset: Send + Sync {
    /// Makes the item with a number; the same each time.
    ///
    /// # Errors
    /// [`WorkloadError`] when there is no such item.
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError>;

    /// How many items there are before one begins like an earlier one, so that a
    /// prefix cache could help. A shared prefix that was asked for is left out of
    /// the comparison.
    fn distinct_items(&self) -> u64;
}

/// A kind of data set, as it is named in a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatasetKind {
    /// The name before the colon.
    pub name: &'static str,
    /// How to write it.
    pub usage: &'static str,
    /// What it is.
    pub summary: &'static str,
}

/// All kinds of data sets. To add one, add its file and a line.
pub const DATASETS: &[DatasetKind] = &[random::KIND];
