//! The processes of something that was started: those of its group, and those that left the group
//! but still carry its token in their environment. Finding them and ending them.

use ifm_sys::process::{Ending, Process, signal, signal_group};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The variable that carries the token.
pub const TOKEN: &str = "INFEROMETER_TOKEN";
/// How long they may take to end when they are asked to, unless told otherwise.
pub const GRACE: Duration = Duration::from_secs(15);
/// How long processes that were killed may take to go: a device may hold them for a while.
const KILLED: Duration = Duration::from_secs(10);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Where to find the processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// The group, by the number of its head; absent before the head was started.
    pub pgid: Option<u32>,
    /// When the head started, ticks since boot: its number may be another's by now.
    pub started: Option<u64>,
    /// Value of [`TOKEN`] in the environment of each.
    pub token: String,
    /// How long they may take to end when they are asked to, before they are killed, milliseconds.
    pub grace_ms: u64,
}

/// How they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Some did not end when they were asked, and were killed.
    pub was_killed: bool,
    /// None is left.
    pub is_gone: bool,
}

impl Tree {
    /// Processes yet to be started, and the token to give them.
    pub fn planned() -> Tree {
        let token = format!("{}-{:x}", std::process::id(), ifm_sys::mono_ns());
        Tree { pgid: None, started: None, token, grace_ms: 0 }.with_grace(GRACE)
    }

    /// The same, with another time to end when they are asked to.
    pub fn with_grace(self, grace: Duration) -> Tree {
        Tree { grace_ms: grace.as_millis() as u64, ..self }
    }

    /// The same, once the head of the group runs. It must not have been waited for yet.
    pub fn with_head(&self, head: u32) -> Tree {
        let started = Process::of(head).map(|process| process.started);
        Tree { pgid: Some(head), started, ..self.clone() }
    }

    /// Those that run.
    fn members(&self) -> Members {
        let own = std::process::id();
        let all: Vec<Process> = Process::all()
            .into_iter()
            .filter(|process| process.runs && process.id != own)
            .collect();
        // The head's number may have gone to another process. Without a head the number of a group
        // stays taken for as long as one of its processes lives.
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
    #[cfg(test)]
    pub fn runs(&self) -> bool {
        self.members().any()
    }

    /// How many of them carry the token outside the group.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.members().strays.len()
    }

    /// Asks all of them to end, gives them time, and kills those that are left.
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
            // It was found a moment ago: that its number means another by now is made unlikely.
            if Process::of(stray.id).as_ref().map(|now| now.started) == Some(stray.started) {
                signal(stray.id, ending);
            }
        }
    }
}
