//! One value that a server or a device reported.

use ifm_core::series::Signal;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Its source: `vLLM /metrics`, `NVML GPU 0`.
    pub source: String,
    /// What it is.
    pub quantity: Signal,
    /// What it is counted in.
    pub unit: &'static str,
    /// How much.
    pub value: f64,
}

impl Reading {
    /// A value in the usual unit of its quantity.
    pub fn new(source: impl Into<String>, quantity: Signal, value: f64) -> Reading {
        Reading { source: source.into(), quantity, unit: quantity.unit(), value }
    }
}

/// Devices of this host that can be read again and again.
pub trait DeviceSource: Send {
    /// What it is, in words for the user: `NVML, 2 GPUs`.
    fn words(&self) -> String;

    /// What the devices report now; what they do not report is left out.
    fn read(&mut self) -> Vec<Reading>;
}
