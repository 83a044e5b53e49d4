//! The part of a search that uses scouts: short levels that double the load while the answer is
//! clear, and then narrow the gap. What a scout says only chooses the loads that are measured: both
//! ends of the bracket are measurements, and a measurement that contradicts a scout replaces it.

use super::{Bracket, Finding, Next, Search, WIDEST};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of scouts in the gap between a load inside and a load outside.
const BETWEEN_MAX: u32 = 2;
/// A gap of at most this share of the lower load is not worth a scout.
const NARROW: f64 = 0.25;
/// Measurements in a row with the same result after which the gap is halved.
const SAME_MAX: u32 = 3;
/// An estimate stays this share of the gap, on a logarithmic scale, away from both of its ends.
const ESTIMATE_MIN: f64 = 0.1;

/// A load whose worst term has at most this share of its limit is far from the edge.
const FAR: f64 = 0.3;
/// A load whose worst term has at least this share of its limit is near the edge.
const NEAR: f64 = 0.75;
/// Larger logarithms of a ratio say no more than this one.
const RATIO_MAX: f64 = 0.7;

/// What scouts, and measurements, say about loads.
#[derive(Debug, Clone, Default)]
pub(super) struct Scouts {
    /// Loads that are clearly inside, unless a measurement contradicts it.
    inside: BTreeSet<u32>,
    /// Loads that are clearly outside, likewise.
    outside: BTreeSet<u32>,
    /// Loads without a clear answer that were not measured yet.
    unclear: BTreeSet<u32>,
    /// Whether scouts are much cheaper than measurements.
    are_cheap: bool,
    /// Loads that scouts were sent at: no second one is.
    sent: BTreeSet<u32>,
    /// Scouts sent between a load inside and a load outside.
    between: u32,
    /// Measured loads.
    measured: u32,
    /// The last finding of a measurement, and how often in a row.
    same: Option<(Finding, u32)>,
    /// The target's metric at a load as a multiple of its limit, the worst term.
    ratios: BTreeMap<u32, f64>,
}

impl Scouts {
    /// No scout yet.
    pub(super) fn new(are_cheap: bool) -> Scouts {
        Scouts { are_cheap, ..Scouts::default() }
    }

    /// Takes a measurement into account: it outweighs what scouts said.
    pub(super) fn measured(&mut self, load: u32, finding: Finding) {
        self.measured += 1;
        self.same = match self.same {
            Some((before, times)) if before == finding => Some((finding, times + 1)),
            _ => Some((finding, 1)),
        };
        self.unclear.remove(&load);
        match finding {
            Finding::Inside => {
                self.outside.retain(|outside| *outside > load);
                self.unclear.retain(|unclear| *unclear > load);
            }
            Finding::Outside => {
                self.inside.retain(|inside| *inside < load);
                self.unclear.retain(|unclear| *unclear < load);
            }
            Finding::Unsettled => {
                self.inside.retain(|inside| *inside < load);
                self.outside.retain(|outside| *outside > load);
            }
        }
    }

    fn scouted(&mut self, load: u32, finding: Finding) {
        self.sent.insert(load);
        match finding {
            Finding::Inside => self.inside.insert(load),
            Finding::Outside => self.outside.insert(load),
            Finding::Unsettled => self.unclear.insert(load),
        };
    }
}

impl Search {
    /// Records what a scout says about a load.
    pub fn tell_scout(&mut self, load: u32, finding: Finding) {
        let (lower, upper) = self.edge();
        if let Some(scouts) = &mut self.scouts {
            scouts.between += u32::from(lower.is_some() && upper.is_some());
            scouts.scouted(load, finding);
        }
    }

    /// Records how near a load is to the target: the worst term's value over its limit.
    pub fn tell_ratio(&mut self, load: u32, ratio: f64) {
        if let Some(scouts) = self.scouts.as_mut().filter(|_| ratio > 0.0 && ratio.is_finite()) {
            scouts.ratios.insert(load, ratio);
        }
    }

    /// The largest load that a scout or a measurement found inside, and the smallest outside.
    pub fn edge(&self) -> (Option<u32>, Option<u32>) {
        let Bracket { inside, outside, .. } = self.bracket;
        let Some(scouts) = &self.scouts else { return (inside, outside) };
        // Of contradicting answers, outside wins, as among measurements; but none is believed at or
        // below a measured load inside.
        let above = inside.map_or(0, |inside| inside + 1);
        let upper = outside.into_iter().chain(scouts.outside.range(above..).copied()).min();
        let lower = scouts.inside.range(..upper.unwrap_or(u32::MAX)).next_back().copied();
        (inside.max(lower), upper)
    }

