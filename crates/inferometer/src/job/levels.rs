//! From requested levels to levels as they are run and stored.
//!
//! Not here: parsing lists of levels (`cli`), and which level follows which (`ifm_session::level_planner`).

use crate::exit::Failure;
use ifm_core::spec::{ArrivalLaw, ArrivalSpec, EarlyEnd, LoadSpec, RateCurve, RateStretch};
use ifm_core::words::counted;
use ifm_workload::{Arrivals, OpenedWorkload};

/// Requests that warm a server up before an open loop.
const OPEN_LOOP_WARMUP: u32 = 4;

/// How a level ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ending {
    requests: Option<u32>,
    duration_s: Option<f64>,
    sessions: Option<u32>,
    /// Whether the length of a level was left to the defaults.
    is_default: bool,
    /// Half the width of the intervals at which a level is settled, as a share of the value.
    settled_share: Option<f64>,
}

impl Ending {
    /// Default duration of a level, seconds.
    const DEFAULT_S: f64 = 20.0;
    /// Default maximum duration of a level that ends by evidence, seconds.
    const SETTLED_S: f64 = 120.0;
    /// Requests that must finish before a level is settled. With fewer, an interval reflects chance
    /// more than the server.
    const SETTLED_REQUESTS: u32 = 50;
    /// The same per user: the first one of each is the ramp, and is not judged.
    const SETTLED_REQUESTS_PER_USER: u32 = 5;
    /// Seconds that must pass before a level is settled: shorter periods would miss effects that
    /// come and go within seconds.
    const SETTLED_AFTER_S: f64 = 5.0;

    /// Also ends earlier, once its intervals are narrow enough.
    ///
    /// # Errors
    /// A share that is not between 0 and 1.
    pub fn until_settled(self, share: Option<f64>) -> Result<Ending, Failure> {
        let Some(share) = share else { return Ok(self) };
        if !(share > 0.0 && share < 1.0) {
            return Err(Failure::usage("--until-settled needs a share above 0 and below 100 %")
                .hint("for example --until-settled=5%"));
        }
        let duration_s = if self.is_default { Some(Ending::SETTLED_S) } else { self.duration_s };
        Ok(Ending { settled_share: Some(share), duration_s, ..self })
    }

    /// Conditions for ending a level with this many users early.
    fn early_end(&self, users: Option<u32>) -> Option<EarlyEnd> {
        let of_users = users.unwrap_or(0).saturating_mul(Ending::SETTLED_REQUESTS_PER_USER);
        Some(EarlyEnd {
            settled_share: Some(self.settled_share?),
            at_broken_target: false,
            requests_min: Ending::SETTLED_REQUESTS.max(of_users),
            seconds_min: Ending::SETTLED_AFTER_S,
        })
    }

    /// As requested; by default when the workload ends.
    ///
    /// # Errors
    /// A level without requests.
    pub fn with_workload(
        requests: Option<u32>,
        duration_s: Option<f64>,
    ) -> Result<Ending, Failure> {
        let ending = Ending::new(requests, None, duration_s)?;
        Ok(Ending { duration_s, is_default: false, ..ending })
    }

    /// After a number of requests, after a number of whole conversations, after a time, or
    /// whichever comes first.
    ///
    /// # Errors
    /// A level without requests.
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
        let is_default = open && duration_s.is_none();
        let duration_s = duration_s.or(open.then_some(Ending::DEFAULT_S));
        Ok(Ending { requests, duration_s, sessions, is_default, settled_share: None })
    }
}

/// One requested level.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelRequest {
    /// Users.
    pub concurrency: u32,
    /// Arrival times in an open loop; its seed is set by [`load_specs`].
    pub arrivals: Option<ArrivalSpec>,
    /// How it ends.
    pub ending: Ending,
    /// Warm-up requests; when absent one per user, a few in an open loop, none for a replay.
    pub warmup: Option<u32>,
}

impl LevelRequest {
    fn warmup_requests(&self) -> u32 {
        let default = match &self.arrivals {
            None => self.concurrency,
            // A trace needs every row, and a warm-up would use its first ones.
            Some(arrivals) if matches!(arrivals.law, ArrivalLaw::Replay(_)) => 0,
            Some(_) => OPEN_LOOP_WARMUP,
        };
        self.warmup.unwrap_or(default)
    }
}

/// Maximum items of all levels together, if their numbers of requests are given.
pub fn items_max(levels: &[LevelRequest]) -> Option<u32> {
    let of = |level: &LevelRequest| {
        level.ending.requests.map(|requests| requests.saturating_add(level.warmup_requests()))
    };
    levels.iter().map(of).try_fold(0_u32, |sum, items| Some(sum.saturating_add(items?)))
}

/// The levels as they are run. Each has its own seed.
///
/// # Errors
/// An impossible rate or arrival process, or a replay of a workload without times.
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
        early_end: level.ending.early_end(level.arrivals.is_none().then_some(level.concurrency)),
        scout: false,
    };
    let rows = workload.dataset.items().filter(|_| !workload.dataset.has_conversations());
    let is_replay = matches!(&level.arrivals, Some(it) if matches!(it.law, ArrivalLaw::Replay(_)));
    if let Some(rows) = rows.filter(|rows| load.warmup_requests >= *rows && !is_replay) {
        return Err(Failure::usage(format!(
            "the warm-up of {} takes all of the data set, which has {rows}",
            counted(load.warmup_requests.into(), "prompt")
        ))
        .hint("--warmup 0 measures all of them, --repeat-prompts begins again"));
    }
    if let Some(mut arrivals) = level.arrivals.clone() {
        arrivals.seed = seed;
        if let ArrivalLaw::Replay(speed) = arrivals.law {
            arrivals.stretches = vec![recorded_rate(workload, speed)?];
            let rows = workload.dataset.items().unwrap_or(u32::MAX);
            if load.warmup_requests >= rows {
                return Err(Failure::usage(format!(
                    "the warm-up of {} requests uses all {rows} rows of the trace",
                    load.warmup_requests
                ))
                .hint("leave --warmup out: a replay has no warm-up"));
            }
        }
        // If the level consists of stretches with their own length, they end it; a single rate
        // lasts as long as the level.
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

/// The mean rate of a replayed trace, over its whole length, at this speed factor.
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
    // A trace of a single moment has almost no duration.
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

    #[test]
    fn a_level_that_settles_has_a_longer_cap_unless_one_was_given() {
        let ending = |requests, duration_s| {
            Ending::new(requests, None, duration_s).unwrap().until_settled(Some(0.05)).unwrap()
        };
        assert_eq!(ending(None, None).duration_s, Some(Ending::SETTLED_S));
        assert_eq!(ending(None, Some(7.0)).duration_s, Some(7.0));
        assert_eq!(ending(Some(9), None).duration_s, None);
        let early = |users| ending(None, None).early_end(users).unwrap().requests_min;
        assert_eq!([early(None), early(Some(1)), early(Some(64))], [50, 50, 320]);
        let plain = Ending::new(None, None, None).unwrap();
        assert_eq!(plain.early_end(Some(1)), None);
        assert!(plain.until_settled(Some(1.0)).is_err());
    }
}
