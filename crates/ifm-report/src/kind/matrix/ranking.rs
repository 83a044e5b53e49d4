//! The ranking of each configuration: medals for groups, not for noise.

use super::measure::measure_unit;
use crate::format::{meant, plain};
use crate::page::{Block, Section};
use ifm_analysis::insight::{Meant, Ranks};
use ifm_analysis::matrix::{Configuration, Matrix, Place, Unranked, Why};

/// What the first place is marked with. The others have numbers: what comes next may well be the
/// last.
const MEDAL: &str = "🥇";
/// The rule of the places.
pub(super) const SHARED: &str = "Neighbors share a place where the repeats do not distinguish any \
                                 two of them; a model that is shown to differ from one of them \
                                 begins the next";

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
        true => format!("{SHARED}."),
        false => "Every model ranked by its mean alone, as requested; the tables above show where \
                  the repeats distinguish two models."
            .to_owned(),
    };
    let mut sections = vec![Section::new(heading, vec![Block::Prose(note)])];
    for (index, configuration) in all.iter().enumerate() {
        let places = matrix.ranking(index);
        let (name, _, how) = measure_unit(&configuration.measure);
        let mut blocks = Vec::new();
        if by.is_empty() || configuration.why != Why::Output {
            blocks.push(Block::Prose(format!("By {name}{}.", reason(configuration))));
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

/// Why a configuration is ranked by what it is; empty where it is ranked by its output.
pub(super) fn reason(configuration: &Configuration) -> String {
    match configuration.why {
        Why::Output => String::new(),
        Why::Asked => ", as asked for".to_owned(),
        Why::PromptLengths(ratio) => {
            format!(", since prompts are {} times as long as answers", meant(ratio, Meant::Load))
        }
        Why::PromptTime(share) => {
            format!(", since prompts take {} of the time", meant(share, Meant::Share))
        }
    }
}

/// The sign of a place from 1.
fn sign(place: usize, ranks: Ranks) -> String {
    match place == 1 && ranks.has_medals {
        true => MEDAL.to_owned(),
        false => format!("{place}."),
    }
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
