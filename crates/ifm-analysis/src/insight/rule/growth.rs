//! How much the ITL grows with the load, for each of the things compared, with both loads.

use crate::insight::versus::{CENTER, Versus};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use crate::say;
use crate::survey::Curve;
use ifm_core::sheet::Quantity;

pub(super) const RULE: InsightRule = InsightRule {
    id: "itl_growth",
    title: "how many times the ITL grows from the lowest to the highest load, and up to an equal load",
    look,
};

/// How a curve grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Where it begins and its value there.
    pub from: (f64, f64),
    /// Where it ends and its value there.
    pub to: (f64, f64),
}

impl Growth {
    /// Last value over first.
    pub fn ratio(&self) -> f64 {
        self.to.1 / self.from.1
    }
}

/// The growth of a curve from its first point up to `end`, or to its last point. `None` with one
/// point, or where the curve does not reach `end`.
pub fn growth(curve: &Curve, end: Option<f64>) -> Option<Growth> {
    let first = curve.points.first()?;
    let to = match end {
        Some(end) => (end, curve.between(end)?),
        None => curve.points.last().map(|last| (last.at, last.reading.value))?,
    };
    let from = (first.at, first.reading.value);
    (to.0 > from.0 && from.1 > 0.0).then_some(Growth { from, to })
}

fn words(name: &str, growth: &Growth) -> Sentence {
    say!(
        "{} for {} ({} → {}, load {} → {})";
        growth.ratio() => Times, name, growth.from.1 => Ms, growth.to.1 => Ms,
        growth.from.0 => Load, growth.to.0 => Load
    )
}

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    for versus in &Versus::all(question) {
        let base = versus.curve(&versus.base, &Quantity::Itl, CENTER);
        let Some(own) = growth(&base, None) else { continue };
        for party in &versus.others {
            let other = versus.curve(party, &Quantity::Itl, CENTER);
            let Some(its) = growth(&other, None) else { continue };
            let scene = versus.scene.as_ref().map(|scene| format!("{scene}: ")).unwrap_or_default();
            let mut sentence = say!(
                "{}ITL grows {} and {}";
                scene, words(&party.short, &its), words(versus.base.short_as_base(), &own)
            );
            let end = own.to.0.min(its.to.0);
            let equal = growth(&base, Some(end)).zip(growth(&other, Some(end)));
            if let Some((before, after)) = equal.filter(|_| own.to.0 != its.to.0) {
                sentence = say!(
                    "{}; up to {}{} for both {} and {}";
                    sentence, end => Load, versus.counted(end),
                    after.ratio() => Times if other.at(end).is_some(),
                    before.ratio() => Times if base.at(end).is_some()
                );
            }
            if its.to.1 < own.to.1 && its.to.0 >= own.to.0 {
                sentence = say!("{}; {} is still lower at its highest load"; sentence, party.short);
            }
            let insight = Insight::new(RULE.id, Topic::Variant, Tone::Note, say!("{}."; sentence));
            found.push(insight.weighing((its.ratio() / own.ratio()).ln()));
        }
    }
    found
}
