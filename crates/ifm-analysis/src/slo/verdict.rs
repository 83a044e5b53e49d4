//! Whether a level is inside a latency target.
//!
//! Not here: goodput, which asks the terms of single requests, and answers over several levels.

use crate::measured::{Counts, Latencies};
use crate::stat::quantile::is_enough;
use crate::stat::special::student_upper_quantile;
use crate::stat::{Distribution, Interval, Percentile};
use ifm_core::Metric;
use ifm_core::spec::{SloSpec, SloTerm};
use std::fmt;

/// A level with a larger share of failed requests is outside every target, whatever its latencies.
pub const ERROR_RATE_MAX: f64 = 0.01;
const NS_PER_MS: f64 = 1e6;
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
    /// The percentile, or the mean, milliseconds; absent if the level has no value.
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
    /// Whether the state would stand if each percentile were anywhere within its interval. A level
    /// can fail surely by one term alone.
    pub is_sure: bool,
    /// Each term.
    pub terms: Vec<TermVerdict>,
    /// Whether more than [`ERROR_RATE_MAX`] of the requests failed.
    pub too_many_errors: bool,
}

impl Verdict {
    /// The terms that fail.
    pub fn failing(&self) -> impl Iterator<Item = &TermVerdict> {
        self.terms.iter().filter(|term| term.state == VerdictState::Fail)
    }
}

/// The population that a metric of a target refers to. Where requests had due times, TTFT and E2E
/// count from them: what a limit is for is how long somebody waits, not how long the client let the
/// server work.
pub(crate) fn population(metric: Metric, latencies: &Latencies) -> Option<&Distribution> {
    match metric {
        Metric::Ttft => latencies.ttft_ns_from_due.as_ref().or(latencies.ttft_ns.as_ref()),
        Metric::Ttfat => latencies.ttfat_ns.as_ref(),
        Metric::Itl => latencies.gap_ns.as_ref(),
        Metric::Tpot => latencies.tpot_ns.as_ref().or(latencies.tpot_ns_estimated.as_ref()),
        Metric::E2e => latencies.e2e_ns_from_due.as_ref().or(latencies.e2e_ns.as_ref()),
        _ => None,
    }
}

/// Judges one level.
pub(crate) fn judge(slo: &SloSpec, latencies: &Latencies, counts: &Counts) -> Verdict {
    let terms: Vec<TermVerdict> =
        slo.terms.iter().map(|term| judge_term(term, latencies)).collect();
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

fn judge_term(term: &SloTerm, latencies: &Latencies) -> TermVerdict {
    let found = population(term.metric, latencies).and_then(|population| {
        let bounded = match term.percentile {
            Some(p) => *population.percentile(p)?,
            None => mean(population),
        };
        Some((population.n, bounded))
    });
    let Some((n, percentile)) = found else {
        let (term, state) = (term.clone(), VerdictState::Unknown);
        return TermVerdict { term, value_ms: None, n: 0, state, is_sure: false };
    };
    let limit_ns = term.limit_ms * NS_PER_MS;
    let holds = percentile.value <= limit_ns;
    let is_sure = match percentile.interval {
        None => percentile.enough,
        Some(interval) if holds => interval.high.is_some_and(|high| high <= limit_ns),
        Some(interval) => interval.low.is_some_and(|low| low > limit_ns),
    };
    TermVerdict {
        term: term.clone(),
        value_ms: Some(percentile.value / NS_PER_MS),
        n,
        state: if holds { VerdictState::Pass } else { VerdictState::Fail },
        is_sure,
    }
}

/// The mean of a population in the form of a percentile. Values that depend on each other, such as
/// gaps, have no interval, and then it takes a thousand of them.
fn mean(population: &Distribution) -> Percentile {
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
