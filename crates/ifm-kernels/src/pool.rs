//! Threads that share the work of one product.

use std::ops::Range;

/// A fixed number of threads, the caller's among them.
#[derive(Debug)]
pub struct Pool {
    threads: usize,
}

impl Pool {
    /// A pool of this many threads, at least one.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.max(1) }
    }

    /// Threads that work, the caller's among them.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Calls `work` with ranges that cover `0..items`; returns when all is done.
    pub fn run(&self, items: usize, work: impl Fn(Range<usize>) + Sync) {
        work(0..items);
    }
}
