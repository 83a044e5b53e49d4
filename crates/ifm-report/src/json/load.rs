//! What many objects have: distributions, figures over repeats, loads and terms of a target.

use super::objects;
use ifm_core::spec::Asked;
use ifm_metrics::level::{CountSources, Load};
use ifm_metrics::repeats;
use ifm_metrics::slo::{self, VerdictState};
use ifm_metrics::stat;
use serde::Serialize;
use std::collections::BTreeMap;

/// Nanoseconds in a second.
pub(super) const NS_PER_S: f64 = 1e9;

/// Seconds in a nanosecond.
pub(super) const S: f64 = 1e-9;

/// A load as a number without its unit.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(super) enum LoadNumber {
    Users(u32),
    ReqPerS(f64),
}

/// A load as a number without its unit.
pub(super) fn number_of(load: Load) -> LoadNumber {
    match load {
        Load::Users(users) => LoadNumber::Users(users),
        Load::ReqPerS(rate) => LoadNumber::ReqPerS(rate),
    }
}

/// Users of a load of users.
pub(super) fn users_of(load: Option<Load>) -> Option<u32> {
    match load? {
        Load::Users(users) => Some(users),
        Load::ReqPerS(_) => None,
    }
}

/// Requests per second of a load that is a rate.
pub(super) fn rate_of(load: Option<Load>) -> Option<f64> {
    match load? {
        Load::ReqPerS(rate) => Some(rate),
        Load::Users(_) => None,
    }
}

/// Whether the target is kept.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Pass,
    Fail,
    Unknown,
}

impl From<VerdictState> for State {
    fn from(state: VerdictState) -> State {
        match state {
            VerdictState::Pass => State::Pass,
            VerdictState::Fail => State::Fail,
            VerdictState::Unknown => State::Unknown,
        }
    }
}

/// A distribution of nanoseconds in seconds.
pub(super) fn seconds<'f>(
    found: impl Into<Option<&'f stat::Distribution>>,
) -> Option<Distribution> {
    found.into().map(|found| Distribution::from((found, NS_PER_S)))
}

/// A distribution in its own unit.
pub(super) fn plain<'f>(found: impl Into<Option<&'f stat::Distribution>>) -> Option<Distribution> {
    found.into().map(|found| Distribution::from((found, 1.0)))
}

/// The speed of a user, where a term is about one, tokens per second.
fn speed(asked: Asked) -> Option<f64> {
    if let Asked::TokPerS(speed) = asked { Some(speed) } else { None }
}

/// A ratio, where a term is about one.
fn ratio(asked: Asked) -> Option<f64> {
    if let Asked::Ratio(ratio) = asked { Some(ratio) } else { None }
}

/// A share, where a term is about one.
fn share(asked: Asked) -> Option<f64> {
    if let Asked::Share(share) = asked { Some(share) } else { None }
}

/// A figure over repeats, times `scale`.
pub(super) fn between(figure: &Option<repeats::Between>, scale: f64) -> Option<Between> {
    figure.as_ref().map(|figure| Between::from((figure, scale)))
}

/// Requests by who counted their tokens.
pub(super) fn sources(sources: &CountSources) -> BTreeMap<&'static str, u64> {
    let known = sources.by_source.iter().map(|(source, requests)| (source.word(), *requests));
    known.chain((sources.unknown > 0).then_some(("unknown", sources.unknown))).collect()
}

/// `p99`.
fn name(percentile: &stat::distribution::Percentile) -> String {
    format!("p{}", percentile.p)
}

