//! Possible reasons that follow from how a model is quantized, chosen by what was measured.

use super::growth::growth;
use crate::insight::scheme::Scheme;
use crate::insight::versus::{CENTER, Versus};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_compare::comparison::Verdict;
use ifm_core::Metric;
use ifm_core::sheet::key;
use ifm_results::say;

pub(super) const RULE: InsightRule = InsightRule {
    id: "scheme_reason",
    title: "properties of the quantization that could explain a steeper ITL or a higher speed",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    for versus in &Versus::all(question) {
        let base = versus.curve(&versus.base, Metric::Itl, CENTER);
        for (party, matched) in versus.compared() {
            let quantization = party.cells.first().and_then(|cell| cell.factor(key::QUANTIZATION));
            let Some(scheme) = Scheme::of(&party.name, quantization.as_deref()) else { continue };
            let other = versus.curve(party, Metric::Itl, CENTER);
            let Some(end) = matched.last() else { continue };
            let both = growth(&base, Some(end.at)).zip(growth(&other, Some(end.at)));
            // Only what is shown asks for a reason.
            let verdicts: Vec<Verdict> = matched
                .iter()
                .filter_map(|at| Some(at.delta(Metric::Itl, CENTER)?.verdict))
                .collect();
            let is_shown = verdicts.iter().any(|v| [Verdict::Better, Verdict::Worse].contains(v));
            let is_steeper = is_shown && both.is_some_and(|(own, its)| its.ratio() > own.ratio());
            let is_faster = verdicts.last() == Some(&Verdict::Better);
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
