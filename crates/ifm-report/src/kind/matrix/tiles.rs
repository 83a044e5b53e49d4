//! The answers of a matrix: over all, at the smallest and at the largest size, and whether the
//! repeats agree.
//!
//! An answer based on runs with a repeated label is computed once more without them: it is kept
//! if that changes nothing, and struck out otherwise.

use super::{configuration, many, range};
use crate::format::{count, meant, percent, plain};
use crate::page::Tile;
use ifm_compare::matrix::{Cell, Leader, Matrix, Over, Overall, Ratio};
use ifm_core::Metric;
use ifm_rules::insight::{Bands, Meant, Tone};

/// Who leads, how far, and over which configurations.
struct Lead {
    things: Vec<Leader>,
    configurations: Vec<usize>,
}

pub(super) fn tiles(matrix: &Matrix) -> Vec<Tile> {
    let mut tiles = Vec::new();
    if let Some(base) = matrix.baseline.map(|baseline| plain(matrix.thing(baseline))) {
        tiles.extend(fastest(matrix, &base));
        let batches = matrix.batches();
        if let (Some(first), Some(last)) = (batches.first(), batches.last())
            && first < last
        {
            tiles.extend([first, last].into_iter().filter_map(|size| at(matrix, *size, &base)));
        }
    }
    tiles.extend(agreement(matrix));
    tiles
}

fn overall(matrix: &Matrix) -> Lead {
    let first = matrix.overall().into_iter().filter(|overall| overall.ties_first);
    let leader = |Overall { thing, over, is_equal_to_first, .. }| Leader {
        thing,
        over,
        is_equal: is_equal_to_first,
    };
    let things = first.map(leader).collect();
    Lead { things, configurations: matrix.comparable() }
}

fn at_size(matrix: &Matrix, size: f64) -> Lead {
    let things = matrix.leaders_at(size);
    let members = things.first().map(|leader| leader.over.members.iter().map(|(of, _)| *of));
    let configurations = members.into_iter().flatten().collect();
    Lead { things, configurations }
}

/// From the lowest to the highest of all that lead; absent where one of them has none.
fn span(lead: &Lead, of: impl Fn(&Over) -> Option<(f64, f64)>) -> Option<(f64, f64)> {
    lead.things.iter().try_fold((f64::INFINITY, 0.0_f64), |(low, high), leader| {
        let (least, most) = of(&leader.over)?;
        Some((low.min(least), high.max(most)))
    })
}

fn fastest(matrix: &Matrix, base: &str) -> Option<Tile> {
    let lead = overall(matrix);
    let Leader { thing, over, .. } = lead.things.first()?;
    let mut parts = Vec::new();
    let all = many(matrix.configurations.len(), "configuration", "configurations");
    if over.is_mixed() {
        let is = |overall: &Overall| overall.thing == *thing;
        let Overall { faster, slower, .. } = matrix.overall().into_iter().find(is)?;
        parts.push(format!(
            "by configuration: shown to be faster in {faster}, slower in {slower} of {all}"
        ));
    } else {
        let over_all = format!("over {} of {all}", over.ratio.configurations);
        parts.push(match span(&lead, |over| over.ratio.interval) {
            Some(interval) => format!("{} with 95 % confidence, {over_all}", range(interval)),
            None => over_all,
        });
    }
    let tile = tile(matrix, "Which is the fastest?", &lead, base, parts);
    Some(doubted(matrix, &lead, tile, overall))
}

/// The best at a size, and what is slower than the baseline there.
fn at(matrix: &Matrix, size: f64, base: &str) -> Option<Tile> {
    let lead = at_size(matrix, size);
    let best = &lead.things.first()?.over;
    let mut parts = Vec::new();
    let (members, all) = (best.members.len(), matrix.at_batch(size).len());
    if all > 1 {
        let all_words = many(all, "configuration", "configurations");
        let over = match members == all {
            true => all_words,
            false => format!("{} of {all_words}", count(members as u64)),
        };
        parts.push(match members == 1 || best.is_mixed() {
            true => format!("over {over}"),
            false => format!(
                "{} over {over}",
                range(span(&lead, |over| Some(over.range())).unwrap_or(best.range()))
            ),
        });
    }
    parts.extend(slowest(matrix, size));
    let question = format!("How much faster at {} {size}?", configuration::unit(matrix));
    let tile = tile(matrix, &question, &lead, base, parts);
    Some(doubted(matrix, &lead, tile, |matrix| at_size(matrix, size)))
}

/// What is shown to be slower than the baseline by most at a size.
fn slowest(matrix: &Matrix, size: f64) -> Option<String> {
    let all = matrix.at_size(size);
    let slower = |(thing, over): (usize, &Option<Over>)| -> Vec<(usize, usize, Ratio)> {
        let members =
            over.iter().filter(|over| over.ratio.is_trusted).flat_map(|over| &over.members);
        let members = members.filter(|(_, ratio)| ratio.is_slower());
        members.map(|(of, ratio)| (thing, *of, ratio.clone())).collect()
    };
    let slower: Vec<(usize, usize, Ratio)> = all.iter().enumerate().flat_map(slower).collect();
    let (_, of, ratio) = slower.iter().min_by(|a, b| a.2.value.total_cmp(&b.2.value))?;
    let write = |ratio: &Ratio| meant(ratio.value, Meant::Times);
    let alike = slower.iter().filter(|(_, at, other)| at == of && write(other) == write(ratio));
    let names: Vec<String> = alike.map(|(thing, ..)| plain(matrix.thing(*thing))).collect();
    let several = matrix.configurations.get(*of).filter(|_| matrix.at_batch(size).len() > 1);
    let place = several.map_or(String::new(), |of| format!(" ({})", plain(&of.short_name())));
    Some(format!("{} only {}{place}", names.join(", "), write(ratio)))
}

