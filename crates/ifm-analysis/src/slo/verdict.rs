//! Whether a level is inside a latency target.
//!
//! Not here: goodput, which asks the terms of single requests, and answers over several levels.

use crate::measured::{Counts, Latencies, SessionsSummary};
use crate::request::{RequestMetrics, each_value};
use crate::stat::proportion::wilson;
use crate::stat::quantile::is_enough;
use crate::stat::special::{normal_upper_quantile, student_upper_quantile};
use crate::stat::{Distribution, Interval, Percentile};
use ifm_core::spec::{SloSpec, SloTerm};
use ifm_core::{Metric, RequestRecord};
use std::borrow::Cow;
use std::fmt;

/// A level with a larger share of failed requests is outside every target, regardless of its latencies.
pub const ERROR_RATE_MAX: f64 = 0.01;
/// Chance left out on each side of the interval of a mean.
const MEAN_TAIL: f64 = 0.025;
/// A mean of values without an interval needs as many as this percentile.
const MEAN_WORTH: f64 = 99.0;

/// Whether a level is inside the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictState {
    /// Every term holds.
    Pass,
    /// A term does not hold, or too many requests failed.
    Fail,
    /// No target was given, or the level has no value for one of its terms.
    Unknown,
}

impl fmt::Display for VerdictState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            VerdictState::Pass => "pass",
            VerdictState::Fail => "fail",
            VerdictState::Unknown => "unknown",
        })
    }
}

/// One term at one level.
#[derive(Debug, Clone, PartialEq)]
pub struct TermVerdict {
    /// The term.
    pub term: SloTerm,
    /// The percentile, or the mean, in the unit of the term's `limit_ms`; absent if the level has no
    /// value.
    pub value_ms: Option<f64>,
    /// Values in the population.
    pub n: u64,
    /// Pass if the percentile is at most the limit.
    pub state: VerdictState,
    /// Whether the 95 % interval of the percentile or mean is on the same side of the limit; for
    /// pooled gaps, which have no interval, whether there are enough of them.
    pub is_sure: bool,
}

/// The target at one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Over all terms and the errors.
    pub state: VerdictState,
    /// Whether the state would be the same if each percentile were anywhere within its interval. A
    /// level can fail surely by one term alone.
    pub is_sure: bool,
    /// Each term.
    pub terms: Vec<TermVerdict>,
    /// Whether more than [`ERROR_RATE_MAX`] of the requests failed.
    pub too_many_errors: bool,
}

impl Verdict {
    /// Leaves the values and says nothing about the target: a level that was cut off is not judged.
    pub(crate) fn withhold(&mut self) {
        (self.state, self.is_sure) = (VerdictState::Unknown, false);
        self.too_many_errors = false;
        for term in &mut self.terms {
            (term.state, term.is_sure) = (VerdictState::Unknown, false);
        }
    }

    /// The terms that fail.
    pub fn failing(&self) -> impl Iterator<Item = &TermVerdict> {
        self.terms.iter().filter(|term| term.state == VerdictState::Fail)
    }
}

/// What a level is judged by.
pub(crate) struct Evidence<'a> {
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

    /// Whether answers whose TPOT is not known could turn what the `n` known ones say: a percentile
    /// holds or fails with them as without them, or it is not known; of a mean nothing is known.
    fn is_open(&self, term: &SloTerm, n: u64, holds: bool) -> bool {
        let absent = self.latencies.tpot_absent.total();
        if absent == 0 {
            return false;
        }
        let Some(p) = term.percentile else { return true };
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

/// Judges one level.
pub(crate) fn judge(slo: &SloSpec, evidence: &Evidence) -> Verdict {
    let counts = evidence.counts;
    let terms: Vec<TermVerdict> = slo.terms.iter().map(|term| judge_term(term, evidence)).collect();
    let too_many_errors = counts.error_rate().is_some_and(|rate| rate > ERROR_RATE_MAX);
    let any = |state| terms.iter().any(|term| term.state == state);
    let state = if too_many_errors || any(VerdictState::Fail) {
        VerdictState::Fail
    } else if terms.is_empty() || any(VerdictState::Unknown) {
        VerdictState::Unknown
    } else {
        VerdictState::Pass
    };
    let is_sure = match state {
        VerdictState::Unknown => false,
        VerdictState::Pass => terms.iter().all(|term| term.is_sure),
        VerdictState::Fail => {
            too_many_errors
                || terms.iter().any(|term| term.state == VerdictState::Fail && term.is_sure)
        }
    };
    Verdict { state, is_sure, terms, too_many_errors }
}

fn judge_term(term: &SloTerm, evidence: &Evidence) -> TermVerdict {
    let shared = || evidence.sessions.and_then(failed_sessions);
    let of_values = || {
        evidence.population(term.metric).and_then(|population| {
            let bounded = match term.percentile {
                Some(p) => *population.percentile(p)?,
                None => mean(&population),
            };
            Some((population.n, bounded))
        })
    };
    let found = if term.metric == Metric::SessionFailed { shared() } else { of_values() };
    let Some((n, percentile)) = found else {
        let (term, state) = (term.clone(), VerdictState::Unknown);
        return TermVerdict { term, value_ms: None, n: 0, state, is_sure: false };
    };
    let limit = term.limit();
    let holds = percentile.value <= limit;
    if term.metric == Metric::Tpot && evidence.is_open(term, n, holds) {
        let (term, state) = (term.clone(), VerdictState::Unknown);
        return TermVerdict { term, value_ms: None, n, state, is_sure: false };
    }
    let is_sure = match percentile.interval {
        None => percentile.enough,
        Some(interval) if holds => interval.high.is_some_and(|high| high <= limit),
        Some(interval) => interval.low.is_some_and(|low| low > limit),
    };
    TermVerdict {
        term: term.clone(),
        value_ms: Some(term.in_ms(percentile.value)),
        n,
        state: if holds { VerdictState::Pass } else { VerdictState::Fail },
        is_sure,
    }
}

/// The share of sessions that failed in the form of a percentile, and of how many.
pub(crate) fn failed_sessions(sessions: &SessionsSummary) -> Option<(u64, Percentile)> {
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
pub(crate) fn mean(population: &Distribution) -> Percentile {
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
