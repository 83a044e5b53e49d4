//! The answers of a matrix: over all, at the smallest and at the largest size, and whether the
//! repeats agree.

use super::{configuration, many, range};
use crate::format::{count, meant, percent, plain};
use crate::page::Tile;
use ifm_analysis::insight::{Bands, Meant, Tone, Topic};
use ifm_analysis::matrix::{Matrix, Over, Overall, Ratio};

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

fn fastest(matrix: &Matrix, base: &str) -> Option<Tile> {
    let overall = matrix.overall();
    let Overall { thing, over, faster, slower, .. } = overall.first()?;
    let who = plain(matrix.thing(*thing));
    let mut detail = String::new();
    if over.is_mixed() {
        detail.push_str(&format!(
            "by configuration: shown to be faster in {faster}, slower in {slower} of {}",
            matrix.configurations.len()
        ));
        return Some(tile("Which is the fastest?", who, (over, base), detail));
    }
    if let Some(interval) = over.ratio.interval {
        detail.push_str(&format!("{}, ", range(interval)));
    }
    detail.push_str(&format!(
        "over {} of {}",
        over.ratio.configurations,
        many(matrix.configurations.len(), "configuration", "configurations")
    ));
    let ties = overall.iter().skip(1).filter(|other| other.ties_first).count();
    if ties > 0 {
        detail.push_str(&format!("; tied with {}", many(ties, "other", "others")));
    }
    Some(tile("Which is the fastest?", who, (over, base), detail))
}

/// The best at a size, and what is slower than the baseline there.
fn at(matrix: &Matrix, batch: f64, base: &str) -> Option<Tile> {
    let all = matrix.at_size(batch);
    let trusted = || {
        let each = all.iter().enumerate();
        each.filter_map(|(thing, over)| Some((thing, over.as_ref()?)))
            .filter(|(_, over)| over.ratio.is_trusted)
    };
    let rank = |over: &Over| (!over.is_mixed(), over.ratio.value);
    let (thing, best) = trusted().max_by(|(_, a), (_, b)| {
        let ((a, x), (b, y)) = (rank(a), rank(b));
        a.cmp(&b).then(x.total_cmp(&y))
    })?;
    let who = plain(matrix.thing(thing));
    let mut parts = Vec::new();
    if best.members.len() > 1 {
        let over = many(best.members.len(), "configuration", "configurations");
        parts.push(match best.is_mixed() {
            true => format!("over {over}"),
            false => format!("{} over {over}", range(best.range())),
        });
    }
    let slower = |(thing, over): (usize, &Over)| -> Vec<(usize, usize, Ratio)> {
        let members = over.members.iter().filter(|(_, ratio)| ratio.is_slower());
        members.map(|(of, ratio)| (thing, *of, *ratio)).collect()
    };
    let worst = trusted().flat_map(slower).min_by(|a, b| a.2.value.total_cmp(&b.2.value));
    if let Some((thing, of, ratio)) = worst {
        let name = plain(matrix.thing(thing));
        let several = matrix.configurations.get(of).filter(|_| matrix.at_batch(batch).len() > 1);
        let place = several.map_or(String::new(), |of| format!(" ({})", plain(&of.short_name())));
        parts.push(format!("{name} only {}{place}", meant(ratio.value, Meant::Times)));
    }
    let question = format!("How much faster at {} {batch}?", configuration::unit(matrix));
    Some(tile(&question, who, (best, base), parts.join("; ")))
}

fn tile(question: &str, who: String, (over, base): (&Over, &str), detail: String) -> Tile {
    Tile {
        question: question.to_owned(),
        who: Some(who),
        value: match over.is_mixed() {
            true => range(over.range()),
            false => meant(over.ratio.value, Meant::Times),
        },
        unit: base.to_owned(),
        detail,
        tone: match () {
            () if over.is_mixed() => Some(Tone::Warn),
            () if over.is_faster() => Some(Tone::Good),
            () if over.is_slower() => Some(Tone::Bad),
            () => None,
        },
        ..Tile::default()
    }
}

/// Whether the repeats agree.
fn agreement(matrix: &Matrix) -> Option<Tile> {
    let band = &Bands::get().cv;
    let spread = |cell: &ifm_analysis::matrix::Cell| {
        let measure = &matrix.configurations.get(cell.configuration)?.measure;
        Some((cell.sample(measure)?.cv()?, cell.thing, cell.configuration))
    };
    let spreads: Vec<_> = matrix.cells.iter().filter_map(spread).collect();
    let calm = spreads.iter().filter(|(cv, ..)| !band.is_poor(*cv)).count();
    let (cv, thing, of) = spreads.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let limit = band.bounds()[1].map(percent)?;
    let place = matrix.configurations.get(*of)?.name();
    Some(Tile {
        question: "Do the repeats agree?".to_owned(),
        value: format!("{} of {}", count(calm as u64), count(spreads.len() as u64)),
        unit: String::new(),
        detail: format!(
            "spread by less than {limit} of their mean; the widest {} ({}, {place})",
            percent(*cv),
            plain(matrix.thing(*thing))
        ),
        tone: Some(if calm == spreads.len() { Tone::Good } else { Tone::Warn }),
        topic: Some(Topic::Ranking),
        ..Tile::default()
    })
}
