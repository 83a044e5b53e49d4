//! The course of a session: which level comes after the ones that were measured.
//!
//! A course only ever appends a level or ends. Not here: running a level (`session`), judging one
//! (`ifm-analysis`).

use crate::live::view::LevelCount;
use ifm_analysis::LevelSummary;
use ifm_analysis::capacity::{Bracket, Finding, Next, Price, Search};
use ifm_analysis::slo::VerdictState;
use ifm_core::RequestRecord;
use ifm_core::spec::{
    ArrivalLaw, ArrivalSpec, EarlyEnd, LoadSpec, RateCurve, RateStretch, RunSpec,
};
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
    pub fn after(
        &mut self,
        spec: &RunSpec,
        measured: &[LevelSummary],
        records: &[RequestRecord],
    ) -> Step {
        match self {
            Course::Planned => Step::GoOn,
            Course::UntilPlateau if is_plateau(measured) => Step::End,
            Course::UntilPlateau => Step::GoOn,
            Course::Between { points, law } if measured.len() == 2 => {
                between(spec, measured, *points, *law)
            }
            Course::Between { .. } => Step::GoOn,
            Course::Capacity(course) => course.after(spec, records),
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
    let speed = LevelSummary::output_tok_per_s;
    let gains_little = |pair: &[LevelSummary]| match (speed(&pair[0]), speed(&pair[1])) {
        (Some(before), Some(after)) => after < before * (1.0 + PLATEAU_GAIN),
        _ => false,
    };
    levels.len() >= 3 && levels[levels.len() - 3..].windows(2).all(gains_little)
}

/// One load as it was judged: all its looks together.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Users.
    pub users: u32,
    /// Levels of the run that belong to it.
    pub looks: u32,
    /// All looks as one level.
    pub summary: LevelSummary,
    /// What it showed.
    pub finding: Finding,
}

/// What the capacity is to be turned into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Pause of a person between two requests, seconds.
    pub think_s: Option<f64>,
    /// People to be served.
    pub target_people: Option<u32>,
    /// Share of a server that is kept free.
    pub headroom: f64,
    /// Price of the server.
    pub price: Option<Price>,
}

/// A search for the largest number of users inside the latency target. A load is looked at again
/// until its verdict is sure, up to a number of looks.
pub struct CapacityCourse {
    search: Search,
    /// A level as it is appended, but for its users.
    template: LoadSpec,
    looks_max: u32,
    /// Requests of one look, at least; four for each user if that is more.
    look_requests: u32,
    judged: BTreeMap<u32, Judged>,
    /// What the capacity is to be turned into.
    pub worth: Worth,
}

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
        template: LoadSpec,
        looks_max: u32,
        look_requests: u32,
        worth: Worth,
    ) -> Self {
        let judged = BTreeMap::new();
        CapacityCourse { search, template, looks_max, look_requests, judged, worth }
    }

    /// One look at a load.
    pub fn look_at(&self, users: u32, warms_up: bool) -> LoadSpec {
        LoadSpec {
            concurrency: users,
            requests: Some(self.look_requests.max(users.saturating_mul(REQUESTS_PER_USER))),
            warmup_requests: if warms_up {
                self.template.warmup_requests.max(users)
            } else {
                users
            },
            early_end: Some(EarlyEnd {
                settled_share: None,
                at_broken_target: true,
                requests_min: BROKEN_REQUESTS.max(users.saturating_mul(BROKEN_REQUESTS_PER_USER)),
                seconds_min: 0.0,
            }),
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

    /// Every load that was judged, by users.
    pub fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.judged.values()
    }

    fn after(&mut self, spec: &RunSpec, records: &[RequestRecord]) -> Step {
        let Some(last) = spec.levels.last() else { return Step::End };
        let users = last.concurrency;
        let judged = judge(spec, users, records);
        let is_sure = judged.summary.verdict.is_sure;
        let looks = judged.looks;
        self.judged.insert(users, judged.clone());
        if !is_sure && looks < self.looks_max {
            return Step::Append(vec![self.look_at(users, false)]);
        }
        self.search.tell(users, judged.finding);
        match self.search.next() {
            Next::Measure(users) => Step::Append(vec![self.look_at(users, true)]),
            Next::Done(_) => Step::End,
        }
    }
}

/// All looks at a load as one.
fn judge(spec: &RunSpec, users: u32, records: &[RequestRecord]) -> Judged {
    let is_look = |level: u16| {
        spec.levels.get(usize::from(level)).is_some_and(|load| load.concurrency == users)
    };
    let first = spec.levels.iter().position(|load| load.concurrency == users).unwrap_or(0) as u16;
    let looks = spec.levels.iter().filter(|load| load.concurrency == users).count() as u32;
    let pooled: Vec<RequestRecord> = records
        .iter()
        .filter(|record| is_look(record.level))
        .map(|record| RequestRecord { level: first, ..record.clone() })
        .collect();
    let summary = ifm_analysis::summarize_level(spec, first, None, &pooled);
    let finding = match (summary.verdict.state, summary.verdict.is_sure) {
        (VerdictState::Pass, true) => Finding::Inside,
        (VerdictState::Fail, true) => Finding::Outside,
        _ => Finding::Unsettled,
    };
    Judged { users, looks, summary, finding }
}
