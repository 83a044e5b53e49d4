//! The charts of a grid: overview, bars of every row, dumbbell, and where the time goes.

use super::{MEAN, P99, load_title, row_title, workload_title};
use crate::format::{TimeUnit, meant, plain};
use ifm_chart::{
    Axis, Cartesian, Cell, CellState, Chart, Dash, Form, Heading, HeatScale, Heatmap, Mark, Note,
    Plot, Point, Scale, Series, Tone,
};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::Statistic;
use ifm_results::Stat;
use ifm_rules::insight::{Delta, Grid, GridCell, Meant};

/// Titles of the two charts of every row.
pub(super) const TITLES: [&str; 2] = ["End-to-End Latency (Mean)", "End-to-End Latency (P99)"];
/// A change of this many percent has the full color.
const REACH_PERCENT: f64 = 15.0;
/// A change above this share is marked as bad over its bars.
const BAD_CHANGE: f64 = 0.05;
/// Room over the highest bar for the number above it.
const HEADROOM: f64 = 1.15;
/// Rows of the dumbbell at most; the largest changes are shown.
const DUMBBELLS_MAX: usize = 40;

/// The change in every cell: rows are workload and load, columns model and statistic.
pub(super) fn overview(grid: &Grid) -> Chart {
    let mut cells = Vec::new();
    for cell in &grid.cells {
        for (index, statistic) in [MEAN, P99].into_iter().enumerate() {
            let delta = cell.delta(statistic);
            let state = match &delta {
                None => CellState::Missing,
                Some(delta) if delta.is_shown() => CellState::Shown,
                Some(_) => CellState::Tie,
            };
            cells.push(Cell {
                row: cell.row,
                column: cell.model * 2 + index,
                value: delta.as_ref().map(|delta| delta.change * 100.0),
                text: delta.map_or_else(String::new, |delta| meant(delta.change, Meant::Change)),
                state,
            });
        }
    }
    let deltas = grid.deltas(MEAN);
    let change = |delta: &Delta| meant(delta.change, Meant::Change);
    let by = |a: &&(&GridCell, &Delta), b: &&(&GridCell, &Delta)| a.1.change.total_cmp(&b.1.change);
    let ends = deltas.iter().min_by(by).zip(deltas.iter().max_by(by));
    let ends = ends.map_or_else(
        || "Nothing was measured.".to_owned(),
        |(low, high)| format!("Mean latency changes by {} to {}.", change(low.1), change(high.1)),
    );
    let has_ties = [MEAN, P99]
        .into_iter()
        .any(|statistic| grid.shown(statistic) < grid.deltas(statistic).len());
    let rows = grid.rows.iter();
    let columns = grid.models.iter().flat_map(|model| {
        ["mean", "P99"].map(|name| Heading {
            group: Some(plain(model)),
            name: name.to_owned(),
            short: None,
        })
    });
    Chart {
        id: "overview".to_owned(),
        title: format!("What does {} cost?", plain(&grid.other)),
        subject: String::new(),
        description: format!(
            "{ends} {} of {} figures are missing{}.",
            grid.missing(),
            grid.wanted(),
            if has_ties { "; in gray cells no difference is shown" } else { "" }
        ),
        plot: Plot::Heatmap(Heatmap {
            name: format!("end-to-end latency, {} over {}", plain(&grid.other), plain(&grid.base)),
            unit: "%".to_owned(),
            rows: rows
                .map(|row| Heading {
                    group: Some(workload_title(row)),
                    name: load_title(row),
                    short: None,
                })
                .collect(),
            columns: columns.collect(),
            scale: HeatScale {
                middle: 0.0,
                reach: REACH_PERCENT,
                is_ratio: false,
                is_more_better: false,
            },
            cells,
        }),
    }
}

fn latency(x: f64, reading: &Stat, unit: TimeUnit) -> Point {
    let place = |ms: f64| unit.place(ms);
    Point::at(x, place(reading.value))
        .between(reading.low.map(place), reading.high.map(place))
        .trusted(reading.is_enough)
        .told(unit.text(reading.value))
}

/// The two charts of a row, mean and P99, with one scale; those without a figure are left out.
pub(super) fn bars(grid: &Grid, row: usize) -> Vec<Chart> {
    let of_row = || grid.cells.iter().filter(move |cell| cell.row == row);
    let sides = [(true, &grid.base, Dash::Solid), (false, &grid.other, Dash::Dashed)];
    let largest = of_row()
        .flat_map(|cell| [MEAN, P99].map(|statistic| (cell, statistic)))
        .flat_map(|(cell, statistic)| [true, false].map(|base| cell.reading(base, statistic)))
        .flatten()
        .map(|reading| reading.high.unwrap_or(reading.value).max(reading.value))
        .fold(0.0, f64::max);
    let unit = TimeUnit::up_to(largest);
    let chart = |(title, statistic): (&str, Statistic)| {
        let side = |(of_base, name, dash): &(bool, &String, Dash)| {
            let points = of_row().filter_map(|cell| {
                let reading = cell.reading(*of_base, statistic)?;
                Some(latency(cell.model as f64, &reading, unit))
            });
            Series { dash: *dash, ..Series::new(plain(name), points).form(Form::Bar) }
        };
        let series: Vec<Series> = sides.iter().map(side).collect();
        if series.iter().all(|series| series.points.is_empty()) {
            return None;
        }
        let notes = of_row().filter_map(|cell| note(cell, statistic)).collect();
        let words: Vec<String> =
            of_row().filter_map(|cell| sentence(grid, cell, statistic)).collect();
        let id = crate::page::slug(&format!("{} {title}", row_title(grid.rows.get(row)?)));
        let names = grid.models.iter().map(|model| plain(model));
        let x = Axis { name: "model".to_owned(), ..Axis::of_names(names) };
        let range = Some((0.0, unit.place(largest) * HEADROOM));
        let y = Axis { range, ..Axis::new("end-to-end latency", unit.name()) };
        let plot = Cartesian { notes, ..Cartesian::new(x, y, series) };
        Some(Chart::new(id, title, words.join(" "), plot))
    };
    TITLES.into_iter().zip([MEAN, P99]).filter_map(chart).collect()
}

