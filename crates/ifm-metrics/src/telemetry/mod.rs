//! Results from the series that were recorded along with the answers: energy, and what the server's
//! own counters say of each level.
//!
//! Not here: sampling, and the metric names of servers; a series is known by its [`Signal`].

mod counters;
mod energy;
mod lost;
mod sampled;

pub use counters::ServerCounters;
pub use energy::{
    Drawn, EnergyMethod, LevelEnergy, PoweredBy, gpu_memory_last, gpu_memory_peak, tokens_per_kwh,
};
pub use lost::LostReadings;

use ifm_core::Series;
use ifm_core::series::Signal;

/// The series of a quantity: one for each source.
pub fn of(all: &[Series], quantity: Signal) -> impl Iterator<Item = &Series> {
    all.iter().filter(move |series| series.name == quantity.word() && !series.at_ns.is_empty())
}
