//! Courses against simulated servers: a queue before several stations, in simulated time. What a
//! search finds follows from the queue alone, whatever the host.

use super::*;
use ifm_core::{Metric, RequestRecord};
use ifm_metrics::Settling;
use ifm_metrics::capacity::Finding;
use ifm_metrics::testing::{MS, closed_loop, request, run};
use ifm_truth::paced::queue::{self, Stations};
use ifm_workload::Arrivals;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A simulated server.
pub(crate) struct Played {
    stations: Stations,
    /// Time of each token of the answer with this number, milliseconds after a station started it.
    pace: fn(u64) -> Vec<f64>,
    begun: u64,
    now_ns: u64,
}

impl Played {
    pub(crate) fn new(stations: u32, pace: fn(u64) -> Vec<f64>) -> Played {
        Played { stations: Stations::new(stations), pace, begun: 0, now_ns: 0 }
    }

    /// Answers a request: its record.
    fn answer(&mut self, (seq, level, slot): (u32, u16, u32), arrival_ns: u64) -> RequestRecord {
        let tokens_ms = (self.pace)(self.begun);
        self.begun += 1;
        let lasts_ns = tokens_ms.last().map_or(0, |last| (last * MS as f64) as u64);
        let begin_ns = self.stations.take(arrival_ns, lasts_ns);
        let wait_ms = (begin_ns - arrival_ns) as f64 / MS as f64;
        let tokens_ms: Vec<f64> = tokens_ms.iter().map(|at| wait_ms + at).collect();
        request(seq, level, slot, arrival_ns as f64 / MS as f64, &tokens_ms)
    }

    /// The records of a level. It ends as a real one does: when the judge has enough data, or with
    /// its requests.
    fn level(
        &mut self,
        level: u16,
        load: &LoadSpec,
        spec: &RunSpec,
        seq: u32,
    ) -> Vec<RequestRecord> {
        // The warm-up has no effect except on the numbering.
        self.begun += u64::from(load.warmup_requests);
        let mut judge = Settling::new(load, &spec.slo);
        let mut arrivals = load.arrivals.as_ref().map(|law| Arrivals::new(law).unwrap());
        let start_ns = self.now_ns;
        let users = if arrivals.is_some() { 0 } else { load.concurrency };
        let mut free: BTreeSet<(u64, u32)> = (0..users).map(|slot| (start_ns, slot)).collect();
        let mut under_way = BinaryHeap::new();
        let mut records: Vec<RequestRecord> = Vec::new();
        for seq in seq..seq + load.requests.unwrap() {
            let (arrival_ns, slot) = match &mut arrivals {
                Some(due) => (start_ns + due.next().unwrap(), 0),
                None => free.pop_first().unwrap(),
            };
            let mut has_enough = false;
            while let Some(&Reverse((end_ns, place))) = under_way.peek()
                && end_ns <= arrival_ns
            {
                under_way.pop();
                let ended: Option<&RequestRecord> = records.get::<usize>(place);
                has_enough |= judge.as_mut().zip(ended).is_some_and(|(j, r)| j.add(r).is_some());
            }
            if has_enough {
                break;
            }
            let record = self.answer((seq, level, slot), arrival_ns);
            free.insert((record.end_ns, slot));
            under_way.push(Reverse((record.end_ns, records.len())));
            records.push(record);
        }
        self.now_ns = records.iter().map(|record| record.end_ns).max().unwrap_or(start_ns) + MS;
        records
    }

    /// Runs a search to its end; the course, and all requests that were sent.
    pub(crate) fn search(
        self,
        target: &str,
        axis: (Axis, Search),
        looks: (u32, u32, f64),
        seed: u64,
    ) -> (CapacityCourse, u64) {
        self.search_tiers((target, &[]), axis, looks, seed)
    }

