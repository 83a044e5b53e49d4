//! Results in forms that no one tool owns: tables with heads that are understood, lists of keys
//! and values, rankings.
//!
//! Each reader begins on a line and says how far it looked, so that a text is gone through once.
//! Not here: blocks that one tool prints (`block`), sentences (`notes/stated`).

mod bench_columns;
mod caption;
mod captioned;
mod cells;
mod column;
mod decimal;
mod list;
mod ranking;
pub(crate) mod records;
mod table;

pub(crate) use caption::Context;
pub(crate) use ranking::RANKED;
pub(crate) use table::read_grid;

use super::measure::{Cell, Dimension, Named};
use super::text::{Line, Text};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, Figure, Part, PartKind, Place, Remark, Row, Statistic, Unit};
use serde_json::Map;

/// What a reader made of the lines from one on.
#[derive(Debug)]
pub(crate) struct Tried {
    /// What it holds; absent where nothing in it was understood.
    pub part: Option<Part>,
    /// Last line that was looked at: none up to it begins another of the kind.
    pub last_line: u32,
    /// What could not be read.
    pub remarks: Vec<Remark>,
}

/// Reads what begins on this line, if one of these forms does. `headings` are those above it, from the
/// outermost.
pub(crate) fn read(
    first: Line<'_>,
    text: &Text,
    headings: &dyn Fn() -> Vec<String>,
) -> Option<Tried> {
    table::read(first, text, headings)
        .or_else(|| ranking::read(first, text))
        .or_else(|| list::read(first, text))
}

/// A part of rows that no tool's name goes with.
pub(crate) fn bare_part(place: u32, rows: Vec<Row>) -> Part {
    Part {
        kind: PartKind::Other,
        tool: None,
        headings: Vec::new(),
        place: Place::line(place),
        factors: Factors::default(),
        rows,
        unknown: Map::new(),
    }
}

/// The name under which the number of repeats of a mean is kept.
pub(crate) const RUNS: &str = "runs";

/// The figures of a cell under a label; none where the cell holds words, a limit, or a unit that does
/// not fit. The ends of a range are its smallest and its largest number.
fn figures(named: &Named, text: &str, line: u32) -> Option<Vec<Figure>> {
    let figure = |statistic: Statistic, value: Option<f64>, unit: Unit, printed: &str| Figure {
        quantity: named.quantity,
        statistic,
        value,
        unit,
        printed: (!printed.is_empty()).then(|| printed.to_owned()),
        definition: ifm_core::sheet::Definition::Unstated,
        place: Some(Place::line(line)),
    };
    let unit_of = |unit: Option<(Unit, Dimension)>| match unit {
        Some((unit, dimension)) => is_of(named, &unit, dimension).then_some(unit),
        None => Some(named.unit_or_natural()),
    };
    match Cell::read(text) {
        Cell::Missing => {
            let statistic = named.statistic.unwrap_or(Statistic::Value);
            Some(vec![figure(statistic, None, named.unit_or_natural(), text.trim())])
        }
        Cell::Number { value, printed, unit, spread, .. } => {
            let unit = unit_of(unit)?;
            // `512M` of memory is a size whose unit is a letter, and not 512 million of the head's.
            if printed.ends_with(char::is_alphabetic) && Dimension::Size.fits(named.quantity) {
                return None;
            }
            let alone = if spread.is_some() { Statistic::Mean } else { Statistic::Value };
            let statistic = named.statistic.unwrap_or(alone);
            let mut all = vec![figure(statistic, Some(value), unit.clone(), &printed)];
            if let Some((spread, printed)) = spread {
                all.push(figure(Statistic::HalfWidth, Some(spread), unit, &printed));
            }
            Some(all)
        }
        Cell::Range { ends, unit } if named.statistic.is_none() => {
            let unit = unit_of(unit)?;
            let statistics = [Statistic::Min, Statistic::Max];
            let ends = statistics.into_iter().zip(ends);
            Some(
                ends.map(|(statistic, (value, printed))| {
                    figure(statistic, Some(value), unit.clone(), &printed)
                })
                .collect(),
            )
        }
        Cell::Range { .. } | Cell::Bound | Cell::Text => None,
    }
}

/// Whether a unit in a cell is one of the quantity above it. A factor such as `1.4x` is no rate, also
/// where the quantity has no name of its own.
fn is_of(named: &Named, unit: &Unit, dimension: Dimension) -> bool {
    let is_share = |unit: &Unit| matches!(unit, Unit::One | Unit::Percent);
    let is_factor = named.unit.as_ref().is_some_and(|own| is_share(unit) && !is_share(own));
    dimension.fits(named.quantity) && !is_factor
}

/// Whether a quantity is something that a benchmark measures. Sizes, limits and prices describe a
/// machine, a model or an offer.
fn is_measured(quantity: Metric) -> bool {
    !matches!(
        quantity,
        Metric::Memory
            | Metric::Power
            | Metric::Bandwidth
            | Metric::Duration
            | Metric::Parameters
            | Metric::CostPerMillion
    )
}

/// Whether a quantity is a time or a rate of serving or of an engine: what results are known by.
fn is_performance(quantity: Metric) -> bool {
    matches!(
        quantity,
        Metric::Ttft
            | Metric::Ttfat
            | Metric::Itl
            | Metric::Tpot
            | Metric::E2e
            | Metric::Prefill
            | Metric::RequestRate
            | Metric::Goodput
            | Metric::InputRate
            | Metric::OutputRate
            | Metric::TotalRate
            | Metric::PeakOutputRate
            | Metric::UserSpeed
            | Metric::PrefillRate
            | Metric::DecodeRate
            | Metric::ImageRate
    )
}

/// The value of a setting as it is kept: a number without its unit, words as they are.
fn setting_value(text: &str) -> Option<String> {
    match Cell::read(text) {
        Cell::Missing => None,
        // Of `8k` it is not known whether it is 8000 or 8192.
        Cell::Number { printed, spread: None, mark: None, .. }
            if !printed.ends_with(char::is_alphabetic) =>
        {
            Some(printed.replace(',', ""))
        }
        _ => Some(super::measure::plain(text)),
    }
}
