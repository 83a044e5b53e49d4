//! Several targets in one search: each is answered from the same measurements.
//!
//! A tier asks for loads as a search of its own would, and takes what was measured already for any
//! other. Not here: the search over loads (`ifm-analysis`), and what a tier is worth (`capacity`).

use super::{Axis, Judged, judge, looks_at};
use ifm_analysis::Seen;
use ifm_analysis::capacity::{Bracket, Finding, Next, Search};
use ifm_core::spec::{RunSpec, SloSpec};

/// Loads that one search asks for at most: far more than doubling and halving need.
const STEPS_MAX: u32 = 200;

/// A target among several.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// What it is called.
    pub name: String,
    /// The target.
    pub slo: SloSpec,
}

/// What is known of a tier.
#[derive(Debug, Clone)]
pub struct TierState {
    /// Between which loads its capacity lies; absent while a load is to be measured.
    pub bracket: Option<Bracket>,
    /// The load that is to be measured next, and whether it was not measured before.
    pub wanted: Option<(u32, bool)>,
    /// Every load that the search asked for and that was measured.
    pub judged: Vec<Judged>,
}

impl TierState {
    /// The load of a place, as it was judged.
    pub fn at(&self, place: Option<u32>) -> Option<&Judged> {
        self.judged.iter().find(|judged| Some(judged.place) == place)
    }
}

/// Follows the search of a tier through what was measured so far: it depends on nothing else.
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
