//! Bracketing by doubling, then halving the bracket: at most about twice the binary logarithm of
//! the answer in measured loads. A load that cannot be settled does not end it: both ends come as
//! near to it as they otherwise come to each other, so that the open range is no wider than
//! necessary.
//!
//! With scouts (`scouts`), short levels find the edge first, and only loads near it are measured.

mod scouts;

pub use crate::settling::Finding;
use scouts::Scouts;

/// Loads that cannot be settled are measured up to this many times the smallest of them, if nothing
/// is known beyond them. A limit is never that wide: there are too few requests, above and below,
/// and the smaller the rate, the longer they take.
pub(super) const WIDEST: u32 = 8;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send a scout at this load: a few requests.
    Scout(u32),
    /// Measure this load.
    Measure(u32),
    /// The answer is narrow enough.
    Done(Bracket),
}

/// What is known about the largest load inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bracket {
    /// The largest load that is known to be inside; absent where not even the smallest is.
    pub inside: Option<u32>,
    /// The smallest load that is known to be outside; absent where the largest allowed is inside.
    pub outside: Option<u32>,
    /// The smallest and the largest load between the two that could not be settled.
    pub unsettled: Option<(u32, u32)>,
}

/// Why there can be no search.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The bounds are 0 or upside down.
    #[error("cannot search from {start} to {max} users; give 1 or more, the smaller first")]
    Bounds {
        /// The first load.
        start: u32,
        /// The largest load.
        max: u32,
    },
    /// The precision is not between 0 and 1.
    #[error("invalid precision: {0}; give a share from 0 to 1")]
    Precision(f64),
}

/// A search for the largest load inside a target, on the assumption that a larger load is never
/// better.
#[derive(Debug, Clone)]
pub struct Search {
    start: u32,
    max: u32,
    precision: f64,
    bracket: Bracket,
    /// What scouts say; absent in a search without them.
    scouts: Option<Scouts>,
}

impl Search {
    /// A search from a first load to the largest allowed, until both ends of the bracket are
    /// within a share of each other, or neighbors.
    ///
    /// # Errors
    /// [`SearchError`] says what is not possible.
    pub fn new(start: u32, max: u32, precision: f64) -> Result<Search, SearchError> {
        if start == 0 || start > max {
            return Err(SearchError::Bounds { start, max });
        }
        if !(0.0..=1.0).contains(&precision) {
            return Err(SearchError::Precision(precision));
        }
        Ok(Search { start, max, precision, bracket: Bracket::default(), scouts: None })
    }

    /// The same search with scouts, the first one at another load than the first measurement would
    /// be if given. Scouts that are not much cheaper than measurements are sent only until one is
    /// outside, and never far beyond the load before.
    #[must_use]
    pub fn with_scouts(self, start: Option<u32>, are_cheap: bool) -> Search {
        let start = start.unwrap_or(self.start).clamp(1, self.max);
        Search { start, scouts: Some(Scouts::new(are_cheap)), ..self }
    }

    /// Whether it sends scouts.
    pub fn has_scouts(&self) -> bool {
        self.scouts.is_some()
    }

    /// What to do next.
    pub fn next(&self) -> Next {
        if let Some(scouts) = &self.scouts {
            return self.next_with(scouts);
        }
        let Bracket { inside, outside, unsettled } = self.bracket;
        let done = Next::Done(self.bracket);
        if let Some((lowest, highest)) = unsettled {
            return self.around(lowest, highest).map_or(done, Next::Measure);
        }
        match (inside, outside) {
            (None, None) => Next::Measure(self.start),
            (Some(inside), None) if inside >= self.max => done,
            (Some(inside), None) => Next::Measure(inside.saturating_mul(2).min(self.max)),
            (None, Some(1)) => done,
            (None, Some(outside)) => Next::Measure(outside / 2),
            (Some(inside), Some(outside)) => {
                self.between(inside, outside).map_or(done, Next::Measure)
            }
        }
    }

