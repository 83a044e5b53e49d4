//! What the requests of a level say to the judge of a latency target.
//!
//! Not here: the judge, see `judge.rs`.

use super::judge::{Bounded, Known};
use crate::measured::{Counts, Latencies, SessionsSummary};
use crate::request::{RequestMetrics, each_value};
use crate::stat::proportion::wilson;
use crate::stat::quantile::is_enough;
use crate::stat::special::{normal_upper_quantile, student_upper_quantile};
use crate::stat::{Distribution, Interval, Percentile};
use ifm_core::sheet::Statistic;
use ifm_core::spec::SloTerm;
use ifm_core::{Metric, RequestRecord};
use std::borrow::Cow;

/// Chance left out on each side of the interval of a mean.
const MEAN_TAIL: f64 = 0.025;
/// A mean of values without an interval needs as many as this percentile.
const MEAN_WORTH: f64 = 99.0;

/// What a level is judged by.
pub struct Evidence<'a> {
    /// Latencies of the judged requests.
    pub latencies: &'a Latencies,
    /// The judged requests.
    pub requests: &'a [&'a RequestRecord],
    /// The percentiles to compute, including the target's percentiles.
    pub percentiles: &'a [f64],
    /// All requests of the level.
    pub counts: &'a Counts,
    /// Its sessions; absent if requests are independent, and if no term is about sessions.
    pub sessions: Option<&'a SessionsSummary>,
}

impl Evidence<'_> {
    /// The population that a metric of a target refers to. If requests had due times, the waits
    /// (TTFT, TTFA and E2E) count from them: a limit is about how long a user waits, not how long
    /// the client let the server work.
    fn population(&self, metric: Metric) -> Option<Cow<'_, Distribution>> {
        let known = match metric {
            Metric::Session => self.sessions.and_then(|sessions| sessions.duration_ns.as_ref()),
            Metric::SessionUncached => {
                let values = self.sessions?.uncached();
                return Distribution::from_values(values, self.percentiles).map(Cow::Owned);
            }
            _ => self.latencies.waited(metric),
        };
        known.map(Cow::Borrowed)
    }
}

impl Known for Evidence<'_> {
    fn number(&self, term: &SloTerm, statistic: Statistic) -> Option<Bounded> {
        let (n, found) = if term.metric == Metric::SessionFailed {
            self.sessions.and_then(failed_sessions)?
        } else {
            let population = self.population(term.metric)?;
            let found = match statistic {
                Statistic::Mean => mean(&population),
                Statistic::Median => *population.percentile(50.0)?,
                Statistic::Percentile(p) => *population.percentile(p)?,
                _ => return None,
            };
            (population.n, found)
        };
        let bound = |bound: Option<f64>| bound.map(|bound| term.in_ms(bound));
        Some(Bounded {
            value: term.in_ms(found.value),
            low: bound(found.interval.and_then(|interval| interval.low)),
            high: bound(found.interval.and_then(|interval| interval.high)),
            n: Some(n),
            is_enough: found.enough,
            needs_bounds: found.interval.is_some(),
        })
    }

    fn error_rate(&self) -> Option<f64> {
        self.counts.error_rate()
    }

    /// Answers whose TPOT is not known: a percentile holds or fails with them as without them, or it is
    /// not known; of a mean nothing is known.
    fn is_open(&self, term: &SloTerm, found: &Bounded, holds: bool) -> bool {
        let absent = self.latencies.tpot_absent.total();
        if absent == 0 || term.metric != Metric::Tpot {
            return false;
        }
        let Some((p, n)) = term.percentile.zip(found.n) else { return true };
        let mut within = 0;
        for record in self.requests.iter().filter(|record| record.outcome.is_ok()) {
            each_value(record, &RequestMetrics::derive(record), Metric::Tpot, |value, _| {
                within += u64::from(value <= term.limit());
            });
        }
        let worst = if holds { within } else { within + absent };
        let share = worst as f64 / (n + absent) as f64;
        holds != (share >= p / 100.0)
    }
}

/// The share of sessions that failed in the form of a percentile, and of how many.
pub fn failed_sessions(sessions: &SessionsSummary) -> Option<(u64, Percentile)> {
    let n = sessions.ended_by_themselves();
    let failed = n.saturating_sub(sessions.complete());
    let share = (n > 0).then(|| failed as f64 / n as f64)?;
    let estimate = wilson(share, n as f64, normal_upper_quantile(MEAN_TAIL));
    let interval = Interval { low: Some(estimate.low), high: Some(estimate.high) };
    let enough = is_enough(n, MEAN_WORTH);
    Some((n, Percentile { p: MEAN_WORTH, value: share, enough, interval: Some(interval) }))
}

/// The mean of a population in the form of a percentile. Values that depend on each other, such as
/// gaps, have no interval, and then it takes a thousand of them.
pub fn mean(population: &Distribution) -> Percentile {
    let is_independent =
        population.percentiles.first().is_some_and(|percentile| percentile.interval.is_some());
    let error = population.std.map(|std| std / (population.n as f64).sqrt());
    let reach = error.map(|error| {
        student_upper_quantile(MEAN_TAIL, population.n.saturating_sub(1).max(1) as f64) * error
    });
    Percentile {
        p: MEAN_WORTH,
        value: population.mean,
        enough: is_enough(population.n, MEAN_WORTH),
        interval: is_independent.then(|| Interval {
            low: reach.map(|reach| population.mean - reach),
            high: reach.map(|reach| population.mean + reach),
        }),
    }
}
