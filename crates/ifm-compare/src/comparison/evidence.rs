//! What the requests of a level say about a measure: its value, and the values that the same level
//! might have had.
//!
//! For means and rates, requests are resampled, and the draws are widened for the dependence
//! between requests. The interval of a percentile lies between order statistics. Not here: two
//! sides, see [`contrast`](super::contrast).

use super::meaning::By;
use super::measure::{Measure, Over};
use super::percentile::{Ordered, PercentileBounds};
use super::sample::{Column, LevelSample, PooledPercentile, Rate, Stated, Told, Values};
use super::shortage::Shortage;
use ifm_metrics::stat::Estimate;
use ifm_metrics::stat::effective::{EffectiveSize, of_mean, share_inflation};
use ifm_metrics::stat::interval::TAIL;
use ifm_metrics::stat::quantile::{is_enough, needed_for, percentile_of_sorted};
use ifm_metrics::stat::random::RandomStream;
use ifm_metrics::stat::special::{normal_below, normal_upper_quantile, student_upper_quantile};
use ifm_metrics::stat::welch::tail;

/// Fewest requests that a verdict may rest on.
pub(crate) const REQUESTS_MIN: u64 = 20;
/// Fewest requests in effect that a verdict may rest on; so few need a large difference, by the t of
/// their few degrees of freedom.
const EFFECTIVE_MIN: f64 = 10.0;
/// A percentile this far from both ends, 0 to 100, rests on the bulk of the values.
const BULK: f64 = 25.0;
/// Above this share of repeats that other work disturbed, a value says more of that work.
const DISTURBED_MAX: f64 = 0.1;
/// Request draws of one level at most: of long levels fewer draws are made, whose noise matters
/// less there.
const REQUEST_DRAWS_MAX: usize = 40_000_000;
/// Draws that are made however long the level is.
const RESAMPLES_MIN: u32 = 400;

/// What is known about the error of a value.
#[derive(Debug, Clone)]
pub(crate) enum Spread {
    /// One value per resample (all equal if the requests do not vary), and the effective number of
    /// requests minus one.
    Draws(Vec<f64>, f64),
    /// Values in rising order; two of them bound a percentile.
    Ranks(PercentileBounds),
    /// The standard error of a mean, `s / sqrt(n)`, with `n - 1`: from the standard deviation and
    /// the number of values that a document states.
    Stated { error: f64, freedom: f64 },
    /// A deviation, over a number of values that the document does not state.
    Uncounted,
    /// Nothing: one number.
    Unknown,
}

impl Spread {
    /// Whether it contains the error of the value.
    pub fn is_known(&self) -> bool {
        matches!(self, Spread::Draws(..) | Spread::Ranks(_) | Spread::Stated { .. })
    }
}

/// What one run says about a measure at one load.
#[derive(Debug, Clone)]
pub(crate) struct RunEvidence {
    /// Place of the run in its side.
    pub run: usize,
    pub value: f64,
    pub spread: Spread,
    /// Number of values; absent if a document does not state it.
    pub n: Option<u64>,
    pub shortage: Option<Shortage>,
    /// Repeats that other work disturbed, and all repeats; absent if unknown.
    pub disturbed: Option<(u64, u64)>,
}

/// What a side says about a measure at one load.
#[derive(Debug, Clone)]
pub(crate) enum Evidence {
    /// One entry for each run of the level; never empty.
    Runs(Vec<RunEvidence>),
    /// Requests counted, over all runs.
    Share { hits: u64, n: u64 },
}

/// What a side says about a measure by one definition.
#[derive(Debug, Clone)]
pub struct Known {
    pub measure: Measure,
    pub by: By,
    pub evidence: Evidence,
}

impl Evidence {
    /// How many runs it is of.
    pub fn runs(&self) -> usize {
        match self {
            Evidence::Share { .. } => 1,
            Evidence::Runs(runs) => runs.len(),
        }
    }

    /// Whether it says how far it may be off.
    pub fn has_spread(&self) -> bool {
        match self {
            Evidence::Share { .. } => true,
            Evidence::Runs(runs) => runs.len() > 1 || runs.iter().any(|run| run.spread.is_known()),
        }
    }
}

/// How draws are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drawing {
    pub resamples: u32,
    pub seed: u64,
}