/// The change over a pair of bars.
fn note(cell: &GridCell, statistic: Statistic) -> Option<Note> {
    let delta = cell.delta(statistic)?;
    let is_bad = delta.is_shown() && delta.change > BAD_CHANGE;
    let tone = if is_bad { Tone::Bad } else { Tone::Neutral };
    let text = meant(delta.change, Meant::Change);
    Some(Note { x: cell.model as f64, y: None, text, tone })
}

fn sentence(grid: &Grid, cell: &GridCell, statistic: Statistic) -> Option<String> {
    let side = |of_base: bool| {
        let reading = cell.reading(of_base, statistic);
        reading.map_or_else(|| "not measured".to_owned(), |one| meant(one.value, Meant::Ms))
    };
    let model = plain(grid.models.get(cell.model)?);
    Some(format!(
        "{model}: {} {}, {} {}.",
        plain(&grid.base),
        side(true),
        plain(&grid.other),
        side(false)
    ))
}

/// Every cell from the baseline to the condition, by size of the change.
pub(super) fn dumbbell(grid: &Grid) -> Option<Chart> {
    let mut deltas = grid.deltas(MEAN);
    deltas.order_by(|a, b| b.1.change.total_cmp(&a.1.change));
    deltas.truncate(DUMBBELLS_MAX);
    if deltas.len() < 2 {
        return None;
    }
    let name = |cell: &GridCell| {
        let model = grid.models.get(cell.model).map(|model| plain(model)).unwrap_or_default();
        let row = grid.rows.get(cell.row);
        let load = row.map(|row| crate::model::load(row.load)).unwrap_or_default();
        format!("{model} · {} · {load}", row.map(workload_title).unwrap_or_default())
    };
    let largest = deltas.iter().map(|(_, delta)| delta.base.max(delta.other)).fold(0.0, f64::max);
    let unit = TimeUnit::up_to(largest);
    let series = |of_base: bool, words: &str, mark: Mark, dash: Dash| {
        let points = deltas.iter().enumerate().map(|(index, (_, delta))| {
            let ms = if of_base { delta.base } else { delta.other };
            Point::at(index as f64, unit.place(ms)).told(unit.text(ms))
        });
        Series { mark, dash, ..Series::new(plain(words), points).form(Form::Dots) }
    };
    let first = deltas.first().map(|(cell, delta)| {
        format!("The largest change: {} at {}.", meant(delta.change, Meant::Change), name(cell))
    });
    let x = Axis::of_names(deltas.iter().map(|(cell, _)| name(cell)));
    let y = Axis::new("mean end-to-end latency", unit.name()).scaled(Scale::Log10);
    let series = vec![
        series(true, &grid.base, Mark::Circle, Dash::Solid),
        series(false, &grid.other, Mark::Square, Dash::Dashed),
    ];
    let plot = Cartesian { is_joined: true, ..Cartesian::new(x, y, series).horizontal() };
    let title = "Which cells suffer most?";
    Some(Chart::new("dumbbell", title, first.unwrap_or_default(), plot))
}

/// The change of TTFT against the change of ITL: cost of the prompt, or of every token.
pub(super) fn split(grid: &Grid) -> Option<Chart> {
    let point = |cell: &GridCell| {
        let change = |quantity: Metric| {
            ifm_rules::insight::CENTER
                .iter()
                .find_map(|statistic| cell.change(quantity, *statistic))
                .map(|change| change * 100.0)
        };
        let (x, y) = (change(Metric::Ttft)?, change(Metric::Itl)?);
        let load = grid.rows.get(cell.row).map(|row| crate::model::load(row.load));
        let text = meant(y / 100.0, Meant::Change);
        Some(Point { label: load, ..Point::at(x, y).told(text) })
    };
    let of_model = |(index, model): (usize, &String)| {
        let cells = grid.cells.iter().filter(|cell| cell.model == index);
        Series::new(plain(model), cells.filter_map(point)).form(Form::Dots).of(index)
    };
    let mut series: Vec<Series> = grid.models.iter().enumerate().map(of_model).collect();
    series.retain(|series| !series.points.is_empty());
    let count: usize = series.iter().map(|series| series.points.len()).sum();
    let description = format!(
        "Change of the time to first token against change of the gap between tokens, {count} cells: \
         at the right the prompt suffers, above every token."
    );
    let [x, y] = ["Δ TTFT", "Δ ITL"].map(|name| Axis::new(name, "%"));
    let plot = Cartesian::new(x, y, series);
    let title = "Is it the prompt or every token?";
    (count > 1).then(|| Chart::new("split", title, description, plot))
}
