//! The state of a run in progress, shared between its writers and its displays.
//!
//! The decoder's thread adds records, the session says where levels begin and end, and the thread
//! that shows takes a sample and a view four times a second. The threads that measure never come
//! here. Not here: what a view looks like.

use super::estimate::{self, Known, Pace};
use super::past::{Past, Sample};
use super::view::{LevelView, Row, RunFacts, RunLeft, Speed, Stage, View};
use crate::view::LevelCount;
use ifm_core::Metric;
use ifm_core::RequestRecord;
use ifm_core::spec::LoadSpec;
use ifm_core::words::counted;
use ifm_drive::Progress;
use ifm_metrics::level::Load;
use ifm_metrics::tally::{Tally, TokenRatio};
use ifm_metrics::{Distribution, LevelSummary};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// What is known of a run.
#[derive(Debug)]
pub struct Board {
    progress: Arc<Progress>,
    /// Conversations that have ended; absent for single requests.
    conversations: Option<Arc<AtomicU64>>,
    origin_ns: u64,
    /// When the budget of the whole run ends, nanoseconds on the monotonic clock.
    budget_end_ns: OnceLock<u64>,
    facts: Arc<RunFacts>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// All levels that are known.
    loads: Vec<LoadSpec>,
    count: LevelCount,
    level: Option<Level>,
    tally: Tally,
    ratio: TokenRatio,
    past: Past,
    pace: Pace,
    rows: Arc<Vec<Row>>,
}

/// The level that runs, or the last one that ran.
#[derive(Debug, Clone, Copy)]
struct Level {
    index: usize,
    begin_ns: u64,
    end_ns: Option<u64>,
    conversations_before: u64,
}

impl Board {
    /// A run that has not begun. `origin_ns` is its origin on the monotonic clock.
    pub fn new(
        facts: RunFacts,
        progress: Arc<Progress>,
        conversations: Option<Arc<AtomicU64>>,
        origin_ns: u64,
    ) -> Board {
        let facts = Arc::new(facts);
        let budget_end_ns = OnceLock::new();
        Board { progress, conversations, origin_ns, budget_end_ns, facts, state: Mutex::default() }
    }

    /// The run has a budget, which ends then, nanoseconds on the monotonic clock.
    pub fn ends_by(&self, budget_end_ns: u64) {
        // A run has one budget: a second one is ignored.
        let _ = self.budget_end_ns.set(budget_end_ns);
    }

