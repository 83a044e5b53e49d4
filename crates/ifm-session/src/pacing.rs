//! The time around levels: the pause between two of them, and a budget for all.
//!
//! Not here: the length of a level from its own specification (`levels`), and which one is next
//! (`level_planner`).

use ifm_core::spec::{LoadSpec, RunSpec};
use ifm_drive::{Stop, StopLevel};
use std::time::Duration;

/// How often a pause checks whether to end early.
const STEP: Duration = Duration::from_millis(50);
const NS_PER_S: f64 = 1e9;

/// A level that has run.
#[derive(Debug)]
struct Past {
    load: LoadSpec,
    seconds: f64,
    /// Requests that ended, warm-up included.
    requests: usize,
}

/// Applies the pause between levels and the budget.
#[derive(Debug)]
pub struct Pacing {
    cooldown_s: f64,
    budget_s: Option<f64>,
    begun_ns: u64,
    past: Vec<Past>,
}

impl Pacing {
    /// For a run that starts now, nanoseconds on the monotonic clock.
    pub fn new(spec: &RunSpec, now_ns: u64) -> Pacing {
        let cooldown_s = spec.cooldown_s.unwrap_or(0.0);
        Pacing { cooldown_s, budget_s: spec.budget_s, begun_ns: now_ns, past: Vec::new() }
    }

    /// When the budget ends, nanoseconds on the monotonic clock.
    pub fn deadline_ns(&self) -> Option<u64> {
        Some(self.begun_ns.saturating_add((self.budget_s? * NS_PER_S) as u64))
    }

    /// Records that a level has run, and how many requests ended in it.
    pub fn ran(&mut self, load: &LoadSpec, seconds: f64, requests: usize) {
        self.past.push(Past { load: load.clone(), seconds, requests });
    }

    /// Whether a level that starts now would end within the budget, as far as known. The first one
    /// always may start.
    pub fn has_room(&self, load: &LoadSpec, now_ns: u64) -> bool {
        let Some(deadline_ns) = self.deadline_ns().filter(|_| !self.past.is_empty()) else {
            return true;
        };
        let left_s = deadline_ns.saturating_sub(now_ns) as f64 / NS_PER_S;
        left_s > self.cooldown_s + least_seconds(load, &self.past)
    }

    /// Waits between two levels, unless the run should stop.
    pub fn cool_down(&self, stop: &Stop) {
        let until_ns = ifm_sys::mono_ns().saturating_add((self.cooldown_s * NS_PER_S) as u64);
        if self.past.is_empty() {
            return;
        }
        loop {
            let left_ns = until_ns.saturating_sub(ifm_sys::mono_ns());
            if left_ns == 0 || stop.level() > StopLevel::Run {
                return;
            }
            std::thread::sleep(STEP.min(Duration::from_nanos(left_ns)));
        }
    }

    /// Why a search ended, in a sentence.
    pub fn over_in_search(&self) -> String {
        let time = span_words(self.budget_s.unwrap_or(0.0));
        format!("{OUT_OF_TIME} after {time}; --budget gives it more")
    }

    /// What was left out because of the budget, in a sentence.
    pub fn over(&self, left_out: &[String]) -> String {
        let budget_s = self.budget_s.unwrap_or(0.0);
        match left_out {
            [] => format!("the budget of {budget_s} s ended during the last level"),
            _ => format!("the budget of {budget_s} s ended; left out: {}", left_out.join(", ")),
        }
    }
}

/// What the reason of a search begins with whose time was used up.
pub const OUT_OF_TIME: &str = "time ran out";

/// Seconds in words: `5 min`, `90 s`.
pub fn span_words(seconds: f64) -> String {
    let minutes = seconds / 60.0;
    match minutes >= 2.0 && (minutes - minutes.round()).abs() < 1e-9 {
        true => format!("{minutes:.0} min"),
        false => format!("{seconds} s"),
    }
}

