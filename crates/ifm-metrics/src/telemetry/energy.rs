//! Energy of a level: what the devices consumed during its window, and the energy per token.
//!
//! Whole devices count, with what they draw when idle. A counter of energy is exact, so its
//! difference is taken where there is one; else power is integrated over its samples.

use super::{of, sampled};
use crate::measured::{WindowKind, WindowSummary};
use ifm_core::series::Signal;
use ifm_core::{RunView, Series};
use std::collections::{BTreeMap, BTreeSet};

/// Power that was measured is not judged over shorter windows: devices tell it as a mean over some time.
const WINDOW_S_MIN: f64 = 1.0;
const J_PER_KWH: f64 = 3.6e6;

ifm_core::vocabulary! {
    /// Whose energy it is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PoweredBy {
        /// Graphics processors, without the rest of the host.
        Gpus = "gpus",
        /// Processor packages and their memory, without the rest of the host. They do the client's
        /// work too.
        Processors = "processors",
        /// Whatever the user meant.
        Stated = "stated",
    }
}

ifm_core::vocabulary! {
    /// How the energy was determined.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum EnergyMethod {
        /// The devices count their energy.
        Counter = "counter",
        /// Power was sampled, of one device at least.
        Samples = "samples",
        /// The user said so.
        Stated = "stated",
    }
}

/// Energy over the window of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelEnergy {
    /// Whose it is.
    pub of: PoweredBy,
    /// How it was determined.
    pub method: EnergyMethod,
    /// Devices that it is added up over.
    pub devices: u32,
    /// The window.
    pub window: WindowKind,
    /// Its length, seconds.
    pub seconds: f64,
    /// Energy, joules.
    pub joules: f64,
    /// Mean power, watts.
    pub watts_mean: f64,
    /// Highest power of all devices together among the samples, watts; absent for one that was
    /// stated.
    pub watts_peak: Option<f64>,
    /// Power limit of the GPUs that it is added up over, together, watts; absent where the facts of the
    /// machine do not tell it of each.
    pub watts_limit: Option<f64>,
    /// Joules for each output token of the window; absent without tokens.
    pub joules_per_output_token: Option<f64>,
    /// Joules for each complete answer of the window; absent without one.
    pub joules_per_request: Option<f64>,
}

/// Tokens for a kilowatt-hour.
pub fn tokens_per_kwh(joules_per_token: f64) -> f64 {
    J_PER_KWH / joules_per_token
}

/// What a group of devices drew.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// Whose it is.
    pub of: PoweredBy,
    /// How it was determined.
    pub method: EnergyMethod,
    /// Devices that it is added up over.
    pub devices: u32,
    /// Energy, joules.
    pub joules: f64,
    /// Highest power of all devices together among the samples, watts; absent for one that was
    /// stated.
    pub watts_peak: Option<f64>,
}

impl Drawn {
    /// What was drawn between two moments, nanoseconds since the origin of the series; absent
    /// where it is not known of every device, and for less than a second of measured power.
    pub fn within(series: &[Series], span: (u64, u64)) -> Option<Drawn> {
        let of = known_devices(series)?;
        let is_short = span.1.saturating_sub(span.0) as f64 / 1e9 < WINDOW_S_MIN;
        if is_short && of != PoweredBy::Stated {
            return None;
        }
        let drawn = match of {
            PoweredBy::Stated => stated(series, span),
            PoweredBy::Gpus => gpus(series, span),
            PoweredBy::Processors => processors(series, span),
        }?;
        // No working device draws nothing: a sensor that reports zero is ignored.
        (drawn.joules.is_finite() && drawn.joules > 0.0).then_some(drawn)
    }
}

/// Most memory in use on all GPUs together among the samples between two moments, bytes; absent
/// where they were never read together, and where one of them stopped reporting.
pub fn gpu_memory_peak(series: &[Series], span: (u64, u64)) -> Option<f64> {
    if of(series, Signal::GpuMemory).any(|series| sampled::hole(series, span).is_some()) {
        return None;
    }
    peak(of(series, Signal::GpuMemory).map(|series| sampled::within(series, span).collect()))
}

/// Memory in use on all GPUs together at the last sample between two moments, bytes; absent where they were
/// not read together.
pub fn gpu_memory_last(series: &[Series], span: (u64, u64)) -> Option<f64> {
    sums(of(series, Signal::GpuMemory).map(|series| sampled::within(series, span).collect()))
        .into_values()
        .next_back()
}

