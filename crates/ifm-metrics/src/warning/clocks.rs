//! GPUs that became slower while a level ran: a falling clock, and what limited it.
//!
//! Moments in which a GPU idled do not count. Its own power limit is not a fault, and is noted.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use crate::telemetry;
use ifm_core::Series;
use ifm_core::series::Signal;

/// A clock that fell by a larger share from the first to the last third of a level.
const FALL_MAX: f64 = 0.05;
/// Samples of a third, at least.
const THIRD_MIN: usize = 3;
/// The share of the samples in which something may limit a clock without being reported.
const HELD_SHARE_MAX: f64 = 0.05;
/// The share of the samples at the power limit from which on it is noted.
const LIMIT_SHARE_MIN: f64 = 0.5;

// Bits of `nvmlClocksEventReasons`, as in NVML's header.
const IDLE: u64 = 0x1;
const POWER_LIMIT: u64 = 0x4;
/// What holds a clock down against everybody's will.
const HELD: [(u64, &str); 4] = [
    (0x40, "heat (hardware)"),
    (0x20, "heat (software)"),
    (0x80, "the power supply"),
    (0x08, "the hardware"),
];

pub(super) const CHECK: Check = Check {
    id: "clocks",
    title: "GPU clocks did not drop during a level",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let Some(window) = level.window().map(|rates| rates.window) else {
        return AtLevel::NotApplicable;
    };
    let gpus = gpus(&context.run.series, (window.start_ns, window.end_ns));
    if gpus.is_empty() {
        return AtLevel::NotApplicable;
    }
    let slowed: Vec<String> = gpus.iter().filter_map(Gpu::slowed).collect();
    let limited: Vec<&str> =
        gpus.iter().filter(|gpu| gpu.is_limited()).map(|gpu| gpu.source).collect();
    match (slowed.is_empty(), limited.is_empty()) {
        (false, _) => AtLevel::Fires(Severity::Caution, slowed.join("; ")),
        (true, false) => AtLevel::Fires(
            Severity::Note,
            format!("at the power limit most of the time: {}", limited.join(", ")),
        ),
        (true, true) => AtLevel::Silent,
    }
}

/// The GPUs that reported their clocks in a span.
pub(super) fn gpus(series: &[Series], span: (u64, u64)) -> Vec<Gpu<'_>> {
    let mut sources: Vec<&str> = [Signal::GpuClock, Signal::GpuThrottleReasons]
        .into_iter()
        .flat_map(|quantity| telemetry::of(series, quantity))
        .map(|series| series.source.as_str())
        .collect();
    sources.sort_unstable();
    sources.dedup();
    sources
        .into_iter()
        .map(|source| Gpu::of(source, series, span))
        .filter(|gpu| !(gpu.clocks_mhz.is_empty() && gpu.reasons.is_empty()))
        .collect()
}

/// One GPU while the level ran, idle moments left out.
pub(super) struct Gpu<'run> {
    pub source: &'run str,
    pub clocks_mhz: Vec<f64>,
    pub temperatures_c: Vec<f64>,
    reasons: Vec<u64>,
}

