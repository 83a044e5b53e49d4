//! What a column of a table holds by its head, and how its cells become parts of a row.

use super::super::heading;
use super::super::measure::{Cell, Meaning, Named, meaning, plain};
use super::{RUNS, figures, setting_value};
use ifm_core::Metric;
use ifm_core::sheet::{Figure, Row, Statistic, Unit, key};
use serde_json::Value;

/// What a column holds.
pub(super) enum Column {
    Figure(Named),
    Setting(&'static str),
    /// How many runs a row is the mean of.
    Runs,
    Other,
}

/// What a head says of its column.
pub(super) fn column(head: &str) -> Column {
    match meaning(head) {
        Some(Meaning::Figure(named)) => Column::Figure(named),
        Some(Meaning::Setting(factor)) => Column::Setting(factor),
        None => match head.to_lowercase().as_str() {
            "runs" | "repeats" | "samples" | "n" | "repetitions" => Column::Runs,
            _ => Column::Other,
        },
    }
}

/// Puts a cell into its row.
pub(super) fn take(row: &mut Row, column: &Column, head: &str, cell: &str, line: u32) {
    match column {
        Column::Figure(named) => match figures(named, cell, line) {
            Some(all) => row.figures.extend(all),
            None => unknown(row, head, cell),
        },
        Column::Setting(factor) => {
            if *factor == key::MODEL {
                row.factors = heading::factors(&plain(cell)).within(&row.factors);
            }
            // A model name is kept unchanged, whatever else it contains.
            let value = if *factor == key::MODEL { Some(plain(cell)) } else { setting_value(cell) };
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                row.factors.set(*factor, value);
            }
        }
        Column::Runs => match Cell::read(cell) {
            Cell::Number { value, printed, .. } => {
                let quantity = Metric::other(RUNS);
                let figure = Figure::new(quantity, Statistic::Count, value, Unit::Count);
                row.figures.push(figure.as_printed(printed));
            }
            _ => unknown(row, head, cell),
        },
        Column::Other => match Cell::read(cell) {
            // Parameters of a model are written as its bytes would be.
            Cell::Number { unit: Some((Unit::Bytes, _)), .. } if !is_size(head) => {
                match parameters(head, cell) {
                    Some(figure) => row.figures.push(figure),
                    None => unknown(row, head, cell),
                }
            }
            Cell::Number { value, printed, unit: Some((unit, _)), .. } => {
                let quantity = Metric::other(plain(head));
                let figure = Figure::new(quantity, Statistic::Value, value, unit);
                row.figures.push(figure.as_printed(printed));
            }
            Cell::Text if row.label.is_none() => row.label = Some(plain(cell)),
            _ => unknown(row, head, cell),
        },
    }
}

/// Whether a head is about bytes.
fn is_size(head: &str) -> bool {
    let head = head.to_lowercase();
    const SIZES: [&str; 8] = ["size", "memory", "bytes", "ram", "vram", "disk", "weights", "cache"];
    head.split(|c: char| !c.is_alphanumeric()).any(|word| SIZES.contains(&word))
}

/// The number of a model's parameters: `6.74B` below `Params`.
fn parameters(head: &str, cell: &str) -> Option<Figure> {
    let head = plain(head).to_lowercase();
    let Cell::Number { value, printed, .. } = Cell::read(cell) else { return None };
    matches!(head.as_str(), "params" | "parameters" | "# params").then(|| {
        Figure::new(Metric::Parameters, Statistic::Value, value, Unit::Billion).as_printed(printed)
    })
}

/// Keeps a cell that no figure holds.
pub(super) fn unknown(row: &mut Row, head: &str, cell: &str) {
    let cell = plain(cell);
    if cell.is_empty() {
        return;
    }
    // Heads may come again: each cell is kept under a name of its own.
    let head = plain(head);
    let mut name = head.clone();
    let mut number = 2;
    while row.unknown.contains_key(&name) {
        name = format!("{head} ({number})");
        number += 1;
    }
    row.unknown.insert(name, Value::String(cell));
}
