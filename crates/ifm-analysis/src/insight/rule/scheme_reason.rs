//! Possible reasons that follow from how a model is quantized, chosen by what was measured.

use super::growth::growth;
use crate::insight::scheme::Scheme;
use crate::insight::versus::{CENTER, Versus};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use crate::say;
use ifm_core::sheet::{Quantity, key};

pub(super) const RULE: InsightRule = InsightRule {
    id: "scheme_reason",
    title: "what about the quantization could explain a steeper ITL or a higher speed",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    for versus in &Versus::all(question) {
        let base = versus.curve(&versus.base, &Quantity::Itl, CENTER);
        for party in &versus.others {
            let quantization = party.cells.first().and_then(|cell| cell.factor(key::QUANTIZATION));
            let Some(scheme) = Scheme::of(&party.name, quantization.as_deref()) else { continue };
            let other = versus.curve(party, &Quantity::Itl, CENTER);
            let Some(end) = Versus::common(&base, &other).last().copied() else { continue };
            let both = growth(&base, Some(end)).zip(growth(&other, Some(end)));
            let is_steeper = both.is_some_and(|(own, its)| its.ratio() > own.ratio());
            let values = base.between(end).zip(other.between(end));
            let is_faster = values.is_some_and(|(own, its)| its < own);
            let reasons = [
                scheme.if_steeper.as_ref().filter(|_| is_steeper),
                scheme.if_faster.as_ref().filter(|_| is_faster),
            ];
            for reason in reasons.into_iter().flatten() {
                let sentence = say!("{}"; reason);
                let insight = Insight::new(RULE.id, Topic::Variant, Tone::Note, sentence);
                found.push(insight.hypothesis().of(&party.name));
            }
        }
    }
    found
}
