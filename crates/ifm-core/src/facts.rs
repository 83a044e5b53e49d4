//! The machine in the record: GPUs, processors, limits, confidential computing, the server's process.
//!
//! Values that are not reported are absent. Not here: who reads it (`ifm-telemetry`, `ifm-machine`), and
//! which of it two runs should share (`ifm-results`).

use crate::start_up::StartUp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether there is nothing to write.
trait Untold {
    fn is_untold(&self) -> bool;
}

impl<T> Untold for Option<T> {
    fn is_untold(&self) -> bool {
        self.is_none()
    }
}

impl<T> Untold for Vec<T> {
    fn is_untold(&self) -> bool {
        self.is_empty()
    }
}

impl<K, V> Untold for BTreeMap<K, V> {
    fn is_untold(&self) -> bool {
        self.is_empty()
    }
}

/// Facts of which each may be untold, and is then not written.
macro_rules! told {
    ($($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            pub struct $name {
                $(
                    $(#[$field_about])*
                    #[serde(default, skip_serializing_if = "Untold::is_untold")]
                    pub $field: $type,
                )*
            }
        )*
    };
}

told! {
    /// A machine and the server on it, as they were at one moment.
    Facts {
        /// When it was read: UTC, RFC 3339.
        taken_utc: Option<String>,
        /// GPUs that the driver reported.
        gpus: Vec<Gpu>,
        /// Confidential computing; absent if not reported.
        confidential: Option<Confidential>,
        /// Processors, memory, kernel and container.
        host: Option<Host>,
        /// The server's process.
        server: Option<ServerProcess>,
    }

    /// A GPU.
    Gpu {
        /// Number that the driver gives it.
        index: Option<u32>,
        /// Identity, the same in every machine.
        uuid: Option<String>,
        /// Product name.
        name: Option<String>,
        /// Memory, bytes.
        memory_bytes: Option<u64>,
        /// Version of the driver.
        driver: Option<String>,
        /// Version of CUDA that the driver takes at most.
        cuda: Option<String>,
        /// Version of the VBIOS.
        vbios: Option<String>,
        /// Power limit that is set, watts.
        power_limit_w: Option<f64>,
        /// Power limit after a restart, watts.
        power_limit_default_w: Option<f64>,
        /// Lowest power limit that can be set, watts.
        power_limit_min_w: Option<f64>,
        /// Highest power limit that can be set, watts.
        power_limit_max_w: Option<f64>,
        /// Power limit in force, all that limit it counted, watts.
        power_limit_enforced_w: Option<f64>,
        /// Clock of the streaming multiprocessors, MHz.
        sm_clock_mhz: Option<u32>,
        /// Its highest, MHz.
        sm_clock_max_mhz: Option<u32>,
        /// Clock of the memory, MHz.
        memory_clock_mhz: Option<u32>,
        /// Its highest, MHz.
        memory_clock_max_mhz: Option<u32>,
        /// Lowest and highest clock that the multiprocessors were locked to, MHz. NVML does not report
        /// it: it is known where this program set it.
        locked_clocks_mhz: Option<(u32, u32)>,
        /// Whether memory errors are corrected.
        ecc: Option<bool>,
        /// Whether the GPU is divided into instances.
        mig: Option<bool>,
        /// Whether the driver stays loaded without a client.
        persistence: Option<bool>,
        /// Temperature of the chip, degrees Celsius.
        temperature_c: Option<u32>,
        /// Why the clock is lower than it could be, in words; empty where nothing holds it down.
        throttle_reasons: Option<Vec<String>>,
        /// Processes that compute on it.
        processes: Option<Vec<GpuProcess>>,
        /// Why the GPU reports nothing, where it does not.
        trouble: Option<String>,
    }

    /// A process on a GPU.
    GpuProcess {
        /// Process id, as this host counts.
        pid: Option<u32>,
        /// Name of its program.
        name: Option<String>,
        /// Memory of the GPU that it holds, bytes.
        memory_bytes: Option<u64>,
    }

    /// Confidential computing, as reported by driver and kernel.
    Confidential {
        /// Whether the GPUs of the system work in confidential mode.
        gpus: Option<bool>,
        /// `production` where the driver said so.
        environment: Option<String>,
        /// Whether development tools may look into it, which protects nothing.
        dev_mode: Option<bool>,
        /// Whether several GPUs are joined by protected PCIe.
        protected_pcie: Option<bool>,
        /// Whether the GPUs take work.
        is_ready: Option<bool>,
        /// `TDX` or `SEV-SNP`: this system is a confidential guest.
        cpu_guest: Option<String>,
    }

    /// The host.
    Host {
        /// Its processors.
        cpu: Option<Cpu>,
        /// Memory, bytes.
        memory_bytes: Option<u64>,
        /// Kernel and its release.
        kernel: Option<String>,
        /// Name and version of the distribution.
        distribution: Option<String>,
        /// The container around this process, and what limits it.
        container: Option<Container>,
        /// One-minute load average.
        load_average: Option<f64>,
        /// The virtual machine or its monitor; `none` on bare metal.
        hypervisor: Option<String>,
        /// The kernel's clock.
        clock_source: Option<String>,
    }

    /// The processors of a host.
    Cpu {
        /// Name of the processor.
        name: Option<String>,
        /// Sockets.
        sockets: Option<u32>,
        /// Cores of all sockets.
        cores: Option<u32>,
        /// Logical processors.
        threads: Option<u32>,
        /// Who chooses the frequency; several with a comma between them.
        governor: Option<String>,
        /// Lowest frequency that may be chosen, MHz.
        frequency_min_mhz: Option<f64>,
        /// Highest frequency that may be chosen, MHz.
        frequency_max_mhz: Option<f64>,
        /// NUMA nodes.
        numa_nodes: Option<u32>,
        /// What the kernel does against weaknesses of the processor, by their names.
        mitigations: BTreeMap<String, String>,
    }

    /// A container, or the control group of a process without one.
    Container {
        /// `docker`, `podman`, `kubernetes`, `container` for any other, or `none`.
        kind: Option<String>,
        /// Processors that it may use at most; absent without a limit.
        cpus: Option<f64>,
        /// Memory that it may use at most, bytes; absent without a limit.
        memory_bytes: Option<u64>,
    }

    /// The server, as reported by its process and its pages.
    ServerProcess {
        /// `vLLM`, `llama.cpp` and so on.
        kind: Option<String>,
        /// Its version.
        version: Option<String>,
        /// Process id.
        pid: Option<u32>,
        /// The words of its command line, secrets masked.
        command: Vec<String>,
        /// The model.
        model: Option<String>,
        /// Tokens whose keys and values fit into its memory.
        kv_capacity_tokens: Option<u64>,
        /// Everything else that the engine reports.
        notes: BTreeMap<String, String>,
        /// Name of the file with its log, in the folder of the run.
        log_file: Option<String>,
        /// How long it took to start.
        start_up: Option<StartUp>,
    }
}

impl Confidential {
    /// Whether the work is confidential: as the driver reports for its GPUs; where it does not, true
    /// for a guest that the processor protects.
    pub fn is_on(&self) -> Option<bool> {
        self.gpus.or(self.cpu_guest.is_some().then_some(true))
    }
}

impl Facts {
    /// `on` or `off`: the value of the tag `cc` by which reports compare; absent if not reported.
    pub fn confidential_word(&self) -> Option<&'static str> {
        let is_on = self.confidential.as_ref()?.is_on()?;
        Some(if is_on { "on" } else { "off" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_not_written() {
        let facts = Facts {
            gpus: vec![Gpu { index: Some(0), throttle_reasons: Some(vec![]), ..Gpu::default() }],
            ..Facts::default()
        };
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(text, r#"{"gpus":[{"index":0,"throttle_reasons":[]}]}"#);
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
        assert_eq!(serde_json::from_str::<Facts>("{}").unwrap(), Facts::default());
    }

    #[test]
    fn the_driver_says_whether_work_is_confidential() {
        let word = |gpus, cpu_guest: Option<&str>| {
            let cpu_guest = cpu_guest.map(str::to_owned);
            let confidential = Some(Confidential { gpus, cpu_guest, ..Confidential::default() });
            Facts { confidential, ..Facts::default() }.confidential_word()
        };
        assert_eq!(word(Some(true), None), Some("on"));
        assert_eq!(word(Some(false), Some("TDX")), Some("off"));
        assert_eq!(word(None, Some("SEV-SNP")), Some("on"));
        assert_eq!(word(None, None), None);
        assert_eq!(Facts::default().confidential_word(), None);
    }
}
