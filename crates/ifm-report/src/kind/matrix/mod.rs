//! A matrix of batches: what is fastest where, how sure that is, and every repeat.
//!
//! Headings are those of the static-batch reports that are around, so that their readers find
//! their way. Not here: tests and ranks, which `ifm_analysis::matrix` makes.

mod charts;
mod configuration;
mod ranking;

use super::common::{about, sources, summary, trust};
use super::{Kind, Subject};
use crate::format::{count, meant, percent, plain};
use crate::page::{Block, Cell, Figure, Head, Page, Section, Table, Tile};
use ifm_analysis::insight::{Bands, Insight, Meant, Tone, Topic};
use ifm_analysis::matrix::{Matrix, Ratio};
use ifm_core::sheet::{PartKind, Quantity};

/// What stands where nobody measured.
const NOT_MEASURED: &str = "n/a";
/// Things that levels of a server are compared by before they are taken for a matrix: two are a
/// variant and its base.
const THINGS_MIN: usize = 3;

pub(super) const KIND: Kind = Kind {
    word: "matrix",
    about: "several models in several batches, with repeats: speed-ups, shared ranks, crossings",
    fits,
    page,
};

fn matrix<'a>(subject: &Subject<'a>) -> Option<Matrix<'a>> {
    let question = &subject.question;
    let baseline = question.baseline.as_deref();
    Matrix::of(question.survey, question.compare_by.as_deref(), baseline)
}

fn fits(subject: &Subject) -> bool {
    let is_one = |matrix: Matrix| {
        let is_batches = matrix.kind == PartKind::StaticBatch;
        matrix.is_proper() && (is_batches || matrix.things.len() >= THINGS_MIN)
    };
    matrix(subject).is_some_and(is_one)
}

fn page(subject: &Subject) -> Page {
    let title = subject.title.unwrap_or("Performance Benchmark Results");
    let from = sources(subject.question.survey).join(", ");
    let page = Page {
        kind: KIND.word,
        title: plain(title),
        facts: vec![format!("Generated from: {from}")],
        trust: subject.audit.map(trust),
        remarks: summary(subject.insights),
        ..Page::default()
    };
    let Some(matrix) = matrix(subject) else {
        let banner = "✗ Nothing here is a batch of fixed size or a level of fixed concurrency.";
        return Page { banners: vec![banner.to_owned()], ..page };
    };
    let mut sections = vec![overview(subject, &matrix)];
    sections.extend(configuration::sections(subject, &matrix));
    sections.extend(ranking::sections(&matrix));
    sections.push(method(&matrix));
    Page {
        conditions: conditions(&matrix),
        banners: banners(&matrix),
        tiles: tiles(&matrix),
        sections,
        ..page
    }
}

/// A number of things in words.
fn many(number: usize, one: &str, more: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { more })
}

fn conditions(matrix: &Matrix) -> Vec<String> {
    let repeats = || matrix.cells.iter().map(|cell| cell.points.len());
    let (least, most) = (repeats().min().unwrap_or(0), repeats().max().unwrap_or(0));
    let mut words = vec![
        many(matrix.things.len(), "model", "models"),
        many(matrix.configurations.len(), "configuration", "configurations"),
        match least == most {
            true => many(most, "repeat each", "repeats each"),
            false => format!("{least} to {most} repeats"),
        },
    ];
    let baseline = matrix.baseline.map(|baseline| plain(matrix.thing(baseline)));
    words.extend(baseline.map(|name| format!("baseline {name}")));
    words
}

fn banners(matrix: &Matrix) -> Vec<String> {
    let missing = matrix.things.len() * matrix.configurations.len() - matrix.cells.len();
    let mut banners = Vec::new();
    if missing > 0 {
        let cells = many(missing, "cell is", "cells are");
        banners.push(format!("⚠ {cells} missing: not every model ran in every configuration"));
    }
    if !matrix.cells.iter().any(|cell| cell.points.len() >= ifm_analysis::survey::REPEATS_MIN) {
        banners.push(
            "⚠ Fewer than three repeats of everything: no difference can be tested, and nothing is \
             ranked"
                .to_owned(),
        );
    }
    banners
}

/// Over all, at the smallest and at the largest size, and whether the repeats agree.
fn tiles(matrix: &Matrix) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let base = matrix.baseline.map(|baseline| plain(matrix.thing(baseline)));
    if let (Some(first), Some(base)) = (matrix.overall().first(), &base) {
        let mut detail = plain(matrix.thing(first.thing));
        if let Some((low, high)) = first.ratio.interval {
            let (low, high) = (meant(low, Meant::Times), meant(high, Meant::Times));
            detail.push_str(&format!(", {low} to {high}"));
        }
        detail.push_str(&format!(
            ", over {} of {}",
            first.ratio.configurations,
            many(matrix.configurations.len(), "configuration", "configurations")
        ));
        let ties = matrix.overall().iter().skip(1).filter(|other| other.ties_first).count();
        if ties > 0 {
            detail.push_str(&format!("; tied with {}", many(ties, "other", "others")));
        }
        tiles.push(tile("Which is the fastest?", &first.ratio, base, detail));
    }
    let batches = matrix.batches();
    let ends = match (batches.first(), batches.last()) {
        (Some(first), Some(last)) if first < last => vec![*first, *last],
        _ => Vec::new(),
    };
    let unit = configuration::unit(matrix);
    for batch in ends {
        let mut ratios: Vec<(usize, Ratio)> = (0..matrix.things.len())
            .filter_map(|thing| Some((thing, matrix.speed_up_at(thing, batch)?)))
            .filter(|(_, ratio)| ratio.is_trusted)
            .collect();
        ratios.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        let (Some(best), Some(worst), Some(base)) = (ratios.first(), ratios.last(), &base) else {
            continue;
        };
        let mut detail = plain(matrix.thing(best.0));
        if worst.1.is_slower() {
            let ratio = meant(worst.1.value, Meant::Times);
            detail.push_str(&format!("; {} only {ratio}", plain(matrix.thing(worst.0))));
        }
        let question = format!("How much faster at {unit} {batch}?");
        tiles.push(tile(&question, &best.1, base, detail));
    }
    tiles.extend(agreement(matrix));
    tiles
}

