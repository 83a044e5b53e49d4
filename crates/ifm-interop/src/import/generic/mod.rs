//! Results in forms that no one tool owns: tables with heads that are understood, lists of keys
//! and values, rankings.
//!
//! Each reader begins on a line and says how far it looked, so that a text is gone through once.
//! Not here: blocks that one tool prints (`block`), sentences (`notes/stated`).

mod list;
mod ranking;
mod table;

pub(crate) use ranking::RANKED;

use super::measure::{Cell, Dimension, Named};
use super::text::{Line, Text};
use ifm_core::sheet::{
    Factors, Figure, Part, PartKind, Place, Quantity, Remark, Row, Statistic, Unit,
};
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

/// Reads what begins on this line, if one of these forms does.
pub(crate) fn read(first: Line<'_>, text: &Text) -> Option<Tried> {
    table::read(first, text)
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

/// The figures of a cell under a label; none where the cell holds words or a unit that does not fit.
fn figures(named: &Named, text: &str, line: u32) -> Option<Vec<Figure>> {
    let figure = |statistic: Statistic, value: Option<f64>, unit: Unit, printed: &str| Figure {
        quantity: named.quantity.clone(),
        statistic,
        value,
        unit,
        printed: (!printed.is_empty()).then(|| printed.to_owned()),
        definition: ifm_core::sheet::Definition::Unstated,
        place: Some(Place::line(line)),
    };
    match Cell::read(text) {
        Cell::Missing => {
            let statistic = named.statistic.unwrap_or(Statistic::Value);
            Some(vec![figure(statistic, None, named.unit_or_natural(), text.trim())])
        }
        Cell::Number { value, printed, unit, spread } => {
            if unit.as_ref().is_some_and(|(_, dimension)| !fits(*dimension, &named.quantity)) {
                return None;
            }
            let unit = unit.map_or_else(|| named.unit_or_natural(), |(unit, _)| unit);
            let alone = if spread.is_some() { Statistic::Mean } else { Statistic::Value };
            let statistic = named.statistic.unwrap_or(alone);
            let mut all = vec![figure(statistic, Some(value), unit.clone(), &printed)];
            if let Some((spread, printed)) = spread {
                all.push(figure(Statistic::HalfWidth, Some(spread), unit, &printed));
            }
            Some(all)
        }
        Cell::Text => None,
    }
}

fn fits(dimension: Dimension, quantity: &Quantity) -> bool {
    dimension.fits(quantity)
}

/// The value of a setting as it is kept: a number without its unit, words as they are.
fn setting_value(text: &str) -> Option<String> {
    match Cell::read(text) {
        Cell::Missing => None,
        Cell::Number { printed, spread: None, .. } => Some(printed.replace(',', "")),
        Cell::Number { .. } | Cell::Text => Some(super::measure::plain(text)),
    }
}
