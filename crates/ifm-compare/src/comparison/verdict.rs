//! What may be said about a difference: which side is better, or by how much a prediction is off.
//!
//! Not here: how it is decided, see [`contrast`](super::contrast).

use ifm_core::metric::Direction;

ifm_core::vocabulary! {
    /// Verdict about a difference.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Verdict {
        /// The second side is better, by a relevant amount.
        Better = "better",
        /// The second side is worse, by a relevant amount.
        Worse = "worse",
        /// One side is a prediction of the other: it is above the measurement, by a relevant amount.
        PredictedAbove = "predicted_above",
        /// The same below it.
        PredictedBelow = "predicted_below",
        /// They differ, but by less than is relevant.
        NoRelevantDifference = "no_relevant_difference",
        /// No difference was found, and a relevant one would have been.
        NoDifferenceShown = "no_difference_shown",
        /// The data do not decide.
        Inconclusive = "inconclusive",
    }
}

impl Verdict {
    /// Whether it says by how much a prediction is off, not which side is better.
    pub fn is_of_prediction(self) -> bool {
        matches!(self, Verdict::PredictedAbove | Verdict::PredictedBelow)
    }

    /// The same of a prediction: a value of the second side that is better or worse is above the first
    /// or below it. `is_second` says whether the second side is the prediction.
    pub(crate) fn of_prediction(self, direction: Direction, is_second: bool) -> Verdict {
        let is_second_higher = match self {
            Verdict::Better => direction == Direction::Higher,
            Verdict::Worse => direction == Direction::Lower,
            other => return other,
        };
        match is_second_higher == is_second {
            true => Verdict::PredictedAbove,
            false => Verdict::PredictedBelow,
        }
    }
}
