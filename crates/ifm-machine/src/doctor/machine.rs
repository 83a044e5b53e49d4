//! What the checks look at, read once.

use crate::facts;
use ifm_core::Facts;
use ifm_store::Store;
use ifm_sys::{host, probe};
use ifm_telemetry::host as kernel;
use std::path::Path;
use std::time::Duration;

/// For how long the processors are watched.
const WATCHED: Duration = Duration::from_millis(400);

/// A machine as the checks see it.
#[derive(Debug, Default)]
pub struct Machine {
    /// What kernel and driver report.
    pub facts: Facts,
    /// Why no GPU is among the facts.
    pub without_gpus: Option<String>,
    /// Whether the kernel stamps what a socket receives.
    pub kernel_stamps: bool,
    /// Most files that this process may open, its limit raised as far as that goes; absent for no limit.
    pub open_files: Option<u64>,
    /// Share of the processors' time that the hypervisor gave to others, 0 to 1.
    pub stolen: Option<f64>,
    /// Memory that programs can still take, bytes.
    pub memory_left_bytes: Option<u64>,
    /// Memory that was moved to disk, bytes; 0 without swap.
    pub swapped_bytes: Option<u64>,
    /// Room on the disk of the store, bytes.
    pub room_bytes: Option<u64>,
}

impl Machine {
    /// Reads this machine; takes half a second.
    pub fn read(store: &Store) -> Machine {
        let before = host::CpuTicks::read();
        std::thread::sleep(WATCHED);
        let stolen = host::CpuTicks::read()
            .zip(before)
            .and_then(|(now, before)| now.steal_share_since(before));
        let (facts, without_gpus) = facts::of_host();
        Machine {
            facts,
            without_gpus,
            kernel_stamps: probe::kernel_stamps(),
            open_files: host::raise_open_files(),
            stolen,
            memory_left_bytes: host::available_memory_bytes(),
            swapped_bytes: kernel::swapped_bytes(Path::new(kernel::ROOT)),
            room_bytes: store.room_bytes(),
        }
    }
}
