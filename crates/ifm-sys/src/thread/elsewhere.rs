//! A system on which threads are not placed: processors are counted, and what places a thread is
//! `Unsupported` or does nothing.

use super::ThreadUsage;
use std::io;

/// The processors that this process may use, numbered from 0.
///
/// # Errors
/// Their number is not reported.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    Ok((0..std::thread::available_parallelism()?.get()).collect())
}

/// Threads are not tied to processors here.
///
/// # Errors
/// Always.
pub fn pin_to(_cpus: &[usize]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Timers are as exact as they are; the send-lateness figures show it.
pub fn sharpen_timers() {}

/// Turns are as long as they are.
pub fn take_short_turns() {}

/// Niceness is that of the process here, and not a thread's.
pub fn be_nice(_steps: i32) {}

/// Not asked for here.
///
/// # Errors
/// Always.
pub fn run_first() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// As [`run_first`].
///
/// # Errors
/// Always.
pub fn run_second() -> io::Result<()> {
    run_first()
}

/// As [`run_first`].
///
/// # Errors
/// Always.
pub fn run_last() -> io::Result<()> {
    run_first()
}

/// Reads the calling thread's CPU time. Its context switches cannot be separated from the process's
/// switches and are left at 0.
pub fn usage() -> ThreadUsage {
    ThreadUsage { cpu_ns: crate::clock::thread_cpu_ns(), involuntary_switches: 0 }
}