fn tile(matrix: &Matrix, question: &str, lead: &Lead, base: &str, mut parts: Vec<String>) -> Tile {
    let names: Vec<String> =
        lead.things.iter().map(|leader| plain(matrix.thing(leader.thing))).collect();
    if names.len() > 1 {
        let words = match lead.things.iter().all(|leader| leader.is_equal) {
            true => format!("no difference is shown between these {}", names.len()),
            false => format!("these {} cannot be distinguished", names.len()),
        };
        parts.insert(0, words);
    }
    let first = lead.things.first().map(|leader| &leader.over);
    if first.is_some_and(|over| !over.is_mixed() && !over.is_faster()) {
        parts.insert(0, format!("nothing is shown to be faster than {base}"));
    }
    let tone = match first {
        Some(over) if over.is_mixed() => Some(Tone::Warn),
        Some(over) if over.is_faster() => Some(Tone::Good),
        Some(over) if over.is_slower() => Some(Tone::Bad),
        _ => None,
    };
    let value = first.map(|over| times(over, &lead.things)).unwrap_or_default();
    Tile::new(question, value, base, parts.join("; ")).by(Some(names.join(", "))).toned(tone)
}

/// The ratio of those that lead, or their range.
fn times(first: &Over, all: &[Leader]) -> String {
    if first.is_mixed() {
        return range(first.range());
    }
    let write = |value: f64| meant(value, Meant::Times);
    let last = all.last().map_or(first.ratio.value, |leader| leader.over.ratio.value);
    match write(last) == write(first.ratio.value) {
        true => write(last),
        false => range((last, first.ratio.value)),
    }
}

/// An answer based on repeated labels, with the answer without them.
fn doubted(matrix: &Matrix, lead: &Lead, mut tile: Tile, ask: impl Fn(&Matrix) -> Lead) -> Tile {
    let is_of = |cell: &&Cell| lead.configurations.contains(&cell.configuration);
    let rests_on = matrix.cells.iter().filter(is_of).filter(|cell| cell.is_doubly_labelled());
    let doubtful = rests_on.count();
    if doubtful == 0 {
        return tile;
    }
    let sound = ask(&matrix.without_doubly_labelled());
    let names = |lead: &Lead| {
        let mut things: Vec<usize> = lead.things.iter().map(|leader| leader.thing).collect();
        things.sort_unstable();
        things
    };
    let groups = many(doubtful, "group of repeats", "groups of repeats");
    let use_twice = if doubtful == 1 { "uses" } else { "use" };
    match names(&sound) == names(lead) {
        true => {
            let over = many(sound.configurations.len(), "configuration", "configurations");
            let value = sound.things.first().map(|leader| times(&leader.over, &sound.things));
            tile.detail.push_str(&format!(
                "; {groups} of these configurations {use_twice} a label twice: without them the same, {} over {over}",
                value.unwrap_or_default()
            ));
            tile
        }
        false => {
            let otherwise = match sound.things.is_empty() {
                true => "nothing is left to compare",
                false => "the answer changes",
            };
            tile.struck(Some(&format!(
                "{groups} that it rests on {use_twice} a label twice, and without them, {otherwise}"
            )))
        }
    }
}

/// Whether the repeats agree, of those that have labels of their own.
fn agreement(matrix: &Matrix) -> Option<Tile> {
    let doubtful = matrix.doubly_labelled();
    let sound = matrix.without_doubly_labelled();
    let band = &Bands::get().cv;
    let spreads: Vec<_> = sound.cells.iter().filter_map(|cell| widest(&sound, cell)).collect();
    let calm = spreads.iter().filter(|(cv, ..)| !band.is_poor(*cv)).count();
    let (cv, measure, cell) = spreads.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let limit = band.bounds()[1].map(percent)?;
    let place = matrix.configurations.get(cell.configuration)?.name();
    let mut detail = format!(
        "spread by less than {limit} of their mean in output and overall throughput; the widest \
         {} ({} of {}, {place})",
        percent(*cv),
        configuration::measure_unit(*measure).0.to_lowercase(),
        plain(matrix.thing(cell.thing))
    );
    if doubtful > 0 {
        let groups = many(doubtful, "group", "groups");
        detail.push_str(&format!("; {groups} with a repeated label left out"));
    }
    let value = format!("{} of {}", count(calm as u64), count(spreads.len() as u64));
    let tone = if calm == spreads.len() { Tone::Good } else { Tone::Warn };
    Some(Tile::new("Do the repeats agree?", value, "", detail).toned(Some(tone)))
}

/// The widest spread of the repeats of a cell, over what it is ranked by and both throughputs.
fn widest<'m, 'a>(matrix: &Matrix, cell: &'m Cell<'a>) -> Option<(f64, Metric, &'m Cell<'a>)> {
    let ranked = &matrix.configurations.get(cell.configuration)?.measure;
    [*ranked, Metric::OutputRate, Metric::TotalRate]
        .into_iter()
        .filter_map(|measure| Some((cell.sample(measure)?.cv()?, measure, cell)))
        .max_by(|a, b| a.0.total_cmp(&b.0))
}
