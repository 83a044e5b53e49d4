//! Where two measures of the same runs say contrary things.

use super::{joined, matrix, measure_word, span};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_compare::matrix::{Contrary, Matrix};
use ifm_core::Metric;
use ifm_results::say;

pub(super) const RULE: InsightRule = InsightRule {
    id: "measures_disagree",
    title: "rows that are faster than the baseline by one measure and slower by another in the same runs, both shown, and which measure ranks them",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let Some(matrix) = matrix(question) else { return Vec::new() };
    (0..matrix.configurations.len()).flat_map(|of| of_configuration(&matrix, of)).collect()
}

fn of_configuration(matrix: &Matrix, of: usize) -> Vec<Insight> {
    let mut groups: Vec<Vec<Contrary>> = Vec::new();
    for contrary in matrix.contraries(of) {
        let is_like = |group: &&mut Vec<Contrary>| {
            group.first().is_some_and(|first| {
                first.ranked.is_faster() == contrary.ranked.is_faster()
                    && measures(first) == measures(&contrary)
            })
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(contrary),
            None => groups.push(vec![contrary]),
        }
    }
    groups.iter().filter_map(|group| tell(matrix, of, group)).collect()
}

fn measures(contrary: &Contrary) -> Vec<Metric> {
    contrary.others.iter().map(|(measure, _)| *measure).collect()
}

fn tell(matrix: &Matrix, of: usize, group: &[Contrary]) -> Option<Insight> {
    let configuration = matrix.configurations.get(of)?;
    let first = group.first()?;
    let names: Vec<&str> = group.iter().map(|contrary| matrix.thing(contrary.thing)).collect();
    let is = if names.len() == 1 { "is" } else { "are" };
    let (word, contrary_word) = match first.ranked.is_faster() {
        true => ("faster", "slower"),
        false => ("slower", "faster"),
    };
    let measure = measure_word(configuration.measure);
    let mut weight: f64 = 0.0;
    let others = first.others.iter().enumerate().map(|(index, (measure, _))| {
        let ratios = group.iter().filter_map(|contrary| contrary.others.get(index));
        let ratios: Vec<f64> = ratios.map(|(_, ratio)| ratio.value).collect();
        weight = ratios.iter().map(|ratio| ratio.ln().abs()).fold(weight, f64::max);
        say!("{} ({})"; measure_word(*measure), span(ratios))
    });
    let others = Sentence::list(others.collect::<Vec<_>>(), " and ", " and ");
    let sentence = say!(
        "At {}, {} {} {} than {} by {}, the measure of the ranking ({}), and {} by {}.{}";
        configuration.name(), joined(&names), is, word, matrix.thing(matrix.baseline?), measure,
        span(group.iter().map(|contrary| contrary.ranked.value)), contrary_word, others, why(group)
    );
    let insight = Insight::new(RULE.id, Topic::Ranking, Tone::Warn, sentence);
    Some(insight.weighing(weight).of(configuration.name()))
}

/// What the output rate leaves out, where that is one of the measures.
fn why(group: &[Contrary]) -> Sentence {
    let shares = || group.iter().filter_map(|contrary| contrary.output_share);
    let (low, high) = (shares().fold(1.0, f64::min), shares().fold(0.0, f64::max));
    if shares().count() < group.len() {
        return Sentence::default();
    }
    let shares = match high - low < SHARE_ALIKE {
        true => say!("{}"; high => Share),
        false => say!("{} to {}"; low => Share, high => Share),
    };
    say!(
        " At that output throughput the tokens take {} of the latency: the rest, most likely the \
         time to first token, counts in latency and overall throughput alone.";
        shares
    )
}

/// Shares that are no further apart read the same.
const SHARE_ALIKE: f64 = 0.005;
