//! The machine that the client runs on, for the manifest.

use ifm_core::manifest::HostInfo;
use ifm_sys::{host, probe, thread};

/// Source of receive timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Stamps {
    /// The kernel, if possible
    Kernel,
    /// The reading thread
    User,
}

/// The facts of a run with this source of timestamps.
pub fn describe_with(stamps: Stamps) -> HostInfo {
    let host = describe();
    HostInfo { kernel_stamps: host.kernel_stamps && stamps == Stamps::Kernel, ..host }
}

/// Reads the facts; what the host does not report is absent.
pub fn describe() -> HostInfo {
    HostInfo {
        os: host::os_release(),
        cpu: host::cpu_name(),
        cpus: thread::allowed_cpus().map_or(1, |cpus| cpus.len() as u32),
        memory_bytes: host::memory_bytes(),
        load_average: host::load_average(),
        kernel_stamps: probe::kernel_stamps(),
    }
}