    /// The middle of two loads; absent where they are near enough.
    fn between(&self, lower: u32, upper: u32) -> Option<u32> {
        (!self.is_near(lower, upper)).then(|| lower + upper.saturating_sub(lower) / 2)
    }

    /// Whether two loads are neighbors, or within the precision of each other.
    pub fn is_near(&self, lower: u32, upper: u32) -> bool {
        let gap = upper.saturating_sub(lower);
        gap <= 1 || f64::from(gap) <= self.precision * f64::from(upper)
    }

    /// The load to measure next to the loads that cannot be settled, the lower side first.
    fn around(&self, lowest: u32, highest: u32) -> Option<u32> {
        let is_wide = highest / WIDEST >= lowest;
        let below = match self.bracket.inside {
            Some(inside) => self.between(inside, lowest),
            None => (lowest > 1 && !is_wide).then_some(lowest / 2),
        };
        below.or_else(|| match self.bracket.outside {
            Some(outside) => self.between(highest, outside),
            None => {
                let next = highest.saturating_mul(2).min(self.max);
                (next > highest && !is_wide).then_some(next)
            }
        })
    }

    /// Records the result of a load. A result that contradicts earlier ones moves the bracket to
    /// the safe side: outside wins.
    pub fn tell(&mut self, load: u32, finding: Finding) {
        if let Some(scouts) = &mut self.scouts {
            scouts.measured(load, finding);
        }
        let bracket = &mut self.bracket;
        match finding {
            Finding::Inside => {
                if bracket.outside.is_none_or(|outside| load < outside) {
                    bracket.inside = bracket.inside.max(Some(load));
                    // What is below a load inside is inside too.
                    bracket.unsettled = bracket.unsettled.filter(|(lowest, _)| *lowest > load);
                }
            }
            Finding::Outside => {
                bracket.outside = Some(bracket.outside.map_or(load, |outside| outside.min(load)));
                bracket.inside = bracket.inside.filter(|inside| *inside < load);
                bracket.unsettled = bracket.unsettled.filter(|(_, highest)| *highest < load);
            }
            Finding::Unsettled => {
                let (lowest, highest) = bracket.unsettled.unwrap_or((load, load));
                bracket.unsettled = Some((lowest.min(load), highest.max(load)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search against a known limit; the bracket and the number of measured loads.
    fn search(limit: u32, start: u32, max: u32, precision: f64) -> (Bracket, u32) {
        let mut search = Search::new(start, max, precision).unwrap();
        for steps in 0..100 {
            match search.next() {
                Next::Done(bracket) => return (bracket, steps),
                Next::Scout(load) => panic!("a scout at {load}"),
                Next::Measure(load) => {
                    assert!((1..=max).contains(&load));
                    let finding = if load <= limit { Finding::Inside } else { Finding::Outside };
                    search.tell(load, finding);
                }
            }
        }
        panic!("no end for limit {limit}");
    }

    #[test]
    fn every_limit_is_found_in_few_steps() {
        for max in [1, 2, 7, 64, 1000] {
            for limit in 0..=max {
                for start in [1, 3.min(max), max] {
                    let (bracket, steps) = search(limit, start, max, 0.0);
                    assert_eq!(bracket.inside, Some(limit).filter(|limit| *limit > 0));
                    let outside = Some(limit + 1).filter(|outside| *outside <= max);
                    assert_eq!(bracket.outside, outside, "{limit} of {max} from {start}");
                    assert!(steps <= 2 * (max.ilog2() + 2), "{steps} for {limit} of {max}");
                }
            }
        }
    }

    #[test]
    fn a_precision_ends_it_sooner() {
        let (bracket, steps) = search(700, 1, 4096, 0.1);
        let (inside, outside) = (bracket.inside.unwrap(), bracket.outside.unwrap());
        assert!(inside <= 700 && 700 < outside && outside - inside <= outside / 10);
        assert!(steps < search(700, 1, 4096, 0.0).1);
    }

    /// Of loads up to 1,000, those from 300 to 320 cannot be settled.
    #[test]
    fn both_ends_come_near_to_what_cannot_be_settled() {
        for start in [1, 100, 310, 1000] {
            let mut search = Search::new(start, 1000, 0.05).unwrap();
            let mut steps = 0;
            let bracket = loop {
                match search.next() {
                    Next::Done(bracket) => break bracket,
                    Next::Scout(load) => panic!("a scout at {load}"),
                    Next::Measure(load) => search.tell(
                        load,
                        match load {
                            ..300 => Finding::Inside,
                            300..=320 => Finding::Unsettled,
                            _ => Finding::Outside,
                        },
                    ),
                }
                steps += 1;
                assert!(steps < 30, "no end: {search:?}");
            };
            let (inside, outside) = (bracket.inside.unwrap(), bracket.outside.unwrap());
            assert!((280..300).contains(&inside) && (321..=340).contains(&outside), "{bracket:?}");
            if let Some((lowest, highest)) = bracket.unsettled {
                assert!(inside < lowest && lowest <= highest && highest < outside, "{bracket:?}");
            }
        }
    }

    #[test]
    fn neighboring_loads_settle_an_unsettled_one() {
        let mut search = Search::new(1, 64, 0.0).unwrap();
        search.tell(8, Finding::Inside);
        search.tell(16, Finding::Outside);
        search.tell(12, Finding::Unsettled);
        assert_eq!(search.next(), Next::Measure(10));
        search.tell(10, Finding::Outside);
        let expect = Bracket { inside: Some(8), outside: Some(10), unsettled: None };
        assert_eq!(search.bracket, expect);
        search.tell(9, Finding::Unsettled);
        let expect = Bracket { unsettled: Some((9, 9)), ..expect };
        assert_eq!(search.next(), Next::Done(expect));
        // Nothing is known below or above.
        let mut search = Search::new(4, 8, 0.0).unwrap();
        search.tell(4, Finding::Unsettled);
        assert_eq!(search.next(), Next::Measure(2));
        search.tell(2, Finding::Unsettled);
        search.tell(1, Finding::Unsettled);
        assert_eq!(search.next(), Next::Measure(8));
        search.tell(8, Finding::Unsettled);
        let expect = Bracket { inside: None, outside: None, unsettled: Some((1, 8)) };
        assert_eq!(search.next(), Next::Done(expect));
    }

    /// A target that so few requests never tell: the search ends, and not at the smallest rate that there is.
    #[test]
    fn ends_a_search_that_nothing_settles() {
        let mut search = Search::new(1000, 1_000_000, 0.05).unwrap();
        let mut measured = Vec::new();
        let bracket = loop {
            match search.next() {
                Next::Done(bracket) => break bracket,
                Next::Scout(load) => panic!("a scout at {load}"),
                Next::Measure(load) => {
                    measured.push(load);
                    search.tell(load, Finding::Unsettled);
                }
            }
        };
        assert_eq!(measured, [1000, 500, 250, 125]);
        // The same upward; and a known end is still approached.
        let mut search = Search::new(1, 1000, 0.0).unwrap();
        for load in [1, 2, 4, 8] {
            assert_eq!(search.next(), Next::Measure(load));
            search.tell(load, Finding::Unsettled);
        }
        assert!(matches!(search.next(), Next::Done(_)));
        search.tell(16, Finding::Outside);
        assert_eq!(search.next(), Next::Measure(12));
        assert_eq!(bracket, Bracket { unsettled: Some((125, 1000)), ..Bracket::default() });
    }

    #[test]
    fn outside_wins_over_inside() {
        let mut search = Search::new(1, 64, 0.0).unwrap();
        search.tell(8, Finding::Inside);
        search.tell(4, Finding::Outside);
        search.tell(16, Finding::Inside);
        assert_eq!(search.next(), Next::Measure(2));
    }

    #[test]
    fn bounds_are_checked() {
        assert!(Search::new(0, 4, 0.1).is_err() && Search::new(5, 4, 0.1).is_err());
        assert!(Search::new(1, 4, 1.5).is_err() && Search::new(1, 4, f64::NAN).is_err());
    }
}
