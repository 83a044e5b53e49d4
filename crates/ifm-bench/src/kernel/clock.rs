//! The current clock of a device, where it is reported.

/// Where Linux reports the clocks of processors, kHz.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// The clock of a device, MHz: the shader clock of a GPU, or the highest core clock of a processor;
/// absent where it is not reported, as in most virtual machines.
pub fn clock_mhz(device: &str) -> Option<u32> {
    match device.strip_prefix("cuda") {
        Some(index) => {
            let index = index.trim_start_matches(':').parse().unwrap_or(0);
            ifm_telemetry::control::Control::open(None).ok()?.clock(index).ok()
        }
        None => processor_mhz(),
    }
}

fn processor_mhz() -> Option<u32> {
    let processors = std::fs::read_dir(PROCESSORS).ok()?.flatten();
    let khz = processors.filter_map(|one| {
        let text = std::fs::read_to_string(one.path().join("cpufreq/scaling_cur_freq")).ok()?;
        text.trim().parse::<u32>().ok()
    });
    khz.max().map(|khz| khz / 1000)
}
