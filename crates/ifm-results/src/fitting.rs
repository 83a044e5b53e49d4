//! How much load fits inside a latency target, from the points of results.
//!
//! The answer is a measured load, the largest one that is inside while every lower one is: nothing
//! is interpolated. A run of ours and a document of another tool are judged by the same rule. Not
//! here: which target is asked about, and how the answer is written.

use super::{Point, Pool, Pooled};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, Statistic};
use ifm_core::spec::{SloSpec, SloTerm};
use ifm_metrics::answer::UsersState;
use ifm_metrics::capacity::climb::{Step, climb};
use ifm_metrics::capacity::{Carriers, People, Worth, busy_s, people};
use ifm_metrics::level::{GapLabel, Load};
use ifm_metrics::slo::{self, Bounded, Known, TermVerdict, VerdictState};
use ifm_metrics::stat::{Scale, center};
use ifm_metrics::tpot::TPOT_ESTIMATED;

const PER_MEGA: f64 = 1e6;
/// Rates of media, as they are read of a level.
pub const MEDIA_RATES: [Metric; 3] = [Metric::ImageRate, Metric::PixelRate, Metric::LevelRtfx];

/// Why a load does not fit.
#[derive(Debug, Clone, PartialEq)]
pub enum Miss {
    /// A term that does not hold, with its value in ms; without one it cannot be judged.
    Term(SloTerm, Option<f64>),
    /// This share of the requests failed.
    Errors(f64),
}

/// The loads that are inside above one that is not.
#[derive(Debug, Clone)]
pub struct Resumed<'a> {
    /// The largest of them.
    pub fits: Pooled<'a>,
    /// The next one, and why it does not fit.
    pub next: Option<(Pooled<'a>, Vec<Miss>)>,
}

/// What fits of one curve inside one target.
#[derive(Debug, Clone)]
pub struct Fitting<'a> {
    /// What sets the curve apart.
    pub of: Factors,
    /// The target.
    pub slo: SloSpec,
    /// What is known.
    pub state: UsersState,
    /// The largest load that fits.
    pub fits: Option<Pooled<'a>>,
    /// The largest load that surely fits while all lower ones do: the lower end of the interval.
    /// Absent where none does.
    pub low: Option<Load>,
    /// The largest load below the lowest one that surely does not fit: the upper end. Absent where
    /// no load surely fails, and where the lowest does.
    pub high: Option<Load>,
    /// The lowest one that does not, or that is not known to, and why.
    pub next: Option<(Pooled<'a>, Vec<Miss>)>,
    /// Whether that one is outside, or nothing decides it; unknown where no such load was measured.
    pub next_state: VerdictState,
    /// Loads above that one that still meet the target.
    pub inside_above: Vec<Load>,
    /// Where no load fits because the lowest one does not, which is often a cold start: the
    /// largest of the loads above it that are inside one after another, and the next one, that is
    /// not.
    pub resumed: Option<Resumed<'a>>,
    /// Where no load at all fits and the lowest is not the one that comes nearest: the one that
    /// does, its worst term the least beyond its limit, and why it does not fit.
    pub nearest: Option<(Pooled<'a>, Vec<Miss>)>,
    /// Whether both are judged on enough requests.
    pub is_sure: bool,
    /// The measurement at the lowest load.
    pub lowest: Option<Pooled<'a>>,
}

impl Fitting<'_> {
    /// The load that fits.
    pub fn load(&self) -> Option<Load> {
        self.fits.as_ref()?.load()
    }

    /// People who each wait `think_s` seconds between answer and next request, for whom this load
    /// is enough; see [`people`]. Absent without a load or a time per request.
    pub fn people(&self, think_s: f64) -> Option<f64> {
        self.people_behind(think_s).map(|found| found.people)
    }

    /// The same with what it was computed from.
    pub fn people_behind(&self, think_s: f64) -> Option<People> {
        let cell = self.fits.as_ref()?;
        let one = |metric: Metric| {
            let statistics = [Statistic::Mean, Statistic::Median, Statistic::Value];
            let found = statistics.into_iter().find_map(|of| cell.stat(metric, of))?;
            Some(found.value).filter(|value| *value > 0.0)
        };
        let e2e_s = || Some(one(Metric::E2e)? / 1e3);
        let (in_flight, busy_s) = match cell.load()? {
            Load::Users(users) => {
                let users = f64::from(users);
                let by_rate = one(Metric::RequestRate).and_then(|rate| busy_s(users, rate));
                (users, by_rate.or_else(e2e_s)?)
            }
            Load::ReqPerS(rate) => {
                let busy_s = e2e_s()?;
                (rate * busy_s, busy_s)
            }
        };
        people(in_flight, busy_s, think_s)
    }
}

