//! What the driver reports once about its GPUs: names, versions, limits, modes, other processes on
//! them; and confidential computing.
//!
//! What a driver or a GPU does not know is absent. Not here: what moves while a run goes on (`nvml`),
//! and setting anything (`control`).

use crate::nvml;
use ifm_core::facts::{Confidential, Gpu, GpuProcess};
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use std::path::Path;

/// Most GPUs that are asked, and most processes that are named of each.
const GPUS_MAX: u32 = 64;
const PROCESSES_MAX: usize = 64;
/// Longest name of a process, bytes.
const NAME_BYTES_MAX: usize = 256;

/// Why a clock is lower than it could be: bits of `nvmlClocksEventReasons`, as in NVML's header.
const REASONS: [(u64, &str); 9] = [
    (0x001, "idle"),
    (0x002, "clocks that are set"),
    (0x004, "power limit"),
    (0x008, "hardware"),
    (0x010, "another GPU of its group"),
    (0x020, "heat (software)"),
    (0x040, "heat (hardware)"),
    (0x080, "power supply"),
    (0x100, "display clocks"),
];

/// The reasons in words.
fn reasons(bits: u64) -> Vec<String> {
    let known = REASONS.iter().filter(|(bit, _)| bits & bit != 0);
    let mut words: Vec<String> = known.map(|(_, word)| (*word).to_owned()).collect();
    let unknown = REASONS.iter().fold(bits, |bits, (bit, _)| bits & !bit);
    if unknown != 0 {
        words.push(format!("unknown ({unknown:#x})"));
    }
    words
}

/// The GPUs of the driver, and its report on confidential computing. `library` is a file to load
/// instead of the usual one.
///
/// # Errors
/// Why no driver is available, in words.
pub fn read(library: Option<&Path>) -> Result<(Vec<Gpu>, Option<Confidential>), String> {
    let nvml = nvml::open(library)?;
    let count = nvml.device_count().map_err(|error| format!("NVML: {error}"))?;
    let gpus = (0..count.min(GPUS_MAX)).map(|index| gpu(&nvml, index)).collect();
    Ok((gpus, confidential(&nvml)))
}

fn gpu(nvml: &Nvml, index: u32) -> Gpu {
    let watts = |milliwatts: u32| f64::from(milliwatts) / 1e3;
    let found = match nvml.device_by_index(index) {
        Ok(found) => found,
        Err(error) => {
            return Gpu { index: Some(index), trouble: Some(error.to_string()), ..Gpu::default() };
        }
    };
    let cuda = nvml.sys_cuda_driver_version().ok().map(|version| {
        let major = nvml_wrapper::cuda_driver_version_major(version);
        format!("{major}.{}", nvml_wrapper::cuda_driver_version_minor(version))
    });
    let range = found.power_management_limit_constraints().ok();
    let name = found.name();
    Gpu {
        index: Some(index),
        uuid: found.uuid().ok(),
        memory_bytes: found.memory_info().ok().map(|memory| memory.total),
        driver: nvml.sys_driver_version().ok(),
        cuda,
        vbios: found.vbios_version().ok(),
        power_limit_w: found.power_management_limit().ok().map(watts),
        power_limit_default_w: found.power_management_limit_default().ok().map(watts),
        power_limit_min_w: range.as_ref().map(|range| watts(range.min_limit)),
        power_limit_max_w: range.as_ref().map(|range| watts(range.max_limit)),
        power_limit_enforced_w: found.enforced_power_limit().ok().map(watts),
        sm_clock_mhz: found.clock_info(Clock::SM).ok(),
        sm_clock_max_mhz: found.max_clock_info(Clock::SM).ok(),
        memory_clock_mhz: found.clock_info(Clock::Memory).ok(),
        memory_clock_max_mhz: found.max_clock_info(Clock::Memory).ok(),
        locked_clocks_mhz: None,
        ecc: found.is_ecc_enabled().ok().map(|ecc| ecc.currently_enabled),
        mig: found.mig_mode().ok().map(|mig| mig.current != 0),
        persistence: ifm_sys::only_on_linux!(found.is_in_persistent_mode().ok()).flatten(),
        temperature_c: found.temperature(TemperatureSensor::Gpu).ok(),
        throttle_reasons: found.current_throttle_reasons().ok().map(|found| reasons(found.bits())),
        processes: found.running_compute_processes().ok().map(|found| {
            let first = found.into_iter().take(PROCESSES_MAX);
            first.map(|process| self::process(nvml, process.pid, process.used_gpu_memory)).collect()
        }),
        trouble: name.as_ref().err().map(ToString::to_string),
        name: name.ok(),
    }
}

fn process(nvml: &Nvml, pid: u32, memory: UsedGpuMemory) -> GpuProcess {
    let memory_bytes = match memory {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    };
    let name = nvml.sys_process_name(pid, NAME_BYTES_MAX).ok().filter(|name| !name.is_empty());
    GpuProcess { pid: Some(pid), name, memory_bytes }
}

/// Confidential computing is a state of the whole system, which any GPU reports. Absent where the
/// driver does not support it.
fn confidential(nvml: &Nvml) -> Option<Confidential> {
    let gpu = nvml.device_by_index(0).ok()?;
    let found = Confidential {
        gpus: gpu.is_cc_enabled().ok(),
        // The driver's wrapper reports the environment only together with all that makes it safe.
        environment: gpu
            .check_confidential_compute_status()
            .ok()
            .and_then(|is_production| is_production.then(|| "production".to_owned())),
        dev_mode: gpu.is_cc_dev_mode_enabled().ok(),
        protected_pcie: gpu.is_multi_gpu_protected_pcie_enabled().ok(),
        is_ready: gpu.get_confidential_compute_state().ok(),
        cpu_guest: None,
    };
    (found != Confidential::default()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::reasons;

    #[test]
    fn reasons_become_words_without_loss() {
        assert!(reasons(0).is_empty());
        assert_eq!(reasons(0x44), ["power limit", "heat (hardware)"]);
        assert_eq!(reasons(0x1004), ["power limit", "unknown (0x1000)"]);
    }
}
