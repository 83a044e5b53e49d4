//! A table whose heads name quantities: metrics in the columns, or in the rows.

use super::super::grid::{Grid, grid, stray};
use super::super::heading;
use super::super::measure::{Cell, Meaning, meaning, plain};
use super::super::text::{Line, Text};
use super::caption::{Context, is_about_something_else};
use super::cells::Cells;
use super::column::{Column, column, take, unknown};
use super::{
    Tried, bare_part, bench_columns, captioned, decimal, figures, is_measured, setting_value,
};
use ifm_core::Metric;
use ifm_core::sheet::{Factors, PartKind, Place, Remark, RemarkKind, Row, RowRole, key};

/// Number of rows that are inspected to detect metrics in rows.
const SAMPLE_ROWS: usize = 64;

/// Reads the table that begins on this line. `headings` are those above it, from the outermost.
pub(super) fn read(
    first: Line<'_>,
    text: &Text,
    headings: &dyn Fn() -> Vec<String>,
) -> Option<Tried> {
    let grid = grid(first, text)?;
    let context = || Context::above(first.number, text, headings());
    Some(read_grid(grid, first.number, &context))
}

/// Reads a table from its cells, wherever they come from.
pub(crate) fn read_grid(grid: Grid, place: u32, context: &dyn Fn() -> Context) -> Tried {
    let grid = decimal::with_points(grid);
    let columns: Vec<Column> = grid.head.iter().map(|head| column(head)).collect();
    let has_figures = columns.iter().any(|column| matches!(column, Column::Figure(_)));
    let mut remarks = Vec::new();
    if grid.more > 0 {
        remarks.push(Remark {
            kind: RemarkKind::Lost,
            place: Place::line(place),
            text: format!("{} rows of this table: there are too many", grid.more),
        });
    }
    let mut cells = Cells::default();
    let mut kind = PartKind::Other;
    let rows = if let Some(rows) = bench_columns::read(&grid, &columns, &mut cells) {
        kind = PartKind::Engine;
        rows
    } else if is_list_of_limits(&grid, context) {
        Vec::new()
    } else if has_figures {
        match is_specification(&grid, &columns) {
            true => Vec::new(),
            false => upright(&grid, &columns, &mut cells),
        }
    } else if metrics_in_rows(&grid) {
        turned(&grid, &mut cells)
    } else {
        captioned::read(&grid, &context(), &mut cells).unwrap_or_default()
    };
    let measured = rows.iter().any(|row| !row.figures.is_empty());
    if measured {
        remarks.extend(cells.finish());
        remarks.extend(grid.strays.iter().copied().map(stray));
    } else {
        remarks.append(&mut cells.remarks);
    }
    let part = measured.then(|| {
        let mut part = bare_part(place, rows);
        part.kind = kind;
        part
    });
    Tried { part, last_line: grid.last_line, remarks }
}

/// Words of heads that say that a size or a power was measured.
const MEASURED_WORDS: &[&str] = &[
    "used",
    "usage",
    "peak",
    "consumption",
    "footprint",
    "allocated",
    "reserved",
    "rss",
    "draw",
    "average",
    "avg",
    "mean",
    "measured",
    "achieved",
    "effective",
    "observed",
    "actual",
];

/// Whether a table describes machines, models or offers: none of its figures is one that a benchmark
/// measures, and no load is set in it.
fn is_specification(grid: &Grid, columns: &[Column]) -> bool {
    let describes = |(column, head): (&Column, &String)| match column {
        Column::Figure(named) => {
            let lower = head.to_lowercase();
            !is_measured(named.quantity)
                && named.statistic.is_none()
                && !MEASURED_WORDS.iter().any(|word| lower.contains(word))
        }
        Column::Setting(factor) => {
            ![key::CONCURRENCY, key::BATCH_SIZE, key::RATE, key::INPUT_TOKENS, key::REQUESTS]
                .contains(factor)
        }
        // A data sheet lists peak rates next to sizes.
        Column::Runs => false,
        Column::Other => true,
    };
    let is_rate = |column: &Column| matches!(column, Column::Figure(named) if named.quantity == Metric::FlopRate);
    let (rates, others): (Vec<_>, Vec<_>) =
        columns.iter().zip(&grid.head).partition(|(column, _)| is_rate(column));
    let has_sizes = others.iter().any(|(column, _)| matches!(column, Column::Figure(_)));
    (rates.is_empty() || has_sizes) && others.into_iter().all(describes)
}

/// Heads of a table whose numbers are limits.
const LIMITS: &[&str] = &["slo", "target", "limit", "threshold", "requirement", "sla"];

/// Whether a table lists limits and not results: its first head, or the heading above, says so.
fn is_list_of_limits(grid: &Grid, context: &dyn Fn() -> Context) -> bool {
    let is_limit = |text: &str| {
        let text = plain(text).to_lowercase();
        LIMITS.iter().any(|word| text.trim_end_matches('s') == *word)
    };
    let ends_so = |heading: &String| {
        heading.split_whitespace().next_back().is_some_and(is_limit)
            && is_about_something_else(heading)
    };
    grid.head.first().is_some_and(|head| is_limit(head))
        || context().headings.first().is_some_and(ends_so)
}