impl Pooled<'_> {
    /// What carries this load. A figure that one of the repeats does not have is absent.
    pub fn carriers(&self, worth: &Worth) -> Carriers {
        let told = self.first().and_then(|point| point.gpus);
        let of_all = |metric: Metric| {
            let values = self.values(metric, Statistic::Value);
            let is_whole = !values.is_empty() && values.len() == self.points.len();
            center(&values, Scale::Ratio).filter(|_| is_whole)
        };
        Carriers {
            gpus: worth.gpus(told),
            watts: of_all(Metric::Power),
            usd_per_hour: worth.price(told).map(|price| price.per_hour),
            sessions_per_hour: of_all(Metric::other(Metric::SessionRate.name())),
        }
    }

    /// Rates of media at this load: images, megapixels and seconds of audio for each second, as far as
    /// they are known.
    pub fn media_rates(&self) -> Vec<(Metric, f64)> {
        let rate = |metric: Metric| {
            let value = self.stat(metric, Statistic::Value)?.value;
            // Documents count single pixels.
            let scale = if metric == Metric::PixelRate { PER_MEGA } else { 1.0 };
            Some((metric, value / scale))
        };
        MEDIA_RATES.into_iter().filter_map(rate).collect()
    }
}

/// A measurement against a target.
fn judge(cell: &Pooled, slo: &SloSpec) -> (VerdictState, bool, Vec<Miss>) {
    let of_readings = judge_readings(cell, slo);
    let Some(state) = searched(cell, slo) else { return of_readings };
    let (_, _, misses) = of_readings;
    match state {
        VerdictState::Pass => (state, true, Vec::new()),
        VerdictState::Fail => (state, true, misses),
        // It has numbers, and they do not settle it.
        VerdictState::Unknown => (state, false, Vec::new()),
    }
}

/// The result of a search for this very target about a load. It judged all looks together, with
/// statistics for repeated looks; the mean of several looks says less.
fn searched(cell: &Pooled, slo: &SloSpec) -> Option<VerdictState> {
    let mut states = cell.points.iter().map(|point| {
        let searched = point.searched.as_ref().filter(|searched| searched.slo.terms == slo.terms);
        searched.map(|searched| searched.state)
    });
    let first = states.next()??;
    states.all(|state| state == Some(first)).then_some(first)
}

/// By what was read: every repeat by itself, since a load is inside only if each of them is.
fn judge_readings(cell: &Pooled, slo: &SloSpec) -> (VerdictState, bool, Vec<Miss>) {
    let each = cell.points.iter().map(|point| judge_one(&Pooled { points: vec![*point] }, slo));
    let each: Vec<_> = each.collect();
    let steps = each.iter().map(|(state, is_sure, _)| Step { state: *state, is_sure: *is_sure });
    let Step { state, is_sure } = Step::of_repeats(steps);
    let far = |misses: &[Miss]| overshoot(misses).unwrap_or(f64::INFINITY);
    let of_state = each.into_iter().filter(|(known, ..)| *known == state);
    let misses = match state {
        VerdictState::Fail => of_state.max_by(|a, b| far(&a.2).total_cmp(&far(&b.2))),
        _ => of_state.into_iter().next(),
    };
    (state, is_sure, misses.map(|(.., misses)| misses).unwrap_or_default())
}

