//! The answers: how many users fit, how fast it is for one of them, how much comes out, and
//! whether to believe it.
//!
//! Only measured levels are answers: nothing is interpolated. Not here: sentences, which
//! the reports write.

pub use crate::capacity::UsersState;
use crate::capacity::climb::{Step, climb};
use crate::capacity::pooled;
use crate::level::{GapLabel, LevelSummary, Load, Seen, WindowKind, summarize_level};
use crate::repeats::{Between, Repeated, by_load};
use crate::slo::{TermVerdict, Verdict, VerdictState};
use crate::stat::{Scale, center};
use crate::warning::{CheckResult, CheckState};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::spec::SloSpec;
use ifm_core::{CapacityFound, RunData};
use std::cmp::Ordering;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// The answers of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// The target that they refer to.
    pub slo: SloSpec,
    /// How many users fit.
    pub users: UsersAnswer,
    /// How it is at the level that fits, or, if none does, at the lowest level.
    pub at: LevelAnswer,
    /// How it is at the load with the most output; absent where that is the same level.
    pub most: Option<LevelAnswer>,
    /// The load with the most output for its latency: beyond it latency grows faster than output.
    /// Kleinrock's power, throughput over mean end-to-end latency, is largest there. Absent for
    /// fewer than three loads, and where the largest is at an end of them.
    pub knee: Option<Load>,
    /// The checks.
    pub trust: Trust,
}

/// How many users fit, or which rate: the largest measured level that is inside the target, while every lower
/// measured level is inside too.
#[derive(Debug, Clone, PartialEq)]
pub struct UsersAnswer {
    /// What is known.
    pub state: UsersState,
    /// The load; absent if no level fits or is known to fit.
    pub load: Option<Load>,
    /// The largest load that is surely inside while every lower one is: the lower end of the interval.
    pub low: Option<Load>,
    /// The last load before the lowest that is surely outside: the upper end.
    pub high: Option<Load>,
    /// Whether that level, and the next worse one, are judged on enough requests.
    pub is_sure: bool,
    /// The lowest measured level that does not fit, or cannot be judged.
    pub next_worse: Option<NextWorse>,
    /// The lowest level that fits and would not with its first wave, and why.
    pub with_first_wave: Option<NextWorse>,
    /// Whether no level held its load, because the rate of each changed while it ran.
    pub is_changing: bool,
    /// Whether no level ran to its end, so that none is judged.
    pub is_cut: bool,
    /// The smallest and the largest load that a search measured and could not settle.
    pub unsettled: Option<(Load, Load)>,
    /// The ends of a search for which a look after it surely showed the contrary.
    pub contradicted: Vec<Load>,
    /// Whether it is what a search for the capacity found.
    pub is_searched: bool,
    /// Levels above `next_worse` that still meet the target: the measurement does not rise evenly,
    /// and one of these levels deserves another run.
    pub inside_above: Vec<Load>,
}

/// The lowest level that does not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct NextWorse {
    /// Its load.
    pub load: Load,
    /// Fail or unknown.
    pub state: VerdictState,
    /// The terms that fail, or that have no value.
    pub terms: Vec<TermVerdict>,
    /// The share of failed requests, 0 to 1, if it is too large.
    pub error_rate: Option<f64>,
}

/// How it is at one level; where its load was repeated, each figure is the mean over the repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelAnswer {
    /// Index of the level in the spec; of the first of the repeats.
    pub level: u16,
    /// Whether it was cut off before its end.
    pub is_cut: bool,
    /// How often the load was measured.
    pub repeats: u32,
    /// The requested load.
    pub load: Option<Load>,
    /// Median speed for one user, tokens per second.
    pub user_tok_per_s: Option<f64>,
    /// Whether that speed comes from estimated token counts.
    pub user_speed_is_estimated: bool,
    /// That speed over the repeats; absent where the load was measured once.
    pub user_tok_per_s_between: Option<Between>,
    /// Complete answers per second, in the window of the throughput.
    pub req_per_s: Option<f64>,
    /// Median TTFT, nanoseconds; in an open loop from the due time, as targets count it.
    pub ttft_ns_p50: Option<f64>,
    /// P99 of TTFT, nanoseconds, and whether enough requests support it.
    pub ttft_ns_p99: Option<(f64, bool)>,
    /// Median gap between events, nanoseconds.
    pub gap_ns_p50: Option<f64>,
    /// What that gap may be called.
    pub gap_label: GapLabel,
    /// Output tokens per second.
    pub output_tok_per_s: Option<f64>,
    /// The same over the repeats; absent where the load was measured once.
    pub output_tok_per_s_between: Option<Between>,
    /// The window of the throughput.
    pub window: Option<WindowKind>,
    /// Output tokens per hour at that rate.
    pub output_tok_per_hour: Option<f64>,
    /// Output over that of the best level, 0 to 1.
    pub share_of_best: Option<f64>,
    /// Energy of an output token, joules; absent where it was not measured.
    pub joules_per_output_token: Option<f64>,
}