    pub(super) fn next_with(&self, scouts: &Scouts) -> Next {
        let Bracket { inside, outside, unsettled } = self.bracket;
        let (lower, upper) = self.edge();
        let done = Next::Done(self.bracket);
        if let Some((lowest, highest)) = unsettled {
            let below = self.below_unsettled(scouts, lower, (lowest, highest));
            let above = || self.above_unsettled(scouts, upper, (lowest, highest));
            return below.or_else(above).unwrap_or(done);
        }
        match (lower, upper) {
            (None, Some(upper)) if upper <= 1 => match outside {
                Some(1) => done,
                _ => Next::Measure(1),
            },
            (Some(lower), None) if lower >= self.max => match inside == Some(self.max) {
                true => done,
                false => Next::Measure(self.max),
            },
            (Some(lower), None) => match scouts.beyond(lower, self.precision) {
                Some(next) if inside == Some(lower) => Next::Measure(next.min(self.max)),
                Some(next) => scouts.measure_or_scout(next.min(self.max)),
                None => scouts.upward(Some(lower), (self.start, self.max)),
            },
            (None, None) => scouts.upward(None, (self.start, self.max)),
            (None, Some(upper)) => match scouts.unclear.range(..upper).next_back() {
                Some(load) => Next::Measure(*load),
                None => scouts.measure_or_scout(upper / 2),
            },
            (Some(lower), Some(upper)) => self.narrow(scouts, lower, upper),
        }
    }

    /// The next load between two whose answers differ.
    fn narrow(&self, scouts: &Scouts, lower: u32, upper: u32) -> Next {
        let estimate = scouts.estimate(lower, upper);
        let nearest = |load: &&u32| (f64::from(**load) - estimate).abs() as u64;
        if let Some(load) = scouts.unclear.range(lower + 1..upper).min_by_key(nearest) {
            return Next::Measure(*load);
        }
        let is_wide = f64::from(upper - lower) > NARROW * f64::from(lower) && upper - lower > 2;
        if scouts.are_cheap && is_wide && scouts.measured == 0 && scouts.between < BETWEEN_MAX {
            let middle = (f64::from(lower) * f64::from(upper)).sqrt();
            return scouts.measure_or_scout(rounded(middle, (lower + 1, upper - 1)));
        }
        let halved = scouts.same.is_some_and(|(_, times)| times >= SAME_MAX);
        let estimate = if halved { (f64::from(lower) * f64::from(upper)).sqrt() } else { estimate };
        // Next to the estimate on both sides: a load at the limit itself cannot be settled.
        let above = (estimate * (1.0 + self.precision / 2.0)).ceil();
        let under = (estimate * (1.0 - self.precision / 2.0)).floor();
        let load = match (self.bracket.inside, self.bracket.outside) {
            (Some(inside), Some(outside)) if self.is_near(inside, outside) => {
                return Next::Done(self.bracket);
            }
            (Some(inside), Some(outside)) => {
                let quarter = (outside - inside).div_ceil(4);
                let lowest = (inside + quarter).max(lower.min(outside - quarter));
                let is_left = estimate > f64::from(inside) * (1.0 + self.precision);
                let aim = if is_left { under } else { above };
                rounded(aim, (lowest, (outside - quarter).max(lowest)))
            }
            (Some(inside), None) if self.is_near(inside, upper) => upper,
            // Far inside, just below a load that only a scout found outside: the scout may be wrong,
            // since at the start of a level all requests wait for each other.
            (Some(inside), None) if scouts.is_far_inside(inside, upper) => upper,
            (Some(inside), None) => rounded(above, (inside + 1, upper)),
            (None, Some(outside)) if self.is_near(lower, outside) => lower,
            (None, Some(outside)) => rounded(under, (lower, outside - 1)),
            (None, None) if self.is_near(lower, upper) => lower,
            (None, None) => rounded(under, (lower + 1, upper - 1)),
        };
        Next::Measure(load)
    }

    /// The load to measure below loads that cannot be settled: within the precision of them at
    /// first, and then twice as far each time.
    fn below_unsettled(
        &self,
        scouts: &Scouts,
        lower: Option<u32>,
        (lowest, highest): (u32, u32),
    ) -> Option<Next> {
        let near = (f64::from(lowest) * (1.0 - self.precision)).ceil() as u32;
        let near = near.min(lowest.saturating_sub(1)).saturating_sub(highest - lowest);
        let inside = self.bracket.inside;
        match lower.filter(|lower| *lower < lowest) {
            Some(lower) if inside == Some(lower) => match self.is_near(lower, lowest) {
                true => None,
                false if near > lower => Some(Next::Measure(near)),
                false => Some(Next::Measure(lower + (lowest - lower) / 2)),
            },
            Some(lower) => Some(Next::Measure(near.max(lower))),
            None if lowest <= 1 || highest / WIDEST >= lowest => None,
            None => Some(scouts.measure_or_scout(lowest / 2)),
        }
    }

