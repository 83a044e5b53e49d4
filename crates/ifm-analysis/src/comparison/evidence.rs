//! What the requests of a level say about a measure: its value, and the values that the same level
//! might have had.
//!
//! Requests are drawn again in blocks, all measures from the same draw, so that what belongs
//! together stays together. What is not here: two sides, see [`contrast`](super::contrast).

use super::meaning::By;
use super::measure::{Measure, Over};
use super::sample::{Column, LevelSample, PooledPercentile, Rate, Stated, Told, Values};
use crate::stat::Estimate;
use crate::stat::blocks::BlockDraws;
use crate::stat::bootstrap::counted_percentile;
use crate::stat::quantile::{is_enough, needed_for, percentile_of_sorted};
use crate::stat::random::RandomStream;
use crate::stat::special::{normal_below, student_upper_quantile};
use crate::stat::welch::tail;
use ifm_core::words::counted;
use std::fmt;

/// Fewest requests that a verdict may rest on.
pub(crate) const REQUESTS_MIN: u64 = 20;
/// Fewest independent blocks of requests that a verdict may rest on; so few need a large difference,
/// by the t of their few degrees of freedom.
const BLOCKS_MIN: f64 = 5.0;
/// Request draws of one level at most: of long levels fewer draws are made, whose noise matters
/// less there.
const REQUEST_DRAWS_MAX: usize = 40_000_000;
/// Draws that are made however long the level is.
const RESAMPLES_MIN: u32 = 400;

/// Why a value cannot carry a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shortage {
    /// Too few values.
    Values {
        /// How many there are.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
    /// Requests that depend on those before them are, in effect, too few.
    Dependent {
        /// Requests in effect.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
    /// Two repeats: an interval of one degree of freedom says nothing.
    Repeats {
        /// How many there are.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
    /// Too few runs before this one.
    Runs {
        /// How many there are.
        n: u64,
        /// How many are needed.
        needed: u64,
    },
}

impl fmt::Display for Shortage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shortage::Values { n, needed } => write!(formatter, "n = {n}, {needed} are needed"),
            Shortage::Repeats { n, needed } => {
                write!(formatter, "{}, {needed} are needed", counted(*n, "repeat"))
            }
            Shortage::Runs { n, needed } => {
                write!(formatter, "{}, {needed} are needed", counted(*n, "run"))
            }
            Shortage::Dependent { n, needed } => write!(
                formatter,
                "values depend on those before: n = {n} in effect, {needed} are needed"
            ),
        }
    }
}

/// What is known of how far a value may be off.
#[derive(Debug, Clone)]
pub(crate) enum Spread {
    /// Values of draws, all the same where the requests do not vary; with the independent blocks of
    /// requests, less one.
    Draws(Vec<f64>, f64),
    /// The standard error of a mean, `s / sqrt(n)`, with `n - 1`: from the standard deviation and
    /// the number of values that a document states.
    Stated { error: f64, freedom: f64 },
    /// A deviation, over a number of values that the document does not state.
    Uncounted,
    /// Nothing: one number.
    Unknown,
}

impl Spread {
    /// Whether it tells how far the value may be off.
    pub fn is_known(&self) -> bool {
        matches!(self, Spread::Draws(..) | Spread::Stated { .. })
    }
}

