//! Several targets in one search, evaluated on the same measurements.
//!
//! A tier requests loads as its own search would, and reuses loads that any other tier has
//! measured. Not here: the search over loads (`ifm-analysis`), and what a tier is worth
//! (`capacity`).

use super::{Axis, Judged, judge, looks_at};
use ifm_analysis::Seen;
use ifm_analysis::capacity::{Bracket, Finding, Next, Search};
use ifm_core::spec::{RunSpec, SloSpec};

/// Maximum loads per search: far more than doubling and halving need.
const STEPS_MAX: u32 = 200;

/// One of several targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// Its name.
    pub name: String,
    /// The target.
    pub slo: SloSpec,
}

/// What is known about a tier.
#[derive(Debug, Clone)]
pub struct TierState {
    /// The loads that bracket its capacity; absent while a load remains to be measured.
    pub bracket: Option<Bracket>,
    /// The load to measure next, and whether it was not measured before.
    pub wanted: Option<(u32, bool)>,
    /// Every measured load that the search requested.
    pub judged: Vec<Judged>,
}

impl TierState {
    /// The verdict on the load with this index.
    pub fn at(&self, place: Option<u32>) -> Option<&Judged> {
        self.judged.iter().find(|judged| Some(judged.place) == place)
    }
}

/// Replays the search of a tier on the measurements so far; it depends on nothing else.
pub(super) fn follow(
    tier: &Tier,
    (axis, mut search, looks_max): (Axis, Search, u32),
    spec: &RunSpec,
    seen: Seen,
) -> TierState {
    let spec = RunSpec { slo: tier.slo.clone(), ..spec.clone() };
    let mut all = Vec::new();
    for _ in 0..STEPS_MAX {
        let place = match search.next() {
            Next::Done(bracket) => {
                return TierState { bracket: Some(bracket), wanted: None, judged: all };
            }
            Next::Measure(place) => place,
        };
        let looks = looks_at(axis, &spec, place);
        if looks.is_empty() {
            return TierState { bracket: None, wanted: Some((place, true)), judged: all };
        }
        let judged = judge(axis, &spec, place, &looks, seen);
        let is_open = judged.finding == Finding::Unsettled && judged.looks() < looks_max;
        if is_open {
            return TierState { bracket: None, wanted: Some((place, false)), judged: all };
        }
        search.tell(place, judged.finding);
        all.push(judged);
    }
    TierState { bracket: None, wanted: None, judged: all }
}
