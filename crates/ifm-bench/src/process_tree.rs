//! The processes of something that was started: the members of its group, and others that left the group
//! but still have its token in their environment. Finds and ends them.

use ifm_sys::process::{Ending, Process, signal, signal_group};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The variable that contains the token.
pub const TOKEN: &str = "INFEROMETER_TOKEN";
/// Default grace period for processes to exit after a signal.
pub const GRACE: Duration = Duration::from_secs(15);
/// How long killed processes may take to disappear: a device may hold them for a while.
const KILLED: Duration = Duration::from_secs(10);
/// Time between two checks.
const LOOK: Duration = Duration::from_millis(20);

/// Where to find the processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// The group, by the ID of its head; absent before the head was started.
    pub pgid: Option<u32>,
    /// When the head started, ticks since boot: its ID may belong to another process by now.
    pub started: Option<u64>,
    /// Value of [`TOKEN`] in the environment of each.
    pub token: String,
    /// Grace period for processes to exit after a signal, before they are killed, milliseconds.
    pub grace_ms: u64,
}

/// How they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Some did not exit after the signal, and were killed.
    pub was_killed: bool,
    /// None is left.
    pub is_gone: bool,
}

impl Tree {
    /// Processes yet to be started, and their token.
    pub fn planned() -> Tree {
        let token = format!("{}-{:x}", std::process::id(), ifm_sys::mono_ns());
        Tree { pgid: None, started: None, token, grace_ms: 0 }.with_grace(GRACE)
    }

    /// The same, with another grace period.
    pub fn with_grace(self, grace: Duration) -> Tree {
        Tree { grace_ms: grace.as_millis() as u64, ..self }
    }

    /// The same, once the head of the group runs. The caller must not have waited for it yet.
    pub fn with_head(&self, head: u32) -> Tree {
        let started = Process::of(head).map(|process| process.started);
        Tree { pgid: Some(head), started, ..self.clone() }
    }

    /// The running processes.
    fn members(&self) -> Members {
        let own = std::process::id();
        let all: Vec<Process> = Process::all()
            .into_iter()
            .filter(|process| process.runs && process.id != own)
            .collect();
        // The head's ID may have been reused by another process. Without a head, a group's ID stays
        // reserved as long as one of its processes lives.
        let head = self.pgid.and_then(Process::of);
        let is_ours = head.is_none_or(|head| Some(head.started) == self.started);
        let group = self.pgid.filter(|_| is_ours);
        let in_group = |process: &Process| Some(process.group) == group;
        Members {
            group: group.filter(|_| all.iter().any(in_group)),
            strays: all
                .iter()
                .filter(|process| !in_group(process) && process.carries(TOKEN, &self.token))
                .copied()
                .collect(),
        }
    }

    /// Whether any of them runs.
    pub fn runs(&self) -> bool {
        self.members().any()
    }

    /// How many processes with the token are outside the group.
    pub fn count(&self) -> usize {
        self.members().strays.len()
    }

    /// Asks all of them to exit, waits for the grace period, and kills the rest.
    pub fn end(&self) -> Ended {
        let grace = Duration::from_millis(self.grace_ms);
        let mut was_killed = false;
        for (ending, patience) in [(Ending::Asked, grace), (Ending::AtOnce, KILLED)] {
            let members = self.members();
            if !members.any() {
                break;
            }
            was_killed = ending == Ending::AtOnce;
            members.tell(ending);
            let until = Instant::now() + patience;
            while Instant::now() < until {
                std::thread::sleep(LOOK);
                let left = self.members();
                if !left.any() {
                    break;
                }
                if was_killed {
                    // Some may have been started since.
                    left.tell(ending);
                }
            }
        }
        Ended { was_killed, is_gone: !self.members().any() }
    }
}

struct Members {
    group: Option<u32>,
    strays: Vec<Process>,
}

impl Members {
    fn any(&self) -> bool {
        self.group.is_some() || !self.strays.is_empty()
    }

    fn tell(&self, ending: Ending) {
        if let Some(group) = self.group {
            signal_group(group, ending);
        }
        for stray in &self.strays {
            // It was found a moment ago, so its ID is unlikely to belong to another process by now.
            if Process::of(stray.id).as_ref().map(|now| now.started) == Some(stray.started) {
                signal(stray.id, ending);
            }
        }
    }
}
