//! GPUs of NVIDIA, through NVML: the driver's own library, looked for when a run begins.
//!
//! The crate `nvml-wrapper` opens the library at run time, so that a host without it runs the same
//! binary. Everything is only read. Not here: GPUs of other hosts (`dcgm`), what does not move while a
//! run goes on (`gpu_facts`), and setting anything (`control`).

use crate::{DeviceSource, Reading};
use ifm_core::series::Signal;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use std::path::Path;

/// Readings of one GPU; absent where it does not report them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GpuFacts {
    /// Power, milliwatts.
    pub power_mw: Option<u32>,
    /// Energy since the driver was loaded, millijoules. Volta and later.
    pub energy_mj: Option<u64>,
    /// Clock of the streaming multiprocessors, MHz.
    pub clock_mhz: Option<u32>,
    /// Clock of the memory, MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Temperature of the chip, degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Why the clock is lower than it could be, as NVML's bits.
    pub throttle_reasons: Option<u64>,
    /// Memory in use, bytes.
    pub memory_bytes: Option<u64>,
    /// Busy share of the last moments, percent.
    pub busy_percent: Option<u32>,
}

/// Where GPUs are asked: NVML, or what a test puts in its place.
pub trait GpuLibrary: Send {
    /// How many GPUs there are.
    fn count(&self) -> u32;
    /// What a GPU reports now.
    fn facts(&self, index: u32) -> GpuFacts;
}

/// Opens the library of the driver, or the one that is named in its place.
pub(crate) fn open(library: Option<&Path>) -> Result<Nvml, String> {
    let opened = match library {
        Some(path) => Nvml::builder().lib_path(path.as_os_str()).init(),
        None => Nvml::init(),
    };
    opened.map_err(|error| match error {
        // Its own words say what cannot be opened, those around it that a library was to be.
        NvmlError::LibloadingError(why) => format!("NVML: {why}"),
        other => format!("NVML: {other}"),
    })
}

/// The library of the driver.
struct Driver(Nvml);

impl GpuLibrary for Driver {
    fn count(&self) -> u32 {
        self.0.device_count().unwrap_or(0)
    }

    fn facts(&self, index: u32) -> GpuFacts {
        let Ok(gpu) = self.0.device_by_index(index) else { return GpuFacts::default() };
        GpuFacts {
            power_mw: gpu.power_usage().ok(),
            energy_mj: gpu.total_energy_consumption().ok(),
            clock_mhz: gpu.clock_info(Clock::SM).ok(),
            memory_clock_mhz: gpu.clock_info(Clock::Memory).ok(),
            temperature_c: gpu.temperature(TemperatureSensor::Gpu).ok(),
            throttle_reasons: gpu.current_throttle_reasons().ok().map(|reasons| reasons.bits()),
            memory_bytes: gpu.memory_info().ok().map(|memory| memory.used),
            busy_percent: gpu.utilization_rates().ok().map(|rates| rates.gpu),
        }
    }
}

/// GPUs that are read again and again.
pub struct Gpus {
    library: Box<dyn GpuLibrary>,
    /// How many there were at first.
    count: u32,
    indices: Vec<u32>,
}

impl Gpus {
    /// The GPUs that the driver of this host knows, or the ones whose numbers are given. `library`
    /// is a file to load instead of the driver's usual one.
    ///
    /// # Errors
    /// Why no GPU was found, in words.
    pub fn of_driver(library: Option<&Path>, wanted: Option<&[u32]>) -> Result<Gpus, String> {
        Gpus::of(Box::new(Driver(open(library)?)), wanted)
    }

    /// The GPUs of a library.
    ///
    /// # Errors
    /// It has none, or not those that are wanted.
    pub fn of(library: Box<dyn GpuLibrary>, wanted: Option<&[u32]>) -> Result<Gpus, String> {
        let count = library.count();
        let indices = match wanted {
            None => (0..count).collect(),
            Some(wanted) => wanted.to_vec(),
        };
        match indices.iter().find(|index| **index >= count) {
            Some(index) => Err(format!("NVML: no GPU {index}; the driver reports {count}")),
            None if indices.is_empty() => Err("NVML: no GPU".to_owned()),
            None => Ok(Gpus { library, count, indices }),
        }
    }
}

