//! Things that are faster than the baseline in some configurations and slower in others.

use super::{joined, matrix, span};
use crate::insight::{Insight, InsightRule, Question, Sentence, Tone, Topic};
use ifm_compare::matrix::{Matrix, Ratio};
use ifm_core::order::Order as _;
use ifm_results::say;

pub(super) const RULE: InsightRule = InsightRule {
    id: "crossover",
    title: "rows that are faster than the baseline in some configurations and slower in others, both shown by the repeats",
    look,
};

/// Sizes that are named one by one, at most.
const SIZES_MAX: usize = 6;

/// The configurations in which something is shown to be faster, and those in which it is shown to
/// be slower.
struct Crossing {
    thing: usize,
    faster: Vec<(usize, Ratio)>,
    slower: Vec<(usize, Ratio)>,
}

fn look(question: &Question) -> Vec<Insight> {
    let Some(matrix) = matrix(question) else { return Vec::new() };
    let mut groups: Vec<Vec<Crossing>> = Vec::new();
    for crossing in crossings(&matrix) {
        let of = |ratios: &[(usize, Ratio)]| ratios.iter().map(|(of, _)| *of).collect::<Vec<_>>();
        let is_like = |group: &&mut Vec<Crossing>| {
            group.first().is_some_and(|first| {
                of(&first.faster) == of(&crossing.faster)
                    && of(&first.slower) == of(&crossing.slower)
            })
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(crossing),
            None => groups.push(vec![crossing]),
        }
    }
    groups.iter().filter_map(|group| tell(&matrix, group)).collect()
}

fn crossings(matrix: &Matrix) -> Vec<Crossing> {
    let each: Vec<Vec<Option<Ratio>>> =
        (0..matrix.configurations.len()).map(|of| matrix.against_baseline(&[of], None)).collect();
    let crossing = |thing: usize| {
        let only = |is: fn(&Ratio) -> bool| -> Vec<(usize, Ratio)> {
            let ratio = |(of, ratios): (usize, &Vec<Option<Ratio>>)| {
                Some((of, ratios.get(thing).cloned().flatten().filter(is)?))
            };
            each.iter().enumerate().filter_map(ratio).collect()
        };
        let (faster, slower) = (only(Ratio::is_faster), only(Ratio::is_slower));
        (!faster.is_empty() && !slower.is_empty()).then_some(Crossing { thing, faster, slower })
    };
    (0..matrix.things.len()).filter_map(crossing).collect()
}

fn tell(matrix: &Matrix, group: &[Crossing]) -> Option<Insight> {
    let first = group.first()?;
    let names: Vec<&str> = group.iter().map(|crossing| matrix.thing(crossing.thing)).collect();
    let is = if names.len() == 1 { "is" } else { "are" };
    let base = matrix.thing(matrix.baseline?);
    let ratios = |of: fn(&Crossing) -> &Vec<(usize, Ratio)>| -> Vec<f64> {
        group
            .iter()
            .flat_map(|crossing| of(crossing).iter().map(|(_, ratio)| ratio.value))
            .collect()
    };
    let (faster, slower) = (ratios(|of| &of.faster), ratios(|of| &of.slower));
    let sentence = say!(
        "{} {} faster than {} at {} ({}) and slower at {} ({}).";
        joined(&names), is, base, places(matrix, &first.faster), span(faster),
        places(matrix, &first.slower), span(slower.iter().copied())
    );
    let weight = slower.iter().map(|ratio| -ratio.ln()).fold(0.0, f64::max);
    Some(Insight::new(RULE.id, Topic::Ranking, Tone::Warn, sentence).weighing(weight))
}

/// Configurations by their size, with their lengths where the size has others too:
/// `batch 1 (128→64, 256→512) and 8`.
fn places(matrix: &Matrix, of: &[(usize, Ratio)]) -> Sentence {
    let mut sizes: Vec<(Option<f64>, Vec<usize>)> = Vec::new();
    for (configuration, _) in of {
        let batch = matrix.configurations.get(*configuration).and_then(|of| of.batch);
        match sizes.iter_mut().find(|(known, _)| *known == batch) {
            Some((_, members)) => members.push(*configuration),
            None => sizes.push((batch, vec![*configuration])),
        }
    }
    sizes.order_by(|(a, _), (b, _)| {
        a.unwrap_or(f64::INFINITY).total_cmp(&b.unwrap_or(f64::INFINITY))
    });
    let unit = match matrix.configurations.first().is_some_and(|of| of.is_users) {
        true => "users",
        false => "batch",
    };
    let shown = sizes.len().min(SIZES_MAX);
    let more = sizes.len() - shown;
    let size = |(index, (batch, members)): (usize, &(Option<f64>, Vec<usize>))| {
        let name = |of: &usize| Some(matrix.configurations.get(*of)?.short_name());
        let names = members.iter().filter_map(name).collect::<Vec<_>>().join(", ");
        let Some(batch) = *batch else { return say!("{}"; names) };
        let unit = if index == 0 { format!("{unit} ") } else { String::new() };
        match matrix.at_batch(batch).len() > members.len() {
            true => say!("{}{} ({})"; unit, batch => Load, names),
            false => say!("{}{}"; unit, batch => Load),
        }
    };
    let last = if more == 0 { " and " } else { ", " };
    let sizes = Sentence::list(sizes.iter().take(shown).enumerate().map(size), ", ", last);
    match more {
        0 => sizes,
        _ => say!("{} and {} more"; sizes, more as f64 => Count),
    }
}
