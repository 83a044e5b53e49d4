//! From levels as they were asked for to levels as they are run and stored.
//!
//! Not here: reading lists of levels (`cli`), which level follows which (`course`).

use crate::exit::Failure;
use ifm_core::spec::{ArrivalLaw, ArrivalSpec, LoadSpec, RateCurve, RateStretch};
use ifm_workload::{Arrivals, OpenedWorkload};

/// Requests that warm a server up before an open loop.
const OPEN_LOOP_WARMUP: u32 = 4;

/// How a level ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ending {
    requests: Option<u32>,
    duration_s: Option<f64>,
    sessions: Option<u32>,
}

impl Ending {
    /// Seconds that a level takes when nothing is said.
    const DEFAULT_S: f64 = 20.0;

    /// As asked, and where nothing is asked when the workload ends.
    ///
    /// # Errors
    /// A level of no request.
    pub fn with_workload(
        requests: Option<u32>,
        duration_s: Option<f64>,
    ) -> Result<Ending, Failure> {
        let ending = Ending::new(requests, None, duration_s)?;
        Ok(Ending { duration_s, ..ending })
    }

    /// After a number of requests, after a number of whole conversations, after a time, or
    /// whichever comes first.
    ///
    /// # Errors
    /// A level of no request.
    pub fn new(
        requests: Option<u32>,
        sessions: Option<u32>,
        duration_s: Option<f64>,
    ) -> Result<Ending, Failure> {
        for (flag, number) in [("--requests", requests), ("--sessions", sessions)] {
            if number == Some(0) {
                return Err(Failure::usage(format!("{flag} 0 measures nothing")));
            }
        }
        let open = requests.is_none() && sessions.is_none();
        let duration_s = duration_s.or(open.then_some(Ending::DEFAULT_S));
        Ok(Ending { requests, duration_s, sessions })
    }
}

/// One level as asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelRequest {
    /// Users.
    pub concurrency: u32,
    /// When requests are due, in an open loop; its seed is set by [`load_specs`].
    pub arrivals: Option<ArrivalSpec>,
    /// How it ends.
    pub ending: Ending,
    /// Warm-up requests; one per user when absent.
    pub warmup: Option<u32>,
}

impl LevelRequest {
    fn warmup_requests(&self) -> u32 {
        let default = if self.arrivals.is_some() { OPEN_LOOP_WARMUP } else { self.concurrency };
        self.warmup.unwrap_or(default)
    }
}

/// Items that all levels take at most, where their numbers of requests are given.
pub fn items_max(levels: &[LevelRequest]) -> Option<u32> {
    let of = |level: &LevelRequest| {
        level.ending.requests.map(|requests| requests.saturating_add(level.warmup_requests()))
    };
    levels.iter().map(of).try_fold(0_u32, |sum, items| Some(sum.saturating_add(items?)))
}

/// The levels as they are run. Each has a seed of its own.
///
/// # Errors
/// A rate or a law that cannot be, and a replay of what has no times.
pub fn load_specs(
    levels: &[LevelRequest],
    seed: u64,
    workload: &OpenedWorkload,
) -> Result<Vec<LoadSpec>, Failure> {
    let numbered = (0..).zip(levels);
    numbered.map(|(index, level)| load_spec(level, seed.wrapping_add(index), workload)).collect()
}

fn load_spec(
    level: &LevelRequest,
    seed: u64,
    workload: &OpenedWorkload,
) -> Result<LoadSpec, Failure> {
    let mut load = LoadSpec {
        concurrency: level.concurrency,
        arrivals: None,
        requests: level.ending.requests,
        duration_s: level.ending.duration_s,
        sessions: level.ending.sessions,
        warmup_requests: level.warmup_requests(),
    };
    if let Some(mut arrivals) = level.arrivals.clone() {
        arrivals.seed = seed;
        if let ArrivalLaw::Replay(speed) = arrivals.law {
            arrivals.stretches = vec![recorded_rate(workload, speed)?];
        }
        // Stretches of their own length end the level; one rate lasts as long as the level.
        let own_s = arrivals.stretches.iter().map(|stretch| stretch.seconds).sum::<Option<f64>>();
        if !matches!(arrivals.law, ArrivalLaw::Replay(_)) {
            load.duration_s = own_s.or(load.duration_s);
        }
        if let (None, Some(stretch)) = (own_s, arrivals.stretches.last_mut()) {
            stretch.seconds = load.duration_s;
        }
        Arrivals::new(&arrivals).map_err(|error| Failure::usage(error.to_string()))?;
        load.arrivals = Some(arrivals);
    }
    Ok(load)
}

/// The mean rate of a trace that is replayed so many times as fast, over its whole length.
fn recorded_rate(workload: &OpenedWorkload, speed: f64) -> Result<RateStretch, Failure> {
    let untimed = || {
        Failure::usage("--replay needs a workload that has recorded times")
            .hint("mooncake:FILE and burstgpt:FILE have")
    };
    let items = workload.dataset.items().filter(|_| workload.facts.timed).ok_or_else(untimed)?;
    let last = workload
        .dataset
        .item(items.saturating_sub(1))
        .map_err(|error| Failure::usage(error.to_string()))?;
    let span_s = last.at_ns.ok_or_else(untimed)? as f64 / 1e9 / speed;
    // A trace of one moment lasts as good as no time.
    let seconds = span_s.max(1e-3);
    let rate = f64::from(items) / seconds;
    Ok(RateStretch {
        from_req_per_s: rate,
        to_req_per_s: rate,
        curve: RateCurve::Linear,
        seconds: Some(seconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_needs_an_end() {
        let ending = Ending::new(None, None, None).unwrap();
        assert_eq!(ending.duration_s, Some(Ending::DEFAULT_S));
        assert_eq!(Ending::new(Some(5), None, None).unwrap().duration_s, None);
        assert!(Ending::new(Some(0), None, None).is_err());
    }
}
