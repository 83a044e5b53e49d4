//! Charts of a matrix: ratios as colours, ratios against the size, and every repeat as a dot.

use super::super::common::LINES_MAX;
use super::configuration::{measure_unit, unit};
use crate::format::{meant, plain};
use ifm_analysis::insight::Meant;
use ifm_analysis::matrix::{Matrix, Place, Ratio};
use ifm_chart::{
    Axis, Cartesian, Cell, CellState, Chart, Form, GREY, Guide, Heading, HeatScale, Heatmap, Mark,
    Plot, Point, Scale, Series, Tone,
};

/// Ratio at which a colour is full.
const RATIO_FULL: f64 = 1.5;
/// Rows and columns of a heatmap that a reader can still tell apart.
const HEAT_MAX: usize = 60;

/// Ratios to the baseline, rows as in the overall list; absent without a baseline.
pub(super) fn heatmap(matrix: &Matrix) -> Option<Chart> {
    let baseline = matrix.baseline?;
    let things = order(matrix, baseline);
    let columns = columns(matrix);
    let mut cells = Vec::new();
    let mut extremes: Vec<(f64, String)> = Vec::new();
    for (row, thing) in things.iter().take(HEAT_MAX).enumerate() {
        for (column, configuration) in columns.iter().take(HEAT_MAX).enumerate() {
            let ratio = matrix.speed_up(*thing, *configuration);
            if let Some(ratio) = ratio {
                let place = matrix.configurations.get(*configuration).map(|of| of.name());
                let words = format!("{} at {}", matrix.thing(*thing), place.unwrap_or_default());
                extremes.push((ratio.value, plain(&words)));
            }
            cells.push(cell((row, column), ratio));
        }
    }
    let least = extremes.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = extremes.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let base = plain(matrix.thing(baseline));
    let word = if unit(matrix) == "users" { "users" } else { "batch" };
    let heading = |configuration: &usize| {
        let of = matrix.configurations.get(*configuration)?;
        let name = match &of.ending {
            Some(ending) => {
                format!("{} {}", of.short_name(), ending.trim_start_matches(['_', '-']))
            }
            None => of.short_name(),
        };
        let group = of.batch.map(|batch| format!("{word} {batch}"));
        Some(Heading { group, name: plain(&name), short: None })
    };
    Some(Chart {
        id: "speed-up".to_owned(),
        title: format!("How many times as fast as {base}?"),
        description: format!(
            "From {} ({}) to {} ({}).",
            meant(least.0, Meant::Times),
            least.1,
            meant(most.0, Meant::Times),
            most.1
        ),
        plot: Plot::Heatmap(Heatmap {
            name: format!("speed over that of {base}"),
            unit: "×".to_owned(),
            rows: things
                .iter()
                .take(HEAT_MAX)
                .map(|thing| Heading { name: plain(matrix.thing(*thing)), ..Heading::default() })
                .collect(),
            columns: columns.iter().take(HEAT_MAX).filter_map(heading).collect(),
            scale: HeatScale {
                middle: 1.0,
                reach: RATIO_FULL,
                is_ratio: true,
                is_more_better: true,
            },
            cells,
        }),
    })
}

fn cell((row, column): (usize, usize), ratio: Option<Ratio>) -> Cell {
    let state = match ratio {
        None => CellState::Missing,
        Some(ratio) if !ratio.is_trusted => CellState::Tie,
        Some(ratio) if ratio.interval.is_some() && !ratio.is_shown() => CellState::Tie,
        Some(_) => CellState::Shown,
    };
    let text = match ratio {
        None => super::NOT_MEASURED.to_owned(),
        Some(ratio) if !ratio.is_trusted => format!("~{}", meant(ratio.value, Meant::Times)),
        Some(ratio) => meant(ratio.value, Meant::Times),
    };
    Cell { row, column, value: ratio.map(|ratio| ratio.value), text, state }
}

/// Things without the baseline: the fastest over all first, then those that have no overall value.
pub(super) fn order(matrix: &Matrix, baseline: usize) -> Vec<usize> {
    let mut order: Vec<usize> = matrix.overall().iter().map(|overall| overall.thing).collect();
    for thing in (0..matrix.things.len()).filter(|thing| *thing != baseline) {
        if !order.contains(&thing) {
            order.push(thing);
        }
    }
    order
}

/// Configurations by size, those of the same size in their order.
fn columns(matrix: &Matrix) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..matrix.configurations.len()).collect();
    let batch = |of: &usize| matrix.configurations.get(*of).and_then(|of| of.batch);
    columns.sort_by(|a, b| {
        batch(a).unwrap_or(f64::INFINITY).total_cmp(&batch(b).unwrap_or(f64::INFINITY))
    });
    columns
}

