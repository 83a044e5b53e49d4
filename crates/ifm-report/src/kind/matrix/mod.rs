//! A matrix of batches: what is fastest where, how sure that is, and every repeat.
//!
//! The headings follow common static-batch reports, so that their readers find their way. Not
//! here: tests and ranks, which `ifm_compare::matrix` makes.

mod charts;
mod configuration;
mod measure;
mod overview;
mod ranking;
mod tiles;

use super::common::{REMARKS_MAX, about, sources, trust};
use super::{Kind, Subject};
use crate::format::{count, meant, plain};
use crate::page::{Block, Page, Remark, Section};
use ifm_compare::comparison::Doubt;
use ifm_compare::matrix::{Matrix, Ratio};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::PartKind;
use ifm_rules::insight::{Insight, Meant, Topic};

/// Shown for a missing measurement.
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
    let matrix = Matrix::of(question.results, question.compare_by.as_deref(), baseline)?;
    let matrix = matrix.resting_on(question.evidence);
    Some(matrix.ranked_by(question.ranks.by))
}

pub(super) fn fits(subject: &Subject) -> bool {
    let is_one = |matrix: Matrix| {
        let is_batches = matrix.kind == PartKind::StaticBatch;
        matrix.is_proper() && (is_batches || matrix.things.len() >= THINGS_MIN)
    };
    matrix(subject).is_some_and(is_one)
}

fn page(subject: &Subject) -> Page {
    let title = subject.title.unwrap_or("Performance Benchmark Results");
    let from = sources(subject.question.results).join(", ");
    let page = Page {
        kind: KIND.word,
        title: plain(title),
        facts: vec![format!("Generated from: {from}")],
        trust: subject.audit.map(trust),
        remarks: remarks(subject.insights),
        ..Page::default()
    };
    let Some(matrix) = matrix(subject) else {
        let banner = "✗ Nothing here is a batch of fixed size or a level of fixed concurrency.";
        return Page { banners: vec![banner.to_owned()], ..page };
    };
    let mut sections = vec![overview::section(subject, &matrix)];
    sections.extend(configuration::sections(subject, &matrix));
    sections.extend(ranking::sections(&matrix, subject.question.ranks));
    sections.push(method(&matrix));
    Page {
        conditions: conditions(&matrix),
        banners: banners(&matrix),
        tiles: tiles::tiles(&matrix),
        sections,
        ..page
    }
}

/// The summary: who is first, where that turns round, and where measures contradict each other,
/// before how far repeats spread, which a tile and the checks say too.
fn remarks(insights: &[Insight]) -> Vec<Remark> {
    const ORDER: [&str; 3] = ["overall_winner", "crossover", "measures_disagree"];
    let place = |insight: &&Insight| ORDER.iter().position(|rule| *rule == insight.rule);
    let mut all: Vec<&Insight> = insights.iter().collect();
    all.order_by_key(|insight| place(insight).unwrap_or(ORDER.len()));
    all.into_iter().take(REMARKS_MAX).map(Remark::of).collect()
}

/// Two ratios with all between them.
fn range((low, high): (f64, f64)) -> String {
    format!("{} to {}", meant(low, Meant::Times), meant(high, Meant::Times))
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
    let (beginning, ending) = &matrix.shared;
    if !(beginning.is_empty() && ending.is_empty()) {
        words.push(format!("names without {}", plain(&format!("{beginning}…{ending}"))));
    }
    words
}

fn banners(matrix: &Matrix) -> Vec<String> {
    let missing = matrix.things.len() * matrix.configurations.len() - matrix.cells.len();
    let mut banners = Vec::new();
    if missing > 0 {
        let cells = many(missing, "cell is", "cells are");
        banners.push(format!("⚠ {cells} missing: not every model ran in every configuration"));
    }
    if matrix.things.len() > 1 && !is_testable(matrix) {
        banners.push(
            "⚠ One number of everything: no difference can be tested, and nothing is ranked. \
             Measure three repeats of each"
                .to_owned(),
        );
    }
    banners.extend(matrix.rank_by.and_then(|by| not_measured(matrix, by.quantity())));
    banners
}

/// Whether the data of any pair can decide, more than one number on a side.
fn is_testable(matrix: &Matrix) -> bool {
    let is_tested = |ratio: &Ratio| {
        !matches!(ratio.doubt, Some(Doubt::OneNumber { .. } | Doubt::Uncounted | Doubt::NoSpread))
    };
    (0..matrix.configurations.len())
        .any(|of| matrix.against_baseline(&[of], None).iter().flatten().any(is_tested))
}

/// The number of configurations in which the measure that the user ranks by was not measured.
fn not_measured(matrix: &Matrix, measure: Metric) -> Option<String> {
    let all = matrix.configurations.len();
    let other = matrix.configurations.iter().filter(|of| of.measure != measure).count();
    let name = configuration::measure_unit(measure).0.to_lowercase();
    (other > 0).then(|| {
        format!(
            "⚠ {name} was not measured in {other} of {}: these use the default ranking",
            many(all, "configuration", "configurations")
        )
    })
}

fn method(matrix: &Matrix) -> Section {
    let is_cost = matrix.configurations.iter().any(|of| of.measure == Metric::E2e);
    let mut points = vec![
        "Mean ± standard deviation (n − 1) over the repeats; n/a: not measured. Where the mean \
         that a document states agrees with its runs to the printed digits, the tables show the \
         stated mean: it was computed from more digits. Ratios and tests use the runs."
            .to_owned(),
        "A ratio is that of the geometric means of the runs; of latencies it is inverted, so that \
         above 1 is faster. Over several configurations it is the geometric mean, and the interval \
         holds for these configurations. Intervals contain the truth with 95 %, each alone."
            .to_owned(),
        "The comparison that `compare` uses says whether a difference is shown, for ratios and for \
         ranks: by the repeats, or with one run of each by its requests. A difference of 3 % or \
         more is relevant. No difference shown: the whole interval is inside 3 %. Anything else is \
         inconclusive. Holm's method corrects the chances. Every pair belongs to one of two \
         families of its configuration and measure: the pairs with the baseline, and all other \
         pairs."
            .to_owned(),
        format!("Ranks: {}{}.", ranking::SHARED[..1].to_lowercase(), &ranking::SHARED[1..]),
        match matrix.rank_by {
            None => "The metric of a ranking follows what the time is spent on: prompt and output \
                     tokens together where prompts are at least 16 times as long as answers, or \
                     where the output tokens at their rate take less than half of the latency \
                     (the median of the models), else output tokens. Overall throughput is all \
                     tokens over the whole time, so its order is that of the latency. Output \
                     throughput is that of the tool; where it counts only the time after the \
                     first token it says nothing of the prompt."
                .to_owned(),
            Some(_) => "The metric of a ranking is the requested one, where it was measured."
                .to_owned(),
        },
    ];
    if is_cost {
        points.push("Where latency is ranked, the shortest is first.".to_owned());
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
