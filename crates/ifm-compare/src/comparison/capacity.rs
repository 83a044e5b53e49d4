//! The largest load inside a latency target, on both sides: capacity at equal latency.
//!
//! It is the one of [`Fitting`]: a measured load, found as for a run or a report by itself. Nothing is
//! interpolated. Not here: the judging of a load, see `Fitting` of `ifm-results`.

use super::measure::Measure;
use super::side::{AtLoad, Side};
use ifm_core::spec::SloSpec;
use ifm_metrics::answer::UsersState;
use ifm_metrics::level::Load;
use ifm_results::{Fitting, Miss, fitting_of_points};

ifm_core::vocabulary! {
    /// What is known of a side's capacity.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CapacityState {
        /// A measured load is inside and the next one is not.
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
    /// The largest measured load inside the target while all lower ones are; if the lowest is
    /// outside, that one.
    pub load: Option<f64>,
    /// The largest load that is surely inside; absent if none is.
    pub low: Option<f64>,
    /// The largest load below the first that is surely outside; absent if none is.
    pub high: Option<f64>,
    /// The last measured load inside and the first one outside.
    pub between: Option<(f64, f64)>,
    /// The first term that is broken; absent if too many requests fail.
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
    /// What the ratio can be between the measured loads: the load inside over that outside, and the
    /// other way round.
    pub ratio_between: Option<(f64, f64)>,
}

impl Side {
    /// What fits of the side inside a target: levels of one load are repeats, in one run or several.
    pub(crate) fn capacity(&self, slo: &SloSpec) -> Fitting<'_> {
        fitting_of_points(self.members.iter().flat_map(|member| &member.points), slo)
    }
}

/// Compares capacities; absent without a target, and where the sides' loads are of other kinds.
pub(crate) fn compare_capacity(
    slo: &SloSpec,
    (a, of_a): (&Side, &[AtLoad]),
    (b, of_b): (&Side, &[AtLoad]),
) -> Option<CapacityPair> {
    let (first, second) = (of_a.first()?, of_b.first()?);
    let all_alike = |side: &[AtLoad]| side.iter().all(|at| at.at.is_same_kind(&first.at));
    let are_alike = all_alike(of_a) && all_alike(of_b);
    if slo.terms.is_empty() || !first.at.is_same_kind(&second.at) || !are_alike {
        return None;
    }
    let is_rate = matches!(first.at.load, Some(Load::ReqPerS(_)));
    let (a, b) = (capacity(&a.capacity(slo)), capacity(&b.capacity(slo)));
    let both = a.between.zip(b.between);
    let ratio = both.map(|((inside_a, _), (inside_b, _))| inside_b / inside_a);
    let ratio_between = both.map(|((inside_a, outside_a), (inside_b, outside_b))| {
        (inside_b / outside_a, outside_b / inside_a)
    });
    Some(CapacityPair { slo: slo.clone(), is_rate, a, b, ratio, ratio_between })
}

fn capacity(found: &Fitting) -> Capacity {
    let state = match found.state {
        UsersState::Found => CapacityState::Found,
        UsersState::AtLeast => CapacityState::AtLeast,
        UsersState::None => CapacityState::Below,
        UsersState::Unknown => CapacityState::Unknown,
    };
    let value = |load: Option<Load>| load.map(Load::value);
    let outside = found.next.as_ref().and_then(|(cell, _)| cell.load());
    let misses = found.next.iter().flat_map(|(_, misses)| misses);
    let has_errors = misses.clone().any(|miss| matches!(miss, Miss::Errors(_)));
    let mut terms = misses.filter_map(|miss| match miss {
        Miss::Term(term, _) => Some(Measure::of_term(term)),
        Miss::Errors(_) => None,
    });
    Capacity {
        state,
        load: value(match state {
            CapacityState::Below => found.lowest.as_ref().and_then(|cell| cell.load()),
            CapacityState::Found | CapacityState::AtLeast | CapacityState::Unknown => found.load(),
        }),
        low: value(found.low),
        high: value(found.high),
        between: value(found.load()).zip(value(outside)),
        limited_by: terms.next().filter(|_| state != CapacityState::Unknown && !has_errors),
    }
}