/// What one run says about a measure at one load.
#[derive(Debug, Clone)]
pub(crate) struct RunEvidence {
    /// Place of the run in its side.
    pub run: usize,
    pub value: f64,
    pub spread: Spread,
    /// Values behind it; absent where a document does not tell.
    pub n: Option<u64>,
    pub shortage: Option<Shortage>,
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
pub(crate) struct Known {
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

/// What one level of one run says about each of its measures. `name` keeps its draws apart from
/// those of other levels; `run` is the run's place in its side.
pub(crate) fn evidence(
    sample: &LevelSample,
    drawing: Drawing,
    run: usize,
    name: &str,
) -> Vec<Known> {
    let requests = Units { n: sample.requests, block: sample.block, columns: &sample.columns };
    let mut known = requests.evidence(drawing, run, name);
    if let Some(of) = &sample.sessions {
        let sessions = Units { n: of.sessions, block: of.block, columns: &of.columns };
        known.extend(sessions.evidence(drawing, run, &format!("{name} sessions")));
    }
    known
}

/// What is drawn again: requests, or sessions.
struct Units<'s> {
    n: usize,
    block: f64,
    columns: &'s [Told],
}

impl Units<'_> {
    fn evidence(&self, drawing: Drawing, run: usize, name: &str) -> Vec<Known> {
        let stream = RandomStream::named(drawing.seed, name);
        let mut noise = RandomStream::named(drawing.seed, &format!("{name} arrivals"));
        let mut draws = BlockDraws::new(self.n, self.block, stream);
        let resamples = u32::try_from(REQUEST_DRAWS_MAX / self.n.max(1)).unwrap_or(u32::MAX);
        let resamples = drawing.resamples.min(resamples.max(RESAMPLES_MIN));
        let resamples = if self.n > 0 { resamples } else { 0 };
        let mut found: Vec<Vec<f64>> =
            self.columns.iter().map(|_| Vec::with_capacity(resamples as usize)).collect();
        let mut counts = Vec::new();
        for _ in 0..resamples {
            draws.draw(&mut counts);
            let surprise = noise.normal();
            for (told, found) in self.columns.iter().zip(&mut found) {
                found.extend(told.column.drawn(&counts, surprise));
            }
        }
        let blocks = self.n as f64 / self.block;
        let freedom = blocks - 1.0;
        // Blocks of one request cut through nothing.
        let stretch = if self.block > 1.0 { (1.0 + blocks.recip().sqrt()).sqrt() } else { 1.0 };
        let columns = self.columns.iter().zip(found);
        columns
            .filter_map(|(told, draws)| {
                let evidence = match &told.column {
                    Column::Share { hits, n } => Evidence::Share { hits: *hits, n: *n },
                    Column::Stated(stated) => Evidence::Runs(vec![stated.run(run)]),
                    column => {
                        let draws = column.stretched(draws, stretch);
                        Evidence::Runs(vec![column.run(told.measure, run, draws, freedom)?])
                    }
                };
                Some(Known { measure: told.measure, by: told.by.clone(), evidence })
            })
            .collect()
    }
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

    /// The value of a draw; absent where a draw holds no value at all. `surprise` is a standard
    /// normal number.
    fn drawn(&self, counts: &[u32], surprise: f64) -> Option<f64> {
        match self {
            Column::Values(values) => values.drawn(counts),
            Column::PooledPercentile(pooled) => pooled.drawn(counts),
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
            Column::Share { .. } | Column::Stated(_) => None,
        }
    }

    /// Draws set further from the value. Blocks cut through the dependence at their ends, so that
    /// draws vary too little: in variance by the share `G / (b g)`, which with the length b that
    /// [`block_length`](crate::stat::blocks::block_length) chooses is `sqrt(b / n)`. Source: Politis
    /// and White (2004), lemma 3.1.
    fn stretched(&self, draws: Vec<f64>, by: f64) -> Vec<f64> {
        let Some(value) = self.value() else { return draws };
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
        freedom: f64,
    ) -> Option<RunEvidence> {
        let value = self.value()?;
        let n = Some(self.n());
        let shortage = self.shortage(measure, freedom);
        Some(RunEvidence { run, value, spread: Spread::Draws(draws, freedom), n, shortage })
    }

    /// Number of values behind it.
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