    /// The same with additional targets.
    fn search_tiers(
        mut self,
        (target, tiers): (&str, &[&str]),
        (axis, search): (Axis, Search),
        (looks_max, requests, rate_s): (u32, u32, f64),
        seed: u64,
    ) -> (CapacityCourse, u64) {
        let mut spec = run(&[1], Vec::new()).manifest.spec;
        spec.slo = ifm_metrics::slo::parse(target).unwrap();
        let warmup_requests = if axis == Axis::Users { 0 } else { 4 };
        let template = LoadSpec { warmup_requests, concurrency: 4096, ..spec.levels[0].clone() };
        let worth = Worth::default();
        let look =
            Look { requests, judged_min: 0, duration_s: None, rate_s, seed, is_of_sessions: false };
        let tiers = tiers.iter().map(|terms| Tier {
            name: (*terms).to_owned(),
            slo: ifm_metrics::slo::parse(terms).unwrap(),
        });
        let mut course = CapacityCourse::new(search, axis, template, looks_max, look, worth)
            .with_tiers(tiers.collect());
        spec.levels = course.first().into_iter().collect();
        let mut records = Vec::new();
        let mut level = 0;
        while let Some(load) = spec.levels.get(level).cloned() {
            records.extend(self.level(level as u16, &load, &spec, records.len() as u32));
            if let Step::Append(levels) =
                course.after(&spec, Seen { requests: &records, ended: &[] })
            {
                spec.levels.extend(levels);
            }
            level += 1;
        }
        (course, self.begun)
    }
}

fn users(max: u32) -> (Axis, Search) {
    (Axis::Users, Search::new(1, max, 0.05).unwrap())
}

/// A search for a rate, as set up by `capacity --by rate`.
fn rates(start: f64, step_req_per_s: f64, precision: f64, law: ArrivalLaw) -> (Axis, Search) {
    let steps = |rate: f64| (rate / step_req_per_s).round() as u32;
    let search = Search::new(steps(start), steps(1000.0), precision).unwrap();
    (Axis::Rate { step_req_per_s, law }, search)
}

fn at(course: &CapacityCourse, place: Option<u32>) -> f64 {
    course.axis.load(place.unwrap()).value()
}

/// The largest load that was tried.
fn largest(course: &CapacityCourse) -> f64 {
    course.judged().map(|judged| judged.load.value()).fold(0.0, f64::max)
}

/// Two measurements at four users. In each, the first requests wait 900 ms for each other and the
/// others 100 ms; the target is 500 ms.
#[test]
fn no_look_is_judged_by_its_first_wave() {
    let mut records = closed_loop((0, 0), (4, 500), 0.0, (100.0, 10.0, 11));
    records.extend(closed_loop((2000, 1), (4, 500), 200_000.0, (100.0, 10.0, 11)));
    for record in records.iter_mut().filter(|record| record.seq % 2000 < 4) {
        record.events.at_ns[0] = record.start_ns + 900_000_000;
    }
    let run = run(&[4, 4], records);
    let judged = judge(Axis::Users, &run.manifest.spec, 4, &[0, 1], Seen::of(&run));
    assert_eq!((judged.finding, judged.looks(), judged.requests), (Finding::Inside, 2, 4000));
    let ttft = judged.summary.latencies.get(Metric::Ttft).expect("answers");
    assert_eq!((ttft.n, ttft.max), (3992, 100e6));
}

#[test]
fn known_users_are_found_with_fewer_than_half_the_requests_of_a_grid() {
    const LOOK: u64 = 150;
    // Nine rounds of waiting and one of service, and half of what one more user would add.
    let truth = queue::users_inside(2, 16 * MS, 148 * MS);
    assert_eq!(truth, 20);
    let server = Played::new(2, |_| vec![16.0]);
    let looks = (6, LOOK as u32, 0.0);
    let (course, sent) = server.search("ttft:p75<164ms", users(1024), looks, 1);
    let bracket = course.bracket().unwrap();
    assert_eq!((bracket.inside, bracket.outside), (Some(truth), Some(truth + 1)));
    // All requests, warm-up and repeated measurements included, compared with one measurement each
    // at every number of users up to the largest that the search tried, since the answer is exact
    // to one user.
    let grid: u64 = (1..=largest(&course) as u64).map(|users| LOOK.max(4 * users) + users).sum();
    assert!(2 * sent < grid, "{sent} of {grid}");
}

