//! Places in an order that follow from the verdicts of all pairs.
//!
//! Not here: the verdicts, which [`contrast`](super::contrast) makes, and the order of the values.

use super::contrast::Doubt;
use super::pair::Row;
use super::verdict::Verdict;

/// The place of one side among all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placement {
    /// One more than the number of sides that are shown to be better.
    pub first: usize,
    /// The last place that it may have: every side that the data cannot tell apart from it may be
    /// better.
    pub last: usize,
    /// Sides from which no relevant difference is shown: they share its place.
    pub equal: Vec<usize>,
    /// Sides that the data cannot tell apart from it.
    pub undecided: Vec<Undecided>,
}

impl Placement {
    /// The place, if the data decide it.
    pub fn decided(&self) -> Option<usize> {
        (self.first == self.last).then_some(self.first)
    }
}

/// A side that the data cannot tell apart from another.
#[derive(Debug, Clone, PartialEq)]
pub struct Undecided {
    /// The other side.
    pub other: usize,
    /// Why.
    pub doubt: Option<Doubt>,
    /// The smallest difference that would have been found with a chance of 80 %, as that of a row.
    pub detectable: Option<f64>,
}

/// What is said of a pair, the second side against the first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PairVerdict {
    pub sides: (usize, usize),
    pub verdict: Verdict,
    pub doubt: Option<Doubt>,
    pub detectable: Option<f64>,
}

impl PairVerdict {
    pub fn of(sides: (usize, usize), row: &Row) -> PairVerdict {
        let (verdict, doubt, detectable) = (row.verdict, row.doubt.clone(), row.detectable);
        PairVerdict { sides, verdict, doubt, detectable }
    }
}

/// The places of `sides` sides. Pairs without a verdict are missing from `pairs`.
pub(crate) fn placements(sides: usize, pairs: &[PairVerdict]) -> Vec<Placement> {
    let mut places = vec![Placement { first: 1, last: 1, ..Placement::default() }; sides];
    for pair in pairs {
        let (a, b) = pair.sides;
        // A prediction is not in competition with what it predicts.
        if pair.verdict.is_of_prediction() {
            continue;
        }
        let worse = match pair.verdict {
            Verdict::Better => Some(a),
            Verdict::Worse => Some(b),
            _ => None,
        };
        if let Some(place) = worse.and_then(|worse| places.get_mut(worse)) {
            (place.first, place.last) = (place.first + 1, place.last + 1);
            continue;
        }
        for (one, other) in [(a, b), (b, a)] {
            let Some(place) = places.get_mut(one) else { continue };
            if pair.verdict == Verdict::Inconclusive {
                let (doubt, detectable) = (pair.doubt.clone(), pair.detectable);
                place.undecided.push(Undecided { other, doubt, detectable });
                place.last += 1;
            } else {
                place.equal.push(other);
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sides_without_a_difference_share_a_place() {
        let pair = |sides, verdict| PairVerdict { sides, verdict, doubt: None, detectable: None };
        let places = placements(
            5,
            &[
                pair((0, 1), Verdict::NoDifferenceShown),
                pair((0, 2), Verdict::Worse),
                pair((1, 2), Verdict::Worse),
                pair((3, 0), Verdict::Better),
                pair((3, 1), Verdict::Better),
                pair((2, 3), Verdict::Inconclusive),
                pair((0, 4), Verdict::NoRelevantDifference),
            ],
        );
        let found: Vec<_> = places.iter().map(|of| (of.first, of.last, of.decided())).collect();
        assert_eq!(
            found,
            [(1, 1, Some(1)), (1, 1, Some(1)), (3, 4, None), (3, 4, None), (1, 1, Some(1))]
        );
        assert_eq!((&places[0].equal, &places[1].equal), (&vec![1, 4], &vec![0]));
        assert_eq!(places[2].undecided[0].other, 3);
    }
}
