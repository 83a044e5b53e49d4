//! Colour steps of heatmaps and the letters of block masks.

use super::clean;
use crate::description::{Block, Cell, CellState, Heading, HeatScale, Heatmap, Mask};
use crate::number;
use crate::theme::HEAT_STEPS;
use serde_json::{Value, json};

/// Blocks beyond these are not drawn: no screen shows them.
const MOST_BLOCKS: usize = 512;

pub(super) fn heatmap(plot: &Heatmap) -> Value {
    let heading = |heading: &Heading| {
        let group = heading.group.as_deref().map(clean).unwrap_or_default();
        let short = clean(heading.short.as_ref().unwrap_or(&heading.name));
        json!({ "group": group, "name": clean(&heading.name), "short": short })
    };
    let cells: Vec<Value> = all_cells(plot).iter().map(|cell| draw_cell(plot, cell)).collect();
    let (low_end, high_end) = ends(plot);
    json!({
        "kind": "heatmap",
        "rows": plot.rows.iter().map(heading).collect::<Vec<_>>(),
        "columns": plot.columns.iter().map(heading).collect::<Vec<_>>(),
        "cells": cells,
        "lowEnd": low_end,
        "highEnd": high_end,
        "isMoreBetter": plot.scale.is_more_better,
    })
}

/// The cells row by row; cells without data are missing.
fn all_cells(plot: &Heatmap) -> Vec<Cell> {
    let columns = plot.columns.len();
    let missing = |index: usize| Cell {
        row: index / columns.max(1),
        column: index % columns.max(1),
        value: None,
        text: String::new(),
        state: CellState::Missing,
    };
    let mut all: Vec<Cell> = (0..plot.rows.len() * columns).map(missing).collect();
    for cell in plot.cells.iter().filter(|cell| cell.column < columns) {
        if let Some(place) = all.get_mut(cell.row * columns + cell.column) {
            place.clone_from(cell);
        }
    }
    all
}

fn draw_cell(plot: &Heatmap, cell: &Cell) -> Value {
    let step = cell.value.filter(|value| value.is_finite()).map(|value| step(plot.scale, value));
    // A cell that claims to be shown without a number is not.
    let state = if step.is_none() { CellState::Missing } else { cell.state };
    let told = match state {
        CellState::Shown => format!("{} {}", plot.name, cell.text),
        CellState::Tie => format!("{} {}: difference not shown", plot.name, cell.text),
        CellState::Missing => "not measured".to_owned(),
    };
    json!({
        "row": cell.row,
        "column": cell.column,
        "text": clean(&cell.text),
        "state": state,
        "step": step.unwrap_or(HEAT_STEPS / 2),
        "told": clean(&told),
    })
}

/// Colour of a value: 0 is as bad as colours go, the last one as good.
pub(crate) fn step(scale: HeatScale, value: f64) -> usize {
    let distance = if scale.is_ratio {
        (value / scale.middle).max(f64::MIN_POSITIVE).ln() / least_factor(scale.reach).ln()
    } else {
        (value - scale.middle) / scale.reach.abs().max(f64::MIN_POSITIVE)
    };
    let distance = if scale.is_more_better { distance } else { -distance };
    let share = (distance.clamp(-1.0, 1.0) + 1.0) / 2.0;
    (share * (HEAT_STEPS - 1) as f64).round() as usize
}

/// A factor that is one: more than 1.
fn least_factor(reach: f64) -> f64 {
    reach.max(1.001)
}

/// The numbers at both ends of the colours, smaller one first.
fn ends(plot: &Heatmap) -> (String, String) {
    let HeatScale { middle, reach, is_ratio, .. } = plot.scale;
    let (low, high) = if is_ratio {
        (middle / least_factor(reach), middle * least_factor(reach))
    } else {
        (middle - reach.abs(), middle + reach.abs())
    };
    let write = |value: f64| {
        let sign = if !is_ratio && middle == 0.0 && value > 0.0 { "+" } else { "" };
        let gap = if plot.unit.is_empty() || plot.unit == "×" { "" } else { " " };
        clean(&format!("{sign}{}{gap}{}", number::short(value), plot.unit))
    };
    (write(low), write(high))
}

pub(super) fn mask(plot: &Mask) -> Value {
    let letter = |block: &Block| match block {
        Block::Full => 'F',
        Block::Partial => 'P',
        Block::Empty => 'E',
    };
    let row = |row: &Vec<Block>| row.iter().take(MOST_BLOCKS).map(letter).collect::<String>();
    json!({
        "kind": "mask",
        "rowName": clean(&plot.row_name),
        "columnName": clean(&plot.column_name),
        "blocks": plot.rows.iter().take(MOST_BLOCKS).map(row).collect::<Vec<_>>(),
    })
}
