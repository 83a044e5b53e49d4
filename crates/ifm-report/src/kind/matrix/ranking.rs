//! The ranking of each configuration: medals for groups, not for noise.

use super::configuration::measure_unit;
use crate::format::{meant, plain};
use crate::page::{Block, Section};
use ifm_analysis::insight::Meant;
use ifm_analysis::matrix::{Configuration, Matrix, Place, Unranked};

const MEDALS: [&str; 3] = ["🥇", "🥈", "🥉"];

/// The chapter: one list for each configuration.
pub(super) fn sections(matrix: &Matrix) -> Vec<Section> {
    let all = &matrix.configurations;
    let first = all.first().map(|of| &of.measure);
    let by = match (first, all.iter().all(|of| Some(&of.measure) == first)) {
        (Some(measure), true) => format!(" (by {})", measure_unit(measure).0),
        _ => String::new(),
    };
    let heading = format!("Performance Ranking{by}");
    let note = "Models share a place where the repeats do not tell them from the first of their \
                group.";
    let mut sections = vec![Section::new(heading, vec![Block::Prose(note.to_owned())])];
    for (index, configuration) in all.iter().enumerate() {
        let places = matrix.ranking(index);
        let (name, _, how) = measure_unit(&configuration.measure);
        let mut blocks = Vec::new();
        if by.is_empty() {
            blocks.push(Block::Prose(format!("By {name}{}.", reason(configuration))));
        }
        blocks.push(Block::List(lines(matrix, &places, how)));
        let heading = format!("Configuration: {}", plain(&configuration.name()));
        sections.push(Section::inner(heading, blocks));
    }
    sections
}

fn reason(configuration: &Configuration) -> &'static str {
    match configuration.is_prefill_bound() {
        true => ", since most of the time goes into the prompt",
        false => "",
    }
}

fn lines(matrix: &Matrix, places: &[Place], how: Meant) -> Vec<String> {
    let mut lines = Vec::new();
    let mut place = 1;
    for group in 1..=places.len() {
        let of: Vec<&Place> = places.iter().filter(|place| place.group == Ok(group)).collect();
        if of.is_empty() {
            break;
        }
        let sign =
            MEDALS.get(group - 1).map_or_else(|| format!("{place}."), |sign| (*sign).to_owned());
        let names: Vec<String> = of
            .iter()
            .map(|place| {
                format!("{} {}", plain(matrix.thing(place.thing)), meant(place.sample.mean, how))
            })
            .collect();
        let tie = if of.len() > 1 { format!(" (tie of {})", of.len()) } else { String::new() };
        lines.push(format!("{sign} {}{tie}", names.join(", ")));
        place += of.len();
    }
    for unranked in places {
        let Err(why) = unranked.group else { continue };
        let why = match why {
            Unranked::Noisy => "its repeats contradict each other",
            Unranked::FewRepeats => "fewer than three repeats",
        };
        let name = plain(matrix.thing(unranked.thing));
        lines.push(format!("no place: {name} {}, {why}", meant(unranked.sample.mean, how)));
    }
    lines
}