/// Ratios against the size, a few lines to a chart; none with a single size.
pub(super) fn speed_ups(matrix: &Matrix) -> Vec<Chart> {
    let Some(baseline) = matrix.baseline else { return Vec::new() };
    let batches = matrix.batches();
    if batches.len() < 2 {
        return Vec::new();
    }
    let base = plain(matrix.thing(baseline));
    let things = order(matrix, baseline);
    let charts = things.chunks(LINES_MAX).enumerate();
    charts
        .map(|(index, some)| {
            let series: Vec<Series> =
                some.iter().map(|thing| line(matrix, *thing, &batches)).collect();
            let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
            Chart {
                id: format!("speed-up-size{number}"),
                title: "Where does it pay?".to_owned(),
                description: super::super::common::ends(&series, unit(matrix)),
                plot: Plot::Cartesian(Cartesian {
                    x: Axis {
                        name: if unit(matrix) == "users" { "users" } else { "batch size" }
                            .to_owned(),
                        scale: Scale::Log2,
                        ..Axis::default()
                    },
                    y: Axis {
                        name: format!("speed over that of {base}"),
                        unit: "×".to_owned(),
                        scale: Scale::Linear { from_zero: false },
                        ..Axis::default()
                    },
                    series,
                    guides: vec![Guide::Horizontal {
                        at: 1.0,
                        name: base.clone(),
                        tone: Tone::Neutral,
                    }],
                    ..Cartesian::default()
                }),
            }
        })
        .collect()
}

fn line(matrix: &Matrix, thing: usize, batches: &[f64]) -> Series {
    let point = |batch: &f64| {
        let ratio = matrix.speed_up_at(thing, *batch)?;
        Some(Point {
            x: *batch,
            y: Some(ratio.value),
            low: ratio.interval.map(|(low, _)| low),
            high: ratio.interval.map(|(_, high)| high),
            is_trusted: ratio.is_trusted,
            text: Some(meant(ratio.value, Meant::Times)),
            ..Point::default()
        })
    };
    Series {
        name: plain(matrix.thing(thing)),
        color: u8::try_from(thing % 8).unwrap_or(0),
        points: batches.iter().filter_map(point).collect(),
        ..Series::default()
    }
}

/// Every repeat of a configuration as a dot beside the mean and its interval, in the order of the
/// ranking.
pub(super) fn repeats(matrix: &Matrix, configuration: usize, places: &[Place]) -> Option<Chart> {
    let of = matrix.configurations.get(configuration)?;
    let (name, unit, how) = measure_unit(&of.measure);
    let names: Vec<String> = places.iter().map(|place| plain(matrix.thing(place.thing))).collect();
    let mut bars = Vec::new();
    let mut dots = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let (sample, x) = (&place.sample, index as f64);
        let interval = sample.interval();
        bars.push(Point {
            x,
            y: Some(sample.mean),
            low: interval.map(|(low, _)| low.max(0.0)),
            high: interval.map(|(_, high)| high),
            is_trusted: sample.is_trusted(),
            text: Some(meant(sample.mean, how)),
            label: None,
        });
        dots.extend(sample.values.iter().map(|value| Point {
            x,
            y: Some(*value),
            text: Some(meant(*value, how)),
            ..Point::default()
        }));
    }
    let (first, last) = (places.first()?, places.last()?);
    let words = |place: &Place| {
        format!("{} {}", plain(matrix.thing(place.thing)), meant(place.sample.mean, how))
    };
    let series = vec![
        Series {
            name: "mean, 95 % interval".to_owned(),
            form: Form::Bar,
            points: bars,
            ..Series::default()
        },
        Series {
            name: "each repeat".to_owned(),
            color: GREY,
            form: Form::Dots,
            mark: Mark::Diamond,
            points: dots,
            ..Series::default()
        },
    ];
    Some(Chart {
        id: format!("repeats-{}", configuration + 1),
        title: format!("How fast is each, by {}?", name.to_lowercase()),
        description: format!("First {}; last {}.", words(first), words(last)),
        plot: Plot::Cartesian(Cartesian {
            x: Axis { scale: Scale::Category(names), ..Axis::default() },
            y: Axis { name: name.to_owned(), unit: unit.to_owned(), ..Axis::default() },
            series,
            is_horizontal: true,
            ..Cartesian::default()
        }),
    })
}
