//! Several targets in one search, evaluated on the same measurements.
//!
//! A tier requests loads as its own search would, and reuses loads that any other tier has
//! measured. Not here: the search over loads (`ifm-metrics`), and what a tier is worth
//! (`capacity_answer`).

use super::judged::Found;
use super::replay::{Wanted, replay};
use super::{Axis, Judged};
use ifm_core::spec::{RunSpec, SloSpec};
use ifm_metrics::Seen;
use ifm_metrics::capacity::{Bracket, Next, Search};

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
    /// The level that its search needs next.
    pub wanted: Option<Wanted>,
    /// Every measured load that the search requested.
    pub judged: Vec<Judged>,
}

impl TierState {
    /// The verdict on the load with this index.
    pub fn at(&self, place: Option<u32>) -> Option<&Judged> {
        self.judged.iter().find(|judged| Some(judged.place) == place)
    }
}

/// What the measurements so far say about a tier.
pub(super) fn follow(
    tier: &Tier,
    search: (Axis, Search, u32),
    spec: &RunSpec,
    seen: Seen,
) -> TierState {
    let spec = RunSpec { slo: tier.slo.clone(), ..spec.clone() };
    let (search, wanted, found) = replay(search, &spec, seen, &Found::default());
    let bracket = match search.next() {
        Next::Done(bracket) => Some(bracket),
        Next::Scout(_) | Next::Measure(_) => None,
    };
    TierState { bracket, wanted, judged: found.judged.into_values().collect() }
}