/// Minimum time of a level, seconds: as long as the same load took before; else its duration, plus
/// the last level's time for warm-up and drain. For a search, the requests that its shortest end
/// needs, each as long as at the nearest lower load. 0 if only requests end it otherwise, because
/// their speed is unknown.
fn least_seconds(load: &LoadSpec, past: &[Past]) -> f64 {
    if let Some(before) = past.iter().rev().find(|before| is_alike(&before.load, load)) {
        return before.seconds;
    }
    let around_s = past.last().map_or(0.0, |before| {
        // A level that ended early took less than its duration: then nothing is known.
        before.load.duration_s.map_or(0.0, |duration_s| (before.seconds - duration_s).max(0.0))
    });
    match (load.early_end, load.duration_s) {
        (Some(early), Some(duration_s)) => early.seconds_min.min(duration_s),
        (Some(early), None) if early.at_broken_target && load.arrivals.is_none() => {
            let requests = early.requests_min + load.warmup_requests;
            f64::from(requests) / f64::from(load.concurrency) * request_seconds(load, past)
        }
        (Some(_), None) => 0.0,
        (None, Some(duration_s)) if load.requests.is_none() && load.sessions.is_none() => {
            duration_s + around_s
        }
        (None, _) => 0.0,
    }
}

/// Seconds per request at the nearest load that has no more users; 0 if there was none.
fn request_seconds(load: &LoadSpec, past: &[Past]) -> f64 {
    let lower = past.iter().filter(|before| {
        before.load.arrivals.is_none()
            && before.load.concurrency <= load.concurrency
            && before.requests > 0
    });
    lower.max_by_key(|before| before.load.concurrency).map_or(0.0, |before| {
        before.seconds * f64::from(before.load.concurrency) / before.requests as f64
    })
}

/// Whether two levels are the same load: a repeat has a seed of its own.
fn is_alike(a: &LoadSpec, b: &LoadSpec) -> bool {
    let without_seed = |load: &LoadSpec| {
        let mut load = load.clone();
        load.arrivals.iter_mut().for_each(|arrivals| arrivals.seed = 0);
        load
    };
    without_seed(a) == without_seed(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::spec::EarlyEnd;

    fn load(concurrency: u32, duration_s: Option<f64>) -> LoadSpec {
        LoadSpec {
            concurrency,
            arrivals: None,
            requests: None,
            duration_s,
            sessions: None,
            warmup_requests: 0,
            early_end: None,
            scout: false,
        }
    }

    #[test]
    fn what_a_level_takes_is_known_from_before_or_from_its_duration() {
        let past = |concurrency, seconds| Past {
            load: load(concurrency, Some(20.0)),
            seconds,
            requests: 40,
        };
        let past = [past(1, 21.5), past(2, 23.0)];
        assert_eq!(least_seconds(&load(1, Some(20.0)), &past), 21.5, "the same load");
        assert_eq!(least_seconds(&load(4, Some(20.0)), &past), 23.0, "3 s around the last one");
        assert_eq!(least_seconds(&load(4, Some(20.0)), &[]), 20.0);
        assert_eq!(least_seconds(&load(4, None), &past), 0.0, "requests alone");
        let early = EarlyEnd {
            settled_share: Some(0.05),
            at_broken_target: false,
            requests_min: 50,
            seconds_min: 5.0,
        };
        let settling = LoadSpec { early_end: Some(early), ..load(4, Some(120.0)) };
        assert_eq!(least_seconds(&settling, &past), 5.0);
        // 23 s for 20 rounds of two users: 50 requests and a warm-up of 8 are 7.25 rounds of eight.
        let broken = EarlyEnd { at_broken_target: true, requests_min: 50, ..early };
        let search = LoadSpec { early_end: Some(broken), warmup_requests: 8, ..load(8, None) };
        assert!((least_seconds(&search, &past) - 7.25 * 1.15).abs() < 1e-9);
    }

    #[test]
    fn no_level_begins_that_cannot_end_in_time() {
        let mut pacing =
            Pacing { cooldown_s: 2.0, budget_s: Some(50.0), begun_ns: 0, past: Vec::new() };
        let s = |seconds: u64| seconds * 1_000_000_000;
        assert_eq!(pacing.deadline_ns(), Some(s(50)));
        assert!(pacing.has_room(&load(1, Some(60.0)), 0), "the first one always begins");
        pacing.ran(&load(1, Some(20.0)), 20.0, 20);
        assert!(pacing.has_room(&load(2, Some(20.0)), s(27)));
        assert!(!pacing.has_room(&load(2, Some(20.0)), s(28)));
        assert!(pacing.has_room(&load(2, None), s(47)));
        assert!(!pacing.has_room(&load(2, None), s(50)));
        assert!(pacing.over(&["2 users".to_owned()]).ends_with("left out: 2 users"));
        let unbounded = Pacing { budget_s: None, ..pacing };
        assert!(unbounded.has_room(&load(2, Some(1e9)), s(1_000_000)));
    }
}
