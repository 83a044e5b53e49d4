//! What the engine is doing and has done, readable from any thread.
//!
//! Not here: latencies, which are measured where a client sees them (`ifm-serve`).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A reading of the counters. Totals only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineStats {
    /// Requests in the batch.
    pub running: usize,
    /// Requests that wait for a place in the batch or for memory.
    pub waiting: usize,
    /// Tokens of memory for keys and values that running requests have reserved.
    pub kv_tokens_reserved: usize,
    /// Tokens of memory for keys and values in all.
    pub kv_tokens: usize,
    /// Tokens of prompts that were computed.
    pub prompt_tokens_total: u64,
    /// Tokens that were generated.
    pub generation_tokens_total: u64,
    /// Requests that ended at an end token or a stop string.
    pub finished_stop_total: u64,
    /// Requests that ended at their limit of tokens.
    pub finished_length_total: u64,
    /// Requests whose client went away.
    pub cancelled_total: u64,
    /// Requests that failed.
    pub failed_total: u64,
    /// Requests that were refused because too many waited.
    pub refused_total: u64,
    /// Passes through the model.
    pub steps_total: u64,
}

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) running: AtomicUsize,
    pub(crate) waiting: AtomicUsize,
    pub(crate) kv_tokens_reserved: AtomicUsize,
    pub(crate) prompt_tokens: AtomicU64,
    pub(crate) generation_tokens: AtomicU64,
    pub(crate) finished_stop: AtomicU64,
    pub(crate) finished_length: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) steps: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn read(&self, kv_tokens: usize) -> EngineStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        EngineStats {
            running: self.running.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
            kv_tokens_reserved: self.kv_tokens_reserved.load(Ordering::Relaxed),
            kv_tokens,
            prompt_tokens_total: load(&self.prompt_tokens),
            generation_tokens_total: load(&self.generation_tokens),
            finished_stop_total: load(&self.finished_stop),
            finished_length_total: load(&self.finished_length),
            cancelled_total: load(&self.cancelled),
            failed_total: load(&self.failed),
            refused_total: load(&self.refused),
            steps_total: load(&self.steps),
        }
    }
}
