//! The flags that set how long a level lasts.

use crate::exit::Failure;
use crate::job::levels::{Ending, LevelRequest};
use clap::Args;
use ifm_core::duration::seconds;
use ifm_core::spec::{ArrivalLaw, ArrivalSpec};

/// Simulated requests of a level by default, or per user if that is more: the first round of all users
/// and the last one are not steady.
const SIMULATED_REQUESTS: (u32, u32) = (400, 20);

/// The end of a level, and the warm-up before it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct EndingArgs {
    /// Requests to measure per level [default: as many as fit in --duration]
    #[arg(short = 'n', long, aliases = ["num-prompts", "request-count", "max-requests"], value_name = "N")]
    requests: Option<u32>,

    /// Whole conversations to measure per level, for conversation workloads
    #[arg(long, aliases = ["conversations", "num-sessions", "num-conversations"], value_name = "N")]
    sessions: Option<u32>,

    /// Sending time per level [default: 20s without --requests and --sessions]
    ///
    /// Requests in flight at its end are allowed to finish
    #[arg(short = 'z', long, aliases = ["max-seconds", "benchmark-duration", "time-limit"], value_parser = seconds, value_name = "SPAN")]
    duration: Option<f64>,

    /// End a level once its results are precise enough [default: 5%]
    ///
    /// A level ends once the 95 % intervals of the mean gap and of the median TTFT lie within this
    /// share of their values, once a --slo is surely missed, or once more than 1 % of the requests
    /// surely fail. The maximum duration is then 120s by default
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "5%", value_parser = share, value_name = "SHARE")]
    until_settled: Option<f64>,

    /// Warm-up requests before each measurement [default: one per user; none for --replay]
    #[arg(short = 'w', long, aliases = ["num-warmups", "warmup-request-count"], value_name = "N")]
    warmup: Option<u32>,
}

impl EndingArgs {
    /// Number of requests to measure, if set.
    pub fn requests(&self) -> Option<u32> {
        self.requests
    }

    /// Without any flag that ends a level: as many simulated requests as the order of neighboring loads
    /// needs. They cost no time of a server.
    #[must_use]
    pub fn or_simulated(&self, users: u32) -> EndingArgs {
        let (least, per_user) = SIMULATED_REQUESTS;
        let is_open = self.requests.is_none() && self.sessions.is_none();
        let is_default = is_open && self.duration.is_none() && self.until_settled.is_none();
        let requests = is_default.then(|| least.max(users.saturating_mul(per_user)));
        EndingArgs { requests: self.requests.or(requests), ..self.clone() }
    }

    /// Levels of an open loop, with a maximum number of requests in flight.
    ///
    /// # Errors
    /// A level without requests.
    pub fn open_levels(
        &self,
        schedules: Vec<ArrivalSpec>,
        in_flight_max: u32,
    ) -> Result<Vec<LevelRequest>, Failure> {
        let is_replay =
            schedules.iter().any(|schedule| matches!(schedule.law, ArrivalLaw::Replay(_)));
        let ending = match is_replay {
            true => Ending::with_workload(self.requests, self.duration)?,
            false => Ending::new(self.requests, self.sessions, self.duration)?,
        };
        let ending = ending.until_settled(self.until_settled)?;
        let level = |arrivals| LevelRequest {
            concurrency: in_flight_max,
            arrivals: Some(arrivals),
            ending,
            warmup: self.warmup,
        };
        Ok(schedules.into_iter().map(level).collect())
    }

    /// Levels of these numbers of users.
    ///
    /// # Errors
    /// A level without requests.
    pub fn levels(&self, concurrencies: &[u32]) -> Result<Vec<LevelRequest>, Failure> {
        let ending = Ending::new(self.requests, self.sessions, self.duration)?
            .until_settled(self.until_settled)?;
        let level = |&concurrency: &u32| LevelRequest {
            concurrency,
            arrivals: None,
            ending,
            warmup: self.warmup,
        };
        Ok(concurrencies.iter().map(level).collect())
    }
}

/// Reads a share: `5%`, `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value * scale),
        _ => Err("expected a share such as 5% or 0.05".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_read_in_percent_and_as_numbers() {
        assert_eq!((share("5%"), share("0.05")), (Ok(0.05), Ok(0.05)));
        assert!(share("five").is_err() && share("").is_err() && share("inf").is_err());
    }
}
