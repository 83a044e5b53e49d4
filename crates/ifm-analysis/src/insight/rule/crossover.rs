//! Things that are faster than the baseline at some sizes and slower at others.

use super::{joined, matrix};
use crate::insight::{Insight, InsightRule, Meant, Question, Sentence, Tone, Topic};
use crate::matrix::{Matrix, Ratio};

pub(super) const RULE: InsightRule = InsightRule {
    id: "crossover",
    title: "what is faster than the baseline at some batch sizes and slower at others, both shown by the repeats",
    look,
};

/// Ratios that are no further apart than this factor are told as one.
const SAME_WITHIN: f64 = 1.005;

/// Where a thing is shown to be faster and slower.
struct Crossing {
    thing: usize,
    faster: Vec<(f64, Ratio)>,
    slower: Vec<(f64, Ratio)>,
}

fn look(question: &Question) -> Vec<Insight> {
    let Some(matrix) = matrix(question) else { return Vec::new() };
    let mut groups: Vec<Vec<Crossing>> = Vec::new();
    for crossing in (0..matrix.things.len()).filter_map(|thing| crossing(&matrix, thing)) {
        let sizes = |of: &[(f64, Ratio)]| of.iter().map(|(at, _)| *at).collect::<Vec<_>>();
        let is_like = |group: &&mut Vec<Crossing>| {
            group.first().is_some_and(|first| {
                sizes(&first.faster) == sizes(&crossing.faster)
                    && sizes(&first.slower) == sizes(&crossing.slower)
            })
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(crossing),
            None => groups.push(vec![crossing]),
        }
    }
    groups.iter().filter_map(|group| tell(&matrix, group)).collect()
}

fn crossing(matrix: &Matrix, thing: usize) -> Option<Crossing> {
    let ratios: Vec<(f64, Ratio)> = matrix
        .batches()
        .into_iter()
        .filter_map(|batch| Some((batch, matrix.speed_up_at(thing, batch)?)))
        .collect();
    let only = |is: fn(&Ratio) -> bool| {
        ratios.iter().filter(|(_, ratio)| is(ratio)).copied().collect::<Vec<_>>()
    };
    let (faster, slower) = (only(Ratio::is_faster), only(Ratio::is_slower));
    (!faster.is_empty() && !slower.is_empty()).then_some(Crossing { thing, faster, slower })
}

fn tell(matrix: &Matrix, group: &[Crossing]) -> Option<Insight> {
    let first = group.first()?;
    let names: Vec<&str> = group.iter().map(|crossing| matrix.thing(crossing.thing)).collect();
    let unit = match matrix.configurations.first().is_some_and(|of| of.is_users) {
        true => "users",
        false => "batch",
    };
    let is = if names.len() == 1 { "is" } else { "are" };
    let base = matrix.thing(matrix.baseline?);
    let faster: Vec<f64> = ratios(group, |crossing| &crossing.faster);
    let slower: Vec<f64> = ratios(group, |crossing| &crossing.slower);
    let mut sentence = sizes(
        Sentence::new(format!("{} {is} faster than {base} at {unit} ", joined(&names))),
        &first.faster,
    );
    sentence = span(sentence.text(" ("), &faster).text(format!(") and slower at {unit} "));
    sentence = span(sizes(sentence, &first.slower).text(" ("), &slower);
    sentence = numbers_behind(matrix, first, sentence).text(").");
    let weight = slower.iter().map(|ratio| -ratio.ln()).fold(0.0, f64::max);
    Some(Insight::new(RULE.id, Topic::Ranking, Tone::Warn, sentence).weighing(weight))
}

/// The two speeds behind the last size, where it is one configuration.
fn numbers_behind(matrix: &Matrix, crossing: &Crossing, sentence: Sentence) -> Sentence {
    let numbers = || {
        let (batch, _) = crossing.slower.last()?;
        let [only] = matrix.at_batch(*batch).try_into().ok()?;
        let own = matrix.sample(crossing.thing, only)?;
        let base = matrix.sample(matrix.baseline?, only)?;
        let how = super::measured(&matrix.configurations.get(only)?.measure);
        Some((own.mean, base.mean, how))
    };
    match numbers() {
        Some((own, base, how)) => {
            sentence.text(": ").number(own, how).text(" against ").number(base, how)
        }
        None => sentence,
    }
}

fn ratios(group: &[Crossing], of: impl Fn(&Crossing) -> &Vec<(f64, Ratio)>) -> Vec<f64> {
    group.iter().flat_map(|crossing| of(crossing).iter().map(|(_, ratio)| ratio.value)).collect()
}

/// Sizes as a list: `1, 8 and 32`.
fn sizes(mut sentence: Sentence, of: &[(f64, Ratio)]) -> Sentence {
    for (index, (at, _)) in of.iter().enumerate() {
        sentence = match index {
            0 => sentence,
            _ if index + 1 == of.len() => sentence.text(" and "),
            _ => sentence.text(", "),
        };
        sentence = sentence.number(*at, Meant::Load);
    }
    sentence
}

/// The smallest and the largest of ratios.
fn span(sentence: Sentence, ratios: &[f64]) -> Sentence {
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(0.0, f64::max);
    let sentence = sentence.number(low, Meant::Times);
    // Two numbers that read the same are one.
    match high > SAME_WITHIN * low {
        true => sentence.text(" to ").number(high, Meant::Times),
        false => sentence,
    }
}
