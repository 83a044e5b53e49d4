//! Processes: those started by this one, the kernel's information about others, and how they end.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Ends a process that was started as the head of a group of its own, with everything that it
/// started. Does nothing if it has gone.
pub fn end_group(head: u32) {
    signal_group(head, Ending::AtOnce);
}

/// How a process is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// SIGTERM: it may tidy up, or refuse.
    Asked,
    /// SIGKILL.
    AtOnce,
}

impl Ending {
    fn signal(self) -> Signal {
        match self {
            Ending::Asked => Signal::TERM,
            Ending::AtOnce => Signal::KILL,
        }
    }
}

fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// The program that runs, to start it again. One whose file was replaced meanwhile still starts, by the
/// name under which the kernel keeps it open; where the system does not tell (a root without `/proc`),
/// it is found by what it was called.
///
/// # Errors
/// Neither the system nor the name of the program (`argv[0]`) gives the path.
pub fn own_program() -> io::Result<PathBuf> {
    let told = std::env::current_exe();
    #[cfg(target_os = "linux")]
    if let Ok(kept) = std::fs::metadata(KEPT) {
        use std::os::unix::fs::MetadataExt as _;
        let is_same =
            |found: std::fs::Metadata| (found.dev(), found.ino()) == (kept.dev(), kept.ino());
        let path = told.as_ref().ok().filter(|path| path.metadata().is_ok_and(is_same));
        return Ok(path.cloned().unwrap_or_else(|| KEPT.into()));
    }
    told.or_else(|error| called(&std::env::args_os().next().ok_or(error)?))
}

/// Where the kernel keeps the program that runs open.
#[cfg(target_os = "linux")]
const KEPT: &str = "/proc/self/exe";

/// Where a program is that was called by this name, as a shell finds it.
fn called(name: &OsStr) -> io::Result<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return std::fs::canonicalize(name);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not on the PATH"))
}

/// The number of the user whose rights this process has.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Sends a signal to every process of a group. Does nothing if the group is missing or not
/// permitted.
pub fn signal_group(group: u32, ending: Ending) {
    if let Some(group) = pid_of(group).filter(|group| *group != Pid::INIT) {
        // It may have already ended on its own.
        let _ = kill_process_group(group, ending.signal());
    }
}

/// Sends one process a signal to end. Does nothing if it has gone, or if we may not.
pub fn signal(process: u32, ending: Ending) {
    if let Some(process) = pid_of(process).filter(|process| *process != Pid::INIT) {
        // It may have already ended on its own.
        let _ = kill_process(process, ending.signal());
    }
}

/// Makes this process the head of a session of its own: signals of a terminal and of its former
/// group no longer reach it.
///
/// # Errors
/// It is the head of a group already.
pub fn lead_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// A process as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number, which another may have had before.
    pub id: u32,
    /// Its group.
    pub group: u32,
    /// When it started, clock ticks since boot: together with the number it means one process only.
    pub started: u64,
    /// Whether it runs; otherwise it has ended and waits for its parent.
    pub runs: bool,
}

impl Process {
    /// What the kernel reports; absent where there is no such process.
    pub fn of(id: u32) -> Option<Process> {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name is in parentheses and may contain any character, parentheses and spaces too.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let threads: u32 = fields.get(17)?.parse().ok()?;
        // A first thread that has ended looks as if all had.
        let has_ended = matches!(*fields.first()?, "Z" | "X" | "x") && threads <= 1;
        Some(Process {
            id,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            runs: !has_ended,
        })
    }

    /// Every process of the machine, or of this container.
    pub fn all() -> Vec<Process> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(Process::of).collect()
    }

    /// Whether its environment, as it was when its program began, holds this variable with this value.
    /// False where that cannot be read.
    pub fn carries(&self, name: &str, value: &str) -> bool {
        let Ok(bytes) = std::fs::read(format!("/proc/{}/environ", self.id)) else { return false };
        let mut entries = bytes.split(|byte| *byte == 0);
        entries.any(|entry| {
            entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
                == Some(value.as_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn a_program_is_found_by_the_system_and_by_what_it_was_called() {
        let own = std::env::current_exe().expect("a program");
        assert_eq!(own_program().expect("a program"), own);
        assert_eq!(called(own.as_os_str()).expect("by its path"), own);
        assert!(called(OsStr::new("sh")).expect("on the path").ends_with("sh"));
        assert!(called(OsStr::new("no-such-program")).is_err());
    }

    #[test]
    fn a_group_ends_with_all_that_it_started() {
        let mut head = Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .process_group(0)
            .env("IFM_MARK", "a=b")
            .spawn()
            .expect("a shell");
        let told = Process::of(head.id()).expect("a process");
        assert_eq!((told.group, told.runs), (head.id(), true));
        // A program that has just begun has no environment yet.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !told.carries("IFM_MARK", "a=b") && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        assert!(told.carries("IFM_MARK", "a=b") && !told.carries("IFM_MARK", "a"));
        assert!(Process::all().contains(&told));
        end_group(head.id());
        while Process::of(head.id()).is_some_and(|now| now.runs) {
            std::thread::yield_now();
        }
        let status = head.wait().expect("a status");
        assert_eq!(status.code(), None, "ended by a signal: {status}");
        assert!(Process::of(head.id()).is_none_or(|now| now.started != told.started));
    }
}
