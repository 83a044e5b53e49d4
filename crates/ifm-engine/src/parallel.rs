//! How many threads compute, and how work is spread over them.
//!
//! candle has one pool of threads per process, sized from the environment when it
//! is first used (`CANDLE_NUM_THREADS`, else `RAYON_NUM_THREADS`, else the physical
//! cores), and it cannot be resized. The loops of this crate run on the same pool,
//! so that there is one setting and never twice as many threads as asked for.
//!
//! The pool is a spin barrier: every product waits for the slowest thread, and for a
//! small model there are thousands of products a second. A thread that the kernel
//! has put aside for another program stalls all others, which burn their cores
//! meanwhile. Measured with `tiny` in q8_0, eight streams, on two cores that other
//! programs kept busy (load 11): one thread made 2762 tokens a second, two threads 65,
//! at eleven times the CPU time for each. That is why [`suggested_threads`] leaves
//! cores to the server and to the client that measures it.
//!
//! Not here: the scheduler's own thread, which sleeps when there is no work.

use std::{io, ops::Range};

/// The variables that candle reads, once, at its first product.
const THREAD_VARIABLES: [&str; 2] = ["CANDLE_NUM_THREADS", "RAYON_NUM_THREADS"];

/// The environment in which a process computes with this many threads.
///
/// It must be there when the process starts: see [`restart_with_threads`].
pub fn thread_environment(threads: usize) -> [(&'static str, String); 2] {
    THREAD_VARIABLES.map(|name| (name, threads.max(1).to_string()))
}

/// Threads that products use in this process. The first call fixes the number.
pub fn threads_in_effect() -> usize {
    candle_core::utils::barrier_pool().n_workers() + 1
}

/// A number of threads for a machine with this many physical cores.
///
/// One of two cores goes to the server and the client: with both computing, the
/// barrier waits for a core that the client holds. From there on all cores but two
/// help, up to eight; beyond, the products of the presets are too short to share.
pub fn suggested_threads(cores: usize) -> usize {
    cores.saturating_sub(2).clamp(1, 8)
}

/// Replaces this process by itself with the environment for `threads`, unless it has
/// that environment already. To be called first thing in `main`; returns when
/// nothing had to be done.
///
/// The process keeps its id, its open files, its arguments and its terminal.
///
/// # Errors
/// What the operating system says when a program cannot be started; on systems
/// other than Unix, that it is not supported.
pub fn restart_with_threads(threads: usize) -> io::Result<()> {
    let environment = thread_environment(threads);
    let is_set = |(name, value): &(&str, String)| std::env::var(name).as_ref() == Ok(value);
    if environment.iter().all(is_set) {
        return Ok(());
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        let mut command = std::process::Command::new(std::env::current_exe()?);
        let mut arguments = std::env::args_os();
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        Err(command.args(arguments).envs(environment).exec())
    }
    #[cfg(not(unix))]
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "set CANDLE_NUM_THREADS and RAYON_NUM_THREADS before the start",
    ))
}

/// Calls `work` with ranges that cover `0..items`, on all threads.
pub(crate) fn for_ranges(items: usize, work: impl Fn(Range<usize>) + Sync) {
    candle_core::utils::barrier_pool().execute_chunked(items, work);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_item_is_worked_on_once() {
        let counts: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        for_ranges(counts.len(), |range| {
            counts[range].iter().for_each(|count| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        assert!(threads_in_effect() >= 1);
    }

    #[test]
    fn small_machines_keep_a_core_for_others() {
        assert_eq!([1, 2, 3, 4, 8, 64].map(suggested_threads), [1, 1, 1, 2, 6, 8]);
    }
}