#[test]
fn one_search_answers_every_tier_as_a_search_of_its_own_would() {
    const TIERS: [&str; 3] = ["ttft:p75<164ms", "ttft:p75<84ms", "ttft:p75<20ms"];
    let looks = (6, 150, 0.0);
    let server = || Played::new(2, |_| vec![16.0]);
    let (together, sent) = server().search_tiers((TIERS[0], &TIERS), users(1024), looks, 1);
    let mut sent_alone = 0;
    for (target, (tier, state)) in TIERS.iter().zip(&together.tiers) {
        let (alone, sent) = server().search(target, users(1024), looks, 1);
        sent_alone += sent;
        let (found, expect) = (state.bracket.unwrap(), alone.bracket().unwrap());
        assert_eq!((tier.name.as_str(), found), (*target, expect));
        assert!(found.inside < found.outside && state.wanted.is_none(), "{found:?}");
        assert_eq!(state.at(found.outside).unwrap().finding, Finding::Outside);
    }
    assert_eq!(together.tiers[0].1.bracket.unwrap().inside, Some(20));
    assert!(sent < sent_alone, "{sent} of {sent_alone}");
}

#[test]
fn a_look_by_sessions_ends_with_whole_ones() {
    let spec = run(&[1], Vec::new()).manifest.spec;
    let worth = Worth::default();
    let look = Look {
        requests: 150,
        judged_min: 0,
        duration_s: None,
        rate_s: 0.0,
        seed: 1,
        is_of_sessions: true,
    };
    let search = Search::new(8, 64, 0.05).unwrap();
    let course = CapacityCourse::new(search, Axis::Users, spec.levels[0].clone(), 6, look, worth);
    let first = course.first().unwrap();
    assert_eq!((first.concurrency, first.requests, first.sessions), (8, None, Some(16)));
}

#[test]
fn a_known_rate_is_found_with_fewer_than_half_the_requests_of_a_grid() {
    // Two stations, 16 ms each: 125 requests per second at constant intervals never wait, and above
    // that rate each waits longer than the previous one.
    let (truth, look, start) = (125.0, 150, 10.0);
    let server = Played::new(2, |_| vec![16.0]);
    let axis = rates(start, 0.2, 0.05, ArrivalLaw::Constant);
    let (course, sent) = server.search("ttft:p75<24ms", axis, (6, look, 0.024 / 0.05), 1);
    let bracket = course.bracket().unwrap();
    let (inside, outside) = (at(&course, bracket.inside), at(&course, bracket.outside));
    assert!((0.95..=1.0).contains(&(inside / truth)), "{inside}");
    assert!((1.0..=1.05).contains(&(outside / truth)), "{outside}");
    // A grid of the same resolution: each rate 5 % above the one before.
    let grid = ((largest(&course) / start).ln() / 1.05f64.ln()).ceil() * f64::from(look + 4);
    assert!(2.0 * (sent as f64) < grid, "{sent} of {grid}");
}

/// With random arrivals, waits depend on each other and no single measurement shows much. The search
/// ends with a bracket that contains the truth.
#[test]
fn the_bracket_of_random_arrivals_holds_the_truth() {
    // Three of four wait no longer than one answer takes.
    let truth = queue::rate_inside(2, 8 * MS, (75.0, 8 * MS), 200_000, 1);
    assert!((180.0..200.0).contains(&truth), "{truth}");
    for seed in 1..=4 {
        let server = Played::new(2, |_| vec![8.0]);
        let axis = rates(160.0, 5.0, 0.1, ArrivalLaw::Poisson);
        let (course, _) = server.search("ttft:p75<16ms", axis, (4, 800, 0.16), seed);
        let bracket = course.bracket().unwrap();
        let (inside, outside) = (at(&course, bracket.inside), at(&course, bracket.outside));
        assert!(inside <= 1.03 * truth && 0.97 * truth <= outside, "{inside} {outside} {truth}");
        assert!(outside <= 1.6 * inside, "no bracket at all: {inside} {outside}");
    }
}

