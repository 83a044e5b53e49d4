//! Power limits and clocks of GPUs: read, set, read back, and put back.
//!
//! Everything goes through NVML and needs root. A limit stays in effect until another one is set or the
//! driver is reloaded: whoever sets one restores it, and a process that outlives the setter does so if
//! the setter cannot ([`restore`]). Not here: who decides what is set.

use crate::nvml;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::GpuLockedClocksSetting;
use nvml_wrapper::error::NvmlError;
use std::path::Path;

/// Why something could not be read or set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The driver's library cannot be opened, or the driver is not there.
    #[error("no GPU driver available: {0}")]
    NoDriver(String),
    /// The process may not set it.
    #[error("GPU {gpu}: setting {what} needs root")]
    NoRights {
        /// The GPU.
        gpu: u32,
        /// What was to be set.
        what: &'static str,
    },
    /// The driver takes other values.
    #[error("GPU {gpu}: {asked} is outside what it takes{}", range_words(.range))]
    OutOfRange {
        /// The GPU.
        gpu: u32,
        /// The value, with its unit.
        asked: String,
        /// Lowest and highest value, with their unit, where they are known.
        range: Option<(String, String)>,
    },
    /// The GPU or its driver does not know this.
    #[error("GPU {gpu} cannot do this: {what}")]
    Unsupported {
        /// The GPU.
        gpu: u32,
        /// What was asked.
        what: &'static str,
    },
    /// There is no such GPU.
    #[error("there is no GPU {0}")]
    NoGpu(u32),
    /// The GPU fell off the bus, or needs a reset.
    #[error("GPU {0} is lost: it answers no more until it is reset or the machine restarts")]
    Lost(u32),
    /// The driver took a value and has another one.
    #[error("GPU {gpu}: {asked} was set, and {found} is what it has")]
    NotTaken {
        /// The GPU.
        gpu: u32,
        /// What was set.
        asked: String,
        /// What is read back.
        found: String,
    },
    /// Any other answer of the driver.
    #[error("GPU {gpu}: {what}: {error}")]
    Other {
        /// The GPU.
        gpu: u32,
        /// What was asked.
        what: &'static str,
        /// The driver's words.
        error: String,
    },
}

fn range_words(range: &Option<(String, String)>) -> String {
    range.as_ref().map_or_else(String::new, |(low, high)| format!(": {low} to {high}"))
}

/// Power limits of a GPU, milliwatts. What it does not report is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerLimits {
    /// What is set.
    pub set_mw: u32,
    /// What it is after a restart.
    pub default_mw: Option<u32>,
    /// The lowest and the highest that can be set.
    pub range_mw: Option<(u32, u32)>,
    /// What is in force, all that limits it counted.
    pub enforced_mw: Option<u32>,
}

/// What is put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restore {
    /// A power limit as it was.
    PowerLimit {
        /// The GPU.
        gpu: u32,
        /// Milliwatts.
        milliwatts: u32,
    },
    /// Clocks that are not locked.
    Clocks {
        /// The GPU.
        gpu: u32,
    },
}

/// The driver of this host.
pub struct Control(Nvml);

const LIMIT: &str = "a power limit";
const CLOCKS: &str = "locked clocks";

impl Control {
    /// Opens the driver's library, or the one that is named.
    ///
    /// # Errors
    /// No driver is found.
    pub fn open(library: Option<&Path>) -> Result<Control, ControlError> {
        nvml::open(library).map(Control).map_err(ControlError::NoDriver)
    }

    /// How many GPUs there are.
    pub fn count(&self) -> u32 {
        self.0.device_count().unwrap_or(0)
    }

    /// The power limits of a GPU.
    ///
    /// # Errors
    /// It has none, or reports none.
    pub fn power_limit(&self, gpu: u32) -> Result<PowerLimits, ControlError> {
        let found = self.gpu(gpu)?;
        let range = found.power_management_limit_constraints().ok();
        Ok(PowerLimits {
            set_mw: found.power_management_limit().map_err(|error| failed(gpu, LIMIT, &error))?,
            default_mw: found.power_management_limit_default().ok(),
            range_mw: range.map(|range| (range.min_limit, range.max_limit)),
            enforced_mw: found.enforced_power_limit().ok(),
        })
    }

