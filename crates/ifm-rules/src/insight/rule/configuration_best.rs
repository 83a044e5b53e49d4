//! Who is first in a configuration of a matrix, and with whom the place is shared.

use super::{joined, matrix, measure_word, measured};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_compare::matrix::Matrix;
use ifm_results::say;

pub(super) const RULE: InsightRule = InsightRule {
    id: "configuration_best",
    title: "the first of each configuration of a matrix, and all that are not shown to differ from it",
    look,
};

fn look(question: &Question) -> Vec<Insight> {
    let Some(matrix) = matrix(question) else { return Vec::new() };
    (0..matrix.configurations.len()).filter_map(|of| best(&matrix, of)).collect()
}

fn best(matrix: &Matrix, of: usize) -> Option<Insight> {
    let configuration = matrix.configurations.get(of)?;
    let places = matrix.ranking(of);
    let leader = places.first().filter(|_| places.len() > 1)?;
    let name = matrix.thing(leader.thing);
    let first: Vec<_> = places.iter().filter(|place| place.placement.first == 1).collect();
    let open = leader.placement.undecided.iter().map(|undecided| undecided.other);
    let mut things: Vec<usize> = first.iter().map(|place| place.thing).collect();
    things.extend(open.filter(|thing| first.iter().all(|place| place.thing != *thing)));
    let names: Vec<&str> = things.iter().map(|thing| matrix.thing(*thing)).collect();
    let how = measured(configuration.measure);
    let is_decided = first.iter().all(|place| place.placement.decided().is_some());
    let first = match names.as_slice() {
        [_] => say!("{} is the fastest:"; name),
        _ if is_decided => say!(
            "No relevant difference is shown between the first {}: {}; the largest mean is";
            names.len() as f64 => Count, joined(&names)
        ),
        _ => say!(
            "{} cannot be distinguished, so the fastest is not known; the first of them has";
            joined(&names)
        ),
    };
    let ratio = matrix.speed_up(leader.thing, of).filter(|ratio| ratio.is_shown());
    let weight = ratio.as_ref().map_or(0.0, |ratio| ratio.value.ln());
    let against = ratio.zip(matrix.baseline).map(
        |(ratio, baseline)| say!(", {} that of {}"; ratio.value => Times, matrix.thing(baseline)),
    );
    let sentence = say!(
        "{} {} {}{}.";
        first, Sentence::number(leader.sample.mean, how, true),
        measure_word(configuration.measure), against.unwrap_or_default()
    );

    let insight = Insight::new(RULE.id, Topic::Ranking, Tone::Note, sentence);
    Some(insight.weighing(weight).of(configuration.name()))
}