/// Values of every measure for one level of one run. `name` seeds draws that are independent of
/// other levels; `run` is the run's place in its side.
pub(crate) fn evidence(
    sample: &LevelSample,
    drawing: Drawing,
    run: usize,
    name: &str,
) -> Vec<Known> {
    let disturbed = sample.disturbed;
    let (n, inflation) = (sample.requests, sample.inflation);
    let requests = Units { n, inflation, columns: &sample.columns, disturbed };
    let mut known = requests.evidence(drawing, run, name);
    if let Some(of) = &sample.sessions {
        let (n, inflation) = (of.sessions, of.inflation);
        let sessions = Units { n, inflation, columns: &of.columns, disturbed };
        known.extend(sessions.evidence(drawing, run, &format!("{name} sessions")));
    }
    known
}

/// What is resampled: requests, or sessions.
struct Units<'s> {
    n: usize,
    /// How many times as large the variance of a mean of them is as that of independent ones.
    inflation: f64,
    columns: &'s [Told],
    disturbed: Option<(u64, u64)>,
}

impl Units<'_> {
    fn evidence(&self, drawing: Drawing, run: usize, name: &str) -> Vec<Known> {
        let draws = self.draws(drawing, name);
        let columns = self.columns.iter().zip(draws);
        columns
            .filter_map(|(told, draws)| {
                let evidence = match &told.column {
                    Column::Share { hits, n } => Evidence::Share { hits: *hits, n: *n },
                    Column::Stated(stated) => Evidence::Runs(vec![stated.run(run)]),
                    column => {
                        let found = column.run(told.measure, run, draws, self.inflation);
                        Evidence::Runs(vec![found?])
                    }
                };
                let evidence = evidence.disturbed(self.disturbed);
                Some(Known { measure: told.measure, by: told.by.clone(), evidence })
            })
            .collect()
    }

    /// Values of each column of requests that are drawn again; none of a percentile, which needs none.
    fn draws(&self, drawing: Drawing, name: &str) -> Vec<Vec<f64>> {
        let mut stream = RandomStream::named(drawing.seed, name);
        let mut noise = RandomStream::named(drawing.seed, &format!("{name} arrivals"));
        let mut found: Vec<Vec<f64>> = vec![Vec::new(); self.columns.len()];
        let resamples = u32::try_from(REQUEST_DRAWS_MAX / self.n.max(1)).unwrap_or(u32::MAX);
        let resamples = drawing.resamples.min(resamples.max(RESAMPLES_MIN));
        if self.n == 0 || !self.columns.iter().any(|told| told.column.is_drawn()) {
            return found;
        }
        let mut counts = vec![0u32; self.n];
        for _ in 0..resamples {
            counts.fill(0);
            for _ in 0..self.n {
                if let Some(count) = counts.get_mut(stream.below(self.n)) {
                    *count += 1;
                }
            }
            let surprise = noise.normal();
            for (told, found) in self.columns.iter().zip(&mut found) {
                found.extend(told.column.drawn(&counts, surprise));
            }
        }
        found
    }
}

impl Evidence {
    fn disturbed(mut self, disturbed: Option<(u64, u64)>) -> Evidence {
        if let Evidence::Runs(runs) = &mut self {
            runs.iter_mut().for_each(|run| run.disturbed = disturbed);
        }
        self
    }
}

/// Whether other work disturbed so much of what a side rests on that it carries no verdict.
pub(crate) fn disturbed(runs: &[RunEvidence]) -> Option<Shortage> {
    let told = runs.iter().filter_map(|run| run.disturbed);
    let (n, of) = told.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    (n as f64 > DISTURBED_MAX * of as f64).then_some(Shortage::Disturbed { n, of })
}

/// The requests in the order of starts, by how often each was drawn.
fn taken(counts: &[u32], owner: u32) -> &u32 {
    counts.get(owner as usize).unwrap_or(&0)
}

/// Sums over the requests, each as often as it was drawn.
fn sum(counts: &[u32], values: impl Iterator<Item = f64>) -> f64 {
    counts.iter().zip(values).map(|(count, value)| f64::from(*count) * value).sum()
}

fn whole(values: &[u32]) -> impl Iterator<Item = f64> {
    values.iter().map(|value| f64::from(*value))
}

