//! The sides of a comparison as charts: the values of each metric against the load, or as bars where
//! there is only one.

use crate::comparison::words;
use crate::format::plain;
use crate::kind::common::{LINES_MAX, axis_of, ends, value_axis};
use crate::page::{Figure, slug};
use ifm_chart::{Axis, Cartesian, Chart, Dash, Form, Point, Series};
use ifm_compare::comparison::{Cell, Comparison, Condition, Measure, Metric, Row, Unit};
use ifm_core::order::Order as _;
use ifm_metrics::level::Load;

/// Metrics that a reader asks for first.
const FIRST: [Metric; 5] =
    [Metric::Ttft, Metric::Itl, Metric::E2e, Metric::OutputRate, Metric::TotalRate];
/// From this time on an axis is in seconds.
const SECONDS_FROM_NS: f64 = 1e10;
/// Dashes of several statistics of one metric, the middle first.
const DASHES: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::DashDot];

/// A value of a side, and whether it has an interval to rely on.
type ReadCell<'c> = Box<dyn Fn(Measure, &Condition) -> Option<(Cell, bool)> + 'c>;

/// The values of one side: its name, and its cell of a row.
struct SideValues<'c> {
    name: String,
    cell: ReadCell<'c>,
}

fn sides(comparison: &Comparison) -> Vec<SideValues<'_>> {
    let find = |rows: &'_ [Row], measure: Measure, at: &Condition| -> Option<Row> {
        rows.iter().find(|row| row.measure == measure && row.at.is_same(at)).cloned()
    };
    let base = SideValues {
        name: plain(&comparison.baseline.label),
        cell: Box::new(move |measure, at| {
            let mut pairs = comparison.pairs.iter();
            let row = pairs
                .find_map(|pair| find(&pair.rows, measure, at).filter(|row| row.a.is_some()))?;
            Some((row.a?, row.basis.is_some()))
        }),
    };
    let others = comparison.pairs.iter().map(move |pair| SideValues {
        name: plain(&pair.side.label),
        cell: Box::new(move |measure, at| {
            let row = find(&pair.rows, measure, at)?;
            Some((row.b?, row.basis.is_some()))
        }),
    });
    std::iter::once(base).chain(others).collect()
}

/// A chart for each metric, the usual ones first.
pub(super) fn figures(comparison: &Comparison) -> Vec<Figure> {
    let mut measures: Vec<Measure> = Vec::new();
    let mut places: Vec<&Condition> = Vec::new();
    for row in comparison.pairs.iter().flat_map(|pair| &pair.rows) {
        if !measures.contains(&row.measure) {
            measures.push(row.measure);
        }
        if !places.iter().any(|known| known.is_same(&row.at)) {
            places.push(&row.at);
        }
    }
    let mut metrics: Vec<Metric> = Vec::new();
    for measure in &measures {
        if !metrics.contains(&measure.metric) {
            metrics.push(measure.metric);
        }
    }
    let place = |metric: &Metric| FIRST.iter().position(|first| *first == *metric);
    let mut first: Vec<Metric> =
        metrics.iter().copied().filter(|one| place(one).is_some()).collect();
    first.order_by_key(place);
    let chosen = if first.is_empty() { metrics } else { first };
    let sides = sides(comparison);
    let mut figures = Vec::new();
    for metric in chosen {
        let of: Vec<Measure> =
            measures.iter().copied().filter(|measure| measure.metric == metric).collect();
        let is_inter_event = comparison.baseline.is_inter_event
            || comparison.pairs.iter().any(|pair| pair.side.is_inter_event);
        // The baseline is in each chart of a metric.
        let (base, others) = match sides.split_first() {
            Some(found) => found,
            None => continue,
        };
        for (index, some) in others.chunks(LINES_MAX - 1).enumerate() {
            let shown: Vec<(usize, &SideValues)> = std::iter::once((0, base))
                .chain(
                    some.iter()
                        .enumerate()
                        .map(|(at, one)| (1 + index * (LINES_MAX - 1) + at, one)),
                )
                .collect();
            figures.extend(figure((&shown, index), &of, &places, is_inter_event));
        }
    }
    figures
}

