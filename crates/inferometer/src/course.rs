//! The course of a session: which level follows the measured ones.
//!
//! A course only appends levels or ends. Not here: running a level (`session`), judging one
//! (`ifm-analysis`).

mod tiers;

pub use tiers::{Tier, TierState};

use ifm_analysis::capacity::{Bracket, Change, Finding, Next, Search, Worth, pooled};
use ifm_analysis::level::Load;
use ifm_analysis::settling::{Certainty, certainty};
use ifm_analysis::slo::VerdictState;
use ifm_analysis::{LevelSummary, Seen};
use ifm_core::spec::{
    ArrivalLaw, ArrivalSpec, EarlyEnd, LoadSpec, RateCurve, RateStretch, RunSpec,
};
use ifm_core::{Outcome, Phase, RequestRecord};
use std::collections::BTreeMap;

/// A sweep without named levels ends after two levels that add less than this share.
const PLATEAU_GAIN: f64 = 0.05;
/// A sweep without named levels ends when a larger share of the requests fails.
const PLATEAU_ERROR_RATE: f64 = 0.01;

/// The levels to run.
pub enum Course {
    /// All requested levels.
    Planned,
    /// The requested levels, until more users add nothing.
    UntilPlateau,
    /// One user, as many as possible, and then a number of evenly spaced rates between the two
    /// results, as in GuideLLM's sweep.
    Between {
        /// Number of rates between the ends, which are not repeated.
        points: u32,
        /// Arrival process.
        law: ArrivalLaw,
    },
    /// The levels that a search for the capacity requests, one after another.
    Capacity(Box<CapacityCourse>),
}

/// How many levels there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LevelCount {
    /// A fixed number.
    Exactly(usize),
    /// This many, or fewer if more load adds nothing.
    AtMost(usize),
    /// Depends on what is measured.
    #[default]
    Open,
}

/// What follows a level.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The next requested level, if any.
    GoOn,
    /// These additional levels.
    Append(Vec<LoadSpec>),
    /// Nothing.
    End,
}

impl Step {
    /// Replaces the end with something else.
    fn or_else(self, other: impl FnOnce() -> Step) -> Step {
        if self == Step::End { other() } else { self }
    }
}

impl Course {
    /// Number of levels, if this many are known.
    pub fn level_count(&self, known: usize) -> LevelCount {
        match self {
            Course::Planned => LevelCount::Exactly(known),
            Course::UntilPlateau => LevelCount::AtMost(known),
            // The two ends come first; after them, all is known.
            Course::Between { .. } if known > 2 => LevelCount::Exactly(known),
            Course::Between { .. } | Course::Capacity(_) => LevelCount::Open,
        }
    }

    /// What follows the last of the measured levels.
    pub fn after(&mut self, spec: &RunSpec, measured: &[LevelSummary], seen: Seen) -> Step {
        match self {
            Course::Planned => Step::GoOn,
            Course::UntilPlateau if is_plateau(measured) => Step::End,
            Course::UntilPlateau => Step::GoOn,
            Course::Between { points, law } if measured.len() == 2 => {
                between(spec, measured, *points, *law)
            }
            Course::Between { .. } => Step::GoOn,
            Course::Capacity(course) => course.after(spec, seen),
        }
    }
}

/// Open-loop levels at rates between the first two levels.
fn between(spec: &RunSpec, measured: &[LevelSummary], points: u32, law: ArrivalLaw) -> Step {
    let rate = |level: &LevelSummary| level.window().map(|window| window.req_per_s);
    let (Some(template), Some(low), Some(high)) =
        (spec.levels.last(), measured.first().and_then(rate), measured.last().and_then(rate))
    else {
        return Step::End;
    };
    let level = |point: u32| {
        let share = f64::from(point) / f64::from(points + 1);
        let rate = low + (high - low) * share;
        let stretch = RateStretch {
            from_req_per_s: rate,
            to_req_per_s: rate,
            curve: RateCurve::Linear,
            seconds: template.duration_s,
        };
        let seed = spec.workload.seed.wrapping_add(u64::from(point) + 1);
        let arrivals = ArrivalSpec { law, stretches: vec![stretch], seed };
        LoadSpec { arrivals: Some(arrivals), warmup_requests: 0, ..template.clone() }
    };
    match low > 0.0 && high > low {
        true => Step::Append((1..=points).map(level).collect()),
        // There is nothing between: one user saturates the server.
        false => Step::End,
    }
}