impl Column {
    /// The value of the level as it was measured.
    fn value(&self) -> Option<f64> {
        match self {
            Column::Values(values) => values.value(),
            Column::PooledPercentile(pooled) => Some(pooled.value),
            Column::PooledMean { sum, count } => {
                Some(sum.iter().sum::<f64>() / whole(count).sum::<f64>())
            }
            Column::Rate(Rate { value, .. }) | Column::Arrivals { value, .. } => Some(*value),
            Column::Share { hits, n } => (*n > 0).then(|| *hits as f64 / *n as f64),
            Column::Stated(stated) => Some(stated.value),
        }
        .filter(|value| value.is_finite())
    }

    /// Whether its spread is that of requests drawn again.
    fn is_drawn(&self) -> bool {
        match self {
            Column::Values(values) => values.percentile().is_none(),
            Column::PooledMean { .. } | Column::Rate(_) | Column::Arrivals { .. } => true,
            Column::PooledPercentile(_) | Column::Share { .. } | Column::Stated(_) => false,
        }
    }

    /// The value of a draw; absent where a draw holds no value at all. `surprise` is a standard
    /// normal number.
    fn drawn(&self, counts: &[u32], surprise: f64) -> Option<f64> {
        match self {
            Column::Values(values) => values.drawn(counts),
            Column::PooledMean { sum: sums, count } => {
                let n = sum(counts, whole(count));
                (n > 0.0).then(|| sum(counts, sums.iter().copied()) / n)
            }
            Column::Rate(rate) => rate.drawn(counts, surprise),
            // The number of arrivals varies as a Poisson count does.
            Column::Arrivals { value, amount } => {
                let all: f64 = amount.iter().sum();
                let squares: f64 = amount.iter().map(|amount| amount * amount).sum();
                (all > 0.0).then(|| value * (surprise * squares.sqrt() / all).exp())
            }
            Column::PooledPercentile(_) | Column::Share { .. } | Column::Stated(_) => None,
        }
    }