fn figure(
    (sides, index): (&[(usize, &SideValues)], usize),
    measures: &[Measure],
    places: &[&Condition],
    is_inter_event: bool,
) -> Option<Figure> {
    let first = *measures.first()?;
    let metric = Measure { over: ifm_compare::comparison::Over::Value, ..first };
    let name = words::measure(metric, is_inter_event);
    let largest = sides
        .iter()
        .flat_map(|(_, side)| {
            measures
                .iter()
                .flat_map(move |m| places.iter().filter_map(move |at| (side.cell)(*m, at)))
        })
        .map(|(cell, _)| cell.value)
        .fold(0.0, f64::max);
    let (per, unit) = match first.unit() {
        Unit::Ns if largest >= SECONDS_FROM_NS => (1e9, "s"),
        unit => words::axis_unit(unit),
    };
    let point = |x: f64, measure: Measure, (cell, is_sure): (Cell, bool)| {
        Point::at(x, cell.value / per)
            .between(cell.low.map(|low| low / per), cell.high.map(|high| high / per))
            .trusted(is_sure && !cell.is_interpolated)
            .told(words::bounds(measure.unit(), &cell))
    };
    let loads: Vec<(Load, &Condition)> = places
        .iter()
        .filter(|at| at.setting.is_empty())
        .filter_map(|at| Some((at.load?, *at)))
        .collect();
    let is_open = loads.iter().any(|(load, _)| matches!(load, Load::ReqPerS(_)));
    let is_one_kind = loads.iter().all(|(load, _)| matches!(load, Load::ReqPerS(_)) == is_open);
    let are_loads = loads.len() > 1 && loads.len() == places.len() && is_one_kind;
    // Several statistics of many sides would be more lines than a reader can distinguish.
    let drawn = (LINES_MAX / sides.len().max(1)).clamp(1, DASHES.len());
    let question = format!("{}: how do the sides compare?", name);
    // Charts of reports have the same names.
    let word = if metric.metric == Metric::OutputRate { "output" } else { metric.metric.word() };
    let id = match index {
        0 => slug(word),
        index => slug(&format!("{word} {}", index + 1)),
    };
    let (x, series) = if are_loads {
        let mut series = Vec::new();
        for (thing, side) in sides {
            for (measure, dash) in measures.iter().take(drawn).zip(DASHES) {
                let points = loads.iter().filter_map(|(load, at)| {
                    Some(point(load.value(), *measure, (side.cell)(*measure, at)?))
                });
                let over = words::measure(*measure, is_inter_event);
                let over = over.strip_prefix(&name).unwrap_or_default();
                let line = Series::new(format!("{}{over}", side.name), points).of(*thing);
                series.push(Series { dash, ..line });
            }
        }
        (axis_of(is_open), series)
    } else {
        let rows: Vec<(&Condition, Measure)> =
            places.iter().flat_map(|at| measures.iter().map(move |one| (*at, *one))).collect();
        let label = |(at, measure): &(&Condition, Measure)| {
            let over = words::measure(*measure, is_inter_event);
            let over = over.strip_prefix(&name).unwrap_or_default().trim().to_owned();
            let at = words::condition(at);
            if over.is_empty() { at } else { format!("{over} at {at}") }
        };
        let bars = |(thing, side): &(usize, &SideValues)| {
            let points = rows.iter().enumerate().filter_map(|(place, (at, measure))| {
                Some(point(place as f64, *measure, (side.cell)(*measure, at)?))
            });
            Series::new(side.name.clone(), points).of(*thing).form(Form::Bar)
        };
        (Axis::of_names(rows.iter().map(label)), sides.iter().map(bars).collect())
    };
    let series: Vec<Series> = series.into_iter().filter(|one| !one.points.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let description = match are_loads {
        true => ends(&series, if is_open { "req/s" } else { "users" }),
        false => {
            let side = |one: &Series| {
                let texts: Vec<&str> =
                    one.points.iter().filter_map(|point| point.text.as_deref()).collect();
                format!("{}: {}.", one.name, texts.join(", "))
            };
            series.iter().map(side).collect::<Vec<_>>().join(" ")
        }
    };
    let y = value_axis(&name, unit, &series);
    let y = if are_loads { y } else { Axis::new(&name, unit) };
    let plot = Cartesian::new(x, y, series);
    let plot = if are_loads { plot.switched() } else { plot };
    Some(Figure::alone(Chart::new(id, question, description, plot)))
}
