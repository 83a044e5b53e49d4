//! Which level of a session follows the measured ones.
//!
//! A planner only appends levels or ends. Not here: running a level (`inferometer`), judging one
//! (`ifm-metrics`).

mod judged;
mod look;
mod replay;
mod tiers;

pub use ifm_live::LevelCount;
pub use judged::{Again, Judged, Scout};
pub use look::Look;
pub use tiers::{Tier, TierState};

use ifm_core::spec::{ArrivalLaw, ArrivalSpec, LoadSpec, RateCurve, RateStretch, RunSpec};
use ifm_metrics::capacity::{Bracket, Change, Next, Search, Worth, pooled};
use ifm_metrics::level::Load;
use ifm_metrics::{LevelSummary, Seen};
use judged::{Found, judge, looks_at};
use replay::{Wanted, replay};

/// A sweep without named levels ends after two levels that add less than this share.
const PLATEAU_GAIN: f64 = 0.05;
/// A sweep without named levels ends when a larger share of the requests fails.
const PLATEAU_ERROR_RATE: f64 = 0.01;

/// The levels to run.
pub enum LevelPlanner {
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

impl LevelPlanner {
    /// Number of levels, if this many are known.
    pub fn level_count(&self, known: usize) -> LevelCount {
        match self {
            LevelPlanner::Planned => LevelCount::Exactly(known),
            LevelPlanner::UntilPlateau => LevelCount::AtMost(known),
            // The two ends come first; after them, all is known.
            LevelPlanner::Between { .. } if known > 2 => LevelCount::Exactly(known),
            LevelPlanner::Between { .. } | LevelPlanner::Capacity(_) => LevelCount::Open,
        }
    }

    /// What follows the last of the measured levels.
    pub fn after(&mut self, spec: &RunSpec, measured: &[LevelSummary], seen: Seen) -> Step {
        match self {
            LevelPlanner::Planned => Step::GoOn,
            LevelPlanner::UntilPlateau if is_plateau(measured) => Step::End,
            LevelPlanner::UntilPlateau => Step::GoOn,
            LevelPlanner::Between { points, law } if measured.len() == 2 => {
                between(spec, measured, *points, *law)
            }
            LevelPlanner::Between { .. } => Step::GoOn,
            LevelPlanner::Capacity(course) => course.after(spec, seen),
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
    found: Found,
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
        let found = Found::default();
        let (from, tiers) = (search.clone(), Vec::new());
        CapacityCourse {
            search,
            axis,
            template,
            looks_max,
            look,
            found,
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
        Some(match self.search.next() {
            Next::Scout(place) => self.level(Wanted::Scout(place)),
            Next::Measure(place) => self.level(Wanted::Look { place, is_new: true }),
            Next::Done(_) => return None,
        })
    }

    /// What is known so far.
    pub fn bracket(&self) -> Option<Bracket> {
        match self.search.next() {
            Next::Done(bracket) => Some(bracket),
            Next::Scout(_) | Next::Measure(_) => None,
        }
    }

    /// The largest load that a measurement or a scout found inside, and the smallest outside.
    pub fn edge(&self) -> (Option<Load>, Option<Load>) {
        let (inside, outside) = self.search.edge();
        let load = |place: Option<u32>| place.map(|place| self.axis.load(place));
        (load(inside), load(outside))
    }

    /// Whether ends of the bracket remain to be measured again.
    pub fn is_unconfirmed(&self) -> bool {
        !self.is_over
    }

    /// Every judged load, in ascending order.
    pub fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.found.judged.values()
    }

    /// Every scout, in ascending order of loads.
    pub fn scouts(&self) -> impl Iterator<Item = &Scout> {
        self.found.scouts.values()
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
            if let Some(judged) = self.found.judged.get_mut(&place) {
                judged.again = again;
            }
            return self.next_end();
        }
        let from = (self.axis, self.from.clone(), self.looks_max);
        let (search, wanted, found) = replay(from, spec, seen, &self.found);
        (self.search, self.found) = (search, found);
        match (wanted, self.search.next()) {
            (Some(wanted), _) => Step::Append(vec![self.level(wanted)]),
            (None, Next::Done(bracket)) => {
                self.ends = Some(self.ends_of(bracket, place));
                self.next_end()
            }
            // A search that is longer than any needs to be.
            (None, _) => Step::End,
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
            Some(place) => Step::Append(vec![self.level(Wanted::Look { place, is_new: false })]),
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
            Some(wanted) => Step::Append(vec![self.level(wanted)]),
            None => Step::End,
        }
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

#[cfg(test)]
pub(crate) mod tests;