    /// The same above them.
    fn above_unsettled(
        &self,
        scouts: &Scouts,
        upper: Option<u32>,
        (lowest, highest): (u32, u32),
    ) -> Option<Next> {
        let near = (f64::from(highest) / (1.0 - self.precision).max(0.5)).floor() as u32;
        let near = near.max(highest + 1).saturating_add(highest - lowest);
        let outside = self.bracket.outside;
        match upper.filter(|upper| *upper > highest) {
            Some(upper) if outside == Some(upper) => match self.is_near(highest, upper) {
                true => None,
                false if near < upper => Some(Next::Measure(near)),
                false => Some(Next::Measure(highest + (upper - highest) / 2)),
            },
            Some(upper) => Some(Next::Measure(near.min(upper))),
            None if highest >= self.max || highest / WIDEST >= lowest => None,
            None => Some(scouts.measure_or_scout(highest.saturating_mul(2).min(self.max))),
        }
    }
}

impl Scouts {
    /// Whether the worst term at a measured load leaves more room to its limit than the distance to a
    /// larger load explains, if it grew with the load.
    fn is_far_inside(&self, inside: u32, upper: u32) -> bool {
        let grown = |ratio: f64| ratio * f64::from(upper) / f64::from(inside);
        self.ratios.get(&inside).is_some_and(|ratio| grown(*ratio) < 1.0)
    }

    /// A load a little beyond the limit, if the worst term is near it and grows with the load, and
    /// no larger load waits to be measured.
    fn beyond(&self, lower: u32, precision: f64) -> Option<u32> {
        let ratio = self.ratios.get(&lower).filter(|ratio| (NEAR..1.0).contains(*ratio))?;
        let next = f64::from(lower) / ratio * (1.0 + 2.0 * precision);
        let next = (next.ceil() as u32).max(lower.saturating_add(1));
        self.unclear.range(lower + 1..).next().is_none().then_some(next)
    }

    /// The next load while none is known to be outside.
    fn upward(&self, lower: Option<u32>, (start, max): (u32, u32)) -> Next {
        match self.unclear.range(lower.map_or(1, |lower| lower + 1)..).next() {
            Some(load) => Next::Measure(*load),
            None => {
                let is_far = |lower| self.ratios.get(&lower).is_some_and(|ratio| *ratio <= FAR);
                let factor = |lower| if self.are_cheap && is_far(lower) { 4 } else { 2 };
                let next = lower.map_or(start, |lower| lower.saturating_mul(factor(lower)));
                self.measure_or_scout(next.min(max))
            }
        }
    }

    fn measure_or_scout(&self, load: u32) -> Next {
        match self.sent.contains(&load) {
            true => Next::Measure(load),
            false => Next::Scout(load),
        }
    }

    /// The load at which the worst term reaches its limit, if it grows as a power of the load
    /// between two loads; the middle on a logarithmic scale where their values are unknown.
    fn estimate(&self, lower: u32, upper: u32) -> f64 {
        // A queue without an end makes a ratio of any size.
        let ratio = |load: u32| Some(self.ratios.get(&load)?.ln().clamp(-RATIO_MAX, RATIO_MAX));
        let part = match (ratio(lower), ratio(upper)) {
            (Some(low), Some(high)) if low < 0.0 && high > 0.0 => low / (low - high),
            _ => 0.5,
        };
        let part = part.clamp(ESTIMATE_MIN, 1.0 - ESTIMATE_MIN);
        f64::from(lower) * (f64::from(upper) / f64::from(lower)).powf(part)
    }
}

