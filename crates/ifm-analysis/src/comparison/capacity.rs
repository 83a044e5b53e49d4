//! The largest load inside a latency target, on both sides: capacity at equal latency.
//!
//! Between the last load inside and the first one outside, the crossing is read on a straight line
//! of logarithms, and marked. What is not here: loads that were never measured on either end.

use super::contrast::cell;
use super::measure::Measure;
use super::side::{AtLoad, terms};
use crate::level::Load;
use crate::slo::ERROR_RATE_MAX;
use ifm_core::Metric;
use ifm_core::spec::SloSpec;

ifm_core::vocabulary! {
    /// What is known of a side's capacity.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CapacityState {
        /// It lies between two measured loads.
        Found = "found",
        /// Every measured load is inside.
        AtLeast = "at_least",
        /// The lowest measured load is outside.
        Below = "below",
        /// A load has no value for a term of the target.
        Unknown = "unknown",
    }
}

/// The capacity of one side, in users or requests per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity {
    /// What is known.
    pub state: CapacityState,
    /// The load: read between two measured ones if found, else the measured one that bounds it.
    pub load: Option<f64>,
    /// The largest load that is inside even at the upper bounds of the intervals; absent if none
    /// is.
    pub low: Option<f64>,
    /// The largest load that is inside at the lower bounds; absent if all are.
    pub high: Option<f64>,
    /// The last measured load inside and the first one outside.
    pub between: Option<(f64, f64)>,
    /// The term that is broken first; absent if too many requests fail.
    pub limited_by: Option<Measure>,
}

/// The capacities of two sides at the same target.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityPair {
    /// The target.
    pub slo: SloSpec,
    /// Whether the loads are requests per second; otherwise users.
    pub is_rate: bool,
    /// First side.
    pub a: Capacity,
    /// Second side.
    pub b: Capacity,
    /// Second over first, if both were found.
    pub ratio: Option<f64>,
}

/// Compares capacities; absent without a target, and where the sides' loads are of other kinds.
pub(crate) fn compare_capacity(
    slo: &SloSpec,
    a: &[AtLoad],
    b: &[AtLoad],
    confidence: f64,
) -> Option<CapacityPair> {
    let (first, second) = (a.first()?, b.first()?);
    let all_alike = |side: &[AtLoad]| side.iter().all(|at| at.at.is_same_kind(&first.at));
    if slo.terms.is_empty() || !first.at.is_same_kind(&second.at) || !all_alike(a) || !all_alike(b)
    {
        return None;
    }
    let is_rate = matches!(first.at.load, Some(Load::ReqPerS(_)));
    let (a, b) = (capacity(slo, a, confidence), capacity(slo, b, confidence));
    let ratio = match (a.state, b.state, a.load, b.load) {
        (CapacityState::Found, CapacityState::Found, Some(a), Some(b)) => Some(b / a),
        _ => None,
    };
    Some(CapacityPair { slo: slo.clone(), is_rate, a, b, ratio })
}

/// Which number of a value is compared with the limit.
#[derive(Clone, Copy)]
enum End {
    Value,
    Low,
    High,
}

/// A crossing of the target.
struct Crossing {
    state: CapacityState,
    load: Option<f64>,
    between: Option<(f64, f64)>,
    limited_by: Option<Measure>,
}

fn capacity(slo: &SloSpec, side: &[AtLoad], confidence: f64) -> Capacity {
    let at = |end: End| crossing(slo, side, confidence, end);
    let found = at(End::Value);
    // The upper bounds of the latencies break the target earlier.
    let (low, high) = (at(End::High), at(End::Low));
    let bound = |crossing: &Crossing, state| {
        crossing.load.filter(|_| crossing.state == state || crossing.state == CapacityState::Found)
    };
    Capacity {
        state: found.state,
        load: found.load,
        low: bound(&low, CapacityState::AtLeast),
        high: bound(&high, CapacityState::Below),
        between: found.between,
        limited_by: found.limited_by,
    }
}

/// One term at one load: its number, or whether it is broken without one.
fn number(at: &AtLoad, measure: Measure, confidence: f64, end: End) -> Option<f64> {
    let cell = cell(at.evidence(measure)?, confidence)?;
    // With one bound alone the other end is not known, and is not the value.
    let end_of = |own: Option<f64>, other: Option<f64>| match (own, other) {
        (None, Some(_)) => None,
        (own, _) => Some(own.unwrap_or(cell.value)),
    };
    match end {
        End::Value => Some(cell.value),
        End::Low => end_of(cell.low, cell.high),
        End::High => end_of(cell.high, cell.low),
    }
}

fn crossing(slo: &SloSpec, side: &[AtLoad], confidence: f64, end: End) -> Crossing {
    let unknown =
        || Crossing { state: CapacityState::Unknown, load: None, between: None, limited_by: None };
    let mut inside: Option<&AtLoad> = None;
    for at in side {
        let errors = number(at, Measure::value_of(Metric::ErrorRate), confidence, End::Value);
        let too_many_errors = errors.is_some_and(|rate| rate > ERROR_RATE_MAX);
        let mut broken: Option<(Measure, f64)> = None;
        for (measure, limit) in terms(slo) {
            let value = number(at, measure, confidence, end);
            let Some(value) = value else {
                // Without a complete answer there is no latency, but the errors decide.
                if too_many_errors {
                    continue;
                }
                return unknown();
            };
            if value > limit {
                let load = crossed(inside, at, measure, (limit, value), (confidence, end));
                if broken.is_none_or(|(_, known)| load < known) {
                    broken = Some((measure, load));
                }
            }
        }
        if broken.is_none() && !too_many_errors {
            inside = Some(at);
            continue;
        }
        let Some(last) = inside else {
            return Crossing {
                state: CapacityState::Below,
                load: Some(at.load_value()),
                between: None,
                limited_by: broken.map(|(measure, _)| measure),
            };
        };
        let between = Some((last.load_value(), at.load_value()));
        let (limited_by, load) = match broken {
            Some((measure, load)) if !too_many_errors => (Some(measure), load),
            // Where errors end it there is nothing to read between: the last load inside stands.
            _ => (None, last.load_value()),
        };
        return Crossing { state: CapacityState::Found, load: Some(load), between, limited_by };
    }
    match inside {
        None => unknown(),
        Some(last) => Crossing {
            state: CapacityState::AtLeast,
            load: Some(last.load_value()),
            between: None,
            limited_by: None,
        },
    }
}

/// The load at which a term reaches its limit, between the last load inside and the first outside.
fn crossed(
    inside: Option<&AtLoad>,
    outside: &AtLoad,
    measure: Measure,
    (limit, above): (f64, f64),
    (confidence, end): (f64, End),
) -> f64 {
    let to = outside.load_value();
    let Some(inside) = inside else { return to };
    let from = inside.load_value();
    let below = number(inside, measure, confidence, end).filter(|below| *below > 0.0);
    match below {
        Some(below) if above > below => {
            let way = ((limit.ln() - below.ln()) / (above.ln() - below.ln())).clamp(0.0, 1.0);
            (from.ln() + (to.ln() - from.ln()) * way).exp()
        }
        _ => from,
    }
}
