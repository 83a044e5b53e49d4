//! What servers and devices report in addition to answers: counters of a metrics page, power,
//! energy and clocks of GPUs and processors; what the machine is, and which of its settings can be
//! changed.
//!
//! Everything becomes a [`Reading`]: its source, its quantity, its value. A [`Recorder`] turns
//! readings into the series of a run. What is missing is absent, and a source that fails never
//! fails a run. Not here: when to sample and how a page is fetched (`ifm-machine`), and what follows
//! from the numbers (`ifm-metrics`).
#![forbid(unsafe_code)]

pub mod control;
pub mod dcgm;
pub mod drm;
pub mod engine;
pub mod engine_facts;
pub mod gpu_facts;
pub mod host;
pub mod nvml;
pub mod page;
pub mod rapl;
mod reading;
mod recorder;
pub mod steady;
mod sysfs;

pub use page::Page;
pub use reading::{DeviceSource, Reading};
pub use recorder::Recorder;