impl DeviceSource for Gpus {
    fn words(&self) -> String {
        match self.indices.as_slice() {
            [_] => "1 GPU (NVML)".to_owned(),
            many => format!("{} GPUs (NVML)", many.len()),
        }
    }

    fn read(&mut self) -> Vec<Reading> {
        let mut readings = Vec::new();
        // With fewer GPUs than before, a number may be that of another one: no reading is better than
        // the reading of a wrong device.
        if self.library.count() < self.count {
            return readings;
        }
        for index in &self.indices {
            let facts = self.library.facts(*index);
            let values = [
                (Signal::GpuPower, facts.power_mw.map(|mw| f64::from(mw) / 1e3)),
                (Signal::GpuEnergy, facts.energy_mj.map(|mj| mj as f64 / 1e3)),
                (Signal::GpuClock, facts.clock_mhz.map(f64::from)),
                (Signal::GpuMemoryClock, facts.memory_clock_mhz.map(f64::from)),
                (Signal::GpuTemperature, facts.temperature_c.map(f64::from)),
                (Signal::GpuThrottleReasons, facts.throttle_reasons.map(|bits| bits as f64)),
                (Signal::GpuMemory, facts.memory_bytes.map(|bytes| bytes as f64)),
                (Signal::GpuBusyShare, facts.busy_percent.map(|share| f64::from(share) / 1e2)),
            ];
            let known = values.into_iter().filter_map(|(quantity, value)| {
                Some(Reading::new(format!("NVML GPU {index}"), quantity, value?))
            });
            readings.extend(known);
        }
        readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two GPUs: one that reports everything, one that is too old for its energy.
    struct Fake;

    impl GpuLibrary for Fake {
        fn count(&self) -> u32 {
            2
        }

        fn facts(&self, index: u32) -> GpuFacts {
            let old = GpuFacts { power_mw: Some(71_250), ..GpuFacts::default() };
            match index {
                0 => GpuFacts {
                    power_mw: Some(350_500),
                    energy_mj: Some(9_000_250),
                    clock_mhz: Some(1980),
                    memory_clock_mhz: Some(3201),
                    temperature_c: Some(61),
                    throttle_reasons: Some(4),
                    memory_bytes: Some(1 << 30),
                    busy_percent: Some(87),
                },
                _ => old,
            }
        }
    }

    /// GPUs whose number falls after the first question.
    struct Falling(std::sync::atomic::AtomicU32);

    impl GpuLibrary for Falling {
        fn count(&self) -> u32 {
            self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed)
        }

        fn facts(&self, index: u32) -> GpuFacts {
            Fake.facts(index)
        }
    }

    #[test]
    fn reads_no_device_under_the_number_of_another() {
        let mut gpus = Gpus::of(Box::new(Falling(2.into())), None).expect("GPUs");
        assert_eq!(gpus.read().len(), 0);
    }

    fn read(wanted: Option<&[u32]>) -> Vec<(String, Signal, f64)> {
        let mut gpus = Gpus::of(Box::new(Fake), wanted).expect("GPUs");
        gpus.read().into_iter().map(|told| (told.source, told.quantity, told.value)).collect()
    }

    #[test]
    fn gpu_readings_have_our_units() {
        let found = read(None);
        assert_eq!(found.len(), 9);
        let first = |quantity| {
            let told = found.iter().find(|told| told.1 == quantity && told.0 == "NVML GPU 0");
            told.expect("told").2
        };
        assert_eq!(first(Signal::GpuPower), 350.5);
        assert_eq!(first(Signal::GpuEnergy), 9000.25);
        assert_eq!((first(Signal::GpuClock), first(Signal::GpuBusyShare)), (1980.0, 0.87));
        assert_eq!(found[8], ("NVML GPU 1".to_owned(), Signal::GpuPower, 71.25));
    }

    #[test]
    fn some_gpus_can_be_chosen() {
        assert_eq!(read(Some(&[1])).len(), 1);
        let words = |wanted| Gpus::of(Box::new(Fake), wanted).map(|gpus| gpus.words());
        assert_eq!(words(None).as_deref(), Ok("2 GPUs (NVML)"));
        assert_eq!(words(Some(&[0])).as_deref(), Ok("1 GPU (NVML)"));
        assert!(words(Some(&[2])).is_err_and(|why| why.contains("no GPU 2")));
        assert!(words(Some(&[])).is_err());
    }
}