fn upright(grid: &Grid, columns: &[Column], notes: &mut Cells) -> Vec<Row> {
    let repeated = columns.iter().any(|column| matches!(column, Column::Runs));
    let role = if repeated { RowRole::Summary } else { RowRole::Measured };
    let mut rows = Vec::new();
    for (line, cells) in &grid.rows {
        if cells.len() > columns.len() {
            notes.remarks.push(Remark {
                kind: RemarkKind::Skipped,
                place: Place::line(*line),
                text: format!(
                    "{} cells under {} heads: the rest is not read",
                    cells.len(),
                    columns.len()
                ),
            });
        }
        let mut row = Row::new(role, Place::line(*line));
        for (at, ((cell, column), head)) in cells.iter().zip(columns).zip(&grid.head).enumerate() {
            if let Column::Figure(named) = column {
                match figures(named, cell, *line) {
                    Some(_) => notes.note(at, head, cell, *line),
                    None => notes.refuse(at, head, cell, *line),
                }
            }
            take(&mut row, column, head, cell, *line);
        }
        rows.push(row);
    }
    notes.remarks.extend(only_fields("column", &not_understood(grid, &rows), grid.head_line));
    rows
}

/// The columns of a results table whose cells are kept as fields alone.
fn not_understood<'g>(grid: &'g Grid, rows: &[Row]) -> Vec<&'g String> {
    let is_kept = |head: &&String| {
        let name = plain(head);
        rows.iter().any(|row| row.unknown.contains_key(&name))
    };
    let is_unknown = |head: &&String| matches!(column(head), Column::Other);
    grid.head.iter().filter(is_unknown).filter(is_kept).collect()
}

/// Whether the first column names quantities, at least half of the time.
fn metrics_in_rows(grid: &Grid) -> bool {
    let sample = || grid.rows.iter().take(SAMPLE_ROWS);
    let named = sample().filter(|(_, cells)| {
        let name = cells.first().and_then(|cell| meaning(cell));
        let numbers =
            cells.iter().skip(1).any(|cell| matches!(Cell::read(cell), Cell::Number { .. }));
        matches!(name, Some(Meaning::Figure(_))) && numbers
    });
    let named = named.count();
    named > 0 && 2 * named >= sample().count()
}

/// One row for each column of values.
fn turned(grid: &Grid, notes: &mut Cells) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, head) in grid.head.iter().enumerate().skip(1) {
        if matches!(head.to_lowercase().as_str(), "unit" | "units" | "notes") {
            continue;
        }
        let line = grid.rows.first().map_or(0, |(line, _)| *line);
        let mut row = Row::new(RowRole::Measured, Place::line(line));
        let head = plain(head);
        let generic = matches!(head.to_lowercase().as_str(), "" | "value" | "result" | "results");
        if !generic {
            row.factors = heading::factors(&head);
            row.label = Some(head);
        }
        for (line, cells) in &grid.rows {
            let (Some(name), Some(cell)) = (cells.first(), cells.get(at)) else { continue };
            let unit = grid.head.iter().position(|head| head.eq_ignore_ascii_case("unit"));
            let unit = unit.and_then(|unit| cells.get(unit)).map_or("", String::as_str);
            let taken = row.unknown.len();
            metric(&mut row, name, unit, cell, *line);
            let is_named = matches!(meaning(name), Some(Meaning::Figure(_)));
            let is_number = |cell: &String| matches!(Cell::read(cell), Cell::Number { .. });
            if is_named && cells.iter().skip(1).any(is_number) {
                match row.unknown.len() > taken {
                    true => notes.refuse(at, name, cell, *line),
                    false => notes.note(at, name, cell, *line),
                }
            }
        }
        rows.push(row);
    }
    let is_unknown = |name: &&String| {
        meaning(name).is_none() && rows.iter().any(|row| row.unknown.contains_key(&plain(name)))
    };
    let has_number = |cells: &&Vec<String>| {
        cells.iter().skip(1).any(|cell| matches!(Cell::read(cell), Cell::Number { .. }))
    };
    let cells = grid.rows.iter().map(|(_, cells)| cells).filter(has_number);
    let names = cells.filter_map(|cells| cells.first()).filter(is_unknown).collect::<Vec<_>>();
    notes.remarks.extend(only_fields("row", &names, grid.head_line));
    let figures = || rows.iter().flat_map(|row| &row.figures);
    if figures().any(|figure| is_measured(figure.quantity)) { rows } else { Vec::new() }
}

/// A remark on columns or rows of a results table whose cells became neither a figure nor a setting nor
/// a label.
fn only_fields(kind: &str, names: &[&String], line: u32) -> Option<Remark> {
    let kind = if names.len() == 1 { kind.to_owned() } else { format!("{kind}s") };
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", plain(name))).collect();
    (!names.is_empty()).then(|| Remark {
        kind: RemarkKind::Lost,
        place: Place::line(line),
        text: format!("{kind} not understood, so no figure: {}", names.join(", ")),
    })
}