    /// Seconds that are left of the budget; absent without one.
    fn budget_left_s(&self, now_ns: u64) -> Option<f64> {
        self.budget_end_ns.get().map(|end_ns| seconds(now_ns, *end_ns))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A level begins. `loads` are all levels that are known by now.
    pub fn begin_level(&self, index: usize, loads: &[LoadSpec], count: LevelCount, now_ns: u64) {
        self.progress.measure_start_ns.store(0, Ordering::Relaxed);
        self.progress.send_end_ns.store(0, Ordering::Relaxed);
        let conversations_before = self.conversations_ended().unwrap_or(0);
        let level = Level { index, begin_ns: now_ns, end_ns: None, conversations_before };
        let mut state = self.state();
        state.loads = loads.to_vec();
        state.count = count;
        state.level = Some(level);
        state.tally = Tally::default();
        state.past.begin_level();
    }

    /// The level has ended.
    pub fn end_level(&self, now_ns: u64) {
        let (measure_start_ns, send_end_ns) = self.sending();
        let mut state = self.state();
        let Some(level) = &mut state.level else { return };
        level.end_ns = Some(now_ns);
        let whole_s = seconds(level.begin_ns, now_ns);
        let sending_s = measure_start_ns
            .map(|start_ns| seconds(start_ns, send_end_ns.unwrap_or(now_ns)))
            .unwrap_or(whole_s);
        let finished = state.tally.finished();
        state.pace = Pace {
            req_per_s: (finished > 0 && sending_s > 0.0).then(|| finished as f64 / sending_s),
            beside_s: (whole_s - sending_s).max(0.0),
        };
    }

    /// The numbers of a level that has ended.
    pub fn add_row(&self, summary: &LevelSummary) {
        let row = row(summary);
        Arc::make_mut(&mut self.state().rows).push(row);
    }

    /// A request has ended.
    pub fn add(&self, record: &RequestRecord) {
        let mut state = self.state();
        state.ratio.add(record);
        state.tally.add(record);
    }

    /// Records the current counters.
    pub fn sample(&self, now_ns: u64) {
        let mut state = self.state();
        let sample = Sample {
            at_s: seconds(self.origin_ns, now_ns),
            events: self.progress.events.load(Ordering::Relaxed),
            whole_tokens: state.ratio.whole_tokens(),
            in_flight: self.progress.in_flight.load(Ordering::Relaxed),
        };
        state.past.add(sample);
    }

    /// All that is known now.
    pub fn view(&self, now_ns: u64) -> View {
        let state = self.state();
        let level = state.level.and_then(|level| self.level_view(&state, &level, now_ns));
        View {
            facts: self.facts.clone(),
            elapsed_s: seconds(self.origin_ns, now_ns),
            left: level.as_ref().and_then(|level| {
                estimate::within(run_left(&state, level), self.budget_left_s(now_ns))
            }),
            level,
            rows: state.rows.clone(),
            past: state.past.points().to_vec(),
            tokens_per_event: state.ratio.tokens_per_event(),
            message: None,
        }
    }

    fn level_view(&self, state: &State, level: &Level, now_ns: u64) -> Option<LevelView> {
        let load = state.loads.get(level.index)?;
        let now_ns = level.end_ns.unwrap_or(now_ns);
        let (measure_start_ns, send_end_ns) = self.sending();
        let stage = match (level.end_ns, measure_start_ns, send_end_ns) {
            (Some(_), ..) => Stage::Ended,
            (_, _, Some(_)) => Stage::Finishing,
            (_, Some(_), None) => Stage::Measuring,
            (_, None, None) => Stage::WarmingUp,
        };
        let measuring_s = measure_start_ns.map(|start_ns| seconds(start_ns, now_ns));
        let tally = &state.tally;
        let finished = tally.finished();
        let ended = |all: u64| all.saturating_sub(level.conversations_before);
        let known = Known {
            measuring_s,
            finished,
            conversations: self.conversations_ended().map(ended),
            request_s: tally.e2e_s_mean(),
        };
        let estimate = estimate::level(load, &known);
        Some(LevelView {
            number: level.index + 1,
            of: state.count,
            load: load_words(load),
            stage,
            elapsed_s: seconds(level.begin_ns, now_ns),
            warmed_s: measure_start_ns.map(|start_ns| seconds(level.begin_ns, start_ns)),
            // Where the evidence decides, the end is unknown.
            done_share: estimate.done_share.filter(|_| !settles(load)),
            at_most: load.early_end.is_some(),
            left_s: estimate.left_s.filter(|_| stage != Stage::Ended).map(|left_s| {
                self.budget_left_s(now_ns).map_or(left_s, |budget_s| left_s.min(budget_s))
            }),
            warmup: (tally.warmup_ended(), u64::from(load.warmup_requests)),
            finished,
            failures: tally.failures(),
            in_flight: self.progress.in_flight.load(Ordering::Relaxed),
            speed: speed(state),
            req_per_s: measuring_s
                .filter(|measuring_s| finished > 0 && *measuring_s > 0.0)
                .map(|measuring_s| finished as f64 / measuring_s),
            ttft: tally.ttft(),
            gap: tally.gap(),
            gap_label: tally.gap().map(|_| tally.gap_label()),
            media: measuring_s.and_then(|measuring_s| tally.media_rates(measuring_s)),
            media_bytes: tally.media_bytes(),
            made_audio_s_per_s: tally
                .made_audio_s()
                .zip(measuring_s.filter(|measuring_s| *measuring_s > 0.0))
                .map(|(made_s, measuring_s)| made_s / measuring_s),
            judged: tally.judged(),
        })
    }

    /// When measured requests began to be sent, and when sending ended.
    fn sending(&self) -> (Option<u64>, Option<u64>) {
        let of = |counter: &AtomicU64| {
            Some(counter.load(Ordering::Relaxed)).filter(|stamp_ns| *stamp_ns > 0)
        };
        (of(&self.progress.measure_start_ns), of(&self.progress.send_end_ns))
    }

    fn conversations_ended(&self) -> Option<u64> {
        self.conversations.as_ref().map(|ended| ended.load(Ordering::Relaxed))
    }
}

/// The load of a level in words.
pub fn load_words(load: &LoadSpec) -> String {
    match load.arrivals.as_ref().and_then(|arrivals| arrivals.mean_req_per_s()) {
        Some(rate) => format!("{rate:.4} req/s"),
        None => counted(load.concurrency.into(), "user"),
    }
}

/// Whether a level ends as soon as its numbers are sure enough.
fn settles(load: &LoadSpec) -> bool {
    load.early_end.is_some_and(|early| early.settled_share.is_some())
}

fn speed(state: &State) -> Option<Speed> {
    let recent = state.past.recent()?;
    match state.ratio.tokens_per_event() {
        Some(tokens) => Some(Speed::Tokens(recent.events_per_s * tokens + recent.whole_tok_per_s)),
        None if recent.events_per_s > 0.0 => Some(Speed::Events(recent.events_per_s)),
        None => None,
    }
}

fn run_left(state: &State, level: &LevelView) -> Option<RunLeft> {
    let (all, at_most) = match state.count {
        LevelCount::Exactly(all) => (all, false),
        LevelCount::AtMost(all) => (all, true),
        LevelCount::Open => return None,
    };
    // What its own warm-up took, the others may take too.
    let warmed_s = match level.stage {
        Stage::WarmingUp => level.elapsed_s,
        _ => level.warmed_s.unwrap_or_default(),
    };
    let pace = Pace { req_per_s: level.req_per_s.or(state.pace.req_per_s), ..state.pace };
    let whole_s = |load: &LoadSpec| {
        let beside_s = match load.warmup_requests {
            0 => pace.beside_s,
            _ => pace.beside_s.max(warmed_s),
        };
        estimate::whole_level(load, &Pace { beside_s, ..pace })
    };
    let this_s = match level.stage {
        Stage::Ended => 0.0,
        Stage::WarmingUp => {
            let whole_s = whole_s(state.loads.get(level.number - 1)?)?;
            (whole_s - level.elapsed_s).max(0.0)
        }
        Stage::Measuring | Stage::Finishing => level.left_s?,
    };
    let to_come = state.loads.get(level.number..all)?;
    let at_most = at_most || level.at_most || to_come.iter().any(|load| load.early_end.is_some());
    let others_s: Option<f64> = to_come.iter().map(whole_s).sum();
    others_s.map(|others_s| RunLeft { seconds: this_s + others_s, at_most })
}

fn row(summary: &LevelSummary) -> Row {
    let ends = |distribution: Option<&Distribution>| {
        let at = |p: f64| distribution.and_then(|d| d.percentile(p)).map(|found| found.value);
        (at(50.0), at(99.0))
    };
    let load = match (&summary.asked, summary.load()) {
        (Some(asked), _) => load_words(asked),
        (None, Some(Load::Users(users))) => counted(users.into(), "user"),
        (None, Some(Load::ReqPerS(rate))) => format!("{rate:.4} req/s"),
        (None, None) => format!("level {}", summary.level + 1),
    };
    Row {
        load,
        output_tok_per_s: summary.output_tok_per_s(),
        ttft_ns: ends(summary.latencies.ttft()),
        gap_ns: ends(summary.latencies.get(Metric::Itl)),
        ok_share: summary.counts.ok_share(),
        verdict: summary.verdict.state,
    }
}

fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::spec::EarlyEnd;
    use ifm_metrics::testing::request;