fn is_plateau(levels: &[LevelSummary]) -> bool {
    let Some(last) = levels.last() else { return false };
    if last.counts.error_rate().is_some_and(|rate| rate > PLATEAU_ERROR_RATE) {
        return true;
    }
    let gains_little = |pair: &[LevelSummary]| {
        let window = LevelSummary::common_window(pair);
        match (pair[0].output_over(window), pair[1].output_over(window)) {
            (Some(before), Some(after)) => after < before * (1.0 + PLATEAU_GAIN),
            _ => false,
        }
    };
    levels.len() >= 3 && levels[levels.len() - 3..].windows(2).all(gains_little)
}

/// The verdict on one load, from all its measurements.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Its index in the search.
    pub place: u32,
    /// The requested load.
    pub load: Load,
    /// Levels of the run that it is based on.
    pub levels: Vec<u16>,
    /// Measured requests that were sent in these levels.
    pub requests: u64,
    /// All measurements as one level, with only the first wave of the first one.
    pub summary: LevelSummary,
    /// The finding.
    pub finding: Finding,
    /// The measurement after the search; only at the ends of the bracket.
    pub again: Option<Again>,
}

/// A load measured once more after the search.
#[derive(Debug, Clone)]
pub struct Again {
    /// Requests of this measurement.
    pub requests: u64,
    /// The finding of this measurement alone.
    pub finding: Finding,
    /// How the server's speed differs from the earlier measurements; absent if it cannot be
    /// determined.
    pub change: Option<Change>,
}

impl Judged {
    /// How often the load was measured, without the measurement after the search.
    pub fn looks(&self) -> u32 {
        self.levels.len() as u32
    }

    /// Whether the measurement after the search surely contradicts it.
    pub fn is_contradicted(&self) -> bool {
        let Some(again) = &self.again else { return false };
        again.finding != Finding::Unsettled && again.finding != self.finding
    }

    /// The change of the server's speed between the measurements, if it is proven.
    pub fn shown_change(&self) -> Option<&Change> {
        self.again.as_ref()?.change.as_ref().filter(|change| change.is_shown())
    }
}

/// The load axis of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Axis {
    /// Users, one by one.
    Users,
    /// Requests per second, in whole steps.
    Rate {
        /// A step.
        step_req_per_s: f64,
        /// Arrival process.
        law: ArrivalLaw,
    },
}

impl Axis {
    /// The load with a given index in the search.
    pub fn load(self, place: u32) -> Load {
        match self {
            Axis::Users => Load::Users(place),
            Axis::Rate { step_req_per_s, .. } => Load::ReqPerS(f64::from(place) * step_req_per_s),
        }
    }

    /// The unit of its loads.
    pub fn unit(self) -> &'static str {
        match self {
            Axis::Users => "users",
            Axis::Rate { .. } => "req/s",
        }
    }

    /// The fields of a document: the load inside, the load outside, and the unsettled loads between
    /// them.
    pub fn fields(self) -> [&'static str; 4] {
        match self {
            Axis::Users => {
                ["users_inside", "users_outside", "users_unsettled", "users_unsettled_to"]
            }
            Axis::Rate { .. } => [
                "req_per_s_inside",
                "req_per_s_outside",
                "req_per_s_unsettled",
                "req_per_s_unsettled_to",
            ],
        }
    }

    /// The index of a level.
    fn place(self, level: &LoadSpec) -> Option<u32> {
        match self {
            Axis::Users => Some(level.concurrency),
            Axis::Rate { step_req_per_s, .. } => {
                let rate = level.arrivals.as_ref()?.mean_req_per_s()?;
                Some((rate / step_req_per_s).round() as u32)
            }
        }
    }
}

/// A search for the largest load that meets the latency target. A load is measured again until its
/// verdict is sure, up to a number of measurements.
pub struct CapacityCourse {
    search: Search,
    /// The load axis.
    pub axis: Axis,
    /// A level to append, without its load.
    template: LoadSpec,
    looks_max: u32,
    /// Length of a measurement.
    look: Look,
    judged: BTreeMap<u32, Judged>,
    /// Ends of the bracket to measure again, the next one last; absent during the search.
    ends: Option<Vec<u32>>,
    /// What to convert the capacity to.
    pub worth: Worth,
    /// Whether the first target is answered.
    is_over: bool,
    /// The search before the first measurement: where the tiers begin.
    from: Search,
    /// Additional targets, each with what is known about it.
    pub tiers: Vec<(Tier, TierState)>,
}

/// Length of a measurement of a load.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Minimum number of requests; four per user, or per request in flight, if that is more.
    pub requests: u32,
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

