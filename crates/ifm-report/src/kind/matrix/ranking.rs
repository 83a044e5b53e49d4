//! The ranking of each configuration: medals for groups, not for noise.

use super::configuration::measure_unit;
use crate::format::{meant, plain};
use crate::page::{Block, Section};
use ifm_analysis::insight::{Meant, Ranks};
use ifm_analysis::matrix::{Configuration, Matrix, Place, RankBy, Unranked};

const MEDALS: [&str; 3] = ["🥇", "🥈", "🥉"];

/// The chapter: one list for each configuration.
pub(super) fn sections(matrix: &Matrix, ranks: Ranks) -> Vec<Section> {
    let all = &matrix.configurations;
    let first = all.first().map(|of| &of.measure);
    let by = match (first, all.iter().all(|of| Some(&of.measure) == first)) {
        (Some(measure), true) => format!(" (by {})", measure_unit(measure).0),
        _ => String::new(),
    };
    let heading = format!("Performance Ranking{by}");
    let note = match ranks.are_shared {
        true => {
            "Neighbours share a place where the repeats do not tell any two of them apart; a model \
             that is shown to differ from one of them begins the next."
        }
        false => {
            "Every model by its mean alone, as asked for; where the repeats tell two of them apart \
             stands in the tables above."
        }
    };
    let mut sections = vec![Section::new(heading, vec![Block::Prose(note.to_owned())])];
    for (index, configuration) in all.iter().enumerate() {
        let places = matrix.ranking(index);
        let (name, _, how) = measure_unit(&configuration.measure);
        let mut blocks = Vec::new();
        if by.is_empty() {
            blocks.push(Block::Prose(format!("By {name}{}.", reason(matrix, configuration))));
        }
        let write = |place: &Place| {
            format!("{} {}", plain(matrix.thing(place.thing)), meant(place.sample.mean, how))
        };
        let lines = match ranks.are_shared {
            true => shared(&places, ranks, write),
            false => strict(&places, ranks, write),
        };
        blocks.push(Block::List(lines));
        let heading = format!("Configuration: {}", plain(&configuration.name()));
        sections.push(Section::inner(heading, blocks));
    }
    sections
}

/// Why a configuration is ranked by what it is.
fn reason(matrix: &Matrix, configuration: &Configuration) -> String {
    let asked = matrix.rank_by.map(RankBy::quantity);
    match configuration.prompt_ratio().filter(|_| configuration.is_prefill_bound()) {
        _ if asked.as_ref() == Some(&configuration.measure) => ", as asked for".to_owned(),
        Some(ratio) => {
            format!(", since prompts are {} times as long as answers", meant(ratio, Meant::Load))
        }
        None => String::new(),
    }
}

/// The sign of a place from 1.
fn sign(place: usize, ranks: Ranks) -> String {
    let medal = MEDALS.get(place - 1).filter(|_| ranks.has_medals);
    medal.map_or_else(|| format!("{place}."), |medal| (*medal).to_owned())
}

/// A line for each place, then what has none.
fn shared(places: &[Place], ranks: Ranks, write: impl Fn(&Place) -> String) -> Vec<String> {
    let groups = places.iter().filter_map(|place| place.group.ok()).max().unwrap_or(0);
    let line = |group: usize| {
        let of: Vec<String> =
            places.iter().filter(|place| place.group == Ok(group)).map(&write).collect();
        let tie = if of.len() > 1 { format!(" (tie of {})", of.len()) } else { String::new() };
        format!("{} {}{tie}", sign(group, ranks), of.join(", "))
    };
    let mut lines: Vec<String> = (1..=groups).map(line).collect();
    for unranked in places {
        let Err(why) = unranked.group else { continue };
        let why = match why {
            Unranked::Noisy => "its repeats contradict each other",
            Unranked::FewRepeats => "fewer than three repeats",
        };
        lines.push(format!("no place: {}, {why}", write(unranked)));
    }
    lines
}

/// A line for each thing, in the order of the means.
fn strict(places: &[Place], ranks: Ranks, write: impl Fn(&Place) -> String) -> Vec<String> {
    let line =
        |(index, place): (usize, &Place)| format!("{} {}", sign(index + 1, ranks), write(place));
    places.iter().enumerate().map(line).collect()
}
