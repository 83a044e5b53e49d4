//! The processes below this one: all that a command started, what the kernel accounts for them, and
//! the memory that they use.
//!
//! Not here: ending a group at once (`process`).

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::{fs, io};

/// Asks a group to end as Ctrl-C does.
pub fn interrupt_group(head: u32) {
    signal_group(head, Signal::INT);
}

/// Asks a group to end as the system does.
pub fn terminate_group(head: u32) {
    signal_group(head, Signal::TERM);
}

fn signal_group(head: u32, signal: Signal) {
    if let Some(pid) = pid_of(head) {
        // It may have already ended on its own.
        let _ = kill_process_group(pid, signal);
    }
}

/// Ends one process. Does nothing if it has gone.
pub fn end(process: u32) {
    if let Some(pid) = pid_of(process) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Lets processes whose parent ends become children of this one: all that a command started stays
/// below this process, in whatever group or session. Says whether the kernel does so.
pub fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    let adopts = rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok();
    #[cfg(not(target_os = "linux"))]
    let adopts = false;
    adopts
}

/// A child that has ended, with its resource usage and that of its own children that it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// Time on processors in user mode, nanoseconds.
    pub user_ns: u64,
    /// The same in the kernel.
    pub system_ns: u64,
    /// Largest resident memory of any one of them, bytes. A child begins with that of its parent.
    pub peak_bytes: u64,
}

/// Waits for a child to end.
///
/// # Errors
/// There is no such child.
pub fn wait_for(child: u32) -> io::Result<Ended> {
    let child = i32::try_from(child).map_err(io::Error::other)?;
    loop {
        match wait4(child, 0) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(None) => return Err(io::Error::other("nothing ended")),
            Ok(Some(ended)) => return Ok(ended),
            Err(error) => return Err(error),
        }
    }
}

/// Reaps any child that has already ended and is not being waited for.
pub fn reap() -> Option<Ended> {
    wait4(-1, libc::WNOHANG).ok().flatten()
}

fn wait4(child: i32, options: i32) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: all-zero is a valid rusage; both places live over the call.
    let (found, accounts) = unsafe {
        let mut accounts: libc::rusage = std::mem::zeroed();
        (libc::wait4(child, &mut status, options, &mut accounts), accounts)
    };
    match found {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ => Ok(Some(Ended {
            status: ExitStatus::from_raw(status),
            user_ns: crate::thread::timeval_ns(accounts.ru_utime),
            system_ns: crate::thread::timeval_ns(accounts.ru_stime),
            peak_bytes: crate::thread::memory_bytes(&accounts),
        })),
    }
}

/// The processes below this one that have not ended, in no order.
pub fn descendants() -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if let Some(parent) = living_child_of(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut open) = (BTreeSet::new(), vec![std::process::id()]);
    while let Some(parent) = open.pop() {
        let below = children.get(&parent).into_iter().flatten();
        open.extend(below.copied().filter(|child| found.insert(*child)));
    }
    found.into_iter().collect()
}

/// The parent, by a line of `/proc/PID/stat`; absent for a process that has ended. The name in it may
/// hold anything, so that fields are counted from its end.
fn living_child_of(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then(|| fields.next()?.parse().ok())?
}

/// Memory of a process, bytes: its proportional share of what it has resident, so that what
/// several processes share counts once in their sum. Absent where it cannot be read.
pub fn proportional_memory(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    kib_of(&text, "Pss:")
}

/// All resident memory of a process, bytes: what it shares with others counts in full.
pub fn resident_memory(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    kib_of(&text, "VmRSS:")
}

fn kib_of(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn a_line_of_a_process_names_its_parent() {
        for (line, expect) in [
            ("17 (a b) c) S 5 17 17 0", Some(5)),
            ("17 (x) Z 5 17", None),
            ("17 (x) R", None),
            ("", None),
        ] {
            assert_eq!(super::living_child_of(line), expect, "{line}");
        }
    }

    // It is waited for by the function that is tested.
    #[expect(clippy::zombie_processes)]
    #[test]
    fn a_child_is_below_this_process_until_it_ends() {
        let mut child =
            Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat");
        assert!(super::descendants().contains(&child.id()));
        let (share, all) =
            (super::proportional_memory(child.id()), super::resident_memory(child.id()));
        assert!(all.is_some_and(|all| all > 0), "{all:?}");
        assert!(share.is_none_or(|share| share > 0 && Some(share) <= all), "{share:?} of {all:?}");
        drop(child.stdin.take());
        let ended = super::wait_for(child.id()).expect("a child");
        assert_eq!(ended.status.code(), Some(0));
        assert!(ended.peak_bytes > 0);
        assert!(!super::descendants().contains(&child.id()));
        assert!(super::wait_for(child.id()).is_err());
    }
}