impl CapacityCourse {
    /// A search, with what every level has in common.
    pub fn new(
        search: Search,
        axis: Axis,
        template: LoadSpec,
        looks_max: u32,
        look: Look,
        worth: Worth,
    ) -> Self {
        let judged = BTreeMap::new();
        let (from, tiers) = (search.clone(), Vec::new());
        CapacityCourse {
            search,
            axis,
            template,
            looks_max,
            look,
            judged,
            ends: None,
            worth,
            is_over: false,
            from,
            tiers,
        }
    }

    /// Also evaluates these targets.
    pub fn with_tiers(mut self, tiers: Vec<Tier>) -> Self {
        let unknown = || TierState { bracket: None, wanted: None, judged: Vec::new() };
        self.tiers = tiers.into_iter().map(|tier| (tier, unknown())).collect();
        self
    }

    /// Whether measurements end with whole sessions.
    pub fn by_sessions(&self) -> bool {
        self.look.is_of_sessions
    }

    /// The first measurement; absent if the search has nothing to measure.
    pub fn first(&self) -> Option<LoadSpec> {
        match self.search.next() {
            Next::Measure(place) => Some(self.look_at(place, true)),
            Next::Done(_) => None,
        }
    }

    /// One measurement of a load.
    fn look_at(&self, place: u32, warms_up: bool) -> LoadSpec {
        let (law, rate) = match (self.axis, self.axis.load(place)) {
            (Axis::Rate { law, .. }, Load::ReqPerS(rate)) => (law, rate),
            _ => return self.users_look(place, warms_up),
        };
        // The longest answer so far at a load inside.
        let busy_s = self.judged.values().filter(|judged| judged.finding == Finding::Inside);
        let busy_s = busy_s.filter_map(|judged| judged.summary.latencies.e2e_ns.as_ref());
        let busy_s = busy_s.map(|e2e| e2e.mean / 1e9).fold(0.0, f64::max);
        let seconds = self.look.rate_s.max(f64::from(REQUESTS_PER_USER) * busy_s);
        let requests = self.look.requests.max((rate * seconds).ceil() as u32);
        let looks: u32 = self.judged.values().map(Judged::looks).sum();
        let stretch = RateStretch {
            from_req_per_s: rate,
            to_req_per_s: rate,
            curve: RateCurve::Linear,
            seconds: None,
        };
        let seed = self.look.seed.wrapping_add(u64::from(looks));
        let duration_s = self.look.duration_s.map(|duration_s| duration_s.max(seconds));
        LoadSpec {
            arrivals: Some(ArrivalSpec { law, stretches: vec![stretch], seed }),
            requests: duration_s.is_none().then_some(requests),
            duration_s,
            early_end: self.at_broken_target(BROKEN_REQUESTS),
            ..self.template.clone()
        }
    }

    fn users_look(&self, users: u32, warms_up: bool) -> LoadSpec {
        let requests = self.look.requests.max(users.saturating_mul(REQUESTS_PER_USER));
        let sessions = users.saturating_mul(SESSIONS_PER_USER).max(SESSIONS_MIN);
        let of_sessions = self.look.is_of_sessions;
        LoadSpec {
            concurrency: users,
            requests: (!of_sessions && self.look.duration_s.is_none()).then_some(requests),
            duration_s: self.look.duration_s.filter(|_| !of_sessions),
            sessions: of_sessions.then_some(sessions).or(self.template.sessions),
            warmup_requests: if warms_up {
                self.template.warmup_requests.max(users)
            } else {
                users
            },
            early_end: self.at_broken_target(
                BROKEN_REQUESTS.max(users.saturating_mul(BROKEN_REQUESTS_PER_USER)),
            ),
            ..self.template.clone()
        }
    }

    /// What is known so far.
    pub fn bracket(&self) -> Option<Bracket> {
        match self.search.next() {
            Next::Done(bracket) => Some(bracket),
            Next::Measure(_) => None,
        }
    }

