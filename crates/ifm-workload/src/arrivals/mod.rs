//! When the requests of an open loop are due: a list of absolute times that follows from a
//! specification and its seed alone.
//!
//! Gaps are drawn at a rate of one per unit of time, and the times are then stretched so that the
//! rate is what the stretches say: the k-th arrival is where the integral of the rate reaches the
//! sum of the first k gaps (Cinlar, "Introduction to Stochastic Processes", 1975: a Poisson process
//! stays one). Constant arrivals at a constant rate are exact to the nanosecond, however many.
//!
//! Not here: sending, and waiting for the time to come (`ifm-drive`).

mod gaps;
mod rate;

use gaps::Gaps;
use ifm_core::spec::{ArrivalLaw, ArrivalSpec};
use ifm_made::Rng;
use rate::Rate;

/// Largest rate, requests per second.
const RATE_MAX: f64 = 1e7;

/// Why there is no such schedule.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrivalError {
    /// A rate is not above 0, or absurd.
    #[error(
        "a rate of {0} requests per second is not possible; give one above 0, at most 10000000"
    )]
    Rate(f64),
    /// A stretch does not last.
    #[error("a rate cannot last {0} seconds; give a time above 0")]
    Seconds(f64),
    /// A rate that changes has no time to do so, or something follows a stretch without end.
    #[error("a rate that changes, or that another one follows, needs a time to last")]
    Endless,
    /// No stretch.
    #[error("there is no rate")]
    Empty,
    /// The shape of a gamma law is not above 0.
    #[error("a gamma law of shape {0} is not possible; give a number above 0, at most 1000000")]
    Shape(f64),
    /// A replay that does not move.
    #[error("a replay {0} times as fast is not possible; give a number above 0")]
    Speed(f64),
    /// Bursts of nothing.
    #[error("a burst needs at least 1 request")]
    Burst,
}

/// The due times of a level, nanoseconds since its start, rising. Ends with the last stretch, if
/// that has an end.
#[derive(Debug)]
pub struct Arrivals {
    gaps: Gaps,
    rate: Rate,
}

impl Arrivals {
    /// The due times of a specification; the same each time.
    ///
    /// # Errors
    /// [`ArrivalError`] says what is not possible.
    pub fn new(spec: &ArrivalSpec) -> Result<Arrivals, ArrivalError> {
        match spec.law {
            ArrivalLaw::Gamma(shape) if !(shape > 0.0 && shape <= 1e6) => {
                return Err(ArrivalError::Shape(shape));
            }
            ArrivalLaw::Burst(0) => return Err(ArrivalError::Burst),
            ArrivalLaw::Replay(speed) if !(speed > 0.0 && speed.is_finite()) => {
                return Err(ArrivalError::Speed(speed));
            }
            _ => {}
        }
        let draws = Rng::new(spec.seed).stream("arrivals").item(0);
        Ok(Arrivals { gaps: Gaps::new(spec.law, draws), rate: Rate::new(&spec.stretches)? })
    }
}

impl Iterator for Arrivals {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let position = self.gaps.next_position();
        self.rate.time_ns_of(position)
    }
}

#[cfg(test)]
mod tests;