fn metric(row: &mut Row, name: &str, unit: &str, cell: &str, line: u32) {
    let whole = if unit.is_empty() { name.to_owned() } else { format!("{} ({unit})", plain(name)) };
    match meaning(&whole).or_else(|| meaning(name)) {
        Some(Meaning::Figure(named)) => match figures(&named, cell, line) {
            Some(all) => row.figures.extend(all),
            None => unknown(row, name, cell),
        },
        Some(Meaning::Setting(factor)) => {
            if let Some(value) = setting_value(cell) {
                row.factors = Factors::default().with(factor, value).within(&row.factors);
            }
        }
        None => unknown(row, name, cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::Statistic;

    fn rows(text: &str) -> Vec<Row> {
        let text = Text::new(text.as_bytes());
        read(text.line(1).unwrap(), &text, &Vec::new)
            .unwrap()
            .part
            .map_or(Vec::new(), |part| part.rows)
    }

    #[test]
    fn metrics_in_columns() {
        let rows = rows(
            "| Model | Users | TTFT p99 (ms) | Output tok/s | Note |\n|--|--|--|--|--|\n\
             | `a-7b` | 4 | 120.5 ± 3.0 | 1,900 | cold |\n| b | 8 | n/a | 2 100 | - |\n",
        );
        let first = &rows[0];
        assert_eq!(first.factors.get(key::MODEL), Some("a-7b"));
        assert_eq!(first.factors.get(key::CONCURRENCY), Some("4"));
        let ttft = first.figure(Metric::Ttft, Statistic::Percentile(99.0)).unwrap();
        assert_eq!((ttft.value, ttft.printed.as_deref()), (Some(120.5), Some("120.5")));
        assert_eq!(first.value(Metric::Ttft, Statistic::HalfWidth), Some(3.0));
        assert_eq!(first.value(Metric::OutputRate, Statistic::Value), Some(1900.0));
        assert_eq!(first.label.as_deref(), Some("cold"));
        assert_eq!(rows[1].figures[0].value, None);
        assert_eq!(rows[1].unknown["Output tok/s"], "2 100");
    }

    #[test]
    fn metrics_in_rows_make_one_row_a_column() {
        let rows = rows(
            "| Metric | Unit | c=4 | c=16 |\n|--|--|--|--|\n| Mean TTFT | ms | 50 | 90 |\n\
             | Output throughput | tok/s | 400 | 1500 |\n| Remark | | x | y |\n",
        );
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].factors.get(key::CONCURRENCY), Some("16"));
        assert_eq!(rows[1].value(Metric::Ttft, Statistic::Mean), Some(90.0));
        assert_eq!(rows[0].value(Metric::OutputRate, Statistic::Value), Some(400.0));
    }

    #[test]
    fn what_should_be_a_number_and_is_none_is_told() {
        let told = |text: &str| -> Vec<(Option<u32>, String)> {
            let text = Text::new(text.as_bytes());
            let remarks = read(text.line(1).unwrap(), &text, &Vec::new).unwrap().remarks;
            remarks.into_iter().map(|remark| (remark.place.line, remark.text)).collect()
        };
        let head = "| Users | TTFT (ms) |\n|--|--|\n| 1 | 50 |\n";
        let text = "TTFT (ms): `5O` is not a number of it".to_owned();
        assert_eq!(told(&format!("{head}| 2 | 5O |\n| 4 | n/a |\n| 8 | |\n")), [(Some(4), text)]);
        assert_eq!(told(head), []);
        let turned =
            "| Metric | a | b |\n|--|--|--|\n| Mean TTFT (ms) | 5O | 60 |\n| TTFT | 1 | 2 |\n";
        assert_eq!(told(turned)[0].0, Some(3));
    }

    #[test]
    fn a_line_between_the_rows_is_told_and_costs_none() {
        let text =
            Text::new(b"| Users | TTFT (ms) |\n|--|--|\n| 1 | 50 |\nwarning: slow\n| 2 | 60 |\n");
        let tried = read(text.line(1).unwrap(), &text, &Vec::new).unwrap();
        assert_eq!(tried.part.unwrap().rows.len(), 2);
        assert_eq!(tried.remarks.len(), 1);
        let remark = &tried.remarks[0];
        assert_eq!((remark.kind, remark.place.line), (RemarkKind::Skipped, Some(4)));
    }

    #[test]
    fn heads_that_come_again_cost_no_cell() {
        let rows = rows("| TTFT (ms) | Err | Err |\n|--|--|--|\n| 5 | 1 | 2 |\n");
        assert_eq!(rows[0].unknown["Err"], "1");
        assert_eq!(rows[0].unknown["Err (2)"], "2");
    }

    #[test]
    fn tables_of_words_hold_no_figures() {
        assert!(rows("| Stage | Precision |\n|--|--|\n| Input | FP16 |\n").is_empty());
    }
}