// Dividing, so that seconds come out exactly where nanoseconds allow.
objects! {
    /// A population of values; the field name contains the unit.
    #[cfg_attr(feature = "schema", schemars(transform = crate::schema::percentiles_are_fields))]
    Distribution of given: (&stat::Distribution, f64) {
        /// Values.
        n: u64 = given.0.n,
        /// Arithmetic mean.
        mean: f64 = given.0.mean / given.1,
        /// Sample standard deviation (n - 1); absent for one value.
        std: Option<f64> = given.0.std.map(|std| std / given.1),
        /// Smallest.
        min: f64 = given.0.min / given.1,
        /// Largest.
        max: f64 = given.0.max / given.1,
        /// Percentiles, by linear interpolation between order statistics: `p50`, `p99`.
        #[serde(flatten)]
        percentiles: BTreeMap<String, f64> =
            given.0.percentiles.iter().map(|found| (name(found), found.value / given.1)).collect(),
        /// Intervals of percentiles, 95 %, by order statistics; an end is absent where the values
        /// are too few for it.
        ci95: BTreeMap<String, Ends> = given.0.percentiles.iter()
            .filter_map(|found| Some((name(found), Ends::from((found.interval?, given.1)))))
            .collect(),
        /// Percentiles with fewer than ten values expected beyond them.
        thin: Vec<String> =
            given.0.percentiles.iter().filter(|found| !found.enough).map(name).collect(),
    }

    /// Ends of an interval.
    Ends of given: (stat::Interval, f64) {
        /// Lower end.
        low: Option<f64> = given.0.low.map(|low| low / given.1),
        /// Upper end.
        high: Option<f64> = given.0.high.map(|high| high / given.1),
    }

    /// A figure over the repeats of a load.
    Between of given: (&repeats::Between, f64) {
        /// Repeats that have the figure.
        n: u32 = given.0.n,
        /// Mean of the repeats.
        mean: f64 = given.0.mean * given.1,
        /// Smallest of the repeats.
        min: f64 = given.0.min * given.1,
        /// Largest of the repeats.
        max: f64 = given.0.max * given.1,
        /// Lower bound of the 95 % interval of the mean; absent for fewer than three repeats.
        low: Option<f64> = given.0.interval.map(|(low, _)| low * given.1),
        /// Upper bound of it.
        high: Option<f64> = given.0.interval.map(|(_, high)| high * given.1),
    }

    /// The latency target, compared with what was measured.
    Verdict of verdict: &slo::Verdict {
        /// Whether the target is kept.
        state: State = verdict.state.into(),
        /// Whether every interval lies on one side of its bound.
        is_sure: bool = verdict.is_sure,
        /// Whether more failed than any target allows.
        too_many_errors: bool = verdict.too_many_errors,
        /// Its terms.
        terms: Vec<Term> = verdict.terms.iter().map(Term::from).collect(),
    }

    /// One term of a latency target, compared with what was measured.
    Term of term: &slo::TermVerdict {
        /// Metric: `ttft`, `itl`, `tpot`, `e2e`, `ttfa`, `rtf`, `session`, `session_uncached`,
        /// `session_failed`.
        metric: &'static str = term.term.metric.word(),
        /// Which statistic of the metric is bounded: `p99`, `mean`, or `share`.
        over: String = term.term.over(),
        /// Percentile, above 0 and at most 100; absent for the mean.
        percentile: Option<f64> = term.term.percentile,
        /// Upper bound, seconds; of `rtf` and `rtf_heard` seconds for each second of audio; of shares
        /// from 0 to 1.
        limit_s: f64 = term.term.limit_ms / 1e3,
        /// Measured percentile or mean, likewise; absent where nothing was measured.
        value_s: Option<f64> = term.value_ms.map(|value| value / 1e3),
        /// Least speed of a user, tokens per second, where the term was asked for as a speed: P10 of
        /// it is P90 of `tpot`.
        speed_min_tok_per_s: Option<f64> = speed(term.term.limit_shown()),
        /// The measured speed, tokens per second, where it was asked for as a speed.
        speed_tok_per_s: Option<f64> = term.value_ms.and_then(|ms| speed(term.term.shown(ms))),
        /// Least RTFx of a request, where the term was asked for so: P10 of it is P90 of `rtf_heard`.
        rtfx_min: Option<f64> = term.term.speed_min.and(ratio(term.term.limit_shown())),
        /// The measured RTFx, where it was asked for.
        rtfx: Option<f64> = term.term.speed_min.and(term.value_ms).and_then(|ms| ratio(term.term.shown(ms))),
        /// Least share, 0 to 1, where the term was asked for so: `session_ok` is the rest of
        /// `session_failed`, and P10 of `session_cached` that of P90 of `session_uncached`.
        share_min: Option<f64> = term.term.speed_min.and(share(term.term.limit_shown())),
        /// The measured share, where a least one was asked for.
        share: Option<f64> = term.term.speed_min.and(term.value_ms).and_then(|ms| share(term.term.shown(ms))),
        /// Values.
        n: u64 = term.n.unwrap_or(0),
        /// Whether the term is kept.
        state: State = term.state.into(),
        /// Whether the interval of the percentile or mean lies on one side of the bound.
        is_sure: bool = term.is_sure,
    }
}