    /// What each request adds to a mean or a rate, in the order of starts; nothing of arrivals, which
    /// come by themselves.
    fn influence(&self) -> Vec<f64> {
        match self {
            Column::Values(values) => values.in_order(),
            Column::PooledMean { sum, count } => {
                let mean = sum.iter().sum::<f64>() / whole(count).sum::<f64>();
                let pairs = sum.iter().zip(whole(count)).filter(|(_, count)| *count > 0.0);
                pairs.map(|(sum, count)| sum - mean * count).collect()
            }
            Column::Rate(Rate { amount, time, per_time, .. }) => {
                amount.iter().zip(time).map(|(amount, time)| amount - per_time * time).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Draws set further from the value, by the root of what dependence makes of the variance.
    fn stretched(&self, draws: Vec<f64>, inflation: f64) -> Vec<f64> {
        let Some(value) = self.value().filter(|_| inflation > 1.0) else { return draws };
        let by = inflation.sqrt();
        let stretch = |draw: f64| {
            if value > 0.0 && draw > 0.0 {
                value * (draw / value).powf(by)
            } else {
                value + (draw - value) * by
            }
        };
        draws.into_iter().map(stretch).collect()
    }

    fn run(
        &self,
        measure: Measure,
        run: usize,
        draws: Vec<f64>,
        inflation: f64,
    ) -> Option<RunEvidence> {
        let (value, n) = (self.value()?, Some(self.n()));
        let (spread, shortage) = match self.bounds(inflation) {
            Some(bounds) => {
                let shortage = self.shortage_of_percentile(measure, &bounds);
                (Spread::Ranks(bounds), shortage)
            }
            None => {
                let influence = self.influence();
                let size = (!influence.is_empty()).then(|| of_mean(&influence, inflation));
                let draws = self.stretched(draws, size.map_or(1.0, |size| size.inflation));
                let requests = self.requests() as f64;
                let freedom = size.map_or(requests, |size| size.independent.min(size.of_variance));
                (Spread::Draws(draws, freedom - 1.0), self.shortage_of_mean(size))
            }
        };
        Some(RunEvidence { run, value, spread, n, shortage, disturbed: None })
    }

    /// What bounds a percentile; absent for anything else.
    fn bounds(&self, inflation: f64) -> Option<PercentileBounds> {
        let (ordered, p, in_effect) = match self {
            Column::Values(values) => {
                let p = values.percentile()?;
                (Ordered::Values(values.sorted.clone()), p, values.n_in_effect(p, inflation))
            }
            Column::PooledPercentile(pooled) => {
                let p = pooled.share * 100.0;
                (Ordered::Grid(pooled.grid.clone()), p, pooled.n_in_effect_in_time(p, inflation))
            }
            _ => return None,
        };
        Some(PercentileBounds { ordered, p, n: self.n(), in_effect })
    }

    /// Number of values.
    fn n(&self) -> u64 {
        match self {
            Column::Values(values) => values.sorted.len() as u64,
            Column::PooledPercentile(pooled) => pooled.count.iter().map(|n| u64::from(*n)).sum(),
            Column::PooledMean { count, .. } => count.iter().map(|n| u64::from(*n)).sum(),
            Column::Rate(Rate { amount, .. }) | Column::Arrivals { amount, .. } => {
                amount.iter().filter(|amount| **amount > 0.0).count() as u64
            }
            Column::Share { n, .. } => *n,
            Column::Stated(stated) => stated.n.unwrap_or(0),
        }
    }

    /// Requests that have a value.
    fn requests(&self) -> u64 {
        match self {
            Column::PooledPercentile(PooledPercentile { count, .. })
            | Column::PooledMean { count, .. } => count.iter().filter(|n| **n > 0).count() as u64,
            other => other.n(),
        }
    }

    fn few(&self) -> Option<Shortage> {
        let n = self.requests();
        (n < REQUESTS_MIN).then(|| Shortage::Values { n, needed: self.needed() })
    }

    /// Requests that a verdict rests on at least: of a percentile of requests as many as are needed to
    /// show it without a mark, so that one number of requests is enough for both.
    fn needed(&self) -> u64 {
        let of_percentile = match self {
            Column::Values(values) => values.percentile().map_or(0, needed_for),
            _ => 0,
        };
        of_percentile.max(REQUESTS_MIN)
    }

    fn shortage_of_mean(&self, size: Option<EffectiveSize>) -> Option<Shortage> {
        let needed = EFFECTIVE_MIN as u64;
        let dependent = |size: &EffectiveSize| {
            let n = size.independent as u64;
            (size.independent < EFFECTIVE_MIN).then_some(Shortage::Dependent { n, needed })
        };
        let tail = |size: &EffectiveSize| {
            let n = size.of_variance as u64;
            (size.of_variance < EFFECTIVE_MIN).then_some(Shortage::Tail { n, needed })
        };
        self.few().or_else(|| size.as_ref().and_then(|size| dependent(size).or_else(|| tail(size))))
    }

    fn shortage_of_percentile(
        &self,
        measure: Measure,
        bounds: &PercentileBounds,
    ) -> Option<Shortage> {
        let p = measure.percentile()?;
        let n = match self {
            Column::PooledPercentile(pooled) => pooled.n_in_effect(1.0) as u64,
            other => other.n(),
        };
        let needed = needed_for(p);
        let thin = || match self {
            _ if is_enough(n, p) => None,
            Column::PooledPercentile(_) if is_enough(self.n(), p) => {
                Some(Shortage::Dependent { n, needed })
            }
            _ => Some(Shortage::Values { n: self.n(), needed }),
        };
        self.few().or_else(thin).or_else(|| unbounded(bounds))
    }
}

/// What keeps a percentile of one of several runs from being one: fewer values than bound it. How values
/// depend on each other shows in the spread of the runs.
pub(crate) fn too_few(bounds: &PercentileBounds) -> Option<Shortage> {
    let (p, n, needed) = (bounds.p, bounds.n, bounds.needed());
    (n < needed).then_some(Shortage::Bounds { p, n, needed })
}

/// What keeps a percentile of several runs from a verdict: all of them together have fewer values than
/// the verdict of one run needs.
pub(crate) fn too_few_together(runs: &[RunEvidence]) -> Option<Shortage> {
    let ranks: Vec<&PercentileBounds> = runs.iter().filter_map(RunEvidence::ranks).collect();
    let p = ranks.first()?.p;
    let (n, needed) = (ranks.iter().map(|run| run.n).sum(), needed_for(p).max(REQUESTS_MIN));
    (n < needed).then_some(Shortage::Values { n, needed })
}

/// What keeps a percentile from having both bounds, or from having bounds that many values give.
pub(crate) fn unbounded(bounds: &PercentileBounds) -> Option<Shortage> {
    let needed = bounds.needed().max(EFFECTIVE_MIN as u64);
    let n = bounds.in_effect.min(bounds.n as f64) as u64;
    let is_short = !bounds.is_bounded() || n < needed;
    is_short.then_some(if bounds.n < needed {
        Shortage::Bounds { p: bounds.p, n: bounds.n, needed }
    } else {
        Shortage::Dependent { n, needed }
    })
}

impl Values {
    fn percentile(&self) -> Option<f64> {
        match self.over {
            Over::Percentile(p) => Some(p),
            Over::Mean | Over::Value => None,
        }
    }

    fn value(&self) -> Option<f64> {
        match self.over {
            Over::Mean => Some(self.sorted.iter().sum::<f64>() / self.sorted.len() as f64),
            Over::Percentile(p) => percentile_of_sorted(&self.sorted, p),
            Over::Value => None,
        }
    }

    /// The mean of a draw.
    fn drawn(&self, counts: &[u32]) -> Option<f64> {
        let taken = || self.owner.iter().map(|owner| taken(counts, *owner));
        let n: u64 = taken().map(|count| u64::from(*count)).sum();
        let sum: f64 =
            self.sorted.iter().zip(taken()).map(|(v, count)| v * f64::from(*count)).sum();
        (n > 0).then(|| sum / n as f64)
    }

    /// The values in the order in which their requests started.
    fn in_order(&self) -> Vec<f64> {
        let mut pairs: Vec<(u32, f64)> =
            self.owner.iter().copied().zip(self.sorted.iter().copied()).collect();
        pairs.sort_unstable_by_key(|(owner, _)| *owner);
        pairs.into_iter().map(|(_, value)| value).collect()
    }

    /// Independent values that would bound the percentile as surely.
    fn n_in_effect(&self, p: f64, inflation: f64) -> f64 {
        let Some(value) = self.value() else { return 0.0 };
        let values = self.in_order();
        let below: Vec<f64> =
            values.iter().map(|other| f64::from(u8::from(*other <= value))).collect();
        values.len() as f64 / share_inflation(&values, &below, of_bulk(p, inflation))
    }
}

/// The inflation of means, which that of percentiles in the bulk of the values follows; absent in the
/// tails.
fn of_bulk(p: f64, inflation: f64) -> Option<f64> {
    (BULK..=100.0 - BULK).contains(&p).then_some(inflation)
}

impl Rate {
    /// The rate of a draw. By Little's law a closed loop's rate is what its requests bring over the
    /// time that they take, times the number in flight, which does not vary.
    fn drawn(&self, counts: &[u32], surprise: f64) -> Option<f64> {
        let (brought, took) = (self.amount.iter().copied(), self.time.iter().copied());
        let ratio = sum(counts, brought) / sum(counts, took) / self.per_time;
        let drawn = self.value * ratio * (surprise * self.edge).exp();
        drawn.is_finite().then_some(drawn)
    }
}

impl PooledPercentile {
    /// Independent values that would tell the share as surely: `p (1 - p) / error^2`, where
    /// dependence in time multiplies the variance. Source: Kish, "Results Sampling"
    /// (1965).
    fn n_in_effect(&self, inflation: f64) -> f64 {
        let all = whole(&self.count).sum::<f64>();
        let variance = self.share_variance() * inflation;
        let spread = self.share * (1.0 - self.share);
        // Requests that are all equal say as much as their values do.
        if variance > 0.0 { (spread / variance).min(all) } else { all }
    }

    /// The same with the dependence of requests on those before.
    fn n_in_effect_in_time(&self, p: f64, inflation: f64) -> f64 {
        let pairs = whole(&self.below).zip(whole(&self.count)).filter(|(_, count)| *count > 0.0);
        let surplus: Vec<f64> =
            pairs.map(|(below, count)| below - self.share_below * count).collect();
        self.n_in_effect(share_inflation(&surplus, &surplus, of_bulk(p, inflation)))
    }
}

impl Stated {
    /// What a document states of a measure. Of fewer requests than a verdict may rest on the
    /// deviation says too little as well.
    fn run(&self, run: usize) -> RunEvidence {
        let spread = match self.error {
            Some((error, freedom)) => Spread::Stated { error, freedom },
            None if self.is_uncounted => Spread::Uncounted,
            None => Spread::Unknown,
        };
        let n = self.n.filter(|_| self.error.is_some() && self.is_of_requests);
        let shortage =
            n.filter(|n| *n < REQUESTS_MIN).map(|n| Shortage::Values { n, needed: REQUESTS_MIN });
        RunEvidence { run, value: self.value, spread, n: self.n, shortage, disturbed: None }
    }
}

impl RunEvidence {
    /// The bounds of the value, each absent if unknown: for a percentile order statistics; for
    /// draws their percentiles, set further out if they rest on few requests; for a stated mean
    /// `mean ± t · s / sqrt(n)`, Student (1908).
    pub fn bounds(&self, confidence: f64) -> (Option<f64>, Option<f64>) {
        let Some(tail) = tail(confidence) else { return (None, None) };
        match &self.spread {
            Spread::Draws(draws, freedom) => {
                let found = bounds(self.value, draws.clone(), *freedom, confidence);
                (found.map(|found| found.low), found.map(|found| found.high))
            }
            Spread::Ranks(ranks) => {
                let (low, high) = ranks.bounds(tail);
                (low.map(|low| low.min(self.value)), high.map(|high| high.max(self.value)))
            }
            Spread::Stated { error, freedom } => {
                let reach = student_upper_quantile(tail, *freedom) * error;
                (Some(self.value - reach), Some(self.value + reach))
            }
            Spread::Uncounted | Spread::Unknown => (None, None),
        }
    }

    /// The bounds of a percentile; absent for anything else.
    pub fn ranks(&self) -> Option<&PercentileBounds> {
        match &self.spread {
            Spread::Ranks(ranks) => Some(ranks),
            _ => None,
        }
    }

    /// The same as a logarithm, with its variance and degrees of freedom; absent unless everything
    /// is above 0. For a stated mean the variance is `s^2 / (n mean^2)`, by the first-order
    /// expansion of the logarithm. Source: Hedges, Gurevitch and Curtis (1999), equation 1. For a
    /// percentile it is that of a normal value with its bounds, or with the one that it has.
    pub fn logarithm(&self) -> Option<(f64, f64, f64)> {
        if self.value <= 0.0 {
            return None;
        }
        let (variance, freedom) = match &self.spread {
            Spread::Draws(draws, freedom) => {
                if draws.len() < 2 || draws.iter().any(|draw| *draw <= 0.0) {
                    return None;
                }
                let logs: Vec<f64> = draws.iter().map(|draw| draw.ln()).collect();
                (ifm_metrics::stat::welch::Moments::of(&logs)?.variance?, freedom.max(1.0))
            }
            Spread::Ranks(ranks) => {
                let (low, high) = ranks.bounds(TAIL);
                let reach = |bound: f64| (bound.max(0.0) / self.value).ln().powi(2);
                let squares: Vec<f64> = [low, high].into_iter().flatten().map(reach).collect();
                let z = normal_upper_quantile(TAIL);
                let mean = squares.iter().sum::<f64>() / squares.len() as f64;
                (mean / (z * z), (ranks.in_effect - 1.0).max(1.0))
            }
            Spread::Stated { error, freedom } => ((error / self.value).powi(2), *freedom),
            Spread::Uncounted | Spread::Unknown => return None,
        };
        // What differs by less than the last digits of a number does not vary.
        let variance = if variance < 1e-24 { 0.0 } else { variance };
        variance.is_finite().then_some((self.value.ln(), variance, freedom))
    }
}

/// Bounds from draws: the percentiles at `P(z < -t(1 - alpha/2, freedom))`, which for many blocks is
/// alpha/2. Source: Hesterberg, "What teachers should know about the bootstrap" (2015), the expanded
/// percentile interval.
pub(crate) fn bounds(
    value: f64,
    mut draws: Vec<f64>,
    freedom: f64,
    confidence: f64,
) -> Option<Estimate> {
    if draws.is_empty() || freedom <= 0.0 {
        return None;
    }
    draws.sort_unstable_by(f64::total_cmp);
    let share = normal_below(-student_upper_quantile(tail(confidence)?, freedom));
    let low = percentile_of_sorted(&draws, share * 100.0)?;
    let high = percentile_of_sorted(&draws, (1.0 - share) * 100.0)?;
    Some(Estimate { value, low: low.min(value), high: high.max(value) })
}
