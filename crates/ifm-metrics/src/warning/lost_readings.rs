//! Devices that stopped reporting during a level.
//!
//! Not here: how energy is computed, which leaves out what it does not know (`telemetry`).

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;
use crate::telemetry::LostReadings;
use ifm_core::series::Signal;

/// Readings of devices.
const OF_DEVICES: [Signal; 4] =
    [Signal::GpuPower, Signal::GpuEnergy, Signal::GpuClock, Signal::CpuEnergy];

pub(super) const CHECK: Check = Check {
    id: "lost_readings",
    title: "every GPU and power sensor reported until the end",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let series = &context.run.series;
    let is_there = |quantity| crate::telemetry::of(series, quantity).next().is_some();
    let window = level.window().map(|rates| rates.window);
    let Some(window) = window.filter(|_| OF_DEVICES.into_iter().any(is_there)) else {
        return AtLevel::NotApplicable;
    };
    match LostReadings::words(series, (window.start_ns, window.end_ns)) {
        Some(words) => AtLevel::Fires(Severity::Caution, words),
        None => AtLevel::Silent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::telemetry;
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state};

    #[test]
    fn fires_where_one_of_two_gpus_falls_off() {
        let power =
            |gpu: &str, until_s| telemetry(Signal::GpuPower, gpu, (0.0, until_s), &|_| 100.0);
        let mut run = sound_run();
        run.series = vec![power("NVML GPU 0", 60.0), power("NVML GPU 1", 4.0)];
        let summary = crate::summarize(&run);
        let found = summary.warnings.iter().find(|warning| warning.check == "lost_readings");
        let found = found.expect("a warning");
        assert_eq!((found.severity, summary.levels[0].energy), (Severity::Caution, None));
        assert!(found.text.contains("NVML GPU 1: no readings from 4.0 to"), "{}", found.text);
    }

    #[test]
    fn passes_with_all_readings_and_needs_a_device() {
        let mut run = sound_run();
        assert_eq!(state(&run, "lost_readings"), CheckState::NotApplicable);
        run.series = vec![telemetry(Signal::GpuPower, "a", (0.0, 60.0), &|_| 100.0)];
        assert_eq!(state(&run, "lost_readings"), CheckState::Passed);
    }
}
