//! How much faster or slower than the baseline, at equal load; and where that turns round.

use crate::insight::versus::{CENTER, OUTPUT, Versus};
use crate::insight::{Delta, Insight, InsightRule, Meant, Question, Sentence, Shown, Tone, Topic};
use crate::survey::Curve;
use ifm_core::sheet::{Quantity, Statistic};

/// A change smaller than this says nothing about which of two read-off values is larger.
const NOISE: f64 = 0.02;

pub(super) const RULE: InsightRule = InsightRule {
    id: "versus_speed",
    title: "against the baseline at the lowest and the highest equal load: ITL, TTFT and output",
    look,
};

pub(super) const CROSSOVER: InsightRule = InsightRule {
    id: "versus_crossover",
    title: "where on the axis of the load the faster one becomes the slower one",
    look: crossovers,
};

pub(super) const TIE: InsightRule = InsightRule {
    id: "versus_tie",
    title: "at how many equal loads no difference from the baseline is shown",
    look: ties,
};

/// What is compared: topic, quantity, statistics, and whether more is better.
const COMPARED: [(Topic, Quantity, &[Statistic], bool); 3] = [
    (Topic::Itl, Quantity::Itl, CENTER, false),
    (Topic::Ttft, Quantity::Ttft, CENTER, false),
    (Topic::Throughput, Quantity::OutputRate, OUTPUT, true),
];

/// How many times better the other is at a place: above 1 it is better.
fn advantage(base: &Curve, other: &Curve, at: f64, more_is_better: bool) -> Option<f64> {
    let (before, after) = (base.between(at)?, other.between(at)?);
    let ratio = if more_is_better { after / before } else { before / after };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// Calls `each` with every pair of curves that has common places.
fn pairs(question: &Question, mut each: impl FnMut(&Versus, &str, usize, (Curve, Curve), &[f64])) {
    for versus in &Versus::all(question) {
        for (index, (_, quantity, statistics, _)) in COMPARED.iter().enumerate() {
            let base = versus.curve(&versus.base, quantity, statistics);
            for party in &versus.others {
                let other = versus.curve(party, quantity, statistics);
                let places = Versus::common(&base, &other);
                each(versus, &party.short, index, (base.clone(), other), &places);
            }
        }
    }
}

fn subject(versus: &Versus, name: &str) -> String {
    match &versus.scene {
        Some(scene) => format!("{scene}: {name}"),
        None => name.to_owned(),
    }
}

fn look(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |versus, name, index, (base, other), places| {
        let Some((topic, quantity, _, more)) = COMPARED.get(index) else { return };
        let (Some(low), Some(high)) = (places.first(), places.last()) else { return };
        let at = |at: f64| advantage(&base, &other, at, *more);
        let (Some(first), Some(last)) = (at(*low), at(*high)) else { return };
        if is_tie(&base, &other, *low, first, quantity)
            && is_tie(&base, &other, *high, last, quantity)
        {
            return;
        }
        let name = subject(versus, name);
        let sentence = match more {
            true => of_output(&name, (first, *low), (last, *high)),
            false => of_latency(&name, (first, *low), (last, *high)),
        };
        let unit = versus.counted(*high);
        let sentence = match more {
            true => sentence.text(format!("{unit}.")),
            false => sentence.text(format!("{unit} ({quantity}).")),
        };
        let tone = match (first.min(last) >= 1.0, first.max(last) <= 1.0) {
            (true, _) => Tone::Good,
            (_, true) => Tone::Warn,
            _ => Tone::Note,
        };
        found.push(Insight::new(RULE.id, *topic, tone, sentence).weighing(last.ln()));
    });
    found
}

/// Whether nothing is shown at a place: by the interval where both were measured there, else by a
/// difference that is smaller than what curves can be read to.
fn is_tie(base: &Curve, other: &Curve, at: f64, ratio: f64, quantity: &Quantity) -> bool {
    let delta = base.at(at).zip(other.at(at)).and_then(|(before, after)| {
        Delta::of(&before.cell, &after.cell, quantity, before.reading.statistic)
    });
    delta.map_or((ratio - 1.0).abs() < NOISE, |delta| delta.shown == Shown::No)
}