fn judge_one(cell: &Pooled, slo: &SloSpec) -> (VerdictState, bool, Vec<Miss>) {
    let verdict = slo::judge(slo, cell);
    let of_state = verdict.terms.iter().filter(|term| term.state == verdict.state);
    let miss = |found: &TermVerdict| Miss::Term(found.term.clone(), found.value_ms);
    let mut misses: Vec<Miss> = match verdict.state {
        VerdictState::Pass => Vec::new(),
        VerdictState::Fail | VerdictState::Unknown => of_state.map(miss).collect(),
    };
    if verdict.too_many_errors {
        misses.extend(error_share(cell).map(Miss::Errors));
    }
    (verdict.state, verdict.is_sure, misses)
}

impl Known for Pooled<'_> {
    fn number(&self, term: &SloTerm, statistic: Statistic) -> Option<Bounded> {
        let quantities = metrics_of(term.metric);
        let found = quantities.iter().find_map(|metric| self.stat(*metric, statistic))?;
        // Ratios are read as they are, times in milliseconds.
        let in_ms = |value: f64| if term.is_ratio() { term.in_ms(value) } else { value };
        Some(Bounded {
            value: in_ms(found.value),
            low: found.low.map(in_ms),
            high: found.high.map(in_ms),
            n: found.n,
            is_enough: found.is_enough,
            needs_bounds: found.needs_interval,
        })
    }

    fn error_rate(&self) -> Option<f64> {
        error_share(self)
    }

    /// A number of a part of the answers has another name, so that nothing is open.
    fn is_open(&self, _: &SloTerm, _: &Bounded, _: bool) -> bool {
        false
    }
}

/// Failed requests over those that were sent, counted over all repeats; else the share that is stated.
fn error_share(cell: &Pooled) -> Option<f64> {
    let counts: Option<Vec<(u64, u64)>> =
        cell.points.iter().map(|point| point.failed_of_sent()).collect();
    let counted = counts.filter(|counts| !counts.is_empty()).map(|counts| {
        let (failed, sent) =
            counts.iter().fold((0, 0), |(failed, sent), of| (failed + of.0, sent + of.1));
        failed as f64 / sent as f64
    });
    counted.or_else(|| Some(cell.stat(Metric::ErrorRate, Statistic::Value)?.value))
}

impl Pooled<'_> {
    /// Whether the percentile of a term rests on too few values.
    pub fn is_thin(&self, term: &SloTerm) -> bool {
        let statistic = term.statistic();
        let told = metrics_of(term.metric).iter().find_map(|metric| self.stat(*metric, statistic));
        told.is_some_and(|stat| !stat.is_enough)
    }
}

/// The metrics under which numbers of a metric are found, the most fitting first: waits from the due
/// time, the metric itself, and its substitute.
pub fn metrics_of(metric: Metric) -> Vec<Metric> {
    let due = metric.from_due();
    let own = (due != metric).then_some(due);
    let instead = match metric {
        Metric::Itl => Some(GapLabel::InterEvent.long()),
        Metric::Tpot => Some(TPOT_ESTIMATED),
        _ => None,
    };
    own.into_iter().chain([metric]).chain(instead.map(Metric::other)).collect()
}