impl<'run> Gpu<'run> {
    fn of(source: &'run str, all: &'run [Series], (start_ns, end_ns): (u64, u64)) -> Gpu<'run> {
        let samples = |quantity| -> Vec<(u64, f64)> {
            let series = telemetry::of(all, quantity).find(|series| series.source == source);
            let samples = series
                .into_iter()
                .flat_map(|series| series.at_ns.iter().copied().zip(series.value.iter().copied()));
            samples.filter(|(at_ns, _)| (start_ns..=end_ns).contains(at_ns)).collect()
        };
        let reasons: Vec<(u64, u64)> = samples(Signal::GpuThrottleReasons)
            .into_iter()
            .map(|(at_ns, bits)| (at_ns, bits as u64))
            .collect();
        let idled = |at_ns: u64| reasons.iter().any(|(at, bits)| *at == at_ns && bits & IDLE != 0);
        let clocks = samples(Signal::GpuClock).into_iter();
        let temperatures = samples(Signal::GpuTemperature).into_iter();
        Gpu {
            source,
            clocks_mhz: clocks.filter(|(at_ns, _)| !idled(*at_ns)).map(|(_, mhz)| mhz).collect(),
            reasons: reasons.iter().map(|(_, bits)| *bits).filter(|b| b & IDLE == 0).collect(),
            temperatures_c: temperatures.map(|(_, degrees)| degrees).collect(),
        }
    }

    /// What slowed it down, as text.
    fn slowed(&self) -> Option<String> {
        let mut parts: Vec<String> = self.fall().into_iter().collect();
        for (bit, name) in HELD {
            let held = self.reasons.iter().filter(|bits| *bits & bit != 0).count();
            if held as f64 > HELD_SHARE_MAX * self.reasons.len() as f64 {
                parts.push(format!(
                    "held down by {name} in {held} of {} samples",
                    self.reasons.len()
                ));
            }
        }
        if parts.is_empty() {
            return None;
        }
        let hottest_c = self.temperatures_c.iter().copied().reduce(f64::max);
        parts.extend(hottest_c.map(|degrees| format!("up to {degrees:.0} °C")));
        Some(format!("{}: {}", self.source, parts.join(", ")))
    }

    /// How far the clock fell from the first to the last third.
    fn fall(&self) -> Option<String> {
        let third = self.clocks_mhz.len() / 3;
        if third < THIRD_MIN {
            return None;
        }
        let before = median(self.clocks_mhz.get(..third)?)?;
        let after = median(self.clocks_mhz.get(self.clocks_mhz.len() - third..)?)?;
        let share = 1.0 - after / before;
        (before > 0.0 && share > FALL_MAX)
            .then(|| format!("clock {before:.0} to {after:.0} MHz (-{})", percent(share)))
    }

    fn is_limited(&self) -> bool {
        let at_limit = self.reasons.iter().filter(|bits| *bits & POWER_LIMIT != 0).count();
        at_limit > 0 && at_limit as f64 >= LIMIT_SHARE_MIN * self.reasons.len() as f64
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::telemetry;
    use crate::warning::CheckState;
    use crate::warning::testing::{sound_run, state};
    use ifm_core::RunData;

    type Value<'a> = &'a dyn Fn(f64) -> f64;

    /// A run of 15 s on one GPU with this clock, these reasons and a temperature.
    fn run(clock: Value, reasons: Value) -> RunData {
        let mut run = sound_run();
        let series = |quantity, value: Value| telemetry(quantity, "GPU 0", (0.0, 60.0), value);
        run.series = vec![
            series(Signal::GpuClock, clock),
            series(Signal::GpuThrottleReasons, reasons),
            series(Signal::GpuTemperature, &|at_s| 60.0 + at_s),
        ];
        run
    }

    fn text(run: &RunData) -> String {
        let summary = crate::summarize(run);
        let found = summary.warnings.into_iter().find(|warning| warning.check == "clocks");
        found.expect("it fires").text
    }

    #[test]
    fn fires_on_a_clock_that_falls() {
        assert_eq!(state(&run(&|_| 1980.0, &|_| 0.0), "clocks"), CheckState::Passed);
        assert_eq!(state(&run(&|at_s| 1980.0 - at_s, &|_| 0.0), "clocks"), CheckState::Passed);
        let falling = run(&|at_s| 1980.0 - 30.0 * at_s, &|_| 0.0);
        assert_eq!(state(&falling, "clocks"), CheckState::Caution);
        let text = text(&falling);
        assert!(text.starts_with("GPU 0: clock 18") && text.contains("°C"), "{text}");
    }

    #[test]
    fn fires_on_heat_and_notes_a_power_limit() {
        let hot = run(&|_| 1980.0, &|at_s| if at_s < 6.0 { 64.0 } else { 0.0 });
        assert_eq!(state(&hot, "clocks"), CheckState::Caution);
        assert!(text(&hot).contains("held down by heat (hardware) in"), "{}", text(&hot));
        let limited = run(&|_| 1980.0, &|_| 4.0);
        assert_eq!(state(&limited, "clocks"), CheckState::Passed);
        assert!(text(&limited).contains("power limit"));
    }

    #[test]
    fn ignores_idle_moments_and_few_samples() {
        let half = |at_s: f64| if at_s < 8.0 { 1980.0 } else { 210.0 };
        assert_eq!(state(&run(&half, &|_| 0.0), "clocks"), CheckState::Caution);
        let idle = |at_s: f64| if at_s < 8.0 { 0.0 } else { 1.0 };
        assert_eq!(state(&run(&half, &idle), "clocks"), CheckState::Passed);
        let mut short = run(&half, &|_| 0.0);
        short.requests.truncate(40);
        assert_eq!(state(&short, "clocks"), CheckState::Passed);
    }

    #[test]
    fn without_clocks_it_cannot_be_made() {
        assert_eq!(state(&sound_run(), "clocks"), CheckState::NotApplicable);
    }
}
