//! Tables whose columns, or rows, are tests of llama-bench: `pp512`, `tg128 (t/s)`, `pp8192 @ d4096`.
//!
//! Each cell is a row with its rate: tests differ in what they set. Not here: the table that the tool
//! itself prints (`block/llama`).

use super::super::grid::Grid;
use super::super::heading;
use super::super::llama::bench::{DEVIATION, Test, factor_of_column, model_size};
use super::super::measure::{Cell, Dimension, name_and_unit, plain, unit};
use super::cells::Cells;
use super::column::{Column, take};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, Figure, Place, Row, RowRole, Statistic, Unit, key};

/// What a column of such a table holds.
enum Kind {
    Rate(Test),
    /// The deviation of the test in the column before.
    Deviation,
    Other,
}

/// Words for a deviation in a head of its own.
const DEVIATIONS: &[&str] = &["±", "+/-", "std", "stddev", "stdev", "sd", "dev", "deviation"];

pub(super) fn read(grid: &Grid, columns: &[Column], cells: &mut Cells) -> Option<Vec<Row>> {
    let kinds: Vec<Kind> = kinds(grid);
    let rows = if kinds.iter().any(|kind| matches!(kind, Kind::Rate(_))) {
        tests_in_columns(grid, columns, &kinds, cells)
    } else {
        tests_in_rows(grid, columns, test_column(grid)?, cells)
    };
    rows.iter().any(|row| !row.figures.is_empty()).then_some(rows)
}

/// A test by the whole text of a head or a cell, with or without the unit of its rate.
fn test(text: &str) -> Option<Test> {
    let text = plain(text).to_lowercase();
    let (name, unit_of_name) = name_and_unit(&text);
    if unit_of_name.is_some_and(|unit| unit != Unit::PerS) {
        return None;
    }
    let is_rate =
        |word: &str| unit(word).is_some_and(|(_, dimension)| dimension == Dimension::TokenRate);
    let name = match name.rsplit_once(' ') {
        Some((name, last)) if is_rate(last) || matches!(last, "avg" | "mean" | "speed") => name,
        _ => name,
    };
    Test::parse(name.trim_end_matches([',', ':', ' ']))
        .filter(|test| test.prompt + test.generated > 0)
}

fn kinds(grid: &Grid) -> Vec<Kind> {
    let mut before: Option<Test> = None;
    let mut kinds = Vec::new();
    for head in &grid.head {
        let found = test(head);
        let lower = plain(head).to_lowercase();
        let rest = DEVIATIONS.iter().find_map(|word| lower.strip_suffix(word)).map(str::trim);
        let is_deviation = before.is_some_and(|before| {
            rest.is_some_and(|rest| rest.is_empty() || test(rest) == Some(before))
        });
        kinds.push(match found {
            Some(test) => Kind::Rate(test),
            None if is_deviation => Kind::Deviation,
            None => Kind::Other,
        });
        before = found;
    }
    kinds
}

/// The column whose cells are tests, at least half of them.
fn test_column(grid: &Grid) -> Option<usize> {
    (0..grid.head.len()).find(|at| {
        let named = grid
            .rows
            .iter()
            .filter(|(_, cells)| cells.get(*at).is_some_and(|cell| test(cell).is_some()));
        let named = named.count();
        named > 0 && 2 * named >= grid.rows.len()
    })
}

fn tests_in_columns(
    grid: &Grid,
    columns: &[Column],
    kinds: &[Kind],
    cells: &mut Cells,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, line_cells) in &grid.rows {
        let shared = shared(grid, columns, line_cells, *line, |at| {
            matches!(kinds.get(at), Some(Kind::Other))
        });
        for (at, (kind, cell)) in kinds.iter().zip(line_cells).enumerate() {
            let Kind::Rate(test) = kind else { continue };
            let deviation = match kinds.get(at + 1) {
                Some(Kind::Deviation) => line_cells.get(at + 1).map(String::as_str),
                _ => None,
            };
            let head = grid.head.get(at).map_or("", String::as_str);
            rows.extend(row(*test, &shared, (head, cell, deviation), (at, *line), cells));
        }
        // Figures of the whole table belong to none of its tests.
        if shared
            .figures
            .iter()
            .any(|figure| super::is_measured(figure.quantity) && !describes_model(figure))
        {
            rows.push(shared);
        }
    }
    rows
}

/// Whether a figure is of the model and not of a run.
fn describes_model(figure: &Figure) -> bool {
    matches!(&figure.quantity, Metric::Other(_) | Metric::Parameters)
}

fn tests_in_rows(grid: &Grid, columns: &[Column], tests: usize, cells: &mut Cells) -> Vec<Row> {
    let is_of_rates = |at: usize| {
        let head = grid.head.get(at).map_or("", String::as_str);
        let is_setting = matches!(columns.get(at), Some(Column::Setting(_) | Column::Runs));
        let of_column = || grid.rows.iter().filter_map(|(_, cells)| cells.get(at));
        let is_rate = |cell: &String| match Cell::read(cell) {
            Cell::Number { unit, .. } | Cell::Range { unit, .. } => is_rate_or_none(unit.as_ref()),
            _ => false,
        };
        let is_stray = |cell: &String| matches!(Cell::read(cell), Cell::Text);
        at != tests
            && !is_setting
            && is_value_head(head)
            && of_column().any(is_rate)
            && 2 * of_column().filter(|cell| is_stray(cell)).count() <= grid.rows.len()
    };
    let values: Vec<usize> = (0..grid.head.len()).filter(|at| is_of_rates(*at)).collect();
    let mut rows = Vec::new();
    for (line, line_cells) in &grid.rows {
        let Some(test) = line_cells.get(tests).and_then(|cell| test(cell)) else { continue };
        let shared =
            shared(grid, columns, line_cells, *line, |at| at != tests && !values.contains(&at));
        let first = rows.len();
        for at in &values {
            let (Some(head), Some(cell)) = (grid.head.get(*at), line_cells.get(*at)) else {
                continue;
            };
            let mut of_column = shared.clone();
            of_column.factors = condition(head).within(&shared.factors);
            if of_column.label.is_none() && values.len() > 1 {
                of_column.label = Some(plain(head));
            }
            rows.extend(row(test, &of_column, (head, cell, None), (*at, *line), cells));
        }
        // Other figures of the line are of the same test.
        let others = shared.figures.into_iter().filter(|figure| !describes_model(figure));
        if let Some(row) = rows.get_mut(first) {
            row.figures.extend(others);
        }
    }
    rows
}

