//! A table whose caption names the quantity. Its columns are conditions, such as models or
//! processors, or statistics, such as the median and the P95.
//!
//! A cell with a number is a row of its own where columns are conditions; `OOM` and `-` are no values.

use super::super::grid::Grid;
use super::super::heading;
use super::super::measure::{Cell, Named, name_and_unit, plain, statistic};
use super::caption::{Caption, Context, find};
use super::cells::Cells;
use super::column::{Column, column, take};
use super::setting_value;
use ifm_core::Metric;
use ifm_core::sheet::{Factors, Place, Remark, RemarkKind, Row, RowRole, Statistic, Unit, key};

/// Heads of columns of numbers that are no conditions of a measurement.
const DESCRIPTIONS: &[&str] = &[
    "params",
    "parameters",
    "active params",
    "size",
    "model size",
    "file size",
    "context",
    "ctx",
    "context length",
    "#",
    "no",
    "no.",
    "rank",
    "id",
    "year",
    "date",
    "price",
    "cost",
    "score",
    "accuracy",
    "mmlu",
    "perplexity",
    "ppl",
    "layers",
    "notes",
    "vram",
    "memory",
    "tdp",
    "cores",
    "bandwidth",
    "release",
    "released",
    "version",
    "count",
    "n",
    "requests",
    "samples",
    "bits",
    "bpw",
    "total",
    "sum",
    "gain",
    "speedup",
    "improvement",
    "change",
    "difference",
    "diff",
];
/// Heads that say nothing of what was measured.
const BARE: &[&str] = &["value", "values", "result", "results", "speed", "average", "mean", ""];

