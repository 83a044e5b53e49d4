//! The answers of a comparison of variants: capacity at equal ITL, ITL at the lowest and the
//! highest equal load, and what tokens cost or how many there are.

use super::super::common::TOKEN_SUM;
use super::Compared;
use crate::format::{meant, number, percent, sentence};
use crate::page::Tile;
use ifm_compare::comparison::Verdict;
use ifm_core::Metric;
use ifm_metrics::capacity::Price;
use ifm_rules::audit::Audit;
use ifm_rules::insight::{
    CENTER, Delta, Matched, Meant, OUTPUT, Party, Tone, Topic, Versus, itl_limits, output_off,
};

/// Share by which an output rate may be off what other figures make of it and still be confirmed.
const OUTPUT_OFF_MAX: f64 = 0.1;

/// The tiles about the first of the others.
pub(super) fn tiles(compared: &Compared, versus: &Versus, audit: Option<&Audit>) -> Vec<Tile> {
    let Some(party) = versus.others.first() else { return Vec::new() };
    let matched = versus.matched.first().map(Vec::as_slice).unwrap_or_default();
    let ends = [matched.first(), matched.last().filter(|_| matched.len() > 1)];
    let shorter = ends.into_iter().flatten().filter_map(|matched| shorter(versus, matched));
    carried(compared, versus, party)
        .into_iter()
        .chain(shorter)
        .chain(cost(compared, versus).map(|tile| counted(tile, versus, audit)))
        .collect()
}

/// The answer that a difference gives: the ratio with its interval where it is shown.
fn judged(question: String, delta: &Delta, detail: String) -> Tile {
    let (ratio, bounds) = delta.advantage();
    let tile = |value: String, detail| Tile::new(question.clone(), value, "", detail);
    match delta.verdict {
        Verdict::Better | Verdict::Worse => {
            let interval = bounds.map(|(low, high)| {
                let [low, high] = [low, high].map(|end| meant(end, Meant::Times));
                format!("95% CI {low} to {high}{}; ", delta.runs_note())
            });
            let detail = format!("{}{detail}", interval.unwrap_or_default());
            let is_better = delta.verdict == Verdict::Better;
            let tone = if is_better { Tone::Good } else { Tone::Warn };
            tile(meant(ratio, Meant::Times), detail).toned(Some(tone))
        }
        Verdict::PredictedAbove | Verdict::PredictedBelow => {
            let change = sentence(&delta.with_interval());
            tile(
                crate::comparison::words::verdict(delta.verdict).to_owned(),
                format!("{change}; {detail}"),
            )
        }
        Verdict::NoDifferenceShown | Verdict::NoRelevantDifference => {
            tile("no difference shown".to_owned(), detail)
        }
        Verdict::Inconclusive => {
            let why = sentence(&delta.undecided());
            tile("not shown".to_owned(), format!("{why}; {detail}"))
        }
    }
}

/// What both carry at the same ITL: measured loads.
fn carried(compared: &Compared, versus: &Versus, party: &Party) -> Option<Tile> {
    let [base, other] = [&versus.base, party].map(|party| versus.curve(party, Metric::Itl, CENTER));
    let limit = itl_limits(&compared.question, &[&base, &other]).last().copied()?;
    let ([before, above_before], [after, above_after]) =
        (base.crossing(limit)?, other.crossing(limit)?);
    let load = |at: f64| meant(at, Meant::Load);
    let detail = format!(
        "largest measured load, {}, with a median ITL ≤ {}; above it from {} and {}",
        versus.axis.words(),
        meant(limit, Meant::LimitMs),
        load(above_before.at),
        load(above_after.at)
    );
    let value = format!("{} → {}", load(before.at), load(after.at));
    Some(Tile::new("How much load at the same ITL?", value, "", detail))
}

/// How much shorter the ITL is at a load.
fn shorter(versus: &Versus, matched: &Matched) -> Option<Tile> {
    let delta = matched.delta(Metric::Itl, CENTER)?;
    let at = format!("{}{}", meant(matched.at, Meant::Load), versus.counted(matched.at));
    let [before, after] = [delta.base, delta.other].map(|ms| meant(ms, Meant::Ms));
    let detail = format!("{}: {before} → {after}", delta.name());
    Some(judged(format!("How much shorter is the ITL at {at}?"), &delta, detail))
}

/// An answer based on the output rate: where its tokens do not add up it is kept only if other
/// figures of the same rows give the same rate.
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
fn cost(compared: &Compared, versus: &Versus) -> Option<Tile> {
    let matched = versus.matched.first()?.last()?;
    let delta = matched.delta(Metric::OutputRate, OUTPUT)?;
    let place = format!("at {}{}", meant(matched.at, Meant::Load), versus.counted(matched.at));
    let price = compared.question.usd_per_hour;
    let cost = |rate: f64| Some(Price { per_hour: price? }.of(rate)?.per_million_output);
    let (question, before, after) = match (cost(delta.base), cost(delta.other)) {
        (Some(before), Some(after)) => (
            "How much cheaper is a million tokens?",
            meant(before, Meant::Usd),
            meant(after, Meant::Usd),
        ),
        _ => ("How much more output?", number(delta.base), meant(delta.other, Meant::TokPerS)),
    };
    Some(judged(question.to_owned(), &delta, format!("{before} → {after} {place}")))
}
