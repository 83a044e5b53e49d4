//! What disturbed a repeat: threads of the engine that could run and had no processor, and time that
//! the host took from this virtual machine.
//!
//! The kernel counts both, so that an outlier is known by its cause and not by its value.

use ifm_sys::account::{Account, of_threads};
use ifm_sys::host::CpuTicks;
use serde::Serialize;
use std::collections::BTreeMap;

/// Above this share of the time a repeat was disturbed.
const SHARE_MAX: f64 = 0.05;
/// Waits that every thread has when it wakes, nanoseconds: less in all is no disturbance.
const WAKING_NS: u64 = 500_000;

/// What the host took is counted in ticks of 10 ms: of a shorter repeat a share says nothing.
const TICKS_NS: u64 = 500_000_000;

/// What took processors away.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Disturbance {
    /// Time on processors of all threads, nanoseconds.
    pub cpu_ns: u64,
    /// Longest that one thread could have run and waited for a processor, nanoseconds.
    pub waited_ns: u64,
    /// Times that a thread was put aside for another.
    pub switches: u64,
    /// Share of the processors' time that the host took; absent where it is not told.
    pub stolen: Option<f64>,
    /// How long the repeat took, nanoseconds.
    pub wall_ns: u64,
}

impl Disturbance {
    /// Share of the time in which some thread waited.
    pub fn waited(&self) -> f64 {
        (self.waited_ns as f64 / self.wall_ns.max(1) as f64).min(1.0)
    }

    fn has_waited(&self) -> bool {
        self.waited_ns > WAKING_NS && self.waited() > SHARE_MAX
    }

    /// Whether it is too much for the repeat to count.
    pub fn is_too_much(&self) -> bool {
        self.has_waited() || self.stolen.is_some_and(|share| share > SHARE_MAX)
    }

    /// In words: `waited 12 % of its time for a processor`.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        if self.has_waited() {
            words
                .push(format!("waited {:.0} % of its time for a processor", 100.0 * self.waited()));
        }
        if let Some(stolen) = self.stolen.filter(|share| *share > SHARE_MAX) {
            words.push(format!("the host took {:.0} % of the processors", 100.0 * stolen));
        }
        words.join(", ")
    }
}

/// Watches a process from now on.
#[derive(Debug)]
pub struct Watch {
    process: u32,
    before: BTreeMap<u32, Account>,
    ticks: Option<CpuTicks>,
    begun_ns: u64,
}

impl Watch {
    /// Begins.
    pub fn begin(process: u32) -> Watch {
        Watch {
            process,
            before: of_threads(process),
            ticks: CpuTicks::read(),
            begun_ns: ifm_sys::mono_ns(),
        }
    }

    /// What happened since; absent where the kernel does not tell.
    pub fn end(self) -> Option<Disturbance> {
        let wall_ns = ifm_sys::mono_ns() - self.begun_ns;
        let after = of_threads(self.process);
        let since: Vec<Account> = after
            .iter()
            .map(|(id, account)| account.since(self.before.get(id).copied().unwrap_or_default()))
            .collect();
        let stolen = CpuTicks::read()
            .filter(|_| wall_ns >= TICKS_NS)
            .zip(self.ticks)
            .and_then(|(now, before)| now.steal_share_since(before));
        (!since.is_empty()).then(|| Disturbance {
            cpu_ns: since.iter().map(|account| account.cpu_ns).sum(),
            waited_ns: since.iter().map(|account| account.waited_ns).max().unwrap_or_default(),
            switches: since.iter().map(|account| account.put_aside).sum(),
            stolen,
            wall_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_told_by_the_kernel() {
        let quiet = Disturbance {
            cpu_ns: 99_000_000,
            waited_ns: 1_000_000,
            switches: 0,
            stolen: Some(0.0),
            wall_ns: 100_000_000,
        };
        assert!(!quiet.is_too_much());
        // A short repeat whose threads woke up once.
        assert!(!Disturbance { waited_ns: 60_000, wall_ns: 300_000, ..quiet }.is_too_much());
        let busy = Disturbance { waited_ns: 40_000_000, ..quiet };
        assert!(busy.is_too_much());
        assert_eq!(busy.words(), "waited 40 % of its time for a processor");
        assert!(Disturbance { stolen: Some(0.2), ..quiet }.is_too_much());
        assert!(!Disturbance { stolen: None, ..quiet }.is_too_much());
    }

    #[test]
    fn own_work_is_seen() {
        let watch = Watch::begin(std::process::id());
        let until = ifm_sys::mono_ns() + 20_000_000;
        while ifm_sys::mono_ns() < until {}
        let seen = watch.end().expect("the kernel tells");
        assert!(seen.wall_ns >= 20_000_000 && seen.cpu_ns > 0, "{seen:?}");
    }
}