    const S: u64 = 1_000_000_000;

    fn load(users: u32) -> LoadSpec {
        LoadSpec {
            concurrency: users,
            arrivals: None,
            requests: None,
            duration_s: Some(10.0),
            sessions: None,
            warmup_requests: 0,
            early_end: None,
            scout: false,
        }
    }

    #[test]
    fn a_sweep_from_its_begin_to_its_end() {
        let progress = Arc::new(Progress::default());
        let board = Board::new(RunFacts::default(), progress.clone(), None, 100 * S);
        assert!(board.view(100 * S).level.is_none());
        let loads = [load(1), load(2)];
        board.begin_level(0, &loads, LevelCount::Exactly(2), 101 * S);
        let begun = board.view(101 * S);
        assert_eq!(begun.left.map(|left| left.seconds), Some(20.0));
        let level = begun.level.unwrap();
        assert_eq!((level.stage, level.done_share, level.speed), (Stage::WarmingUp, None, None));

        progress.measure_start_ns.store(102 * S, Ordering::Relaxed);
        board.sample(102 * S);
        progress.events.store(1000, Ordering::Relaxed);
        board.sample(107 * S);
        assert_eq!(board.view(107 * S).left.map(|left| left.seconds), Some(5.0 + 10.0));
        let level = board.view(107 * S).level.unwrap();
        assert_eq!((level.stage, level.left_s), (Stage::Measuring, Some(5.0)));
        assert_eq!(level.speed, Some(Speed::Events(200.0)), "tokens have not been counted");
        board.add(&request(0, 0, 0, 0.0, &[10.0, 20.0]));
        let level = board.view(107 * S).level.unwrap();
        assert_eq!((level.finished, level.speed), (1, Some(Speed::Tokens(200.0))));

        progress.send_end_ns.store(112 * S, Ordering::Relaxed);
        assert_eq!(board.view(112 * S).level.unwrap().stage, Stage::Finishing);
        board.end_level(113 * S);
        let ended = board.view(114 * S);
        // The second level will also need the first level's overhead beyond its ten seconds.
        assert_eq!(ended.left.map(|left| left.seconds), Some(12.0));
        assert_eq!(ended.level.unwrap().elapsed_s, 12.0);

        board.begin_level(1, &loads, LevelCount::Exactly(2), 114 * S);
        let level = board.view(114 * S).level.unwrap();
        assert_eq!((level.number, level.finished, level.stage), (2, 0, Stage::WarmingUp));
        assert!(level.ttft.is_none() && level.speed.is_none(), "a level begins with nothing");
    }