/// The checks in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// Checks that could be made.
    pub checks: u32,
    /// Those that found nothing, or only something to note.
    pub passed: u32,
    /// Those that call for caution.
    pub cautions: u32,
    /// Those that make a level invalid.
    pub invalid: u32,
}

impl Trust {
    fn of(checks: &[CheckResult]) -> Trust {
        let count = |wanted: CheckState| {
            checks.iter().filter(|check| check.state() == wanted).count() as u32
        };
        let (passed, cautions, invalid) =
            (count(CheckState::Passed), count(CheckState::Caution), count(CheckState::Invalid));
        Trust { checks: passed + cautions + invalid, passed, cautions, invalid }
    }
}

/// What a search for the capacity found.
pub(crate) struct Searched<'a> {
    found: &'a CapacityFound,
    /// The looks at the load outside as one level; absent where they are not known.
    outside: Option<LevelSummary>,
}

impl<'a> Searched<'a> {
    /// What the search of a run found; absent where it did not search.
    pub fn of(run: &'a RunData) -> Option<Searched<'a>> {
        let found = run.manifest.capacity.as_ref()?;
        let outside = found.outside_looks.first().map(|first| {
            let looks = pooled(&run.manifest.spec, &found.outside_looks, Seen::of(run));
            summarize_level(&run.manifest.spec, *first, None, looks.seen())
        });
        Some(Searched { found, outside })
    }
}

/// Answers from the levels of one run; absent without a level.
pub(crate) fn answers(
    (slo, searched): (&SloSpec, Option<&Searched>),
    levels: &[LevelSummary],
    repeats: &[Repeated],
    checks: &[CheckResult],
) -> Option<Answers> {
    let mut by_load: Vec<(Load, &LevelSummary)> =
        levels.iter().filter_map(|level| Some((level.held_load()?, level))).collect();
    // Users and rates cannot be ordered: where both were measured, rates are the answer.
    let is_rate = |load: Load| matches!(load, Load::ReqPerS(_));
    if by_load.iter().any(|(load, _)| is_rate(*load)) {
        by_load.retain(|(load, _)| is_rate(*load));
    }
    by_load.order_by(|a, b| a.0.value().total_cmp(&b.0.value()));
    let is_changing = !levels.is_empty() && levels.iter().all(LevelSummary::is_changing);
    let is_cut = !levels.is_empty() && !levels.iter().any(LevelSummary::is_result);
    let users = match searched {
        Some(found) => searched_answer(found, &by_load),
        None => UsersAnswer { is_changing, is_cut, ..users_answer(&by_load) },
    };
    let reference = by_load
        .iter()
        .find(|(asked, _)| Some(*asked) == users.load)
        .or(by_load.first())
        .map(|(_, level)| *level)
        .or(levels.iter().find(|level| level.is_result()))
        .or(levels.first())?;
    let at = level_answer(reference, levels, repeats);
    let most = by_load
        .iter()
        .map(|(_, level)| level_answer(level, levels, repeats))
        .filter(|answer| answer.output_tok_per_s.is_some())
        .max_by(|a, b| {
            a.output_tok_per_s.partial_cmp(&b.output_tok_per_s).unwrap_or(Ordering::Equal)
        })
        .filter(|most| most.load != at.load);
    let knee = knee(&by_load);
    Some(Answers { slo: slo.clone(), users, at, most, knee, trust: Trust::of(checks) })
}

/// Source of the measure: L. Kleinrock, "Power and deterministic rules of thumb for probabilistic
/// problems in computer communications" (1979).
fn knee(by_load: &[(Load, &LevelSummary)]) -> Option<Load> {
    // Repeats of a load are one: their mean.
    let mut powers: Vec<(Load, f64, f64)> = Vec::new();
    let window = LevelSummary::common_window(by_load.iter().map(|(_, level)| *level));
    for (load, level) in by_load {
        let power = level.over(window)?.req_per_s / level.latencies.get(Metric::E2e)?.mean;
        match powers.iter_mut().find(|(known, ..)| known == load) {
            Some((_, sum, repeats)) => (*sum, *repeats) = (*sum + power, *repeats + 1.0),
            None => powers.push((*load, power, 1.0)),
        }
    }
    let mean = |(_, sum, repeats): &(Load, f64, f64)| sum / repeats;
    let (best, _) = powers.iter().enumerate().max_by(|a, b| mean(a.1).total_cmp(&mean(b.1)))?;
    let is_inside = powers.len() > 2 && best > 0 && best + 1 < powers.len();
    powers.get(best).filter(|_| is_inside).map(|(load, ..)| *load)
}

fn users_answer(by_load: &[(Load, &LevelSummary)]) -> UsersAnswer {
    let loads: Vec<&[(Load, &LevelSummary)]> = by_load.chunk_by(|a, b| a.0 == b.0).collect();
    let step = |(_, level): &(Load, &LevelSummary)| Step {
        state: level.verdict.state,
        is_sure: level.verdict.is_sure,
    };
    let steps: Vec<Step> =
        loads.iter().map(|repeats| Step::of_repeats(repeats.iter().map(step))).collect();
    let found = climb(&steps);
    let load = |place: Option<usize>| Some(loads.get(place?)?.first()?.0);
    let fits = load(found.fits);
    // Of repeats the one that shows why.
    let worse = found.worse.and_then(|place| {
        let state = steps.get(place)?.state;
        loads.get(place)?.iter().find(|(_, level)| level.verdict.state == state)
    });
    UsersAnswer {
        state: found.state,
        load: fits,
        low: load(found.low),
        high: load(found.high),
        is_sure: found.is_sure,
        next_worse: worse
            .filter(|_| found.state != UsersState::Unknown)
            .map(|(load, level)| next_worse(*load, level, &level.verdict)),
        with_first_wave: fits.and_then(|largest| with_first_wave(by_load, largest)),
        is_changing: false,
        is_cut: false,
        unsettled: None,
        contradicted: Vec::new(),
        is_searched: false,
        inside_above: found.inside_above.iter().filter_map(|place| load(Some(*place))).collect(),
    }
}

/// What a search found: it judged all looks at a load together, and each until it was sure.
fn searched_answer(searched: &Searched, by_load: &[(Load, &LevelSummary)]) -> UsersAnswer {
    let found = searched.found;
    let at = |value: f64| {
        let is_near = move |load: &Load| (load.value() - value).abs() <= 1e-9 * value;
        by_load.iter().filter(move |(load, _)| is_near(load))
    };
    let load = found.inside.and_then(|inside| at(inside).next()).map(|(load, _)| *load);
    let looks = || found.outside.into_iter().flat_map(at);
    // All looks together, as the search judged them; else one that shows why, where one does.
    let is_outside =
        |(_, level): &&(Load, &LevelSummary)| level.verdict.state == VerdictState::Fail;
    let together = searched.outside.as_ref().and_then(|level| Some((level.load()?, level)));
    let outside = together.as_ref().or_else(|| looks().find(is_outside));
    let next_worse = match (outside, looks().next()) {
        (Some((load, level)), _) => Some(next_worse(*load, level, &level.verdict)),
        (None, look) => look.map(|(load, _)| NextWorse {
            load: *load,
            state: VerdictState::Fail,
            terms: Vec::new(),
            error_rate: None,
        }),
    };
    let state = match (load, &next_worse) {
        (Some(_), Some(_)) => UsersState::Found,
        (Some(_), None) => UsersState::AtLeast,
        (None, Some(_)) if found.is_over && found.unsettled.is_none() => UsersState::None,
        (None, _) => UsersState::Unknown,
    };
    let contradicted: Vec<Load> =
        found.contradicted.iter().filter_map(|load| Some(at(*load).next()?.0)).collect();
    // What the search found is sure, apart from the loads between its ends.
    let below =
        |outside: f64| by_load.iter().rfind(|(load, _)| load.value() < outside * (1.0 - 1e-9));
    UsersAnswer {
        state,
        load,
        low: load,
        high: found.outside.and_then(below).map(|(load, _)| *load),
        is_sure: state != UsersState::Unknown && contradicted.is_empty(),
        next_worse,
        with_first_wave: load.and_then(|largest| with_first_wave(by_load, largest)),
        is_changing: false,
        is_cut: false,
        unsettled: found
            .unsettled
            .and_then(|(lowest, highest)| Some((at(lowest).next()?.0, at(highest).next()?.0))),
        contradicted,
        is_searched: true,
        inside_above: Vec::new(),
    }
}

/// The lowest level up to the largest that fits whose first wave would take it out.
fn with_first_wave(by_load: &[(Load, &LevelSummary)], largest: Load) -> Option<NextWorse> {
    by_load.iter().filter(|(load, _)| load.value() <= largest.value()).find_map(|(load, level)| {
        let verdict = &level.first_wave.as_ref()?.verdict_with;
        (verdict.state != VerdictState::Pass).then(|| next_worse(*load, level, verdict))
    })
}

fn next_worse(load: Load, level: &LevelSummary, verdict: &Verdict) -> NextWorse {
    NextWorse {
        load,
        state: verdict.state,
        terms: verdict.terms.iter().filter(|term| term.state == verdict.state).cloned().collect(),
        error_rate: level.counts.error_rate().filter(|_| verdict.too_many_errors),
    }
}

fn level_answer(
    level: &LevelSummary,
    levels: &[LevelSummary],
    repeats: &[Repeated],
) -> LevelAnswer {
    let load = level.load().filter(|_| !level.is_changing());
    let held = level.held_load();
    let together = repeats.iter().find(|repeated| Some(repeated.load) == held);
    let mean = |between: &Option<Between>| between.map(|between| between.mean);
    let ttft = level.latencies.ttft();
    let (p99_is_enough, windows) = match (load, together) {
        (Some(load), Some(_)) => of_repeats(load, levels),
        _ => (is_enough(level), level.window().map(|window| window.window.kind)),
    };
    let (speed, is_estimated) = level.user_tok_per_s().unzip();
    let single = Figures {
        user_tok_per_s: speed,
        req_per_s: level.window().map(|window| window.req_per_s),
        ttft_ns_p50: ttft.and_then(|ttft| ttft.median()),
        ttft_ns_p99: ttft.and_then(|ttft| ttft.percentile(99.0)).map(|found| found.value),
        gap_ns_p50: level.latencies.get(Metric::Itl).and_then(|gap| gap.median()),
        output_tok_per_s: level.output_tok_per_s(),
    };
    let figures = together.map_or(single, |repeated| Figures {
        user_tok_per_s: mean(&repeated.user_tok_per_s),
        req_per_s: mean(&repeated.req_per_s),
        ttft_ns_p50: mean(&repeated.ttft_ns_p50),
        ttft_ns_p99: mean(&repeated.ttft_ns_p99),
        gap_ns_p50: mean(&repeated.gap_ns_p50),
        output_tok_per_s: mean(&repeated.output_tok_per_s),
    });
    LevelAnswer {
        level: level.level,
        is_cut: level.complete != Some(true),
        repeats: together.map_or(1, |repeated| repeated.levels.len() as u32),
        load,
        user_tok_per_s: figures.user_tok_per_s,
        user_speed_is_estimated: together
            .map_or(is_estimated.unwrap_or(false), |repeated| repeated.user_speed_is_estimated),
        user_tok_per_s_between: together.and_then(|repeated| repeated.user_tok_per_s),
        req_per_s: figures.req_per_s.filter(|_| level.counts.ok > 0),
        ttft_ns_p50: figures.ttft_ns_p50,
        ttft_ns_p99: figures.ttft_ns_p99.map(|value| (value, p99_is_enough)),
        gap_ns_p50: figures.gap_ns_p50,
        gap_label: level.latencies.gap_label,
        output_tok_per_s: figures.output_tok_per_s,
        output_tok_per_s_between: together.and_then(|repeated| repeated.output_tok_per_s),
        window: windows.filter(|_| level.counts.ok > 0),
        output_tok_per_hour: figures.output_tok_per_s.map(|rate| rate * SECONDS_PER_HOUR),
        share_of_best: share_of_best(level, levels),
        joules_per_output_token: joules_per_output_token(held, level, levels),
    }
}

/// The figures of an answer, of one level or of repeats.
struct Figures {
    user_tok_per_s: Option<f64>,
    req_per_s: Option<f64>,
    ttft_ns_p50: Option<f64>,
    ttft_ns_p99: Option<f64>,
    gap_ns_p50: Option<f64>,
    output_tok_per_s: Option<f64>,
}

/// Output of a level over that of the best one, all over one kind of window; of repeats their mean. A
/// level in which most requests failed is not the best, regardless of the others brought.
fn share_of_best(level: &LevelSummary, levels: &[LevelSummary]) -> Option<f64> {
    let answers = |level: &&LevelSummary| 2 * level.counts.failed <= level.counts.sent;
    let results = levels.iter().filter(|level| level.is_result());
    let window = LevelSummary::common_window(results.clone().chain([level]));
    let mean = |levels: &[&LevelSummary]| {
        let rates: Option<Vec<f64>> =
            levels.iter().map(|level| level.output_over(window)).collect();
        center(&rates?, Scale::Ratio)
    };
    let loads = by_load(levels);
    let here = level.held_load();
    let own = loads.iter().find(|(load, _)| Some(*load) == here);
    let own = own.map_or_else(|| mean(&[level]), |(_, levels)| mean(levels))?;
    let held = loads.iter().filter_map(|(_, levels)| {
        mean(&levels.iter().copied().filter(answers).collect::<Vec<_>>())
    });
    let changing = results.filter(|level| level.is_changing()).filter(answers);
    let changing = changing.filter_map(|level| level.output_over(window));
    let best = held.chain(changing).fold(0.0, f64::max);
    (best > 0.0).then(|| own / best).filter(|share| *share <= 1.0)
}

/// Whether enough requests support the P99 of a level's TTFT.
fn is_enough(level: &LevelSummary) -> bool {
    let p99 = level.latencies.ttft().and_then(|ttft| ttft.percentile(99.0));
    p99.is_some_and(|found| found.enough)
}

/// For all repeats of a load: whether enough requests support their P99, and the window of their
/// rates, which is the whole level if it is for any of them.
fn of_repeats(load: Load, levels: &[LevelSummary]) -> (bool, Option<WindowKind>) {
    let same: Vec<&LevelSummary> =
        levels.iter().filter(|level| level.held_load() == Some(load)).collect();
    let kinds: Option<Vec<WindowKind>> =
        same.iter().map(|level| level.window().map(|window| window.window.kind)).collect();
    let window = kinds.map(|kinds| {
        if kinds.contains(&WindowKind::Whole) { WindowKind::Whole } else { WindowKind::Steady }
    });
    (same.iter().all(|level| is_enough(level)), window)
}

/// Energy of an output token, joules: over the repeats of the load, or of the level alone.
fn joules_per_output_token(
    load: Option<Load>,
    level: &LevelSummary,
    levels: &[LevelSummary],
) -> Option<f64> {
    let joules =
        |level: &LevelSummary| level.energy.and_then(|energy| energy.joules_per_output_token);
    let Some(load) = load else { return joules(level) };
    let same = levels.iter().filter(|level| level.held_load() == Some(load));
    let known: Vec<f64> = same.filter_map(joules).collect();
    center(&known, Scale::Ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_loop, failed, run};

    /// Levels with the given users and TTFT in milliseconds; the target is 500 ms.
    fn answer(levels: &[(u32, f64)]) -> Answers {
        let users: Vec<u32> = levels.iter().map(|(users, _)| *users).collect();
        let mut requests = Vec::new();
        for (level, (users, ttft_ms)) in levels.iter().enumerate() {
            let rounds = 20 / users + 4;
            let seq = requests.len() as u32;
            let start = (seq, level as u16);
            requests.extend(closed_loop(start, (*users, rounds), 0.0, (*ttft_ms, 10.0, 11)));
        }
        crate::summarize(&run(&users, requests)).answers.expect("levels")
    }

    #[test]
    fn the_knee_has_the_most_output_for_its_latency() {
        // Rate over latency: 1 user 1/0.2², 2 users 2/0.22², 4 users 4/0.3², 8 users 8/1.1².
        let levels = [(1, 100.0), (2, 120.0), (4, 200.0), (8, 1000.0)];
        assert_eq!(answer(&levels).knee, Some(Load::Users(4)));
        // Where it is largest at an end it may lie beyond.
        assert_eq!(answer(&levels[..3]).knee, None);
        assert_eq!(answer(&levels[..2]).knee, None);
    }

    #[test]
    fn a_level_without_a_complete_answer_has_no_rate() {
        let mut requests = closed_loop((0, 0), (4, 5), 0.0, (100.0, 10.0, 11));
        for request in &mut requests {
            request.outcome = ifm_core::Outcome::Truncated;
        }
        let summary = crate::summarize(&run(&[4], requests));
        let whole = summary.levels[0].whole.as_ref().expect("a window");
        assert!(whole.output_tok_per_s > 0.0, "tokens came, and are kept as measured");
        assert_eq!(summary.levels[0].output_tok_per_s(), None);
        let at = summary.answers.expect("a level").at;
        assert_eq!((at.output_tok_per_s, at.output_tok_per_hour, at.window), (None, None, None));
    }

    /// 4 users with a steady window, 16 users of whom each sent two requests: the share is of whole
    /// levels, ramp and drain in both.
    #[test]
    fn rates_over_different_windows_are_not_divided() {
        let mut requests = closed_loop((0, 0), (4, 20), 0.0, (100.0, 10.0, 11));
        requests.extend(closed_loop((80, 1), (16, 2), 9_000.0, (300.0, 10.0, 11)));
        // The last of them is slow, and the others wait for nothing.
        let last = requests.last_mut().expect("a request");
        last.end_ns += 400_000_000;
        let summary = crate::summarize(&run(&[4, 16], requests));
        let [four, sixteen] = summary.levels.as_slice() else { panic!("two levels") };
        assert!(four.steady.is_some() && sixteen.steady.is_none(), "{sixteen:?}");
        let whole = |level: &LevelSummary| level.whole.as_ref().expect("sent").output_tok_per_s;
        let share = share_of_best(four, &summary.levels).expect("output");
        assert!((share - whole(four) / whole(sixteen)).abs() < 1e-12, "{share}");
        assert_eq!(LevelSummary::common_window(&summary.levels), WindowKind::Whole);
        assert_eq!(LevelSummary::common_window([four]), WindowKind::Steady);
    }

    #[test]
    fn a_level_in_which_most_requests_failed_is_not_the_best() {
        let share = |failures: u32| {
            let mut requests = closed_loop((0, 0), (2, 14), 0.0, (100.0, 10.0, 11));
            requests.extend(closed_loop((28, 1), (8, 10), 0.0, (600.0, 10.0, 11)));
            requests.extend((0..failures).map(|n| failed(108 + n, 1, n % 8, 5600.0, 100.0)));
            crate::summarize(&run(&[2, 8], requests)).answers.expect("levels").at.share_of_best
        };
        let of_both = share(0).expect("output");
        assert!(of_both < 0.9, "8 users bring more: {of_both}");
        assert_eq!(share(200), Some(1.0));
    }

    #[test]
    fn the_largest_level_inside_and_the_next_worse() {
        let answers = answer(&[(1, 100.0), (2, 400.0), (4, 501.0), (8, 900.0)]);
        let users = &answers.users;
        assert_eq!((users.state, users.load), (UsersState::Found, Some(Load::Users(2))));
        let worse = users.next_worse.as_ref().expect("level 4 fails");
        assert_eq!((worse.load, worse.state), (Load::Users(4), VerdictState::Fail));
        assert_eq!(worse.terms.len(), 1);
        assert_eq!(worse.terms[0].term.metric, Metric::Ttft);
        assert!((worse.terms[0].value_ms.expect("measured") - 501.0).abs() < 1e-6);
        assert!(!users.is_sure, "a few dozen requests do not settle a P99");
        // 10 ms between tokens are 100 tok/s; 2 users with 11 tokens in 500 ms are 44 tok/s.
        let at = &answers.at;
        assert_eq!((at.load, at.user_tok_per_s), (Some(Load::Users(2)), Some(100.0)));
        let rate = at.output_tok_per_s.expect("a window");
        assert!((rate - 44.0).abs() < 1e-6, "{rate}");
        assert!((at.output_tok_per_hour.expect("a rate") - 44.0 * 3600.0).abs() < 1e-3);
        assert_eq!(at.window, Some(WindowKind::Steady));
    }

    #[test]
    fn the_order_of_the_levels_does_not_matter_but_a_hole_does() {
        let answers = answer(&[(8, 300.0), (1, 100.0), (4, 501.0), (2, 200.0)]);
        assert_eq!(answers.users.load, Some(Load::Users(2)));
        assert_eq!(answers.users.inside_above, [Load::Users(8)]);
    }

    #[test]
    fn all_inside_gives_at_least_and_none_inside_gives_none() {
        let all = answer(&[(1, 100.0), (2, 110.0)]).users;
        assert_eq!((all.state, all.load), (UsersState::AtLeast, Some(Load::Users(2))));
        assert!(all.next_worse.is_none());
        let none = answer(&[(1, 600.0), (2, 700.0)]);
        assert_eq!((none.users.state, none.users.load), (UsersState::None, None));
        assert_eq!(none.users.next_worse.as_ref().map(|worse| worse.load), Some(Load::Users(1)));
        assert_eq!(none.at.load, Some(Load::Users(1)));
    }

    #[test]
    fn what_a_search_found_is_the_answer() {
        let levels = [(2, 100.0), (4, 490.0), (4, 510.0), (3, 490.0), (8, 600.0)];
        let users: Vec<u32> = levels.iter().map(|(users, _)| *users).collect();
        let mut requests = Vec::new();
        for (level, (users, ttft_ms)) in levels.iter().enumerate() {
            let start = (requests.len() as u32, level as u16);
            requests.extend(closed_loop(start, (*users, 10), 0.0, (*ttft_ms, 10.0, 11)));
        }
        let mut run = run(&users, requests);
        let found = CapacityFound {
            inside: Some(3.0),
            outside: Some(8.0),
            outside_looks: Vec::new(),
            unsettled: Some((4.0, 4.0)),
            contradicted: Vec::new(),
            is_over: true,
            usd_per_hour: None,
            gpus: None,
        };
        let answer = |run: &RunData| crate::summarize(run).answers.expect("levels").users;
        assert_eq!(answer(&run).load, Some(Load::Users(3)));
        assert!(!answer(&run).is_searched);
        run.manifest.capacity = Some(found.clone());
        let users = answer(&run);
        assert_eq!((users.state, users.load), (UsersState::Found, Some(Load::Users(3))));
        assert!(users.is_searched && users.is_sure);
        let contradicted = vec![3.0];
        run.manifest.capacity = Some(CapacityFound { contradicted, ..found.clone() });
        assert_eq!(answer(&run).contradicted, [Load::Users(3)]);
        assert!(!answer(&run).is_sure);
        assert_eq!(users.unsettled, Some((Load::Users(4), Load::Users(4))));
        let worse = users.next_worse.expect("8 fail");
        assert_eq!((worse.load, worse.terms.len()), (Load::Users(8), 1));
        // Looks that miss the target together are reported together: (490 + 510) / 2.
        let slo = &mut run.manifest.spec.slo.terms[0];
        (slo.percentile, slo.limit_ms) = (None, 495.0);
        run.manifest.capacity =
            Some(CapacityFound { outside: Some(4.0), outside_looks: vec![1, 2], ..found.clone() });
        let worse = answer(&run).next_worse.expect("4 fail");
        let value = worse.terms[0].value_ms.expect("measured");
        assert!((value - 500.0).abs() < 0.5 && worse.load == Load::Users(4), "{worse:?}");
        run.manifest.capacity = Some(CapacityFound { inside: None, ..found.clone() });
        assert_eq!(answer(&run).state, UsersState::Unknown);
        run.manifest.capacity = Some(CapacityFound { inside: None, unsettled: None, ..found });
        assert_eq!(answer(&run).state, UsersState::None);
    }

    #[test]
    fn a_repeat_that_fails_takes_its_level_out() {
        let users = answer(&[(1, 100.0), (2, 100.0), (2, 600.0)]).users;
        assert_eq!((users.state, users.load), (UsersState::Found, Some(Load::Users(1))));
    }

    #[test]
    fn errors_fail_a_level_and_no_target_leaves_it_unknown() {
        let mut requests = closed_loop((0, 0), (1, 30), 0.0, (100.0, 10.0, 11));
        requests.push(failed(30, 0, 0, 9000.0, 5.0));
        let mut run = run(&[1], requests);
        let users = crate::summarize(&run).answers.expect("a level").users;
        assert_eq!(users.state, UsersState::None);
        let worse = users.next_worse.expect("it fails");
        assert!((worse.error_rate.expect("errors") - 1.0 / 31.0).abs() < 1e-12);
        assert!(worse.terms.is_empty());
        run.manifest.spec.slo.terms.clear();
        run.requests.pop();
        let users = crate::summarize(&run).answers.expect("a level").users;
        assert_eq!((users.state, users.load, users.is_sure), (UsersState::Unknown, None, false));
    }
}
