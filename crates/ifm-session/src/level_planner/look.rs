//! How long a level of a search is: scouts, and measurements of a load.

use super::replay::Wanted;
use super::{Axis, CapacityCourse, Judged};
use ifm_core::spec::{ArrivalLaw, ArrivalSpec, EarlyEnd, LoadSpec, RateCurve, RateStretch};
use ifm_metrics::level::Load;

/// Length of a measurement of a load.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Minimum number of requests; four per user, or per request in flight, if that is more.
    pub requests: u32,
    /// Minimum number of judged requests, after the first of each user.
    pub judged_min: u32,
    /// Seconds per measurement, instead of a number of requests; longer for a rate that needs more.
    pub duration_s: Option<f64>,
    /// Minimum seconds at a rate: a growing queue misses the target within this time.
    pub rate_s: f64,
    /// Seed of the first measurement's arrivals.
    pub seed: u64,
    /// Whether a measurement ends with whole sessions of conversations, two per user, instead of a
    /// number of requests: the later turns of a session have the longest prompts.
    pub is_of_sessions: bool,
}

/// Sessions per user in a measurement: all first sessions begin together.
const SESSIONS_PER_USER: u32 = 2;
/// Minimum sessions of a measurement.
const SESSIONS_MIN: u32 = 10;

/// Requests per user in a measurement: fewer would show the ramp.
const REQUESTS_PER_USER: u32 = 4;
/// Requests that must finish before a measurement may end because the target is missed.
const BROKEN_REQUESTS: u32 = 50;
/// The same per user: the first one of each is the ramp, and is not judged.
const BROKEN_REQUESTS_PER_USER: u32 = 2;

/// Minimum judged requests of a scout; one per user if that is more. As many as there are users, or
/// at a rate as many again, come before and after them.
const SCOUT_REQUESTS: u32 = 12;
/// Requests that must finish before a scout may end because the target is missed.
const SCOUT_BROKEN_REQUESTS: u32 = 8;
/// A scout at a rate is this share of the shortest measurement: it shows a queue that grows twice as
/// fast.
const SCOUT_SHARE: f64 = 0.5;
/// Answers, one after another, that a scout at a rate takes as long as.
const SCOUT_ANSWERS: f64 = 3.0;

impl CapacityCourse {
    /// The next level.
    pub(super) fn level(&self, wanted: Wanted) -> LoadSpec {
        let (place, is_new) = match wanted {
            Wanted::Scout(place) => (place, self.found.scouts.is_empty()),
            Wanted::Look { place, is_new } => (place, is_new),
        };
        let is_scout = matches!(wanted, Wanted::Scout(_));
        match (self.axis, self.axis.load(place)) {
            (Axis::Rate { law, .. }, Load::ReqPerS(rate)) if is_scout => {
                self.rate_scout(law, rate, is_new)
            }
            (Axis::Rate { law, .. }, Load::ReqPerS(rate)) => self.rate_look(law, rate),
            _ if is_scout => self.users_scout(place, is_new),
            _ => self.users_look(place, is_new),
        }
    }

    /// A few requests of each user. Only the first scout has a warm-up: the first request of each
    /// user is left out anyway.
    fn users_scout(&self, users: u32, is_first: bool) -> LoadSpec {
        LoadSpec {
            concurrency: users,
            requests: Some(users.saturating_mul(2).saturating_add(users.max(SCOUT_REQUESTS))),
            duration_s: None,
            warmup_requests: if is_first { self.template.warmup_requests.max(1) } else { 0 },
            early_end: self.at_broken_target(users.saturating_add(SCOUT_BROKEN_REQUESTS)),
            scout: true,
            ..self.template.clone()
        }
    }

    fn rate_scout(&self, law: ArrivalLaw, rate: f64, is_first: bool) -> LoadSpec {
        let busy_s = self.found.busy_s();
        let seconds = (SCOUT_SHARE * self.look.rate_s).max(SCOUT_ANSWERS * busy_s);
        LoadSpec {
            arrivals: Some(self.arrivals(law, rate)),
            requests: Some((3 * SCOUT_REQUESTS).max((rate * seconds).ceil() as u32)),
            duration_s: None,
            warmup_requests: if is_first { self.template.warmup_requests } else { 0 },
            early_end: self.at_broken_target(2 * SCOUT_BROKEN_REQUESTS),
            scout: true,
            ..self.template.clone()
        }
    }

    /// Arrivals at a constant rate, with another seed for each level.
    fn arrivals(&self, law: ArrivalLaw, rate: f64) -> ArrivalSpec {
        let looks: u32 = self.found.judged.values().map(Judged::looks).sum();
        let levels = u64::from(looks) + self.found.scouts.len() as u64;
        let stretch = RateStretch {
            from_req_per_s: rate,
            to_req_per_s: rate,
            curve: RateCurve::Linear,
            seconds: None,
        };
        let seed = self.look.seed.wrapping_add(levels);
        ArrivalSpec { law, stretches: vec![stretch], seed }
    }

    /// One measurement of a rate.
    fn rate_look(&self, law: ArrivalLaw, rate: f64) -> LoadSpec {
        let seconds = self.look.rate_s.max(f64::from(REQUESTS_PER_USER) * self.found.busy_s());
        let requests = self.look.requests.max(self.look.judged_min);
        let requests = requests.max((rate * seconds).ceil() as u32);
        let duration_s = self.look.duration_s.map(|duration_s| duration_s.max(seconds));
        LoadSpec {
            arrivals: Some(self.arrivals(law, rate)),
            requests: duration_s.is_none().then_some(requests),
            duration_s,
            early_end: self.at_broken_target(BROKEN_REQUESTS),
            ..self.template.clone()
        }
    }

    /// One measurement of a number of users.
    fn users_look(&self, users: u32, warms_up: bool) -> LoadSpec {
        let judged = self.look.judged_min.saturating_add(users);
        let requests = self.look.requests.max(users.saturating_mul(REQUESTS_PER_USER)).max(judged);
        let sessions = users.saturating_mul(SESSIONS_PER_USER).max(SESSIONS_MIN);
        let of_sessions = self.look.is_of_sessions;
        LoadSpec {
            concurrency: users,
            requests: (!of_sessions && self.look.duration_s.is_none()).then_some(requests),
            duration_s: self.look.duration_s.filter(|_| !of_sessions),
            sessions: of_sessions.then_some(sessions).or(self.template.sessions),
            warmup_requests: match self.found.scouts.is_empty() {
                true if warms_up => self.template.warmup_requests.max(users),
                true => users,
                // Scouts have warmed up the server, and the first request of each user is left out.
                false => 0,
            },
            early_end: self.at_broken_target(
                BROKEN_REQUESTS.max(users.saturating_mul(BROKEN_REQUESTS_PER_USER)),
            ),
            ..self.template.clone()
        }
    }

    /// A measurement ends early once the target is surely missed, unless other targets need more
    /// data.
    fn at_broken_target(&self, requests_min: u32) -> Option<EarlyEnd> {
        let end = EarlyEnd {
            settled_share: None,
            at_broken_target: true,
            requests_min,
            seconds_min: 0.0,
        };
        self.tiers.is_empty().then_some(end)
    }
}
