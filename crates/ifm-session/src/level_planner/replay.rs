//! A search, replayed on the levels measured so far: which level is next.
//!
//! It depends on nothing else, so that several targets share the levels of one run. Not here: the
//! search over loads (`ifm-metrics`), and how long a level is (`look`).

use super::Axis;
use super::judged::{Found, Scout, judge, looks_at, ratio, scout_at};
use ifm_core::spec::RunSpec;
use ifm_metrics::Seen;
use ifm_metrics::capacity::{Finding, Next, Search};

/// Maximum loads per search: far more than doubling and halving need.
const STEPS_MAX: u32 = 200;

/// The level that a search needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A scout.
    Scout(u32),
    /// A measurement.
    Look {
        /// The load.
        place: u32,
        /// Whether it was not measured before.
        is_new: bool,
    },
}

/// Replays a search from its beginning; the search, the level that it needs next, if any, and the
/// loads on its way. Loads in `known` whose levels are the same are not judged a second time.
pub(super) fn replay(
    (axis, mut search, looks_max): (Axis, Search, u32),
    spec: &RunSpec,
    seen: Seen,
    known: &Found,
) -> (Search, Option<Wanted>, Found) {
    let mut found = Found::default();
    for _ in 0..STEPS_MAX {
        let wanted = match search.next() {
            Next::Done(_) => return (search, None, found),
            Next::Scout(place) => match scout_at(axis, spec, place) {
                None => Some(Wanted::Scout(place)),
                Some(level) => {
                    let before = known.scouts.get(&place).filter(|scout| scout.level == level);
                    let scout = before
                        .cloned()
                        .unwrap_or_else(|| Scout::of(axis, spec, (place, level), seen));
                    search.tell_scout(place, scout.finding);
                    scout.ratio.into_iter().for_each(|ratio| search.tell_ratio(place, ratio));
                    found.scouts.insert(place, scout);
                    None
                }
            },
            Next::Measure(place) => {
                let looks = looks_at(axis, spec, place);
                if looks.is_empty() {
                    return (search, Some(Wanted::Look { place, is_new: true }), found);
                }
                let before = known.judged.get(&place).filter(|judged| judged.levels == looks);
                let judged =
                    before.cloned().unwrap_or_else(|| judge(axis, spec, place, &looks, seen));
                // A measurement that contradicts a scout at the same load is repeated once.
                let scout = found.scouts.get(&place).map(|scout| scout.finding);
                let is_contradiction = judged.looks() == 1
                    && scout.is_some_and(|finding| {
                        finding != Finding::Unsettled && finding != judged.finding
                    });
                let is_open = (judged.finding == Finding::Unsettled || is_contradiction)
                    && judged.looks() < looks_max;
                if !is_open {
                    search.tell(place, judged.finding);
                    let ratio = ratio(&judged.summary);
                    ratio.into_iter().for_each(|ratio| search.tell_ratio(place, ratio));
                }
                found.judged.insert(place, judged);
                is_open.then_some(Wanted::Look { place, is_new: false })
            }
        };
        if wanted.is_some() {
            return (search, wanted, found);
        }
    }
    (search, None, found)
}
