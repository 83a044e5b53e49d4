//! A stated speed that the report's own checks do not believe to be one.
//!
//! A gap between tokens that is longer than reading the context explains holds other work, so one
//! over that gap is no decode speed. Where such a figure stands, it is marked.

use crate::format::meant;
use ifm_analysis::audit::{Audit, Finding, Level};
use ifm_analysis::insight::Meant;

/// The check that finds it, and what it calls its numbers.
const RULE: &str = "prefill_interference";
const GAP: &str = "gap";
const EXPLAINED: &str = "explained";
/// Share within which a figure is the one that is disputed: it may be written as speed or as gap.
const SAME: f64 = 0.01;
const MS_PER_S: f64 = 1e3;

/// A gap, and how much of it reading the context explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dispute {
    gap_ms: f64,
    explained_ms: f64,
}

impl Dispute {
    /// What the checks dispute; absent where they dispute nothing.
    pub fn of(audit: Option<&Audit>) -> Option<Dispute> {
        let is_one = |found: &&Finding| found.rule == RULE && found.level >= Level::Strong;
        let finding = audit?.findings().into_iter().find(is_one)?;
        let number = |name: &str| {
            let evidence = finding.evidence.iter().find(|evidence| evidence.name == name)?;
            Some(evidence.value)
        };
        Some(Dispute { gap_ms: number(GAP)?, explained_ms: number(EXPLAINED)? })
    }

    /// Whether a speed for one user is the disputed one, tok/s.
    pub fn is_speed(&self, per_s: f64) -> bool {
        self.is_gap(MS_PER_S / per_s)
    }

    /// Whether a gap is the disputed one, ms.
    pub fn is_gap(&self, ms: f64) -> bool {
        (ms / self.gap_ms - 1.0).abs() < SAME
    }

    /// What is wrong with it, in a few words.
    pub fn words(&self) -> String {
        format!(
            "disputed: decoding explains at most {} of {} between tokens, the rest is other work",
            meant(self.explained_ms, Meant::Ms),
            meant(self.gap_ms, Meant::Ms)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disputed_figure_is_known_as_speed_and_as_gap() {
        let dispute = Dispute { gap_ms: 75.8, explained_ms: 35.7 };
        assert!(dispute.is_speed(13.2) && dispute.is_gap(75.8));
        assert!(!dispute.is_speed(70.6) && !dispute.is_gap(14.2));
        assert!(Dispute::of(None).is_none());
    }
}