fn tile(question: &str, ratio: &Ratio, base: &str, detail: String) -> Tile {
    Tile {
        question: question.to_owned(),
        value: meant(ratio.value, Meant::Times),
        unit: base.to_owned(),
        detail,
        tone: match () {
            () if ratio.is_faster() => Some(Tone::Good),
            () if ratio.is_slower() => Some(Tone::Bad),
            () => None,
        },
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
    let limit = percent(band.bounds()[1].unwrap_or_default());
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
    })
}

fn overview(subject: &Subject, matrix: &Matrix) -> Section {
    let of_rule = |id: &'static str| {
        let is = move |insight: &&Insight| insight.rule == id;
        subject.insights.iter().filter(is)
    };
    let mut figures = Vec::new();
    if let Some(chart) = charts::heatmap(matrix) {
        let caption = match matrix.cells.iter().any(|cell| cell.points.len() > 2) {
            true => {
                "Ratio of means. Hatched: the 95 % interval holds 1, or the repeats contradict each \
                 other, so no difference is shown."
            }
            false => "Ratio of means; not tested, as there are fewer than three repeats.",
        };
        figures.push(Figure::new(chart, of_rule("overall_winner")).captioned(caption));
    }
    for (index, chart) in charts::speed_ups(matrix).into_iter().enumerate() {
        let crossings = of_rule("crossover").filter(|_| index == 0);
        figures.push(Figure::new(chart, crossings).captioned(
            "Geometric mean over the configurations of a size; the band is the 95 % interval of the \
             repeats.",
        ));
    }
    let mut blocks = Vec::new();
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks.extend(overall(matrix).map(Block::Table));
    Section::new("Overview", blocks)
}

/// Every thing against the baseline, over all and at each size.
fn overall(matrix: &Matrix) -> Option<Table> {
    let base = plain(matrix.thing(matrix.baseline?));
    let all = matrix.overall();
    if all.is_empty() {
        return None;
    }
    let (batches, unit) = (matrix.batches(), configuration::unit(matrix));
    let mut heads = vec![Head::text("Model"), Head::number(format!("× {base}"))];
    heads.extend(["95 % interval", "faster", "no difference", "slower"].map(Head::number));
    heads.extend(batches.iter().map(|batch| Head::number(format!("{unit} {batch}"))));
    let times = |ratio: Option<Ratio>| {
        let tone = |ratio: &Ratio| match () {
            () if ratio.is_faster() => Some(Tone::Good),
            () if ratio.is_slower() => Some(Tone::Bad),
            () => None,
        };
        let cell = Cell::number(ratio.map(|ratio| ratio.value), |value| meant(value, Meant::Times));
        Cell { tone: ratio.as_ref().and_then(tone), ..cell }
    };
    let row = |of: &ifm_analysis::matrix::Overall| {
        let interval = of.ratio.interval.map(|(low, high)| {
            format!("{} to {}", meant(low, Meant::Times), meant(high, Meant::Times))
        });
        let counted = |number: usize| Cell::number(Some(number as f64), |n| count(n as u64));
        let mut row = vec![
            Cell::head(plain(matrix.thing(of.thing))),
            times(Some(of.ratio)),
            Cell::text(interval.unwrap_or_else(|| NOT_MEASURED.to_owned())),
            counted(of.faster),
            counted(of.tied),
            counted(of.slower),
        ];
        row.extend(batches.iter().map(|batch| times(matrix.speed_up_at(of.thing, *batch))));
        row
    };
    let over = all.first().map_or(0, |first| first.ratio.configurations);
    Some(Table {
        caption: format!(
            "Geometric mean of the ratios to {base} over the {over} of {} in which every model was \
             measured without contradiction; and in how many of all it is shown to be faster or \
             slower.",
            many(matrix.configurations.len(), "configuration", "configurations")
        ),
        heads,
        rows: all.iter().map(row).collect(),
    })
}

fn method(matrix: &Matrix) -> Section {
    let is_cost = matrix.configurations.iter().any(|of| of.measure == Quantity::E2e);
    let mut points = vec![
        "Mean ± standard deviation (n − 1) over the repeats; n/a where nobody measured.".to_owned(),
        "A ratio is mean over mean. Its interval follows from the errors of both means (delta \
         method on the logarithm, 95 %). Over several configurations it is the geometric mean, and \
         the interval holds for these configurations."
            .to_owned(),
        "Ranks: Welch's test of every pair of a configuration, corrected by Holm's method, 95 %. \
         What is not shown to differ from the first of a group shares its place. Repeats that \
         spread by more than 20 % of their mean have no place."
            .to_owned(),
        "The metric of a ranking follows the configuration: prompt and output tokens together where \
         prompts are at least 16 times as long as answers, else output tokens."
            .to_owned(),
    ];
    if is_cost {
        points
            .push("Where no rate was measured, latency is ranked, the shortest first.".to_owned());
    }
    Section::new("Method", vec![Block::List(points)])
}

/// Insights about one configuration.
fn of_configuration<'a>(
    insights: &'a [Insight],
    name: &'a str,
) -> impl Iterator<Item = &'a Insight> {
    about(insights, &[Topic::Ranking]).filter(move |insight| insight.of.as_deref() == Some(name))
}

#[cfg(test)]
mod tests;
