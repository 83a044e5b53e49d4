//! The ranking of each configuration: medals for groups, not for noise.

use super::measure::measure_unit;
use crate::comparison::words::reason_of_pair;
use crate::format::{meant, plain};
use crate::page::{Block, Section};
use ifm_compare::comparison::{Measure, Metric};
use ifm_compare::matrix::{Configuration, Matrix, Place, Why};
use ifm_rules::insight::{Meant, Ranks};

/// What the first place is marked with. The others have numbers: what comes next may well be the
/// last.
const MEDAL: &str = "🥇";
/// The rule of the places.
pub(super) const SHARED: &str = "A place is one more than the number of models that are shown to \
                                 be faster; models share it where no relevant difference is shown; a range \
                                 such as 1-2 contains every place that the repeats allow";
/// Models that a line names one by one, at most.
const NAMED_MAX: usize = 3;

/// The chapter: one list for each configuration.
pub(super) fn sections(matrix: &Matrix, ranks: Ranks) -> Vec<Section> {
    let all = &matrix.configurations;
    let first = all.first().map(|of| &of.measure);
    let by = match (first, all.iter().all(|of| Some(&of.measure) == first)) {
        (Some(measure), true) => format!(" (by {})", measure_unit(*measure).0),
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
        let (name, _, how) = measure_unit(configuration.measure);
        let mut blocks = Vec::new();
        if by.is_empty() || configuration.why != Why::Output {
            blocks.push(Block::Prose(format!("By {name}{}.", reason(configuration))));
        }
        let write = |place: &Place| {
            format!("{} {}", plain(matrix.thing(place.thing)), meant(place.sample.mean, how))
        };
        let lines = match ranks.are_shared {
            true => shared(matrix, &places, ranks, write),
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

/// The place as text: `2`, or the range `2-4` where the data do not decide.
pub(super) fn place_text(place: &Place) -> String {
    let of = &place.placement;
    match of.decided() {
        Some(place) => place.to_string(),
        None => format!("{}-{}", of.first, of.last),
    }
}

/// A line for each place and each range of places.
fn shared(
    matrix: &Matrix,
    places: &[Place],
    ranks: Ranks,
    write: impl Fn(&Place) -> String,
) -> Vec<String> {
    let range = |place: &Place| (place.placement.first, place.placement.last);
    let lines = places.chunk_by(|a, b| range(a) == range(b)).filter_map(|of| {
        let first = of.first()?;
        let sign = match first.placement.decided() {
            Some(place) => sign(place, ranks),
            None => format!("{}.", place_text(first)),
        };
        let names: Vec<String> = of.iter().map(&write).collect();
        let note = match (first.placement.decided(), of.len()) {
            (Some(_), 1) => String::new(),
            (Some(_), many) => format!(" (tie of {many})"),
            (None, _) => format!(" ({})", undecided(matrix, of)),
        };
        Some(format!("{sign} {}{note}", names.join(", ")))
    });
    lines.collect()
}

/// What models of one range cannot be distinguished from, and why.
fn undecided(matrix: &Matrix, places: &[Place]) -> String {
    let pairs = || places.iter().flat_map(|place| &place.placement.undecided);
    let mut others: Vec<usize> = pairs()
        .map(|pair| pair.other)
        .filter(|other| places.iter().all(|place| place.thing != *other))
        .collect();
    others.sort_unstable();
    others.dedup();
    let more = others.len().saturating_sub(NAMED_MAX);
    let mut names: Vec<String> =
        others.iter().take(NAMED_MAX).map(|other| plain(matrix.thing(*other))).collect();
    names.extend((more > 0).then(|| format!("{more} more")));
    let from = if names.is_empty() { "" } else { " from " };
    let why = pairs().next().map(|pair| {
        let least = pair.detectable.map(|least| (Measure::value_of(Metric::OutputRate), least));
        format!("; {}", reason_of_pair(pair.doubt.as_ref(), least))
    });
    let why = why.unwrap_or_default();
    format!("cannot be distinguished{from}{}{why}", names.join(", "))
}

/// A line for each thing, in the order of the means.
fn strict(places: &[Place], ranks: Ranks, write: impl Fn(&Place) -> String) -> Vec<String> {
    let line =
        |(index, place): (usize, &Place)| format!("{} {}", sign(index + 1, ranks), write(place));
    places.iter().enumerate().map(line).collect()
}
