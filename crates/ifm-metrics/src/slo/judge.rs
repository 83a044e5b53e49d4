//! The judge: whether what is known of a load is inside a latency target.
//!
//! The levels of a run and the rows of a document are judged here and nowhere else; they differ in what
//! they know, which is what [`Known`] asks them. Not here: goodput, which asks the terms of single
//! requests, and which load is the largest that fits.

use ifm_core::sheet::Statistic;
use ifm_core::spec::{SloSpec, SloTerm};
use std::fmt;

/// A level with a larger share of failed requests is outside every target, regardless of its latencies.
pub const ERROR_RATE_MAX: f64 = 0.01;

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
    /// The number that decided, mostly the bounded percentile or mean itself, in the unit of the
    /// term's `limit_ms`; absent if nothing decides it.
    pub value_ms: Option<f64>,
    /// Values in the population; absent if their number is unknown.
    pub n: Option<u64>,
    /// Pass if the bounded number is at most the limit.
    pub state: VerdictState,
    /// Whether the 95 % interval of the number is on the same side of the limit; for pooled gaps,
    /// which have no interval, whether there are enough of them.
    pub is_sure: bool,
}

/// The target at one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Over all terms and the errors.
    pub state: VerdictState,
    /// Whether the state would be the same if each number were anywhere within its interval. A
    /// level can fail surely by one term alone.
    pub is_sure: bool,
    /// Each term.
    pub terms: Vec<TermVerdict>,
    /// Whether more than [`ERROR_RATE_MAX`] of the requests failed.
    pub too_many_errors: bool,
}

impl Verdict {
    /// Leaves the values and says nothing about the target: a level that was cut off is not judged.
    pub fn withhold(&mut self) {
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

/// A number that a term may be judged by, and its bounds, in the unit of the term's `limit_ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    pub value: f64,
    /// Bounds with 95 % confidence; absent if unknown.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Size of the population; absent if unknown.
    pub n: Option<u64>,
    /// Whether the population is large enough for the number.
    pub is_enough: bool,
    /// Whether the number proves nothing without bounds.
    pub needs_bounds: bool,
}

impl Bounded {
    /// Whether the bounds lie on one side of the limit. Pooled gaps of a run have none: for them their
    /// number counts.
    fn is_sure(&self, limit: f64) -> bool {
        match (self.low, self.high) {
            (None, None) => !self.needs_bounds && self.is_enough,
            (_, high) if self.value <= limit => high.is_some_and(|high| high <= limit),
            (low, _) => low.is_some_and(|low| low > limit),
        }
    }
}

/// What is known of a load.
pub trait Known {
    /// A statistic of the metric of a term.
    fn number(&self, term: &SloTerm, statistic: Statistic) -> Option<Bounded>;

    /// Failed requests over all that were sent, 0 to 1.
    fn error_rate(&self) -> Option<f64>;

    /// Whether requests of which nothing is known could turn the verdict of a term.
    fn is_open(&self, term: &SloTerm, found: &Bounded, holds: bool) -> bool;
}

/// Judges what is known of a load.
pub fn judge(slo: &SloSpec, known: &impl Known) -> Verdict {
    let terms: Vec<TermVerdict> = slo.terms.iter().map(|term| judge_term(term, known)).collect();
    let too_many_errors = known.error_rate().is_some_and(|rate| rate > ERROR_RATE_MAX);
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

fn judge_term(term: &SloTerm, known: &impl Known) -> TermVerdict {
    let Some(found) = deciding(term, known) else {
        let (term, state) = (term.clone(), VerdictState::Unknown);
        return TermVerdict { term, value_ms: None, n: None, state, is_sure: false };
    };
    let holds = found.value <= term.limit_ms;
    if known.is_open(term, &found, holds) {
        let (term, state) = (term.clone(), VerdictState::Unknown);
        return TermVerdict { term, value_ms: None, n: found.n, state, is_sure: false };
    }
    TermVerdict {
        term: term.clone(),
        value_ms: Some(found.value),
        n: found.n,
        state: if holds { VerdictState::Pass } else { VerdictState::Fail },
        is_sure: found.is_sure(term.limit_ms),
    }
}

/// The number that decides a term: the bounded one. If it is not reported, a lower percentile beyond the
/// limit, or a higher one within, decides as well.
fn deciding(term: &SloTerm, known: &impl Known) -> Option<Bounded> {
    let find = |statistic| known.number(term, statistic);
    if let Some(found) = find(term.statistic()) {
        return Some(found);
    }
    // Nothing but the mean says how large a mean is, if not the largest of all values.
    let asked = term.percentile.unwrap_or(100.0);
    let is_mean = term.percentile.is_none();
    let below = [50.0, 75.0, 90.0, 95.0, 99.0].into_iter().filter(|p| *p < asked && !is_mean);
    let mut below = below.map(Statistic::percentile).filter_map(find);
    let above = [95.0, 99.0, 99.9].into_iter().filter(|p| *p > asked);
    let mut above = above.map(Statistic::percentile).chain([Statistic::Max]).filter_map(find);
    below
        .find(|low| low.value > term.limit_ms)
        .or_else(|| above.find(|high| high.value <= term.limit_ms))
}