    #[test]
    fn a_level_that_settles_has_no_percent() {
        let progress = Arc::new(Progress::default());
        let board = Board::new(RunFacts::default(), progress.clone(), None, 0);
        let early = EarlyEnd {
            settled_share: Some(0.05),
            at_broken_target: false,
            requests_min: 10,
            seconds_min: 1.0,
        };
        let loads = [LoadSpec { early_end: Some(early), ..load(1) }];
        board.begin_level(0, &loads, LevelCount::Exactly(1), S);
        progress.measure_start_ns.store(S, Ordering::Relaxed);
        let view = board.view(5 * S);
        assert!(view.left.is_some_and(|left| left.at_most));
        let level = view.level.unwrap();
        assert_eq!((level.done_share, level.left_words()), (None, Some("at most 6 s left".into())));
    }

    #[test]
    fn a_search_shows_no_time_unless_it_has_a_budget() {
        let board = Board::new(RunFacts::default(), Arc::default(), None, 0);
        board.begin_level(0, &[load(1)], LevelCount::Open, S);
        assert_eq!(board.view(2 * S).left, None);
        board.ends_by(60 * S);
        assert_eq!(board.view(2 * S).left, Some(RunLeft { seconds: 58.0, at_most: true }));
    }

    #[test]
    fn no_run_takes_longer_than_its_budget() {
        let board = Board::new(RunFacts::default(), Arc::default(), None, 0);
        board.ends_by(15 * S);
        board.begin_level(0, &[load(1), load(2)], LevelCount::Exactly(2), S);
        // Two levels of ten seconds do not fit.
        assert_eq!(board.view(S).left, Some(RunLeft { seconds: 14.0, at_most: true }));
    }
    /// A level to come that warms up takes as long for it as the first one did.
    #[test]
    fn warm_ups_are_in_the_time_that_is_left() {
        let progress = Arc::new(Progress::default());
        let board = Board::new(RunFacts::default(), progress.clone(), None, 0);
        let warmed = LoadSpec { warmup_requests: 4, ..load(1) };
        board.begin_level(0, &[warmed.clone(), warmed, load(2)], LevelCount::Exactly(3), 0);
        let left = |now_s: u64| board.view(now_s * S).left.map(|left| left.seconds);
        // Two seconds of warm-up so far: as many for the second level, none for the third.
        assert_eq!(left(2), Some(10.0 + 12.0 + 10.0));
        progress.measure_start_ns.store(3 * S, Ordering::Relaxed);
        assert_eq!(left(7), Some(6.0 + 13.0 + 10.0));
    }
}