impl<'a> Pool<'a> {
    /// What fits for each curve; these factors distinguish curves. Users and rates cannot be
    /// ordered: if both were measured, rates are the answer.
    pub fn fittings(&self, by: &[&str], slo: &SloSpec) -> Vec<Fitting<'a>> {
        let mut rows: Vec<(Factors, Vec<Pooled>)> = Vec::new();
        for cell in self.cells.iter().filter(|cell| cell.load().is_some()) {
            let mut of = Factors::default();
            for name in by {
                if let Some(value) = cell.factor(name) {
                    of.set(*name, value);
                }
            }
            match rows.iter_mut().find(|(known, _)| *known == of) {
                Some((_, cells)) => cells.push(cell.clone()),
                None => rows.push((of, vec![cell.clone()])),
            }
        }
        let value = |cell: &Pooled| cell.load().map_or(0.0, Load::value);
        let fitting = |(of, mut cells): (Factors, Vec<Pooled<'a>>)| {
            retain_rates(&mut cells);
            cells.order_by(|a, b| value(a).total_cmp(&value(b)));
            fitting(of, cells, slo)
        };
        rows.into_iter().map(fitting).collect()
    }
}

/// What fits of these points, which are levels of one thing whatever else was set: those at one
/// load are repeats. Users and rates cannot be ordered: where both were measured, rates are the
/// answer.
pub fn fitting_of_points<'a>(
    points: impl Iterator<Item = &'a Point>,
    slo: &SloSpec,
) -> Fitting<'a> {
    let mut cells: Vec<Pooled> = Vec::new();
    for point in points.filter(|point| point.load.is_some()) {
        match cells.iter_mut().find(|cell| cell.load() == point.load) {
            Some(cell) => cell.points.push(point),
            None => cells.push(Pooled { points: vec![point] }),
        }
    }
    retain_rates(&mut cells);
    let value = |cell: &Pooled| cell.load().map_or(0.0, Load::value);
    cells.order_by(|a, b| value(a).total_cmp(&value(b)));
    fitting(Factors::default(), cells, slo)
}

/// Leaves out users where rates were measured too.
fn retain_rates(cells: &mut Vec<Pooled>) {
    let is_rate = |cell: &Pooled| matches!(cell.load(), Some(Load::ReqPerS(_)));
    if cells.iter().any(is_rate) {
        cells.retain(is_rate);
    }
}

fn fitting<'a>(of: Factors, cells: Vec<Pooled<'a>>, slo: &SloSpec) -> Fitting<'a> {
    let judged: Vec<_> = cells.into_iter().map(|cell| (judge(&cell, slo), cell)).collect();
    let step = |((state, is_sure, _), _): &Judged| Step { state: *state, is_sure: *is_sure };
    let found = climb(&judged.iter().map(step).collect::<Vec<_>>());
    let one = |place: Option<usize>| judged.get(place?);
    let load = |place: Option<usize>| one(place)?.1.load();
    let is_none = found.state == UsersState::None;
    let worse = one(found.worse);
    Fitting {
        of,
        slo: slo.clone(),
        state: found.state,
        inside_above: found.inside_above.iter().filter_map(|place| load(Some(*place))).collect(),
        resumed: is_none.then(|| resumed(&judged)).flatten(),
        nearest: is_none.then(|| nearest(&judged)).flatten(),
        is_sure: found.is_sure,
        fits: one(found.fits).map(|(_, cell)| cell.clone()),
        low: load(found.low),
        high: load(found.high),
        next: worse.map(|((.., misses), cell)| (cell.clone(), misses.clone())),
        next_state: worse.map_or(VerdictState::Unknown, |((state, ..), _)| *state),
        lowest: judged.first().map(|(_, cell)| cell.clone()),
    }
}

/// A measurement with its verdict, whether it is sure, and why it is not inside.
type Judged<'a> = ((VerdictState, bool, Vec<Miss>), Pooled<'a>);

/// The first run of loads that are inside, where the very first one alone is not.
fn resumed<'a>(judged: &[Judged<'a>]) -> Option<Resumed<'a>> {
    let passes = |one: &&Judged| one.0.0 == VerdictState::Pass;
    let above = judged.get(1..)?;
    let (_, fits) = above.iter().take_while(passes).last()?;
    let next = above.iter().find(|one| one.0.0 == VerdictState::Fail);
    let next = next.map(|((.., misses), cell)| (cell.clone(), misses.clone()));
    Some(Resumed { fits: fits.clone(), next })
}

