//! A stated speed that the report's own checks do not believe to be one.
//!
//! A gap between tokens that is longer than reading the context explains holds other work, so one
//! over that gap is not a decode speed. Such figures are marked.

use crate::format::meant;
use crate::page::{Block, Figure, Section};
use ifm_chart::Plot;
use ifm_rules::audit::{Audit, Finding, Level};
use ifm_rules::insight::Meant;

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

    /// Draws its points hollow, in the chart of the speeds, of the gaps and of what is computed from
    /// them, and says why.
    pub fn mark(&self, sections: &mut [Section]) {
        let mut disputed: Vec<(String, f64)> = Vec::new();
        for block in sections.iter_mut().flat_map(|section| &mut section.blocks) {
            let Block::Figures(figures) = block else { continue };
            for figure in figures {
                self.mark_figure(figure, &mut disputed);
            }
        }
    }

    /// One chart; `disputed` has series and place of the speeds so far, where a share of a speed
    /// is drawn too.
    fn mark_figure(&self, figure: &mut Figure, disputed: &mut Vec<(String, f64)>) {
        let Plot::Cartesian(plot) = &mut figure.chart.plot else { return };
        let mut is_marked = false;
        for series in &mut plot.series {
            for point in &mut series.points {
                let Some(y) = point.y else { continue };
                let is_disputed = match figure.chart.id.as_str() {
                    "speed" | "speed-range" => self.is_speed(y),
                    "itl" => self.is_gap(y),
                    "efficiency" => disputed.contains(&(series.name.clone(), point.x)),
                    _ => false,
                };
                if is_disputed {
                    point.is_trusted = false;
                    is_marked = true;
                    disputed.push((series.name.clone(), point.x));
                }
            }
        }
        if is_marked {
            let before = figure.caption.take().map_or(String::new(), |caption| caption + " ");
            figure.caption = Some(format!("{before}Hollow: {}.", self.words()));
        }
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