    /// Sets the power limit of a GPU and reads it back; what it was before.
    ///
    /// # Errors
    /// No rights, a value that it does not take, or one that it took and does not have.
    pub fn set_power_limit(&self, gpu: u32, milliwatts: u32) -> Result<PowerLimits, ControlError> {
        let before = self.power_limit(gpu)?;
        let watts = |milliwatts: u32| format!("{} W", f64::from(milliwatts) / 1e3);
        let out_of_range = || ControlError::OutOfRange {
            gpu,
            asked: watts(milliwatts),
            range: before.range_mw.map(|(low, high)| (watts(low), watts(high))),
        };
        if before.range_mw.is_some_and(|(low, high)| !(low..=high).contains(&milliwatts)) {
            return Err(out_of_range());
        }
        match self.gpu(gpu)?.set_power_management_limit(milliwatts) {
            Ok(()) => {}
            Err(NvmlError::InvalidArg) => return Err(out_of_range()),
            Err(error) => return Err(failed(gpu, LIMIT, &error)),
        }
        let found = self.power_limit(gpu)?.set_mw;
        if found != milliwatts {
            let (asked, found) = (watts(milliwatts), watts(found));
            return Err(ControlError::NotTaken { gpu, asked, found });
        }
        Ok(before)
    }

    /// Locks the clock of the multiprocessors between two values, MHz. NVML does not report locked
    /// clocks, so that nothing can be read back but the clock under load.
    ///
    /// # Errors
    /// No rights, or values that the GPU does not take.
    pub fn lock_clocks(&self, gpu: u32, low_mhz: u32, high_mhz: u32) -> Result<(), ControlError> {
        let mut found = self.gpu(gpu)?;
        let highest = found.max_clock_info(Clock::SM).ok();
        let out_of_range = || ControlError::OutOfRange {
            gpu,
            asked: format!("{low_mhz} to {high_mhz} MHz"),
            range: highest.map(|highest| ("0 MHz".to_owned(), format!("{highest} MHz"))),
        };
        if low_mhz > high_mhz || highest.is_some_and(|highest| high_mhz > highest) {
            return Err(out_of_range());
        }
        let setting =
            GpuLockedClocksSetting::Numeric { min_clock_mhz: low_mhz, max_clock_mhz: high_mhz };
        match found.set_gpu_locked_clocks(setting) {
            Ok(()) => Ok(()),
            Err(NvmlError::InvalidArg) => Err(out_of_range()),
            Err(error) => Err(failed(gpu, CLOCKS, &error)),
        }
    }

    /// Lets the GPU choose its clocks again.
    ///
    /// # Errors
    /// No rights, or a GPU that cannot lock its clocks.
    pub fn reset_clocks(&self, gpu: u32) -> Result<(), ControlError> {
        self.gpu(gpu)?.reset_gpu_locked_clocks().map_err(|error| failed(gpu, CLOCKS, &error))
    }

    /// The clock of the multiprocessors now, MHz.
    ///
    /// # Errors
    /// It reports none.
    pub fn clock(&self, gpu: u32) -> Result<u32, ControlError> {
        self.gpu(gpu)?.clock_info(Clock::SM).map_err(|error| failed(gpu, "its clock", &error))
    }

    /// The temperature of the chip now, degrees Celsius.
    ///
    /// # Errors
    /// It reports none.
    pub fn temperature(&self, gpu: u32) -> Result<u32, ControlError> {
        let found = self.gpu(gpu)?.temperature(TemperatureSensor::Gpu);
        found.map_err(|error| failed(gpu, "its temperature", &error))
    }

    fn gpu(&self, gpu: u32) -> Result<nvml_wrapper::Device<'_>, ControlError> {
        match self.0.device_by_index(gpu) {
            Err(NvmlError::InvalidArg) => Err(ControlError::NoGpu(gpu)),
            found => found.map_err(|error| failed(gpu, "this GPU", &error)),
        }
    }
}

fn failed(gpu: u32, what: &'static str, error: &NvmlError) -> ControlError {
    match error {
        NvmlError::NoPermission => ControlError::NoRights { gpu, what },
        NvmlError::GpuLost | NvmlError::ResetRequired => ControlError::Lost(gpu),
        NvmlError::NotSupported
        | NvmlError::FunctionNotFound
        | NvmlError::FailedToLoadSymbol(_) => ControlError::Unsupported { gpu, what },
        error => ControlError::Other { gpu, what, error: error.to_string() },
    }
}

/// Puts something back, with the driver opened again: for a process that outlives the one which set it.
/// Doing it twice does no harm.
///
/// # Errors
/// As for setting it.
pub fn restore(library: Option<&Path>, what: Restore) -> Result<(), ControlError> {
    let control = Control::open(library)?;
    match what {
        Restore::PowerLimit { gpu, milliwatts } => {
            control.set_power_limit(gpu, milliwatts).map(|_| ())
        }
        Restore::Clocks { gpu } => control.reset_clocks(gpu),
    }
}