/// `m is 1.51× faster at 1 and 1.38× at 28.5`
fn of_latency(name: &str, first: (f64, f64), last: (f64, f64)) -> Sentence {
    let word = |ratio: f64| if ratio >= 1.0 { "faster" } else { "slower" };
    let size = |ratio: f64| if ratio >= 1.0 { ratio } else { 1.0 / ratio };
    let mut sentence = Sentence::new(format!("{name} is "))
        .number(size(first.0), Meant::Times)
        .text(format!(" {} at ", word(first.0)))
        .number(first.1, Meant::Load);
    if first.1 < last.1 {
        sentence = sentence.text(" and ").number(size(last.0), Meant::Times);
        if word(first.0) != word(last.0) {
            sentence = sentence.text(format!(" {}", word(last.0)));
        }
        sentence = sentence.text(" at ").number(last.1, Meant::Load);
    }
    sentence
}

/// `m gives 1.51× the output at 1 and 1.38× at 28.5`
fn of_output(name: &str, first: (f64, f64), last: (f64, f64)) -> Sentence {
    let mut sentence = Sentence::new(format!("{name} gives "))
        .number(first.0, Meant::Times)
        .text(" the output at ")
        .number(first.1, Meant::Load);
    if first.1 < last.1 {
        sentence = sentence
            .text(" and ")
            .number(last.0, Meant::Times)
            .text(" at ")
            .number(last.1, Meant::Load);
    }
    sentence
}

fn crossovers(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |versus, name, index, (base, other), places| {
        let Some((topic, quantity, _, more)) = COMPARED.get(index) else { return };
        let sides: Vec<(f64, f64)> = places
            .iter()
            .filter_map(|at| Some((*at, advantage(&base, &other, *at, *more)?)))
            .filter(|(_, ratio)| (ratio - 1.0).abs() >= NOISE)
            .collect();
        let turn = sides.windows(2).find_map(|pair| match pair {
            [a, b] if (a.1 > 1.0) != (b.1 > 1.0) => Some((*a, *b)),
            _ => None,
        });
        let Some(((low, first), (high, last))) = turn else { return };
        let word = |ratio: f64| if ratio > 1.0 { "better" } else { "worse" };
        let size = |ratio: f64| if ratio >= 1.0 { ratio } else { 1.0 / ratio };
        let sentence = Sentence::new(format!("{} is ", subject(versus, name)))
            .number(size(first), Meant::Times)
            .text(format!(" {} up to ", word(first)))
            .number(low, Meant::Load)
            .text(format!("{} and ", versus.counted(low)))
            .number(size(last), Meant::Times)
            .text(format!(" {} from ", word(last)))
            .number(high, Meant::Load)
            .text(format!(" on ({quantity})."));
        let insight = Insight::new(CROSSOVER.id, *topic, Tone::Warn, sentence);
        found.push(insight.weighing(first.ln() - last.ln()));
    });
    found
}

fn ties(question: &Question) -> Vec<Insight> {
    let mut found = Vec::new();
    pairs(question, |versus, name, index, (base, other), _| {
        let Some((topic, quantity, ..)) = COMPARED.get(index) else { return };
        let deltas: Vec<Delta> = base
            .points
            .iter()
            .filter_map(|point| {
                let twin = other.at(point.at)?;
                Delta::of(&point.cell, &twin.cell, quantity, point.reading.statistic)
            })
            .collect();
        let ties = deltas.iter().filter(|delta| delta.shown == Shown::No).count();
        if ties == 0 {
            return;
        }
        let sentence = Sentence::new(format!(
            "{}: no difference in {quantity} shown at ",
            subject(versus, name)
        ))
        .number(ties as f64, Meant::Count)
        .text(" of ")
        .number(deltas.len() as f64, Meant::Count)
        .text(format!(" equal loads ({}).", versus.axis.words()));
        found.push(Insight::new(TIE.id, *topic, Tone::Note, sentence));
    });
    found
}