/// One user, one measurement after another: 20 requests for each of two loads until the search is
/// over. A first token after 10 ms, seven more at a fixed gap.
pub(crate) fn two_users(pace: fn(u64) -> Vec<f64>, looks_max: u32) -> CapacityCourse {
    Played::new(2, pace).search("e2e:p50<90ms", users(2), (looks_max, 20, 0.0), 1).0
}

pub(crate) fn paced(gap_ms: f64) -> Vec<f64> {
    (0..8).map(|token| 10.0 + gap_ms * f64::from(token)).collect()
}

/// 38 ms, and 122 ms after the search.
pub(crate) fn slows_down(begun: u64) -> Vec<f64> {
    paced(if begun < 43 { 4.0 } else { 16.0 })
}

#[test]
fn a_server_that_changes_its_speed_is_found_out_by_a_second_look() {
    let course = two_users(slows_down, 6);
    assert_eq!(course.bracket().unwrap().inside, Some(2));
    let judged: Vec<&Judged> = course.judged().collect();
    assert!(judged[0].again.is_none(), "not an end of the bracket");
    let (two, again) = (judged[1], judged[1].again.as_ref().unwrap());
    assert_eq!((two.looks(), two.requests, again.requests), (1, 20, 20));
    assert_eq!((two.finding, again.finding), (Finding::Inside, Finding::Outside));
    assert!(two.is_contradicted());
    let share = two.shown_change().unwrap().share;
    assert!((share - 3.0).abs() < 1e-6, "gaps of 4 ms and then of 16 ms: {share}");

    let course = two_users(|_| paced(4.0), 6);
    let two = course.judged().last().unwrap();
    assert_eq!(two.again.as_ref().unwrap().finding, Finding::Inside);
    assert!(!two.is_contradicted() && two.shown_change().is_none());
    assert!(two_users(|_| paced(4.0), 1).judged().all(|judged| judged.again.is_none()));
}

/// Levels of one user and of four: 100 ms per answer.
#[test]
fn rates_lie_evenly_between_the_two_ends() {
    let mut records = closed_loop((0, 0), (1, 40), 0.0, (100.0, 0.0, 1));
    records.extend(closed_loop((40, 1), (4, 40), 5_000.0, (100.0, 0.0, 1)));
    let run = run(&[1, 4], records);
    let summary = ifm_metrics::summarize(&run);
    let law = ArrivalLaw::Constant;
    let mut course = LevelPlanner::Between { points: 2, law };
    let Step::Append(levels) = course.after(&run.manifest.spec, &summary.levels, Seen::of(&run))
    else {
        panic!("two rates")
    };
    let rates: Vec<f64> = levels
        .iter()
        .map(|level| level.arrivals.as_ref().unwrap().mean_req_per_s().unwrap())
        .collect();
    let reached = |level: usize| summary.levels[level].window().unwrap().req_per_s;
    let (low, high) = (reached(0), reached(1));
    assert!((low - 10.0).abs() < 0.5 && (high - 40.0).abs() < 2.0, "{low} {high}");
    assert_eq!(rates.len(), 2);
    for (rate, share) in rates.iter().zip([1.0 / 3.0, 2.0 / 3.0]) {
        assert!((rate - (low + (high - low) * share)).abs() < 1e-6, "{low} {high} {rates:?}");
    }
    // If more users add nothing, there is nothing between.
    let same = [summary.levels[1].clone(), summary.levels[1].clone()];
    let mut course = LevelPlanner::Between { points: 2, law };
    assert_eq!(course.after(&run.manifest.spec, &same, Seen::of(&run)), Step::End);
}
