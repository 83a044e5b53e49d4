//! Bracketing by doubling, then halving the bracket: at most about twice the binary logarithm of
//! the answer in measured loads.

/// What a measured load showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// It is inside the target.
    Inside,
    /// It is outside.
    Outside,
    /// As many requests as there was time for do not tell: it lies at the limit.
    Unsettled,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
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
    /// A load between the two that could not be settled.
    pub unsettled: Option<u32>,
}

/// Why there can be no search.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The bounds are 0 or upside down.
    #[error(
        "a search from {start} to {max} users is not possible; give 1 or more, the smaller first"
    )]
    Bounds {
        /// The first load.
        start: u32,
        /// The largest load.
        max: u32,
    },
    /// The precision is not between 0 and 1.
    #[error("a precision of {0} is not possible; give a share from 0 to 1")]
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
}

impl Search {
    /// A search from a first load to the largest allowed, until both ends of the bracket are
    /// within a share of each other, or neighbours.
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
        Ok(Search { start, max, precision, bracket: Bracket::default() })
    }

    /// What to do next.
    pub fn next(&self) -> Next {
        let Bracket { inside, outside, unsettled } = self.bracket;
        let done = Next::Done(self.bracket);
        if unsettled.is_some() {
            return done;
        }
        match (inside, outside) {
            (None, None) => Next::Measure(self.start),
            (Some(inside), None) if inside >= self.max => done,
            (Some(inside), None) => Next::Measure(inside.saturating_mul(2).min(self.max)),
            (None, Some(1)) => done,
            (None, Some(outside)) => Next::Measure(outside / 2),
            (Some(inside), Some(outside)) => {
                let gap = outside.saturating_sub(inside);
                if gap <= 1 || f64::from(gap) <= self.precision * f64::from(outside) {
                    return done;
                }
                Next::Measure(inside + gap / 2)
            }
        }
    }

    /// Tells what a load showed. One that contradicts what is known already moves the bracket to
    /// the safe side: outside wins.
    pub fn tell(&mut self, load: u32, finding: Finding) {
        let bracket = &mut self.bracket;
        match finding {
            Finding::Inside => {
                if bracket.outside.is_none_or(|outside| load < outside) {
                    bracket.inside = bracket.inside.max(Some(load));
                }
            }
            Finding::Outside => {
                bracket.outside = Some(bracket.outside.map_or(load, |outside| outside.min(load)));
                bracket.inside = bracket.inside.filter(|inside| *inside < load);
            }
            Finding::Unsettled => bracket.unsettled = Some(load),
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

    #[test]
    fn what_cannot_be_settled_ends_it() {
        let mut search = Search::new(1, 64, 0.0).unwrap();
        search.tell(8, Finding::Inside);
        search.tell(16, Finding::Outside);
        search.tell(12, Finding::Unsettled);
        let expect = Bracket { inside: Some(8), outside: Some(16), unsettled: Some(12) };
        assert_eq!(search.next(), Next::Done(expect));
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