/// What a column of a captioned table holds.
enum Kind {
    Statistic(Statistic, Option<Unit>),
    /// Numbers under a condition: its factors.
    Condition(Factors),
    Setting(&'static str),
    Other,
}

pub(super) fn read(grid: &Grid, context: &Context, cells: &mut Cells) -> Option<Vec<Row>> {
    let caption = find(grid.caption.as_deref(), context)?;
    let kinds = kinds(grid)?;
    let has_unit = |kind: &Kind| matches!(kind, Kind::Statistic(_, Some(_)));
    if caption.unit.is_none() && !kinds.iter().any(has_unit) && !has_units_in_cells(grid, &kinds) {
        let text = format!(
            "{}: a table below `{}` has no unit, and its numbers are not read",
            caption.quantity.prose(),
            caption.text
        );
        let place = Place::line(grid.head_line);
        cells.remarks.push(Remark { kind: RemarkKind::Lost, place, text });
        return None;
    }
    let mut rows = Vec::new();
    for (line, line_cells) in &grid.rows {
        rows.extend(rows_of(&caption, grid, &kinds, line_cells, *line, cells));
    }
    rows.iter().any(|row| !row.figures.is_empty()).then(|| {
        let text = format!(
            "{}: the quantity of this table is taken from its caption, `{}`",
            caption.quantity.prose(),
            caption.text
        );
        let place = Place::line(grid.head_line);
        cells.remarks.push(Remark { kind: RemarkKind::Assumed, place, text });
        rows
    })
}

/// What the columns hold; nothing where the table is not one of conditions or statistics.
fn kinds(grid: &Grid) -> Option<Vec<Kind>> {
    let statistics = grid.head.iter().filter(|head| statistic_of(head).is_some()).count();
    let mut kinds = Vec::new();
    // A head that is no condition by itself is one among others alike.
    let (mut strangers, mut described, mut conditions) = (0_u32, 0_u32, 0_u32);
    for (at, head) in grid.head.iter().enumerate() {
        let kind = match (column(head), statistic_of(head)) {
            (_, Some((statistic, unit))) => Kind::Statistic(statistic, unit),
            (Column::Setting(factor), None) => Kind::Setting(factor),
            _ if at == 0 || !is_of_numbers(grid, at) => Kind::Other,
            _ if statistics > 0 || is_description(head) => {
                described += 1;
                Kind::Other
            }
            _ => {
                let (factors, is_known) = condition(head);
                conditions += 1;
                strangers += u32::from(!is_known);
                Kind::Condition(factors)
            }
        };
        kinds.push(kind);
    }
    let is_matrix = strangers == 0 || described == 0;
    let has_values = statistics > 0 || (conditions > 0 && is_matrix);
    distinguish(grid, &mut kinds);
    has_values.then_some(kinds)
}

/// Gives columns whose heads set the same the head itself as a condition.
fn distinguish(grid: &Grid, kinds: &mut [Kind]) {
    let factors: Vec<Factors> = kinds
        .iter()
        .filter_map(|kind| match kind {
            Kind::Condition(factors) => Some(factors.clone()),
            _ => None,
        })
        .collect();
    for (kind, head) in kinds.iter_mut().zip(&grid.head) {
        if let Kind::Condition(own) = kind
            && factors.iter().filter(|other| *other == own).count() > 1
        {
            own.set(key::CONDITION, plain(head));
        }
    }
}

/// A head that is a statistic alone: `Median`, `P95 (ms)`.
fn statistic_of(head: &str) -> Option<(Statistic, Option<Unit>)> {
    let head = plain(head);
    let (name, unit) = name_and_unit(&head);
    let found = statistic(&name.to_lowercase())?;
    // `Max` and `Min` are also ordinary words: their columns must hold a unit or be among other
    // metrics.
    Some((found, unit))
}

/// Whether a column holds only numbers and marks for missing ones.
fn is_of_numbers(grid: &Grid, at: usize) -> bool {
    let mut numbers = 0;
    for (_, cells) in &grid.rows {
        match cells.get(at).map(|cell| Cell::read(cell)) {
            Some(Cell::Number { .. } | Cell::Range { .. }) => numbers += 1,
            Some(Cell::Missing | Cell::Bound) | None => {}
            Some(Cell::Text) => return false,
        }
    }
    numbers > 0
}

fn has_units_in_cells(grid: &Grid, kinds: &[Kind]) -> bool {
    grid.rows.iter().flat_map(|(_, cells)| cells.iter().zip(kinds)).any(|(cell, kind)| {
        matches!(kind, Kind::Statistic(..) | Kind::Condition(_))
            && matches!(Cell::read(cell), Cell::Number { unit: Some(_), .. })
    })
}

fn is_description(head: &str) -> bool {
    let head = plain(head);
    let (name, unit) = name_and_unit(&head);
    let is_change = head.contains(['Δ', '%', '$', '€']);
    is_change || unit.is_some() || DESCRIPTIONS.contains(&name.to_lowercase().as_str())
}

/// The factors that a head sets, and whether the head is known as a condition.
fn condition(head: &str) -> (Factors, bool) {
    let head = plain(head);
    if BARE.contains(&head.to_lowercase().as_str()) {
        return (Factors::default(), true);
    }
    let mut factors = heading::factors(&head);
    if factors.get(key::MODEL).is_none()
        && let Some(size) = head.split_whitespace().find(|word| is_size(word))
    {
        factors.set(key::MODEL, size);
    }
    let is_known = !factors.is_empty();
    if !is_known {
        factors.set(key::CONDITION, head);
    }
    (factors, is_known)
}

/// The number of parameters in a name: `8B`, `1.5B`, `8x7B`.
fn is_size(word: &str) -> bool {
    word.strip_suffix(['B', 'b']).is_some_and(|number| {
        number.split('x').all(|part| part.parse::<f64>().is_ok()) && !number.is_empty()
    })
}

/// The rows of one line: one for each condition, or one with all statistics.
fn rows_of(
    caption: &Caption,
    grid: &Grid,
    kinds: &[Kind],
    line_cells: &[String],
    line: u32,
    cells: &mut Cells,
) -> Vec<Row> {
    let mut shared = Row::new(RowRole::Measured, Place::line(line));
    let mut of_row = None;
    for (at, ((kind, head), cell)) in kinds.iter().zip(&grid.head).zip(line_cells).enumerate() {
        match kind {
            Kind::Setting(factor) if at == 0 || setting_value(cell).is_some() => {
                take(&mut shared, &Column::Setting(factor), head, cell, line);
            }
            Kind::Other if at == 0 => {
                of_row = statistic_of(cell);
                name(&mut shared, cell);
            }
            Kind::Other => take(&mut shared, &Column::Other, head, cell, line),
            _ => {}
        }
    }
    if let Some(tokens) = caption.tokens {
        let of_prompts = matches!(caption.quantity, Metric::PrefillRate | Metric::Prefill);
        let factor = if of_prompts { key::INPUT_TOKENS } else { key::OUTPUT_TOKENS };
        shared.factors.set(factor, tokens);
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut together = shared.clone();
    for (at, ((kind, head), cell)) in kinds.iter().zip(&grid.head).zip(line_cells).enumerate() {
        let (statistic, unit, factors) = match kind {
            Kind::Statistic(statistic, unit) => (Some(*statistic), unit.clone(), None),
            Kind::Condition(factors) => {
                let (statistic, unit) = of_row.clone().unzip();
                (statistic.or(caption.statistic), unit.flatten(), Some(factors))
            }
            Kind::Setting(_) | Kind::Other => continue,
        };
        let unit = unit.or_else(|| caption.unit.clone());
        let named = Named { quantity: caption.quantity, statistic, unit };
        let mut all = cells.read(&named, at, head, cell, line);
        all.retain(|figure| figure.value.is_some());
        match factors {
            None => together.figures.extend(all),
            Some(_) if all.is_empty() => {}
            Some(factors) => {
                let mut row = shared.clone();
                row.factors = factors.within(&shared.factors);
                let first = line_cells.first().map(|cell| plain(cell)).unwrap_or_default();
                let is_named = !first.is_empty() && at > 0;
                row.label = Some(match is_named {
                    true => format!("{first}, {}", plain(head)),
                    false => plain(head),
                });
                row.figures = all;
                rows.push(row);
            }
        }
    }
    if !together.figures.is_empty() {
        rows.push(together);
    }
    rows
}

/// The name of a line, and what it says was set.
fn name(row: &mut Row, cell: &str) {
    let name = plain(cell);
    if name.is_empty() {
        return;
    }
    row.factors = heading::factors(&name).within(&row.factors);
    row.label = Some(name);
}
