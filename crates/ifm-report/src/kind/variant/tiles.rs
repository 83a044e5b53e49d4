//! The answers of a comparison of variants: capacity at equal ITL, ITL at the lowest and the
//! highest equal load, and what tokens cost or how many there are.

use super::super::common::TOKEN_SUM;
use super::Compared;
use super::tables::mark;
use crate::format::{meant, number, percent};
use crate::page::Tile;
use ifm_analysis::audit::Audit;
use ifm_analysis::capacity::Price;
use ifm_analysis::insight::{
    CENTER, Meant, OUTPUT, Party, Tone, Topic, Versus, itl_limits, output_off,
};
use ifm_analysis::survey::Curve;
use ifm_core::sheet::Quantity;

/// Share by which an output rate may be off what other figures make of it and still be confirmed.
const OUTPUT_OFF_MAX: f64 = 0.1;

/// The tiles about the first of the others.
pub(super) fn tiles(compared: &Compared, versus: &Versus, audit: Option<&Audit>) -> Vec<Tile> {
    let Some(party) = versus.others.first() else { return Vec::new() };
    let base = versus.curve(&versus.base, &Quantity::Itl, CENTER);
    let other = versus.curve(party, &Quantity::Itl, CENTER);
    let places = Versus::common(&base, &other);
    let ends =
        [("alone", places.first()), ("under load", places.last().filter(|_| places.len() > 1))];
    let shorter =
        ends.into_iter().filter_map(|(what, at)| shorter(versus, (&base, &other), what, *at?));
    carried(compared, versus, (&base, &other))
        .into_iter()
        .chain(shorter)
        .chain(cost(compared, versus, party).map(|tile| counted(tile, versus, audit)))
        .collect()
}

fn toned(is_better: bool) -> Option<Tone> {
    Some(if is_better { Tone::Good } else { Tone::Warn })
}

fn tile(question: impl Into<String>, value: String, detail: String, is_better: bool) -> Tile {
    Tile::new(question, value, "", detail).toned(toned(is_better))
}

/// What both carry at the same ITL.
fn carried(compared: &Compared, versus: &Versus, (base, other): (&Curve, &Curve)) -> Option<Tile> {
    let limit = itl_limits(&compared.question, &[base, other]).last().copied()?;
    let (before, after) = (base.reaches(limit)?, other.reaches(limit)?);
    let [of_base, of_other] = [base, other].map(|curve| mark(curve.has_value(limit)));
    let both = mark(base.has_value(limit) && other.has_value(limit));
    let detail = format!(
        "{of_base}{} → {of_other}{} {} at median ITL ≤ {}",
        number(before),
        number(after),
        versus.axis.words(),
        meant(limit, Meant::LimitMs)
    );
    let value = format!("{both}{}", meant(after / before, Meant::Times));
    Some(tile("How much more load at the same ITL?", value, detail, after >= before))
}

/// How much shorter the ITL is at a place.
fn shorter(versus: &Versus, (base, other): (&Curve, &Curve), what: &str, at: f64) -> Option<Tile> {
    let (before, after) = (base.between(at)?, other.between(at)?);
    let [of_base, of_other] = [base, other].map(|curve| mark(curve.at(at).is_some()));
    let both = mark(base.at(at).is_some() && other.at(at).is_some());
    let detail = format!(
        "median: {of_base}{} → {of_other}{} at {}{}",
        meant(before, Meant::Ms),
        meant(after, Meant::Ms),
        meant(at, Meant::Load),
        versus.counted(at)
    );
    let value = format!("{both}{}", meant(before / after, Meant::Times));
    Some(tile(format!("How much shorter is the ITL {what}?"), value, detail, after <= before))
}

/// What rests on the output rate: where its tokens do not add up it stands only if other figures
/// of the same rows make the same rate.
fn counted(mut tile: Tile, versus: &Versus, audit: Option<&Audit>) -> Tile {
    let has_sum = |audit: &Audit| audit.findings().iter().any(|found| found.rule == TOKEN_SUM);
    if !audit.is_some_and(has_sum) {
        return tile;
    }
    match output_off(versus).filter(|off| *off < OUTPUT_OFF_MAX) {
        Some(off) => tile.detail.push_str(&format!(
            "; input, output and total tokens do not add up, but this output is within {} of \
             requests in flight / TPOT",
            percent((off * 100.0).ceil() / 100.0)
        )),
        None => tile.topic = Some(Topic::Throughput),
    }
    tile
}

/// The price of a million output tokens of both at the highest equal load; without a price the
/// output.
fn cost(compared: &Compared, versus: &Versus, party: &Party) -> Option<Tile> {
    let base = versus.curve(&versus.base, &Quantity::OutputRate, OUTPUT);
    let other = versus.curve(party, &Quantity::OutputRate, OUTPUT);
    let at = *Versus::common(&base, &other).last()?;
    let (before, after) = (base.between(at)?, other.between(at)?);
    let [of_base, of_other] = [&base, &other].map(|curve| mark(curve.at(at).is_some()));
    let both = mark(base.at(at).is_some() && other.at(at).is_some());
    let place = format!("at {}{}", meant(at, Meant::Load), versus.counted(at));
    let price = compared.question.usd_per_hour;
    let cost = |rate: f64| Some(Price { per_hour: price? }.of(rate)?.per_million_output);
    let (question, value, before, after) = match (cost(before), cost(after)) {
        (Some(before), Some(after)) => (
            "How much cheaper is a million tokens?",
            before / after,
            meant(before, Meant::Usd),
            meant(after, Meant::Usd),
        ),
        _ => {
            ("How much more output?", after / before, number(before), meant(after, Meant::TokPerS))
        }
    };
    let detail = format!("{of_base}{before} → {of_other}{after} {place}");
    Some(tile(question, format!("{both}{}", meant(value, Meant::Times)), detail, value >= 1.0))
}
