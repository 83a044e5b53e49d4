//! Pages of NVIDIA's DCGM exporter: power, energy and clocks of the GPUs of another host.
//!
//! Names and units are from `etc/default-counters.csv` of dcgm-exporter 4.6.0. A GPU that is cut
//! into instances (MIG) is listed once for each of them with the same values: it is read once.

use crate::page::Sample;
use crate::{Page, Reading};
use ifm_core::series::Signal;
use std::collections::BTreeSet;

/// A field, what it is, and what its value is multiplied by to get our unit.
const FIELDS: [(&str, Signal, f64); 9] = [
    ("DCGM_FI_DEV_POWER_USAGE", Signal::GpuPower, 1.0),
    // Millijoules.
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Signal::GpuEnergy, 1e-3),
    ("DCGM_FI_DEV_SM_CLOCK", Signal::GpuClock, 1.0),
    ("DCGM_FI_DEV_MEM_CLOCK", Signal::GpuMemoryClock, 1.0),
    ("DCGM_FI_DEV_GPU_TEMP", Signal::GpuTemperature, 1.0),
    ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", Signal::GpuThrottleReasons, 1.0),
    ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Signal::GpuThrottleReasons, 1.0),
    // MiB.
    ("DCGM_FI_DEV_FB_USED", Signal::GpuMemory, 1_048_576.0),
    // Percent.
    ("DCGM_FI_DEV_GPU_UTIL", Signal::GpuBusyShare, 0.01),
];

/// What a page of the exporter reports for each GPU; empty for any other page.
pub fn read(page: &Page<'_>) -> Vec<Reading> {
    let mut seen = BTreeSet::new();
    let reading = |sample: &Sample<'_>| {
        let (_, quantity, factor) = FIELDS.iter().find(|(name, ..)| *name == sample.name)?;
        let gpu = sample.label("gpu").or_else(|| sample.label("UUID"))?;
        let host = sample.label("Hostname").unwrap_or_default();
        let value = Some(sample.value).filter(|value| value.is_finite() && *value >= 0.0)?;
        // The exporter's address is the user's; the host name distinguishes several hosts.
        let source = format!("DCGM {host} GPU {gpu}").replace("  ", " ");
        seen.insert((source.clone(), *quantity))
            .then(|| Reading::new(source, *quantity, value * factor))
    };
    page.samples.iter().filter_map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_ours_and_instances_are_not_counted_twice() {
        let text = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"h\"} 22.582000\n\
                    DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",GPU_I_ID=\"3\",Hostname=\"h\"} 955287014\n\
                    DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",GPU_I_ID=\"5\",Hostname=\"h\"} 955287014\n\
                    DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 40\n\
                    DCGM_FI_DEV_FB_USED{gpu=\"1\"} 2\n\
                    DCGM_FI_DEV_SM_CLOCK 1410\n\
                    DCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 0\n";
        let found = read(&Page::read(text));
        let expect = [
            Reading::new("DCGM h GPU 0", Signal::GpuPower, 22.582),
            Reading::new("DCGM h GPU 0", Signal::GpuEnergy, 955_287.014),
            Reading::new("DCGM GPU 1", Signal::GpuBusyShare, 0.4),
            Reading::new("DCGM GPU 1", Signal::GpuMemory, 2_097_152.0),
        ];
        assert_eq!(found.len(), expect.len());
        for (found, expect) in found.iter().zip(expect) {
            assert!((found.value - expect.value).abs() < 1e-6 * expect.value, "{found:?}");
            assert_eq!((&found.source, found.quantity), (&expect.source, expect.quantity));
        }
    }
}