impl LevelEnergy {
    /// The energy over the window of these rates, of tokens where the level generates some; absent
    /// where it is not known of every device.
    pub fn of(rates: &WindowSummary, generates: bool, run: RunView) -> Option<LevelEnergy> {
        let series = run.series;
        let window = rates.window;
        let seconds = window.seconds();
        let drawn = Drawn::within(series, (window.start_ns, window.end_ns))?;
        let joules = drawn.joules;
        let tokens = Some(rates.output_tokens).filter(|tokens| generates && *tokens > 0.0);
        Some(LevelEnergy {
            of: drawn.of,
            method: drawn.method,
            devices: drawn.devices,
            window: window.kind,
            seconds,
            joules,
            watts_mean: joules / seconds,
            watts_peak: drawn.watts_peak,
            watts_limit: (drawn.of == PoweredBy::Gpus).then(|| limit(run)).flatten(),
            joules_per_output_token: tokens.map(|tokens| joules / tokens),
            joules_per_request: (rates.ok > 0).then(|| joules / rates.ok as f64),
        })
    }
}

/// The power limit of all GPUs whose power was read, as the facts of the machine tell it.
fn limit(run: RunView) -> Option<f64> {
    let of_gpus = [Signal::GpuPower, Signal::GpuEnergy];
    let read = of_gpus.into_iter().flat_map(|quantity| of(run.series, quantity));
    let sources: BTreeSet<&str> = read.map(|series| series.source.as_str()).collect();
    let gpus = &run.manifest.facts.as_ref()?.gpus;
    let of_source = |source: &&str| {
        let index: u32 = source.strip_prefix("NVML GPU ")?.parse().ok()?;
        let gpu = gpus.iter().find(|gpu| gpu.index == Some(index))?;
        gpu.power_limit_enforced_w.or(gpu.power_limit_w)
    };
    sources.iter().map(of_source).sum()
}

/// The devices that count: the user's choice, else the GPUs, else the CPUs.
fn known_devices(series: &[Series]) -> Option<PoweredBy> {
    let is_there = |quantity| of(series, quantity).next().is_some();
    if is_there(Signal::StatedPower) {
        return Some(PoweredBy::Stated);
    }
    if is_there(Signal::GpuPower) || is_there(Signal::GpuEnergy) {
        return Some(PoweredBy::Gpus);
    }
    is_there(Signal::CpuEnergy).then_some(PoweredBy::Processors)
}

fn stated(series: &[Series], (start_ns, end_ns): (u64, u64)) -> Option<Drawn> {
    // It is the same all the time, so that holes between its samples mean nothing.
    let watts = *of(series, Signal::StatedPower).next()?.value.first()?;
    Some(Drawn {
        of: PoweredBy::Stated,
        method: EnergyMethod::Stated,
        devices: 1,
        joules: watts * (end_ns.saturating_sub(start_ns)) as f64 / 1e9,
        watts_peak: None,
    })
}

fn gpus(series: &[Series], span: (u64, u64)) -> Option<Drawn> {
    let by_source = |quantity| -> BTreeMap<&str, &Series> {
        of(series, quantity).map(|series| (series.source.as_str(), series)).collect()
    };
    let (power, energy) = (by_source(Signal::GpuPower), by_source(Signal::GpuEnergy));
    let sources: BTreeSet<&str> = power.keys().chain(energy.keys()).copied().collect();
    let mut joules = 0.0;
    let mut method = EnergyMethod::Counter;
    for source in &sources {
        let counted = energy.get(source).and_then(|series| counted(series, span));
        joules += match counted {
            Some(joules) => joules,
            None => {
                method = EnergyMethod::Samples;
                sampled::integral(power.get(source)?, span)?
            }
        };
    }
    let powers: Vec<&Series> = power.values().copied().collect();
    let watts_peak = match powers.len() == sources.len() {
        true => peak(powers.iter().map(|series| sampled::within(series, span).collect())),
        false => None,
    };
    let devices = sources.len() as u32;
    Some(Drawn { of: PoweredBy::Gpus, method, devices, joules, watts_peak })
}

fn processors(series: &[Series], span: (u64, u64)) -> Option<Drawn> {
    let zones: Vec<&Series> = of(series, Signal::CpuEnergy).collect();
    let joules: Option<f64> = zones.iter().map(|series| counted(series, span)).sum();
    // Packages, without the memory at them.
    let devices = zones.iter().filter(|zone| zone.source.contains("package")).count() as u32;
    Some(Drawn {
        of: PoweredBy::Processors,
        method: EnergyMethod::Counter,
        devices,
        joules: joules?,
        watts_peak: peak(zones.iter().map(|series| powers(series, span))),
    })
}

/// What a counter of energy moved; absent if it stood still, since some sensors only pretend.
fn counted(series: &Series, span: (u64, u64)) -> Option<f64> {
    sampled::moved(series, span).filter(|joules| *joules > 0.0)
}

