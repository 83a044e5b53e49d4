//! Who is first in a configuration of a matrix, and with whom the place is shared.

use super::{joined, matrix, measure_word, measured};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use crate::matrix::Matrix;
use crate::say;

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
    let first: Vec<_> = places.iter().filter(|place| place.group == Ok(1)).collect();
    let leader = first.first()?;
    let names: Vec<&str> = first.iter().map(|place| matrix.thing(place.thing)).collect();
    let how = measured(&configuration.measure);
    // A mean above that of the leader belongs to repeats that contradict each other or are too few.
    let is_behind = places.first().is_some_and(|place| place.group != Ok(1));
    let begin = if is_behind { "Of those that can be tested, " } else { "" };
    let first = match names.as_slice() {
        _ if places.len() < 2 => return None,
        [only] => format!("{begin}{only} is the fastest:"),
        _ => {
            let no = if is_behind { "no" } else { "No" };
            let (count, names) = (names.len(), joined(&names));
            let first = format!("{begin}{no} difference is shown between the first");
            format!("{first} {count}: {names}; the largest mean is")
        }
    };
    let ratio = matrix.speed_up(leader.thing, of).filter(|ratio| ratio.is_shown());
    let against = ratio.zip(matrix.baseline).map(
        |(ratio, baseline)| say!(", {} that of {}"; ratio.value => Times, matrix.thing(baseline)),
    );
    let sentence = say!(
        "{} {} {}{}.";
        first, Sentence::number(leader.sample.mean, how, true),
        measure_word(&configuration.measure), against.unwrap_or_default()
    );
    let weight = ratio.map_or(0.0, |ratio| ratio.value.ln());
    let insight = Insight::new(RULE.id, Topic::Ranking, Tone::Note, sentence);
    Some(insight.weighing(weight).of(configuration.name()))
}
