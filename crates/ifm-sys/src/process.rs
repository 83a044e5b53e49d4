//! Processes that this one started.

use rustix::process::{Pid, Signal, kill_process_group};

/// Ends a process that was started as the head of a group of its own, with everything that it
/// started. Does nothing if it has gone.
pub fn end_group(head: u32) {
    let pid = i32::try_from(head).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended by itself already.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn a_group_ends_with_all_that_it_started() {
        let mut head = Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .process_group(0)
            .spawn()
            .expect("a shell");
        super::end_group(head.id());
        let status = head.wait().expect("a status");
        assert_eq!(status.code(), None, "ended by a signal: {status}");
    }
}