/// Whether a head can be one of rates: no count, share or size.
fn is_value_head(head: &str) -> bool {
    let lower = plain(head).to_lowercase();
    let (name, unit) = name_and_unit(&lower);
    let is_other = ["n", "runs", "repeats", "samples", "size", "params", "#", "speedup", "ratio"];
    !lower.contains(['δ', '%', '×'])
        && !is_other.contains(&name)
        && unit.is_none_or(|unit| unit == Unit::PerS)
}

/// What a head of a column of rates sets: nothing where it names the rate itself.
fn condition(head: &str) -> Factors {
    let head = plain(head);
    let (name, _) = name_and_unit(&head);
    let is_rate = unit(name).is_some_and(|(_, dimension)| dimension == Dimension::TokenRate);
    let is_bare = matches!(
        name.to_lowercase().as_str(),
        "" | "speed"
            | "value"
            | "result"
            | "results"
            | "mean"
            | "avg"
            | "average"
            | "throughput"
            | "performance"
            | "rate"
    );
    if is_rate || is_bare {
        return Factors::default();
    }
    let factors = heading::factors(name);
    if factors.is_empty() { factors.with(key::CONDITION, name) } else { factors }
}

/// What a line says of all its tests.
fn shared(
    grid: &Grid,
    columns: &[Column],
    cells: &[String],
    line: u32,
    is_shared: impl Fn(usize) -> bool,
) -> Row {
    let mut row = Row::new(RowRole::Measured, Place::line(line));
    for (at, ((column, head), cell)) in columns.iter().zip(&grid.head).zip(cells).enumerate() {
        if !is_shared(at) {
            continue;
        }
        let lower = plain(head).to_lowercase();
        match lower.as_str() {
            // Of llama.cpp a backend is the interface to the device, and no engine.
            "backend" | "backends" | "ngl" | "fa" | "threads" => {
                if let Some(value) = super::setting_value(cell) {
                    let factor =
                        factor_of_column(if lower == "backends" { "backend" } else { &lower });
                    row.factors.set(factor, value);
                }
            }
            "size" | "model size" => match Cell::read(cell) {
                Cell::Number { value, printed, unit: Some((unit, _)), .. } => {
                    row.figures.push(model_size(value, unit).as_printed(printed));
                }
                _ => take(&mut row, column, head, cell, line),
            },
            _ => take(&mut row, column, head, cell, line),
        }
    }
    row
}

fn is_rate_or_none(unit: Option<&(Unit, Dimension)>) -> bool {
    unit.is_none_or(|(_, dimension)| matches!(dimension, Dimension::TokenRate | Dimension::Rate))
}

/// The row of one test; none where the cell has no number.
fn row(
    test: Test,
    shared: &Row,
    (head, cell, deviation): (&str, &str, Option<&str>),
    (column, line): (usize, u32),
    cells: &mut Cells,
) -> Option<Row> {
    let mut row = shared.clone();
    row.figures.retain(describes_model);
    test.set(&mut row);
    match Cell::read(cell) {
        Cell::Number { value, printed, unit, spread, .. } if is_rate_or_none(unit.as_ref()) => {
            let spread = spread.or_else(|| match deviation.map(Cell::read) {
                Some(Cell::Number { value, printed, .. }) => Some((value, printed)),
                _ => None,
            });
            let statistic = if spread.is_some() { Statistic::Mean } else { Statistic::Value };
            row.figures.push(test.rate_figure(statistic, value).as_printed(printed));
            let spread = spread
                .map(|(value, printed)| test.rate_figure(DEVIATION, value).as_printed(printed));
            row.figures.extend(spread);
        }
        Cell::Range { ends, unit } if is_rate_or_none(unit.as_ref()) => {
            for (statistic, (value, printed)) in
                [Statistic::Min, Statistic::Max].into_iter().zip(ends)
            {
                row.figures.push(test.rate_figure(statistic, value).as_printed(printed));
            }
        }
        Cell::Missing => return None,
        _ => {
            cells.refuse(column, head, cell, line);
            return None;
        }
    }
    cells.note(column, head, cell, line);
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_name_tests() {
        for head in [
            "pp512",
            "PP512",
            "pp 512",
            "pp512 (t/s)",
            "pp512 t/s",
            "pp512 tok/s",
            "pp512 [tokens/s]",
            "**pp512**",
            "`pp512`",
            "pp512 avg",
        ] {
            assert_eq!(test(head).map(|test| test.prompt), Some(512), "{head}");
        }
        let deep = test("pp8192 @ d4096").expect("a test");
        assert_eq!((deep.prompt, deep.depth), (8192, 4096));
        let both = test("pp512+tg128 (t/s)").expect("a test");
        assert_eq!((both.prompt, both.generated), (512, 128));
        for head in
            ["pp512 Δ", "pp", "tg", "pp512 (ms)", "app512", "pp0", "tgx", "pp (t/s)", "pp512 size"]
        {
            assert_eq!(test(head), None, "{head}");
        }
    }
}
