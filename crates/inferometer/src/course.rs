//! The course of a session: which level comes after the ones that were measured.
//!
//! A course only ever appends a level or ends. Not here: running a level (`session`), judging one
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

/// A sweep without named levels ends after two levels that bring less than this share more.
const PLATEAU_GAIN: f64 = 0.05;
/// A sweep without named levels ends when a larger share of the requests fails.
const PLATEAU_ERROR_RATE: f64 = 0.01;

/// Which levels are run.
pub enum Course {
    /// All that were asked for.
    Planned,
    /// Those that were asked for, until more users bring nothing.
    UntilPlateau,
    /// One user, as many as possible, and then so many rates between what the two reached, evenly
    /// apart, as GuideLLM's sweep has it.
    Between {
        /// Rates between the ends, which are not repeated.
        points: u32,
        /// How requests are spaced.
        law: ArrivalLaw,
    },
    /// Those that a search for the capacity asks for, one after another.
    Capacity(Box<CapacityCourse>),
}

/// How many levels there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LevelCount {
    /// So many.
    Exactly(usize),
    /// So many, or fewer if more load brings nothing.
    AtMost(usize),
    /// What is measured decides.
    #[default]
    Open,
}

/// What follows a level.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The next level that was asked for, if there is one.
    GoOn,
    /// These levels, which nobody had asked for.
    Append(Vec<LoadSpec>),
    /// Nothing.
    End,
}

impl Step {
    /// Something else, where nothing follows.
    fn or_else(self, other: impl FnOnce() -> Step) -> Step {
        if self == Step::End { other() } else { self }
    }
}

impl Course {
    /// How many levels there are, when so many are known.
    pub fn level_count(&self, known: usize) -> LevelCount {
        match self {
            Course::Planned => LevelCount::Exactly(known),
            Course::UntilPlateau => LevelCount::AtMost(known),
            // The two ends come first; then all is known.
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

/// Open-loop levels at rates between those of the first two levels.
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
        // There is nothing between: one user is as much as the server takes.
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

/// One load as it was judged: all its looks together.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Its number in the search.
    pub place: u32,
    /// What was asked for.
    pub load: Load,
    /// Levels of the run that it was judged by.
    pub levels: Vec<u16>,
    /// Measured requests that were sent in these looks.
    pub requests: u64,
    /// All looks as one level, without the first waves of all but the first.
    pub summary: LevelSummary,
    /// What it showed.
    pub finding: Finding,
    /// The look after the search; only at the ends of the bracket.
    pub again: Option<Again>,
}

/// A load looked at once more when the search was over.
#[derive(Debug, Clone)]
pub struct Again {
    /// Requests of this look.
    pub requests: u64,
    /// What this look alone showed.
    pub finding: Finding,
    /// How the server's speed differs from that of the looks before; absent where it cannot be told.
    pub change: Option<Change>,
}

impl Judged {
    /// How often the load was looked at, but for a look after the search.
    pub fn looks(&self) -> u32 {
        self.levels.len() as u32
    }

    /// Whether the look after the search surely showed the contrary.
    pub fn is_contradicted(&self) -> bool {
        let Some(again) = &self.again else { return false };
        again.finding != Finding::Unsettled && again.finding != self.finding
    }

    /// The change of the server's speed between the looks, if it is shown.
    pub fn shown_change(&self) -> Option<&Change> {
        self.again.as_ref()?.change.as_ref().filter(|change| change.is_shown())
    }
}

/// What a search varies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Axis {
    /// Users, one by one.
    Users,
    /// Requests per second, in whole steps.
    Rate {
        /// A step.
        step_req_per_s: f64,
        /// How requests are spaced.
        law: ArrivalLaw,
    },
}

impl Axis {
    /// The load of a number of the search.
    pub fn load(self, place: u32) -> Load {
        match self {
            Axis::Users => Load::Users(place),
            Axis::Rate { step_req_per_s, .. } => Load::ReqPerS(f64::from(place) * step_req_per_s),
        }
    }

    /// What its loads are counted in.
    pub fn unit(self) -> &'static str {
        match self {
            Axis::Users => "users",
            Axis::Rate { .. } => "req/s",
        }
    }

    /// The fields of a document: the load inside, that outside, and what lies unsettled between them.
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

