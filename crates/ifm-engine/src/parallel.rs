//! What a model computes on: threads and instructions.
//!
//! Every product waits for its slowest thread, and for a small model there are thousands
//! of products a second, so a thread that the kernel has put aside for another program
//! costs all of them. That is why [`suggested_threads`] leaves cores to the server and to
//! the client that measures it.
//!
//! Not here: the pool itself (`ifm-kernels`); the scheduler's own thread, which sleeps
//! when there is no work.

use ifm_kernels::{Isa, Pool};

use crate::kv_format::KvFormat;

/// What a model is to compute with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compute {
    /// Threads, the caller's among them; at least 1.
    pub threads: usize,
    /// Instructions that the processor has: [`Isa::best`], or fewer.
    pub isa: Isa,
    /// How keys and values are kept.
    pub kv: KvFormat,
}

impl Compute {
    /// All instructions of this processor, on that many threads.
    pub fn on_threads(threads: usize) -> Self {
        Self { threads: threads.max(1), isa: Isa::best(), kv: KvFormat::default() }
    }
}

impl Default for Compute {
    fn default() -> Self {
        Self::on_threads(1)
    }
}

/// Threads and instructions, ready for work.
#[derive(Debug)]
pub(crate) struct Processor {
    pub(crate) pool: Pool,
    pub(crate) isa: Isa,
}

impl Processor {
    pub(crate) fn new(compute: Compute) -> Self {
        Self { pool: Pool::new(compute.threads), isa: compute.isa }
    }
}

/// A number of threads for a machine with this many physical cores.
///
/// One of two cores goes to the server and the client: with both computing, products
/// wait for a core that the client holds. From there on all cores but two help, up to
/// eight; beyond, the products of the presets are too short to share.
pub fn suggested_threads(cores: usize) -> usize {
    cores.saturating_sub(2).clamp(1, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_machines_keep_a_core_for_others() {
        assert_eq!([1, 2, 3, 4, 8, 64].map(suggested_threads), [1, 1, 1, 2, 6, 8]);
    }
}