/// The nearest load within bounds, the first of which wins where they contradict each other.
fn rounded(load: f64, (lowest, highest): (u32, u32)) -> u32 {
    (load.round() as u32).min(highest).max(lowest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a search did: the bracket, the scouts and the measured loads.
    struct Path {
        bracket: Bracket,
        scouts: Vec<u32>,
        measured: Vec<u32>,
    }

    /// Runs a search. `scout` and `measure` say what a load shows.
    fn path(
        start: u32,
        max: u32,
        scout: impl Fn(u32) -> Finding,
        measure: impl Fn(u32) -> Finding,
        ratio: impl Fn(u32) -> Option<f64>,
    ) -> Path {
        let mut search = Search::new(1, max, 0.05).unwrap().with_scouts(Some(start), true);
        let (mut scouts, mut measured) = (Vec::new(), Vec::new());
        for _ in 0..100 {
            let load = match search.next() {
                Next::Done(bracket) => return Path { bracket, scouts, measured },
                Next::Scout(load) => {
                    assert!(!scouts.contains(&load), "{load} again: {scouts:?} {search:?}");
                    scouts.push(load);
                    search.tell_scout(load, scout(load));
                    load
                }
                Next::Measure(load) => {
                    assert!(!measured.contains(&load), "{load} again: {measured:?} {search:?}");
                    measured.push(load);
                    search.tell(load, measure(load));
                    load
                }
            };
            assert!((1..=max).contains(&load), "{load}");
            ratio(load).into_iter().for_each(|ratio| search.tell_ratio(load, ratio));
        }
        panic!("no end: {scouts:?} {measured:?}");
    }

    fn against(limit: u32) -> impl Fn(u32) -> Finding {
        move |load| if load <= limit { Finding::Inside } else { Finding::Outside }
    }

    /// A scout that is clear 20 % away from the limit.
    fn clear_far_from(limit: u32) -> impl Fn(u32) -> Finding {
        move |load| match f64::from(load) / (f64::from(limit) + 0.5) {
            ..0.8 => Finding::Inside,
            0.8..1.2 => Finding::Unsettled,
            _ => Finding::Outside,
        }
    }

    #[test]
    fn finds_every_limit_by_few_measurements() {
        for max in [1, 7, 64, 1000] {
            for limit in 0..=max {
                for (start, slope) in [(1, 1.0), (8.min(max), 0.0), (max, 3.0)] {
                    let ratio = |load: u32| {
                        let share = f64::from(load) / (f64::from(limit) + 0.5);
                        (slope > 0.0).then(|| share.powf(slope))
                    };
                    let path = path(start, max, clear_far_from(limit), against(limit), ratio);
                    let Bracket { inside, outside, unsettled } = path.bracket;
                    assert_eq!(unsettled, None);
                    assert!(inside.is_none_or(|inside| inside <= limit), "{inside:?} {limit}");
                    assert!(outside.is_none_or(|outside| outside > limit), "{outside:?} {limit}");
                    assert_eq!((inside.is_none(), outside.is_none()), (limit == 0, limit == max));
                    if let (Some(inside), Some(outside)) = (inside, outside) {
                        let gap = f64::from(outside - inside);
                        assert!(gap <= 1.0 || gap <= 0.05 * f64::from(outside), "{limit}");
                    }
                    assert!(path.measured.len() <= 9, "{limit} of {max}: {:?}", path.measured);
                    assert!(path.scouts.len() <= 14, "{limit} of {max}: {:?}", path.scouts);
                }
            }
        }
    }

    /// Scouts that are clear and wrong, on either side, cost measurements and not the answer.
    #[test]
    fn measurements_outweigh_wrong_scouts() {
        for limit in 1..=60 {
            for wrong in [1.5, 0.6] {
                let believed = (f64::from(limit) * wrong) as u32;
                let path = path(8, 64, against(believed), against(limit), |_| None);
                let Bracket { inside, outside, .. } = path.bracket;
                let (inside, outside) = (inside.unwrap(), outside.unwrap());
                assert!(inside <= limit && limit < outside, "{limit}: {inside} {outside}");
                let gap = f64::from(outside - inside);
                assert!(gap <= 1.0 || gap <= 0.05 * f64::from(outside), "{limit}: {gap}");
            }
        }
    }

    #[test]
    fn both_ends_come_near_to_loads_that_cannot_be_settled() {
        let measure = |load: u32| match load {
            ..300 => Finding::Inside,
            300..=320 => Finding::Unsettled,
            _ => Finding::Outside,
        };
        for start in [1, 8, 310, 1000] {
            let path = path(start, 1000, clear_far_from(310), measure, |_| None);
            let (inside, outside) = (path.bracket.inside.unwrap(), path.bracket.outside.unwrap());
            assert!((280..300).contains(&inside) && (321..=340).contains(&outside), "{inside}");
            assert!(path.measured.len() <= 8, "{:?}", path.measured);
        }
        // No measurement settles anything: the search ends.
        let path = path(8, 1000, |_| Finding::Unsettled, |_| Finding::Unsettled, |_| None);
        assert_eq!((path.bracket.inside, path.bracket.outside), (None, None));
        assert!(path.measured.len() <= 10, "{:?}", path.measured);
    }
}
