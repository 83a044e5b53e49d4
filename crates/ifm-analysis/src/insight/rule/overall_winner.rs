//! Who is first over all configurations of a matrix.

use super::{joined, matrix, span};
use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use ifm_core::words::plural;

pub(super) const RULE: InsightRule = InsightRule {
    id: "overall_winner",
    title: "the largest geometric mean of ratios to the baseline over the configurations in which everything was measured",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let Some(matrix) = matrix(question) else { return Vec::new() };
    let overall = matrix.overall();
    let (Some(first), Some(baseline)) = (overall.first(), matrix.baseline) else {
        return Vec::new();
    };
    let base = matrix.thing(baseline);
    let name = matrix.thing(first.thing);
    let (over, ratio) = (&first.over, first.over.ratio);
    let begin = Sentence::new("Over ")
        .number(ratio.configurations as f64, Meant::Count)
        .text(format!(" {} ", plural(ratio.configurations as u64, "configuration")));
    if over.is_mixed() {
        let text = format!("nothing is faster than {base} throughout: {name} runs from ");
        let sentence = span(begin.text(text), over.members.iter().map(|(_, ratio)| ratio.value));
        let sentence = sentence.text(format!(" {base}, by configuration."));
        return vec![Insight::new(RULE.id, Topic::Summary, Tone::Note, sentence)];
    }
    let (tone, mut sentence) = match over.is_faster() {
        true => (Tone::Good, begin.text(format!("{name} is first: "))),
        false => (
            Tone::Note,
            begin.text(format!("nothing is shown to be faster than {base}; {name} has ")),
        ),
    };
    sentence = sentence.number(ratio.value, Meant::Times).text(format!(" {base}"));
    if let Some((low, high)) = ratio.interval {
        sentence = sentence
            .text(" (")
            .number(low, Meant::Times)
            .text(" to ")
            .number(high, Meant::Times)
            .text(" with 95 % confidence)");
    }
    let ties: Vec<&str> = overall
        .iter()
        .skip(1)
        .filter(|other| other.ties_first)
        .map(|other| matrix.thing(other.thing))
        .collect();
    sentence = match ties.as_slice() {
        [] => sentence.text("."),
        ties => sentence.text(format!("; no difference is shown to {}.", joined(ties))),
    };
    let insight = Insight::new(RULE.id, Topic::Summary, tone, sentence);
    vec![insight.weighing(ratio.value.ln())]
}
