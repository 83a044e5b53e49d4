//! What disturbed a repeat: runnable threads of the engine without a processor, and time that the
//! host took from this virtual machine.
//!
//! The kernel counts both, so that an outlier is identified by its cause and not by its value.

pub use ifm_metrics::disturbance::Disturbance;

use ifm_sys::account::{Account, of_threads};
use ifm_sys::host::CpuTicks;
use std::collections::BTreeMap;

/// Steal time is counted in ticks of 10 ms: for shorter repeats, a share is meaningless.
const TICKS_NS: u64 = 500_000_000;

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

    /// The disturbance since then; absent if the kernel does not report it.
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
    fn own_work_is_seen() {
        let watch = Watch::begin(std::process::id());
        let until = ifm_sys::mono_ns() + 20_000_000;
        while ifm_sys::mono_ns() < until {}
        let seen = watch.end().expect("the kernel reports it");
        assert!(seen.wall_ns >= 20_000_000 && seen.cpu_ns > 0, "{seen:?}");
    }
}
