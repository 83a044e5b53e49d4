//! What a page says, tabulates and draws are the same numbers: a judge for the tests of the kinds.

use super::{Block, Page, json};
use crate::format::{bytes, count, meant, number, span, whole};
use ifm_chart::{Plot, rounded};
use ifm_rules::insight::Meant;
use std::collections::BTreeSet;

/// Ways in which a number may be meant.
const WAYS: [Meant; 7] = [
    Meant::Ms,
    Meant::Share,
    Meant::Change,
    Meant::Usd,
    Meant::Plain,
    Meant::TokPerH,
    Meant::FlopPerS,
];
const SECONDS_PER_HOUR: f64 = 3600.0;
const MS_PER_H: f64 = 3.6e6;

/// Fails where a sentence or an answer has a number that the document for programs does not hold,
/// where a cell is written otherwise than its value, or where a point is drawn elsewhere than its
/// words say.
pub(crate) fn check(page: &Page) {
    let document: serde_json::Value = serde_json::from_str(&json(page)).expect("JSON");
    let mut held = Vec::new();
    numbers_of(&document, &mut held);
    let mut written: BTreeSet<String> = BTreeSet::new();
    for value in &held {
        written.extend(ways(*value));
    }
    let mut names = String::new();
    names_of(page, &mut names);
    for remark in page.remarks.iter().chain(remarks(page)) {
        for token in tokens(&remark.text) {
            let is_held = written.contains(&token) || names.contains(&token);
            assert!(is_held, "{token} of “{}” occurs nowhere else", remark.text);
        }
    }
    cells(page);
    points(page);
}

/// Every chart of these ids is drawn from numbers in some table, bit for bit, in the unit of the
/// table or after one division by `scale`.
pub(crate) fn drawn_as_tabulated(page: &Page, ids: &[&str], scale: f64) {
    let mut values: BTreeSet<u64> = BTreeSet::new();
    each_cell(page, &mut |cell| {
        let of = |value: f64| [value.to_bits(), (value / scale).to_bits()];
        values.extend(cell.value.map(of).into_iter().flatten());
    });
    for id in ids {
        let chart = page.charts().into_iter().find(|chart| chart.id == *id);
        let Some(Plot::Cartesian(plot)) = chart.map(|chart| &chart.plot) else {
            panic!("no chart {id}")
        };
        let drawn = plot.series.iter().flat_map(|series| &series.points);
        let figures: Vec<f64> = drawn.filter_map(|point| point.y).collect();
        assert!(!figures.is_empty(), "{id} draws nothing");
        for figure in figures {
            assert!(values.contains(&figure.to_bits()), "{figure} of {id} is in no table");
        }
    }
}

/// The digits of a number in every way in which it may be written.
fn ways(value: f64) -> Vec<String> {
    let mut all: Vec<String> = WAYS.iter().map(|how| meant(value, *how)).collect();
    all.extend([span(value), number(value * SECONDS_PER_HOUR), rounded(value, 2)]);
    if value >= 0.0 {
        all.extend([count(whole(value)), bytes(whole(value)), count(whole(value / MS_PER_H))]);
    }
    all.push(format!("{value}"));
    all.iter().flat_map(|text| tokens(text)).collect()
}

/// Runs of digits with their points and thousands.
fn tokens(text: &str) -> Vec<String> {
    let is_inside = |c: char| c.is_ascii_digit() || c == '.' || c == crate::format::THOUSANDS;
    text.split(|c| !is_inside(c))
        .map(|token| token.trim_matches(|c: char| !c.is_ascii_digit()).to_owned())
        .filter(|token| !token.is_empty())
        .collect()
}

fn numbers_of(value: &serde_json::Value, out: &mut Vec<f64>) {
    match value {
        serde_json::Value::Number(number) => out.extend(number.as_f64()),
        serde_json::Value::Array(all) => all.iter().for_each(|one| numbers_of(one, out)),
        serde_json::Value::Object(all) => all.values().for_each(|one| numbers_of(one, out)),
        _ => {}
    }
}

/// Names with digits in them: what was measured, of what, under which percentiles.
fn names_of(page: &Page, out: &mut String) {
    let fixed = ["p50 p90 p95 p99 95 %".to_owned(), page.title.clone()];
    for text in fixed.iter().chain(&page.facts).chain(&page.conditions) {
        out.push_str(text);
        out.push('\n');
    }
    for section in &page.sections {
        out.push_str(&section.heading);
        out.push('\n');
    }
    for chart in page.charts() {
        match &chart.plot {
            Plot::Cartesian(plot) => {
                plot.series.iter().for_each(|series| out.push_str(&format!("{}\n", series.name)));
            }
            Plot::Heatmap(plot) => plot
                .rows
                .iter()
                .chain(&plot.columns)
                .for_each(|heading| out.push_str(&format!("{heading:?}\n"))),
            Plot::Mask(_) => {}
        }
    }
    for section in &page.sections {
        each_block(&section.blocks, &mut |block| {
            if let Block::List(points) = block {
                out.push_str(&points.join("\n"));
            }
        });
    }
    let mut add = |cell: &super::Cell| {
        if cell.value.is_none() {
            out.push_str(&format!("{}\n", cell.text));
        }
    };
    each_cell(page, &mut add);
}

fn each_block<'p>(blocks: &'p [Block], each: &mut impl FnMut(&'p Block)) {
    for block in blocks {
        each(block);
        if let Block::Details(_, inner) = block {
            each_block(inner, each);
        }
    }
}

fn each_cell(page: &Page, each: &mut impl FnMut(&super::Cell)) {
    for section in &page.sections {
        each_block(&section.blocks, &mut |block| {
            if let Block::Table(table) = block {
                table.rows.iter().flatten().for_each(&mut *each);
            }
        });
    }
}

fn remarks(page: &Page) -> Vec<&super::Remark> {
    let mut all = Vec::new();
    for section in &page.sections {
        each_block(&section.blocks, &mut |block| match block {
            Block::Remarks(some) => all.extend(some),
            Block::Figures(figures) => {
                all.extend(figures.iter().flat_map(|figure| &figure.remarks));
            }
            _ => {}
        });
    }
    all
}

/// A cell with a value is written as that value.
fn cells(page: &Page) {
    each_cell(page, &mut |cell| {
        let Some(value) = cell.value.filter(|_| !tokens(&cell.text).is_empty()) else { return };
        let is_same = tokens(&cell.text).iter().any(|token| ways(value).contains(token));
        assert!(is_same, "{value} is written as {}", cell.text);
    });
}

/// A point with words is drawn where they say, in percent or seconds too.
fn points(page: &Page) {
    for chart in page.charts() {
        let Plot::Cartesian(plot) = &chart.plot else { continue };
        for point in plot.series.iter().flat_map(|series| &series.points) {
            let (Some(value), Some(text)) = (point.y, &point.text) else { continue };
            let said = tokens(text);
            let scales = [1.0, 100.0, 1e-3];
            let is_same = scales
                .iter()
                .any(|scale| ways(value / scale).iter().any(|written| said.contains(written)));
            // "none" is drawn as a bar without length.
            assert!(
                is_same || said.is_empty() || value == 0.0,
                "{value} of {} is said as {text}",
                chart.id
            );
        }
    }
}