/// How far beyond the limits the worst of these misses is, as a ratio; absent where that is not
/// known.
fn overshoot(misses: &[Miss]) -> Option<f64> {
    let ratio = |miss: &Miss| match miss {
        Miss::Term(term, value) => Some((*value)? / term.limit_ms),
        Miss::Errors(_) => None,
    };
    let ratios: Option<Vec<f64>> = misses.iter().map(ratio).collect();
    ratios?.into_iter().reduce(f64::max)
}

/// The load that comes nearest to the target, where each fails and it is not the lowest.
fn nearest<'a>(judged: &[Judged<'a>]) -> Option<(Pooled<'a>, Vec<Miss>)> {
    if judged.iter().any(|((state, ..), _)| *state != VerdictState::Fail) {
        return None;
    }
    let far = judged.iter().map(|one| overshoot(&one.0.2).unwrap_or(f64::INFINITY));
    let (index, _) = far.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let ((.., misses), cell) = judged.get(index).filter(|_| index > 0)?;
    Some((cell.clone(), misses.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::Results;
    use super::*;
    use crate::Stat;
    use crate::testing::repeat as point;
    use ifm_core::sheet::PartKind;
    use ifm_metrics::slo;
    use ifm_metrics::testing::{closed_loop, run};

    fn level(users: u32, stats: &[(Metric, Statistic, f64)]) -> Point {
        let stat = |(metric, statistic, value): &(Metric, Statistic, f64)| {
            Stat::new(*metric, *statistic, *value)
        };
        Point {
            kind: PartKind::Serving,
            stats: stats.iter().map(stat).collect(),
            ..point(users, 1, 0.0)
        }
    }

    /// Levels of a published sweep: P99 ITL 32.1 and 67.2 ms, P99 TTFT 300 ms at 128 and 256 users.
    #[test]
    fn a_load_is_inside_only_if_each_of_its_repeats_is() {
        let slo = slo::parse("itl:p99<50ms").expect("a target");
        let at = |users: u32, repeat: u32, itl: f64| Point {
            repeat: Some(repeat),
            ..level(users, &[(Metric::Itl, Statistic::Percentile(99.0), itl)])
        };
        // The mean of 30 and 60 is inside; one of the two is not.
        let points = vec![at(1, 1, 20.0), at(2, 1, 30.0), at(2, 2, 60.0), at(4, 1, 40.0)];
        let results = Results { points, sources: Vec::new() };
        let pool = results.pool(PartKind::Serving);
        let fittings = pool.fittings(&[], &slo);
        let [fitting] = fittings.as_slice() else { panic!("{fittings:?}") };
        assert_eq!((fitting.state, fitting.load()), (UsersState::Found, Some(Load::Users(1))));
        let (next, misses) = fitting.next.as_ref().expect("2 users");
        assert_eq!(next.load(), Some(Load::Users(2)));
        assert!(matches!(&misses[..], [Miss::Term(_, Some(value))] if *value == 60.0));
    }

    #[test]
    fn the_largest_load_inside_and_what_stops_the_next() {
        let p99 = Statistic::Percentile(99.0);
        let levels = [(64, 30.0), (128, 32.1), (256, 67.2)];
        let points = levels.map(|(users, itl)| {
            level(users, &[(Metric::Itl, p99, itl), (Metric::Ttft, p99, 300.0)])
        });
        let results = Results { sources: Vec::new(), points: points.to_vec() };
        let pool = results.pool(PartKind::Serving);
        let target = slo::parse("chat").expect("a preset");
        let [fitting] = pool.fittings(&[], &target).try_into().expect("one curve");
        assert_eq!((fitting.state, fitting.load()), (UsersState::Found, Some(Load::Users(128))));
        let (next, misses) = fitting.next.as_ref().expect("256 fails");
        assert_eq!(next.load(), Some(Load::Users(256)));
        assert!(
            matches!(misses.as_slice(), [Miss::Term(term, Some(67.2))] if term.metric == Metric::Itl)
        );
        assert_eq!(fitting.people(10.0), None, "the duration of a request is unknown");
    }

    /// The same sweep with its first level, which ran cold: P99 ITL 84.7 ms at 32 users.
    #[test]
    fn separates_a_cold_first_load() {
        let p99 = Statistic::Percentile(99.0);
        let levels = [(32, 84.7), (64, 32.1), (128, 38.5), (256, 67.2)];
        let points = levels.map(|(users, itl)| level(users, &[(Metric::Itl, p99, itl)]));
        let results = Results { sources: Vec::new(), points: points.to_vec() };
        let target = slo::parse("itl:p99<50ms").expect("a target");
        let fittings = results.pool(PartKind::Serving).fittings(&[], &target);
        assert_eq!((fittings[0].state, fittings[0].load()), (UsersState::None, None));
        let resumed = fittings[0].resumed.as_ref().expect("64 and 128 are inside");
        assert_eq!(resumed.fits.load(), Some(Load::Users(128)));
        let next = resumed.next.as_ref().and_then(|(cell, _)| cell.load());
        assert_eq!(next, Some(Load::Users(256)));
        assert!(fittings[0].nearest.is_none(), "some fit");
    }

    /// The same sweep against a limit that no load keeps: 64 users come nearest, 7 % beyond it.
    #[test]
    fn where_nothing_fits_the_nearest_is_known() {
        let p99 = Statistic::Percentile(99.0);
        let nearest = |levels: &[(u32, f64)]| {
            let points =
                levels.iter().map(|(users, itl)| level(*users, &[(Metric::Itl, p99, *itl)]));
            let results = Results { sources: Vec::new(), points: points.collect() };
            let target = slo::parse("itl:p99<30ms").expect("a target");
            let [fitting] =
                results.pool(PartKind::Serving).fittings(&[], &target).try_into().expect("one");
            assert_eq!(fitting.state, UsersState::None);
            fitting.nearest.and_then(|(cell, _)| cell.load())
        };
        assert_eq!(nearest(&[(32, 84.7), (64, 32.1), (128, 38.5)]), Some(Load::Users(64)));
        assert_eq!(nearest(&[(32, 31.0), (64, 32.1)]), None, "the lowest is named anyway");
    }

    #[test]
    fn other_percentiles_decide_where_they_can() {
        let target = slo::parse("itl:p99<50ms").expect("a target");
        for (statistic, value, expect) in [
            (Statistic::Median, 51.0, UsersState::None),
            (Statistic::Median, 49.0, UsersState::Unknown),
            (Statistic::Mean, 60.0, UsersState::Unknown),
            (Statistic::Max, 49.0, UsersState::AtLeast),
        ] {
            let points = vec![level(8, &[(Metric::Itl, statistic, value)])];
            let results = Results { sources: Vec::new(), points };
            let fittings = results.pool(PartKind::Serving).fittings(&[], &target);
            assert_eq!(fittings[0].state, expect, "{statistic:?} {value}");
        }
    }

    #[test]
    fn people_think_between_requests() {
        // 2 users, each answer takes 100 + 15 · 10 ms = 0.25 s.
        let run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        let summary = ifm_metrics::summarize(&run);
        let results = Results::of_run(&run.manifest, &summary);
        let pool = results.pool(PartKind::Serving);
        let [fitting] = pool.fittings(&[], &run.manifest.spec.slo).try_into().expect("one");
        assert_eq!(fitting.state, UsersState::AtLeast);
        assert_eq!(fitting.people(0.0), Some(2.0));
        let people = fitting.people(10.0).expect("a time");
        assert!((people - 82.0).abs() < 1e-6, "{people}");
        let users = summary.answers.expect("a level").users;
        assert_eq!((users.state, users.is_sure), (fitting.state, fitting.is_sure));
    }
}
