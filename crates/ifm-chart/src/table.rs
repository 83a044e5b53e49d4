//! The numbers of a chart as a table: exactly those that are drawn.
//!
//! Numbers are in their shortest form that reads back as the same bits, the head contains the units,
//! and unknown values are empty cells. Not here: rounding.

use crate::description::{
    Block, Cartesian, CellState, Chart, Heading, Heatmap, Mask, Plot, Point, Scale, Series,
};
use crate::scale::titled;

/// A table: every row has as many cells as the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns with their units.
    pub head: Vec<String>,
    /// Rows of cells; an empty cell is not known.
    pub rows: Vec<Vec<String>>,
}

/// The numbers of a chart.
///
/// Where all series have one figure at each place there is a row for each place, with a column for
/// each series and for the ends of its intervals; otherwise a row for each point.
pub fn table(chart: &Chart) -> Table {
    match &chart.plot {
        Plot::Cartesian(plot) if is_wide(plot) => wide(plot),
        Plot::Cartesian(plot) => long(plot),
        Plot::Heatmap(plot) => heatmap(plot),
        Plot::Mask(plot) => mask(plot),
    }
}

/// The numbers of a chart as CSV (RFC 4180, with line feeds), the head first.
pub fn csv(chart: &Chart) -> String {
    let table = table(chart);
    let line = |cells: &Vec<String>| {
        let quoted: Vec<String> = cells.iter().map(|cell| quote(cell)).collect();
        quoted.join(",") + "\n"
    };
    std::iter::once(&table.head).chain(&table.rows).map(line).collect()
}

fn quote(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// The shortest digits that read back as the same bits; absurd sizes with an exponent.
fn digits(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e16).contains(&size) {
        return format!("{value:e}");
    }
    format!("{value}")
}

fn known(value: Option<f64>) -> String {
    value.map(digits).unwrap_or_default()
}

fn place(plot: &Cartesian, x: f64) -> String {
    match &plot.x.scale {
        Scale::Category(names) if x >= 0.0 => {
            names.get(x.round() as usize).cloned().unwrap_or_else(|| digits(x))
        }
        _ => digits(x),
    }
}

/// Name of a column of places; rows of a chart may need none in the drawing.
fn place_title(plot: &Cartesian) -> String {
    let title = titled(&plot.x.name, &plot.x.unit);
    if title.is_empty() { "name".to_owned() } else { title }
}

fn has_interval(series: &Series) -> bool {
    series.points.iter().any(|point| point.low.is_some() || point.high.is_some())
}

fn has_figure(series: &Series) -> bool {
    series.points.iter().any(|point| point.y.is_some())
}

/// Whether each series has each place once at most, and no point has words of its own.
fn is_wide(plot: &Cartesian) -> bool {
    let is_known = matches!(plot.x.scale, Scale::Category(_) | Scale::Log2);
    let is_single = |series: &Series| {
        let mut places: Vec<u64> = series.points.iter().map(|point| point.x.to_bits()).collect();
        places.sort_unstable();
        places.windows(2).all(|pair| pair[0] != pair[1])
    };
    is_known && plot.series.iter().all(is_single)
}

fn wide(plot: &Cartesian) -> Table {
    let mut places: Vec<f64> =
        plot.series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup_by(|a, b| a.to_bits() == b.to_bits());
    let mut head = vec![place_title(plot)];
    for series in &plot.series {
        if has_figure(series) {
            head.push(titled(&series.name, &plot.y.unit));
        }
        if has_interval(series) {
            head.push(titled(&format!("{} low", series.name), &plot.y.unit));
            head.push(titled(&format!("{} high", series.name), &plot.y.unit));
        }
    }
    let row = |x: &f64| {
        let mut row = vec![place(plot, *x)];
        for series in &plot.series {
            let point = series.points.iter().find(|point| point.x.to_bits() == x.to_bits());
            let figure = |pick: fn(&Point) -> Option<f64>| known(point.and_then(pick));
            if has_figure(series) {
                row.push(figure(|point| point.y));
            }
            if has_interval(series) {
                row.push(figure(|point| point.low));
                row.push(figure(|point| point.high));
            }
        }
        row
    };
    Table { head, rows: places.iter().map(row).collect() }
}

fn long(plot: &Cartesian) -> Table {
    let has_bounds = plot.series.iter().any(has_interval);
    let has_labels =
        plot.series.iter().flat_map(|series| &series.points).any(|point| point.label.is_some());
    let y = titled(&plot.y.name, &plot.y.unit);
    let mut head = vec!["series".to_owned(), place_title(plot), y.clone()];
    if has_bounds {
        head.extend([format!("{y} low"), format!("{y} high")]);
    }
    if has_labels {
        head.push("label".to_owned());
    }
    let row = |series: &Series, point: &Point| {
        let mut row = vec![series.name.clone(), place(plot, point.x), known(point.y)];
        if has_bounds {
            row.extend([known(point.low), known(point.high)]);
        }
        if has_labels {
            row.push(point.label.clone().unwrap_or_default());
        }
        row
    };
    let rows = plot
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| row(series, point)))
        .collect();
    Table { head, rows }
}

fn heading(heading: &Heading) -> String {
    match &heading.group {
        Some(group) => format!("{group} · {}", heading.name),
        None => heading.name.clone(),
    }
}

fn heatmap(plot: &Heatmap) -> Table {
    let named = |column: &Heading| titled(&heading(column), &plot.unit);
    let head = std::iter::once(plot.name.clone()).chain(plot.columns.iter().map(named)).collect();
    let row = |(index, row): (usize, &Heading)| {
        let cell = |column: usize| {
            let found =
                plot.cells.iter().rev().find(|cell| (cell.row, cell.column) == (index, column));
            let shown = found.filter(|cell| cell.state != CellState::Missing);
            known(shown.and_then(|cell| cell.value))
        };
        std::iter::once(heading(row)).chain((0..plot.columns.len()).map(cell)).collect()
    };
    Table { head, rows: plot.rows.iter().enumerate().map(row).collect() }
}

/// How many blocks of each kind a row has: a grid of letters would be useless.
fn mask(plot: &Mask) -> Table {
    let head = [plot.row_name.as_str(), "full", "partial", "empty"].map(str::to_owned).to_vec();
    let row = |(index, blocks): (usize, &Vec<Block>)| {
        let count = |kind: Block| blocks.iter().filter(|block| **block == kind).count().to_string();
        vec![index.to_string(), count(Block::Full), count(Block::Partial), count(Block::Empty)]
    };
    Table { head, rows: plot.rows.iter().enumerate().map(row).collect() }
}
