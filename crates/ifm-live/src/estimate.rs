//! How far a level is and how long it and the run still take. Pure functions of what is known.
//!
//! A level ends with its requests, its conversations or its time, whichever comes first. An
//! estimate that cannot be made is absent.

use super::view::RunLeft;
use ifm_core::spec::{ArrivalSpec, LoadSpec};

/// What is known of a level in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Known {
    /// Seconds since the first measured request could go; absent before.
    pub measuring_s: Option<f64>,
    /// Measured requests that have ended.
    pub finished: u64,
    /// Conversations that have ended.
    pub conversations: Option<u64>,
    /// Mean time of a request, seconds: what is in flight at the end still takes about that.
    pub request_s: Option<f64>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Share that is done, 0 to 1.
    pub done_share: Option<f64>,
    /// Seconds left.
    pub left_s: Option<f64>,
}

/// What other levels have shown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pace {
    /// Requests per second, at the load that ran last.
    pub req_per_s: Option<f64>,
    /// Seconds of a level before the first measured request and after the last one was sent.
    pub beside_s: f64,
}

/// Estimates the progress of a level.
pub fn level(load: &LoadSpec, known: &Known) -> Estimate {
    let Some(measuring_s) = known.measuring_s else { return Estimate::default() };
    let tail_s = known.request_s.unwrap_or(0.0);
    let by_time = load.duration_s.map(|duration_s| {
        let whole_s = duration_s + tail_s;
        // Until a request has ended its duration is unknown, and the last ones have to end too.
        let share = (known.finished > 0).then_some((measuring_s / whole_s).min(1.0));
        (share, Some(whole_s - measuring_s))
    });
    let rate = load.arrivals.as_ref().and_then(ArrivalSpec::mean_req_per_s);
    let by_requests = load.requests.map(|all| {
        let scheduled_s = rate.map(|rate| f64::from(all) / rate + tail_s - measuring_s);
        let (share, left_s) = by_count(known.finished, all, measuring_s);
        (share, scheduled_s.or(left_s))
    });
    let by_conversations = load
        .sessions
        .zip(known.conversations)
        .map(|(all, ended)| by_count(ended, all, measuring_s));
    let ends = [by_time, by_requests, by_conversations];
    let ends = || ends.iter().flatten();
    let least = |least: Option<f64>, value: f64| Some(least.map_or(value, |l| l.min(value)));
    Estimate {
        done_share: ends().filter_map(|end| end.0).reduce(f64::max),
        // An estimate that has passed is dropped.
        left_s: ends().filter_map(|end| end.1).fold(None, least).filter(|left| *left > 0.0),
    }
}

/// Share and seconds left, when this many of all have ended in that time.
fn by_count(ended: u64, all: u32, after_s: f64) -> (Option<f64>, Option<f64>) {
    let (ended, all) = (ended as f64, f64::from(all));
    let left_s = (ended > 0.0).then(|| (all - ended).max(0.0) * after_s / ended);
    (Some((ended / all).min(1.0)), left_s)
}

/// Seconds of a level that has not begun; absent where only its answers decide.
pub fn whole_level(load: &LoadSpec, pace: &Pace) -> Option<f64> {
    let rate = load.arrivals.as_ref().and_then(ArrivalSpec::mean_req_per_s);
    let by_requests =
        load.requests.zip(rate.or(pace.req_per_s)).map(|(all, rate)| f64::from(all) / rate);
    let sending_s = match (load.duration_s, by_requests) {
        (Some(time), Some(requests)) => Some(time.min(requests)),
        (time, requests) => time.or(requests),
    };
    sending_s.map(|sending_s| sending_s + pace.beside_s)
}

/// The time left of a run that has a budget: what is shorter. A budget is a most, since levels that
/// it leaves no room for are left out.
pub fn within(left: Option<RunLeft>, budget_s: Option<f64>) -> Option<RunLeft> {
    let Some(budget_s) = budget_s else { return left };
    match left {
        Some(left) if left.seconds <= budget_s => Some(left),
        _ => Some(RunLeft { seconds: budget_s, at_most: true }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(requests: Option<u32>, duration_s: Option<f64>, sessions: Option<u32>) -> LoadSpec {
        LoadSpec {
            concurrency: 4,
            arrivals: None,
            requests,
            duration_s,
            sessions,
            warmup_requests: 4,
            early_end: None,
            scout: false,
        }
    }

    fn at(measuring_s: f64, finished: u64) -> Known {
        Known { measuring_s: Some(measuring_s), finished, ..Known::default() }
    }

    #[test]
    fn a_level_ends_with_what_comes_first() {
        let both = load(Some(100), Some(60.0), None);
        let estimate = level(&both, &at(20.0, 50));
        assert_eq!((estimate.done_share, estimate.left_s), (Some(0.5), Some(20.0)));
        let estimate = level(&both, &at(30.0, 10));
        assert_eq!((estimate.done_share, estimate.left_s), (Some(0.5), Some(30.0)));
        let known = Known { conversations: Some(5), ..at(10.0, 80) };
        let estimate = level(&load(None, None, Some(20)), &known);
        assert_eq!((estimate.done_share, estimate.left_s), (Some(0.25), Some(30.0)));
    }

    #[test]
    fn what_cannot_be_known_is_absent() {
        let by_requests = load(Some(100), None, None);
        assert_eq!(level(&by_requests, &Known::default()), Estimate::default());
        let none_yet = level(&by_requests, &at(3.0, 0));
        assert_eq!((none_yet.done_share, none_yet.left_s), (Some(0.0), None));
        assert_eq!(level(&load(None, None, None), &at(3.0, 5)), Estimate::default());
        let overdue = level(&load(None, Some(10.0), None), &at(12.0, 5));
        assert_eq!((overdue.done_share, overdue.left_s), (Some(1.0), None));
        let long_first = |measuring_s| level(&load(None, Some(10.0), None), &at(measuring_s, 0));
        assert_eq!(long_first(9.0), Estimate { done_share: None, left_s: Some(1.0) });
        assert_eq!(long_first(12.0), Estimate::default());
    }

    #[test]
    fn what_is_in_flight_at_the_end_takes_time() {
        let known = Known { request_s: Some(2.0), ..at(6.0, 5) };
        let estimate = level(&load(None, Some(10.0), None), &known);
        assert_eq!((estimate.done_share, estimate.left_s), (Some(0.5), Some(6.0)));
    }

    #[test]
    fn a_budget_is_the_most_that_is_left() {
        let left = |seconds, at_most| Some(RunLeft { seconds, at_most });
        assert_eq!(within(left(9.0, false), None), left(9.0, false));
        assert_eq!(within(left(9.0, false), Some(10.0)), left(9.0, false));
        assert_eq!(within(left(9.0, false), Some(4.0)), left(4.0, true));
        assert_eq!(within(None, Some(4.0)), left(4.0, true));
        assert_eq!(within(None, None), None);
    }

    #[test]
    fn levels_to_come_go_by_what_was_seen() {
        let pace = Pace { req_per_s: Some(10.0), beside_s: 2.0 };
        assert_eq!(whole_level(&load(Some(100), None, None), &pace), Some(12.0));
        assert_eq!(whole_level(&load(Some(100), Some(5.0), None), &pace), Some(7.0));
        assert_eq!(whole_level(&load(Some(100), None, None), &Pace::default()), None);
        assert_eq!(whole_level(&load(None, None, Some(3)), &pace), None);
    }
}