    /// The number of a level.
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

/// A search for the largest load inside the latency target. A load is looked at again until its
/// verdict is sure, up to a number of looks.
pub struct CapacityCourse {
    search: Search,
    /// What the search varies.
    pub axis: Axis,
    /// A level as it is appended, but for its load.
    template: LoadSpec,
    looks_max: u32,
    /// How long a look is.
    look: Look,
    judged: BTreeMap<u32, Judged>,
    /// Ends of the bracket that are to be looked at again, the next one last; absent while the search
    /// goes on.
    ends: Option<Vec<u32>>,
    /// What the capacity is to be turned into.
    pub worth: Worth,
    /// Whether the first target is answered.
    is_over: bool,
    /// The search as it was before the first look: where the tiers begin.
    from: Search,
    /// Other targets that the same measurements answer, each with what is known of it.
    pub tiers: Vec<(Tier, TierState)>,
}

/// How long a look at a load is.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Requests, at least; four for each user, or for each request in flight, if that is more.
    pub requests: u32,
    /// Seconds of one measurement, instead of a number of requests; longer for a rate that needs more.
    pub duration_s: Option<f64>,
    /// Seconds of a rate, at least: a queue that grows breaks the target within them.
    pub rate_s: f64,
    /// Seed of the first look's arrivals.
    pub seed: u64,
    /// Whether a look ends with whole sessions of conversations, two of each user, and not after a
    /// number of requests: the later turns of a session have the longest prompts.
    pub is_of_sessions: bool,
}

/// Sessions of a look for each user: the first ones of all begin together.
const SESSIONS_PER_USER: u32 = 2;
/// Sessions of a look, at least.
const SESSIONS_MIN: u32 = 10;

/// Requests of a look for each user: fewer would show the ramp.
const REQUESTS_PER_USER: u32 = 4;
/// Requests of a look that have to be finished before it may end because the target is missed.
const BROKEN_REQUESTS: u32 = 50;
/// The same for each user: the first one of each is the ramp, and is not judged.
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

    /// Answers these targets too.
    pub fn with_tiers(mut self, tiers: Vec<Tier>) -> Self {
        let unknown = || TierState { bracket: None, wanted: None, judged: Vec::new() };
        self.tiers = tiers.into_iter().map(|tier| (tier, unknown())).collect();
        self
    }

    /// Whether looks end with whole sessions.
    pub fn by_sessions(&self) -> bool {
        self.look.is_of_sessions
    }

    /// The first look of all; absent where the search has nothing to look at.
    pub fn first(&self) -> Option<LoadSpec> {
        match self.search.next() {
            Next::Measure(place) => Some(self.look_at(place, true)),
            Next::Done(_) => None,
        }
    }

    /// One look at a load.
    fn look_at(&self, place: u32, warms_up: bool) -> LoadSpec {
        let (law, rate) = match (self.axis, self.axis.load(place)) {
            (Axis::Rate { law, .. }, Load::ReqPerS(rate)) => (law, rate),
            _ => return self.users_look(place, warms_up),
        };
        // Of the answers so far, the longest that came at a load inside.
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

    /// What is known.
    pub fn bracket(&self) -> Option<Bracket> {
        match self.search.next() {
            Next::Done(bracket) => Some(bracket),
            Next::Measure(_) => None,
        }
    }

    /// Every load that was judged, rising.
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

    /// The ends of a bracket, the one that was looked at last at the end: with the looks before they
    /// stand in the order A B B A. None where each load is to be looked at once.
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

    /// What the other targets want to be measured, once the first one is answered.
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

    /// A look ends before its time once the target is surely missed; but not where other targets
    /// want to know more.
    fn at_broken_target(&self, requests_min: u32) -> Option<EarlyEnd> {
        let end = EarlyEnd {
            settled_share: None,
            at_broken_target: true,
            requests_min,
            seconds_min: 0.0,
        };
        self.tiers.is_empty().then_some(end)
    }

    /// What the last level says of a load that was looked at before.
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

/// Some looks at a load as one.
fn judge(axis: Axis, spec: &RunSpec, place: u32, looks: &[u16], seen: Seen) -> Judged {
    let first = looks.first().copied().unwrap_or(0);
    let pooled = pooled(spec, looks, seen);
    let summary = ifm_analysis::summarize_level(spec, first, None, pooled.seen());
    let verdict = &summary.verdict;
    // In front of a server that is asked at random the waits depend on each other, which the interval
    // of a percentile does not know: both have to say so.
    // Of sessions no more is known than their own intervals.
    let is_of_sessions = spec.slo.terms.iter().all(|term| term.metric.is_of_sessions());
    let is_agreed = |certainty_needed| match axis {
        Axis::Users => true,
        Axis::Rate { .. } if is_of_sessions => true,
        Axis::Rate { .. } => certainty(&pooled.requests, &spec.slo, true) == certainty_needed,
    };
    let finding = match verdict.state {
        // More were in flight than may be: the server did not keep up.
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