/// Power between successive samples of a counter, watts, at the later of the two.
fn powers(series: &Series, span: (u64, u64)) -> Vec<(u64, f64)> {
    let samples: Vec<(u64, f64)> = sampled::within(series, span).collect();
    let between = samples.iter().zip(samples.iter().skip(1));
    between
        .filter(|(a, b)| b.0 > a.0)
        .map(|(a, b)| (b.0, (b.1 - a.1) / ((b.0 - a.0) as f64 / 1e9)))
        .collect()
}

/// The largest sum of all devices at one time; absent where they were never read together.
fn peak(devices: impl Iterator<Item = Vec<(u64, f64)>>) -> Option<f64> {
    sums(devices).into_values().reduce(f64::max)
}

/// The sum of all devices at each time at which all were read.
fn sums(devices: impl Iterator<Item = Vec<(u64, f64)>>) -> BTreeMap<u64, f64> {
    let mut sums: BTreeMap<u64, (u32, f64)> = BTreeMap::new();
    let mut count = 0;
    for samples in devices {
        count += 1;
        for (at_ns, value) in samples {
            let sum = sums.entry(at_ns).or_default();
            *sum = (sum.0 + 1, sum.1 + value);
        }
    }
    sums.retain(|_, (devices, _)| *devices == count);
    sums.into_iter().map(|(at_ns, (_, sum))| (at_ns, sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_loop, run, telemetry};
    use ifm_core::RunData;

    /// 2 users, 60 rounds of 16 tokens: 15 s and 1920 tokens, steady but for the first wave of 0.25 s,
    /// sampled from before its start until after its end.
    fn level() -> RunData {
        run(&[2], closed_loop((0, 0), (2, 60), 1000.0, (100.0, 10.0, 16)))
    }

    fn energy(run: &RunData) -> Option<LevelEnergy> {
        crate::summarize(run).levels[0].energy
    }

    /// What is sampled: quantity, device, and its value at a time in seconds.
    type Sampled<'a> = (Signal, &'a str, &'a dyn Fn(f64) -> f64);

    fn with(series: &[Sampled]) -> Option<LevelEnergy> {
        let mut run = level();
        run.series = series
            .iter()
            .map(|(quantity, source, value)| telemetry(*quantity, source, (0.0, 20.0), value))
            .collect();
        energy(&run)
    }

    #[test]
    fn sampled_power_is_integrated() {
        let found = with(&[(Signal::GpuPower, "a", &|_| 200.0)]).expect("energy");
        // 14.75 s at 200 W are 2950 J, on 1888 tokens of 118 answers.
        assert!((found.joules - 2950.0).abs() < 1e-6, "{found:?}");
        assert!((found.watts_mean - 200.0).abs() < 1e-9 && found.watts_peak == Some(200.0));
        let per_token = found.joules_per_output_token.expect("tokens");
        assert!((per_token - found.joules / 1888.0).abs() < 0.05 * per_token, "{per_token}");
        assert_eq!((found.method, found.of), (EnergyMethod::Samples, PoweredBy::Gpus));
        assert!((tokens_per_kwh(2.0) - 1.8e6).abs() < 1e-6);
    }

    #[test]
    fn prefers_an_energy_counter_unless_it_is_stuck() {
        let counter = |rate: f64| move |at_s: f64| 1e6 + rate * at_s;
        let sampled: &dyn Fn(f64) -> f64 = &|_| 150.0;
        let both = |rate| {
            let counter = counter(rate);
            with(&[(Signal::GpuPower, "a", sampled), (Signal::GpuEnergy, "a", &counter)])
        };
        let found = both(180.0).expect("energy");
        assert!((found.joules - 2655.0).abs() < 1e-3, "{found:?}");
        assert_eq!((found.method, found.watts_peak), (EnergyMethod::Counter, Some(150.0)));
        let found = both(0.0).expect("energy");
        assert!((found.joules - 2212.5).abs() < 1e-6, "{found:?}");
        assert_eq!(found.method, EnergyMethod::Samples);
        let still = counter(0.0);
        assert!(with(&[(Signal::GpuEnergy, "a", &still)]).is_none());
        assert!(with(&[(Signal::CpuEnergy, "RAPL package-0", &still)]).is_none());
        assert!(with(&[(Signal::GpuPower, "a", &|_| 0.0)]).is_none());
    }

    /// Another program ends after 3 s; its memory is in the peak of the second before, and not in
    /// what is left.
    #[test]
    fn memory_before_a_moment_is_that_of_the_last_sample() {
        let held: &dyn Fn(f64) -> f64 = &|at_s| if at_s < 3.0 { 16e9 } else { 1e9 };
        let series = ["a", "b"].map(|gpu| telemetry(Signal::GpuMemory, gpu, (0.0, 5.0), held));
        let span = (2_000_000_000, 3_500_000_000);
        assert_eq!(gpu_memory_peak(&series, span), Some(32e9));
        assert_eq!(gpu_memory_last(&series, span), Some(2e9));
        assert_eq!(gpu_memory_last(&series, (6_000_000_000, 7_000_000_000)), None);
    }

    #[test]
    fn devices_are_added_up_and_a_silent_one_leaves_nothing() {
        let hundred: &dyn Fn(f64) -> f64 = &|_| 100.0;
        let found = with(&[(Signal::GpuPower, "a", hundred), (Signal::GpuPower, "b", hundred)]);
        let found = found.expect("energy");
        assert_eq!((found.devices, found.watts_peak), (2, Some(200.0)));
        assert!((found.watts_mean - 200.0).abs() < 1e-9);
        let mut run = level();
        run.series = vec![
            telemetry(Signal::GpuPower, "a", (0.0, 20.0), hundred),
            telemetry(Signal::GpuPower, "b", (0.0, 4.0), hundred),
        ];
        assert!(energy(&run).is_none(), "the second was lost");
    }

    #[test]
    fn processors_count_where_there_is_no_gpu_and_what_was_stated_before_all() {
        let rising: &dyn Fn(f64) -> f64 = &|at_s| 65.0 * at_s;
        let cpu = (Signal::CpuEnergy, "RAPL package-0 (intel-rapl:0)", rising);
        let found = with(&[cpu]).expect("energy");
        assert_eq!((found.of, found.devices), (PoweredBy::Processors, 1));
        assert!((found.watts_mean - 65.0).abs() < 1e-6, "{found:?}");
        assert!(found.watts_peak.is_some_and(|peak| (peak - 65.0).abs() < 1e-6));
        let gpu = (Signal::GpuPower, "a", &(|_| 100.0) as &dyn Fn(f64) -> f64);
        assert_eq!(with(&[cpu, gpu]).expect("energy").of, PoweredBy::Gpus);
        let said = (Signal::StatedPower, "stated by the user", &(|_| 350.0) as &dyn Fn(f64) -> f64);
        let found = with(&[cpu, gpu, said]).expect("energy");
        assert_eq!((found.of, found.watts_peak), (PoweredBy::Stated, None));
        assert!((found.watts_mean - 350.0).abs() < 1e-9);
    }

    #[test]
    fn stated_power_holds_for_spans_too_short_to_measure() {
        let drawn = |quantity, end_s: f64| {
            let series = [telemetry(quantity, "a", (0.0, 20.0), &|_| 350.0)];
            Drawn::within(&series, (0, (end_s * 1e9) as u64)).map(|drawn| drawn.joules)
        };
        assert_eq!(drawn(Signal::StatedPower, 0.2), Some(70.0));
        assert_eq!(drawn(Signal::StatedPower, 0.0), None);
        assert_eq!(drawn(Signal::GpuPower, 0.2), None);
        assert_eq!(drawn(Signal::GpuPower, 2.0), Some(700.0));
    }

    #[test]
    fn without_telemetry_there_is_no_energy() {
        assert!(energy(&level()).is_none());
        let mut short = run(&[2], closed_loop((0, 0), (2, 3), 1000.0, (100.0, 10.0, 16)));
        short.series = vec![telemetry(Signal::GpuPower, "a", (0.0, 20.0), &|_| 100.0)];
        assert!(energy(&short).is_none(), "less than a second");
    }

    #[test]
    fn reports_the_power_limit_if_every_gpu_has_one() {
        use ifm_core::facts::{Facts, Gpu};
        let limits = |told: &[Option<f64>]| {
            let mut run = level();
            run.series = ["NVML GPU 0", "NVML GPU 1"]
                .map(|gpu| telemetry(Signal::GpuPower, gpu, (0.0, 20.0), &|_| 200.0))
                .to_vec();
            let gpu = |(index, limit): (usize, &Option<f64>)| Gpu {
                index: Some(index as u32),
                power_limit_w: *limit,
                ..Gpu::default()
            };
            let gpus = told.iter().enumerate().map(gpu).collect();
            run.manifest.facts = Some(Facts { gpus, ..Facts::default() });
            energy(&run).expect("energy").watts_limit
        };
        assert_eq!(limits(&[Some(350.0), Some(400.0)]), Some(750.0));
        assert_eq!(limits(&[Some(350.0), None]), None);
        assert_eq!(limits(&[Some(350.0)]), None);
    }
}
