//! Where and how a thread runs: pinning, timer slack, niceness, how often it was put aside.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{
    allowed_cpus, be_nice, pin_to, run_first, run_last, run_second, sharpen_timers,
    take_short_turns, usage,
};
#[cfg(target_os = "linux")]
pub use linux::{
    allowed_cpus, be_nice, pin_to, run_first, run_last, run_second, sharpen_timers,
    take_short_turns, usage,
};

/// What the kernel accounts for the calling thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time, nanoseconds.
    pub cpu_ns: u64,
    /// Times it was put off its CPU against its will.
    pub involuntary_switches: u64,
}

/// Largest resident memory of this process so far, bytes.
pub fn peak_memory_bytes() -> u64 {
    // SAFETY: as in `usage`.
    let accounts = unsafe {
        let mut accounts: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut accounts);
        accounts
    };
    memory_bytes(&accounts)
}

/// Bytes of the largest resident memory: Linux counts it in KiB.
pub(crate) fn memory_bytes(accounts: &libc::rusage) -> u64 {
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    accounts.ru_maxrss.max(0) as u64 * unit
}

/// A time of the kernel, nanoseconds.
pub(crate) fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec.max(0) as u64 * 1_000_000_000 + time.tv_usec.max(0) as u64 * 1_000
}

/// What the kernel accounts for child processes that have ended and were waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChildrenUsage {
    /// CPU time of all of them, in user and kernel mode, nanoseconds.
    pub cpu_ns: u64,
    /// Largest resident memory of any of them, bytes. A child begins with that of its parent.
    pub peak_memory_bytes: u64,
}

/// Reads the accounts of ended children.
pub fn children_usage() -> ChildrenUsage {
    // SAFETY: as in `usage`.
    let accounts = unsafe {
        let mut accounts: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut accounts);
        accounts
    };
    ChildrenUsage {
        cpu_ns: timeval_ns(accounts.ru_utime) + timeval_ns(accounts.ru_stime),
        peak_memory_bytes: memory_bytes(&accounts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_counts_once_it_was_waited_for() {
        let program = std::env::current_exe().unwrap();
        let mut command = std::process::Command::new(program);
        let status = command.arg("--list").stdout(std::process::Stdio::null()).status();
        assert!(status.unwrap().success());
        let usage = children_usage();
        assert!(usage.cpu_ns > 0 && usage.peak_memory_bytes > 100_000, "{usage:?}");
    }

    #[test]
    fn the_process_uses_memory() {
        assert!(peak_memory_bytes() > 100_000);
    }
}