    fn shortage(&self, measure: Measure, freedom: f64) -> Option<Shortage> {
        let requests = self.requests();
        if requests < REQUESTS_MIN {
            return Some(Shortage::Values { n: requests, needed: REQUESTS_MIN });
        }
        if let Some(p) = measure.percentile() {
            let n = match self {
                Column::PooledPercentile(pooled) => pooled.n_in_effect(),
                other => other.n(),
            };
            let needed = needed_for(p);
            if !is_enough(n, p) {
                return Some(match self {
                    Column::PooledPercentile(_) if is_enough(self.n(), p) => {
                        Shortage::Dependent { n, needed }
                    }
                    _ => Shortage::Values { n: self.n(), needed },
                });
            }
        }
        let blocks = freedom + 1.0;
        (blocks < BLOCKS_MIN)
            .then_some(Shortage::Dependent { n: blocks as u64, needed: BLOCKS_MIN as u64 })
    }
}

impl Values {
    fn value(&self) -> Option<f64> {
        match self.over {
            Over::Mean => Some(self.sorted.iter().sum::<f64>() / self.sorted.len() as f64),
            Over::Percentile(p) => percentile_of_sorted(&self.sorted, p),
            Over::Value => None,
        }
    }

    fn drawn(&self, counts: &[u32]) -> Option<f64> {
        let taken = || self.owner.iter().map(|owner| taken(counts, *owner));
        let n: u64 = taken().map(|count| u64::from(*count)).sum();
        if n == 0 {
            return None;
        }
        match self.over {
            Over::Mean => {
                let sum: f64 =
                    self.sorted.iter().zip(taken()).map(|(v, count)| v * f64::from(*count)).sum();
                Some(sum / n as f64)
            }
            Over::Percentile(p) => Some(counted_percentile(self.sorted.iter().zip(taken()), n, p)),
            Over::Value => None,
        }
    }
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
    /// The percentile of a draw by Bahadur's (1966) representation: where the draw has more values
    /// below the percentile than the level, its own percentile lies as much lower.
    fn drawn(&self, counts: &[u32]) -> Option<f64> {
        let n = sum(counts, whole(&self.count));
        let below = sum(counts, whole(&self.below));
        let surplus = below / n - self.share_below;
        (n > 0.0).then(|| self.at((self.share - surplus).clamp(0.0, 1.0)))
    }

    /// Independent values that would tell the share as surely: `p (1 - p) / error^2`. Source: Kish,
    /// "Survey Sampling" (1965).
    fn n_in_effect(&self) -> u64 {
        let all = whole(&self.count).sum::<f64>();
        let variance = self.share_variance();
        let spread = self.share * (1.0 - self.share);
        // Requests that are all alike say as much as their values do.
        if variance > 0.0 { (spread / variance).min(all) as u64 } else { all as u64 }
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
        RunEvidence { run, value: self.value, spread, n: self.n, shortage }
    }
}

impl RunEvidence {
    /// The interval of the value: percentiles of the draws, set further out where few blocks stand
    /// behind them; for a stated mean `mean ± t · s / sqrt(n)`, Student (1908).
    pub fn interval(&self, confidence: f64) -> Option<Estimate> {
        match &self.spread {
            Spread::Draws(draws, freedom) => {
                bounds(self.value, draws.clone(), *freedom, confidence)
            }
            Spread::Stated { error, freedom } => {
                let reach = student_upper_quantile(tail(confidence)?, *freedom) * error;
                Some(Estimate {
                    value: self.value,
                    low: self.value - reach,
                    high: self.value + reach,
                })
            }
            Spread::Uncounted | Spread::Unknown => None,
        }
    }

    /// The same as a logarithm, with its variance and degrees of freedom; absent unless everything
    /// is above 0. For a stated mean the variance is `s^2 / (n mean^2)`, by the first-order
    /// expansion of the logarithm. Source: Hedges, Gurevitch and Curtis (1999), equation 1.
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
                (crate::stat::welch::Moments::of(&logs)?.variance?, freedom.max(1.0))
            }
            Spread::Stated { error, freedom } => ((error / self.value).powi(2), *freedom),
            Spread::Uncounted | Spread::Unknown => return None,
        };
        // What differs by less than the last digits of a number does not vary.
        Some((self.value.ln(), if variance < 1e-24 { 0.0 } else { variance }, freedom))
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
