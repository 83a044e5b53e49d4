//! Who is first over all configurations of a matrix.

use super::{joined, matrix, span};
use crate::insight::{Insight, InsightRule, Question, Tone, Topic};
use ifm_core::words::plural;
use ifm_results::say;

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
    let (over, ratio) = (&first.over, &first.over.ratio);
    let all = plural(ratio.configurations as u64, "configuration");
    let begin = say!("Over {} {}"; ratio.configurations as f64 => Count, all);
    if over.is_mixed() {
        let sentence = say!(
            "{} nothing is faster than {} throughout: {} runs from {} {}, by configuration.";
            begin, base, name, span(over.members.iter().map(|(_, ratio)| ratio.value)), base
        );
        return vec![Insight::new(RULE.id, Topic::Summary, Tone::Note, sentence)];
    }
    let (tone, lead) = match over.is_faster() {
        true => (Tone::Good, format!("{name} is first:")),
        false => (Tone::Note, format!("nothing is shown to be faster than {base}; {name} has")),
    };
    let interval = ratio
        .interval
        .map(|(low, high)| say!(" ({} to {} with 95 % confidence)"; low => Times, high => Times));
    let names = |is_equal: bool| -> Vec<&str> {
        let others = overall.iter().skip(1).filter(|other| other.ties_first);
        let alike = others.filter(|other| other.is_equal_to_first == is_equal);
        alike.map(|other| matrix.thing(other.thing)).collect()
    };
    let clause = |is_equal: bool, words: &str| match names(is_equal).as_slice() {
        [] => String::new(),
        names => format!("; {words} {}", joined(names)),
    };
    let ties = format!(
        "{}{}",
        clause(true, "no difference is shown to"),
        clause(false, "it cannot be distinguished from")
    );
    let sentence = say!(
        "{} {} {} {}{}{}.";
        begin, lead, ratio.value => Times, base, interval.unwrap_or_default(), ties
    );
    let insight = Insight::new(RULE.id, Topic::Summary, tone, sentence);
    vec![insight.weighing(ratio.value.ln())]
}
