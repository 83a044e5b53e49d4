//! The ITL at the lowest and at the highest load of each of the things compared, with both loads.

use crate::insight::versus::{CENTER, Versus};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_core::Metric;
use ifm_results::Curve;
use ifm_results::say;

pub(super) const RULE: InsightRule = InsightRule {
    id: "itl_growth",
    title: "ITL at the lowest and the highest load of each, and at the highest load requested of both",
    look,
};

/// How a curve begins and ends.
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

/// The growth of a curve from its first point up to the one at `end`, or to its last point. `None`
/// with one point, or where the curve was not measured at `end`.
pub fn growth(curve: &Curve, end: Option<f64>) -> Option<Growth> {
    let first = curve.points.first()?;
    let last = match end {
        Some(end) => curve.at(end)?,
        None => curve.points.last()?,
    };
    let (from, to) = ((first.at, first.stat.value), (last.at, last.stat.value));
    (to.0 > from.0 && from.1 > 0.0).then_some(Growth { from, to })
}

fn words(name: &str, growth: &Growth) -> Sentence {
    say!(
        "{} {} at {} and {} at {} ({})";
        name, growth.from.1 => Ms, growth.from.0 => Load, growth.to.1 => Ms, growth.to.0 => Load,
        growth.ratio() => Times
    )
}

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    for versus in &Versus::all(question) {
        let base = versus.curve(&versus.base, Metric::Itl, CENTER);
        let Some(own) = growth(&base, None) else { continue };
        for (party, matched) in versus.compared() {
            let other = versus.curve(party, Metric::Itl, CENTER);
            let Some(its) = growth(&other, None) else { continue };
            let scene = versus.scene.as_ref().map(|scene| format!("{scene}: ")).unwrap_or_default();
            let mut sentence = say!(
                "{}ITL from the lowest to the highest load ({}): {}; {}";
                scene, versus.axis.words(), words(&party.short, &its),
                words(versus.base.short_as_base(), &own)
            );
            let end = matched.last().map(|matched| matched.at);
            let equal = end.and_then(|end| growth(&base, Some(end)).zip(growth(&other, Some(end))));
            if let Some((before, after)) = equal.filter(|_| own.to.0 != its.to.0) {
                sentence = say!(
                    "{}; up to {}{}, {} and {}";
                    sentence, after.to.0 => Load, versus.counted(after.to.0),
                    after.ratio() => Times, before.ratio() => Times
                );
            }
            let insight = Insight::new(RULE.id, Topic::Variant, Tone::Note, say!("{}."; sentence));
            found.push(insight.weighing((its.ratio() / own.ratio()).ln()));
        }
    }
    found
}
