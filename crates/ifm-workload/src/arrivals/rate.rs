//! The rate over time, and the time at which its integral reaches a number.

use super::{ArrivalError, RATE_MAX};
use ifm_core::spec::{RateCurve, RateStretch};

const NS_PER_S: f64 = 1e9;

/// Stretches of time, walked through once.
#[derive(Debug)]
pub(super) struct Rate {
    stretches: Vec<RateStretch>,
    current: usize,
    /// Arrivals expected before the current stretch.
    arrivals_before: f64,
    /// Seconds before the current stretch.
    seconds_before: f64,
}

impl Rate {
    pub(super) fn new(stretches: &[RateStretch]) -> Result<Rate, ArrivalError> {
        let last = stretches.len().checked_sub(1).ok_or(ArrivalError::Empty)?;
        for (place, stretch) in stretches.iter().enumerate() {
            for rate in [stretch.from_req_per_s, stretch.to_req_per_s] {
                if !(rate > 0.0 && rate <= RATE_MAX) {
                    return Err(ArrivalError::Rate(rate));
                }
            }
            match stretch.seconds {
                Some(seconds) if !(seconds > 0.0 && seconds.is_finite()) => {
                    return Err(ArrivalError::Seconds(seconds));
                }
                None if place < last || stretch.from_req_per_s != stretch.to_req_per_s => {
                    return Err(ArrivalError::Endless);
                }
                _ => {}
            }
        }
        Ok(Rate {
            stretches: stretches.to_vec(),
            current: 0,
            arrivals_before: 0.0,
            seconds_before: 0.0,
        })
    }

    /// The time at which this many arrivals are expected, nanoseconds; absent after the end. Must
    /// be asked for rising numbers.
    pub(super) fn time_ns_of(&mut self, arrivals: f64) -> Option<u64> {
        loop {
            let stretch = self.stretches.get(self.current)?;
            let within = arrivals - self.arrivals_before;
            let Some(seconds) = stretch.seconds else {
                return Some(nanoseconds(self.seconds_before + within / stretch.from_req_per_s));
            };
            let expected = stretch.requests_in(seconds);
            if within < expected {
                let at = time_within(stretch, seconds, within);
                return Some(nanoseconds(self.seconds_before + at.min(seconds)));
            }
            self.arrivals_before += expected;
            self.seconds_before += seconds;
            self.current += 1;
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * NS_PER_S).round() as u64
}

/// Where within a stretch the integral of its rate reaches a number, seconds.
fn time_within(stretch: &RateStretch, seconds: f64, arrivals: f64) -> f64 {
    let (from, to) = (stretch.from_req_per_s, stretch.to_req_per_s);
    if from == to {
        return arrivals / from;
    }
    match stretch.curve {
        RateCurve::Exponential => {
            let growth = (to / from).ln() / seconds;
            (growth * arrivals / from).ln_1p() / growth
        }
        RateCurve::Linear => {
            // The root of from·t + (to − from)/(2·seconds)·t² = arrivals that has no cancellation.
            let slope = (to - from) / seconds;
            2.0 * arrivals / (from + (from * from + 2.0 * slope * arrivals).max(0.0).sqrt())
        }
    }
}