    /// Every judged load, in ascending order.
    pub fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.judged.values()
    }

    fn after(&mut self, spec: &RunSpec, seen: Seen) -> Step {
        match self.is_over {
            true => Step::End,
            false => self.own_step(spec, seen),
        }
        .or_else(|| self.next_tier(spec, seen))
    }

    fn own_step(&mut self, spec: &RunSpec, seen: Seen) -> Step {
        let Some(place) = spec.levels.last().and_then(|last| self.axis.place(last)) else {
            return Step::End;
        };
        let last = spec.levels.len() - 1;
        if self.ends.is_some() {
            let again = self.again(spec, place, last, seen);
            if let Some(judged) = self.judged.get_mut(&place) {
                judged.again = again;
            }
            return self.next_end();
        }
        let judged = judge(self.axis, spec, place, &looks_at(self.axis, spec, place), seen);
        let is_settled = judged.finding != Finding::Unsettled;
        let looks = judged.looks();
        self.judged.insert(place, judged.clone());
        if !is_settled && looks < self.looks_max {
            return Step::Append(vec![self.look_at(place, false)]);
        }
        self.search.tell(place, judged.finding);
        match self.search.next() {
            Next::Measure(place) => Step::Append(vec![self.look_at(place, true)]),
            Next::Done(bracket) => {
                self.ends = Some(self.ends_of(bracket, place));
                self.next_end()
            }
        }
    }

    /// The ends of a bracket, with the one that was measured last at the end: together with the
    /// earlier measurements, the order is A B B A. None if each load should be measured once.
    fn ends_of(&self, bracket: Bracket, last: u32) -> Vec<u32> {
        let mut ends: Vec<u32> = bracket.inside.into_iter().chain(bracket.outside).collect();
        if bracket.inside == Some(last) {
            ends.reverse();
        }
        ends.retain(|_| self.looks_max > 1);
        ends
    }

    fn next_end(&mut self) -> Step {
        match self.ends.as_mut().and_then(Vec::pop) {
            Some(place) => Step::Append(vec![self.look_at(place, false)]),
            None => {
                self.is_over = true;
                Step::End
            }
        }
    }

    /// The measurements that the other targets need after the first one is answered.
    fn next_tier(&mut self, spec: &RunSpec, seen: Seen) -> Step {
        let mut wanted = None;
        for (tier, state) in &mut self.tiers {
            let search = (self.axis, self.from.clone(), self.looks_max);
            *state = tiers::follow(tier, search, spec, seen);
            wanted = wanted.or(state.wanted);
        }
        match wanted {
            Some((place, is_new)) => Step::Append(vec![self.look_at(place, is_new)]),
            None => Step::End,
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

    /// What the last level says about a load that was measured before.
    fn again(&self, spec: &RunSpec, place: u32, last: usize, seen: Seen) -> Option<Again> {
        let mut before = looks_at(self.axis, spec, place);
        before.retain(|level| usize::from(*level) != last);
        let alone = [last as u16];
        let judged = judge(self.axis, spec, place, &alone, seen);
        let is_open = matches!(self.axis, Axis::Rate { .. });
        let (first, second) = (pooled(spec, &before, seen), pooled(spec, &alone, seen));
        Some(Again {
            requests: judged.requests,
            finding: judged.finding,
            change: Change::between(&first.requests, &second.requests, is_open),
        })
    }
}

/// The levels at a load.
fn looks_at(axis: Axis, spec: &RunSpec, place: u32) -> Vec<u16> {
    let levels = spec.levels.iter().enumerate();
    let of_place = levels.filter(|(_, load)| axis.place(load) == Some(place));
    of_place.map(|(level, _)| level as u16).collect()
}

/// Several measurements of a load as one.
fn judge(axis: Axis, spec: &RunSpec, place: u32, looks: &[u16], seen: Seen) -> Judged {
    let first = looks.first().copied().unwrap_or(0);
    let pooled = pooled(spec, looks, seen);
    let summary = ifm_analysis::summarize_level(spec, first, None, pooled.seen());
    let verdict = &summary.verdict;
    // With random arrivals, the waits depend on each other, which the interval of a percentile
    // ignores: both tests have to agree. For sessions, only their own intervals are available.
    let is_of_sessions = spec.slo.terms.iter().all(|term| term.metric.is_of_sessions());
    let is_agreed = |certainty_needed| match axis {
        Axis::Users => true,
        Axis::Rate { .. } if is_of_sessions => true,
        Axis::Rate { .. } => certainty(&pooled.requests, &spec.slo, true) == certainty_needed,
    };
    let finding = match verdict.state {
        // More requests were in flight than allowed: the server did not keep up.
        _ if summary.counts.dropped > 0 || verdict.too_many_errors => Finding::Outside,
        VerdictState::Pass if verdict.is_sure && is_agreed(Certainty::Kept) => Finding::Inside,
        VerdictState::Fail if verdict.is_sure && is_agreed(Certainty::Missed) => Finding::Outside,
        _ => Finding::Unsettled,
    };
    let is_sent = |record: &&RequestRecord| {
        looks.contains(&record.level)
            && record.phase == Phase::Measure
            && record.outcome != Outcome::Dropped
    };
    let requests = seen.requests.iter().filter(is_sent).count() as u64;
    let (load, levels) = (axis.load(place), looks.to_vec());
    Judged { place, load, levels, requests, summary, finding, again: None }
}

#[cfg(test)]
pub(crate) mod tests;
