//! Charts of a matrix: ratios as colours, ratios against the size, and every repeat as a dot.

use super::super::common::{LINES_MAX, ends, numbered};
use super::measure::{measure_unit, unit};
use crate::format::{TimeUnit, meant, plain};
use ifm_chart::{
    Axis, Cartesian, Cell, CellState, Chart, Form, Guide, Heading, HeatScale, Heatmap, Mark, Plot,
    Point, Scale, Series, Tone,
};
use ifm_compare::matrix::{Configuration, Matrix, Place, Ratio};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_rules::insight::Meant;

/// Ratio at which a colour is full.
const RATIO_FULL: f64 = 1.5;
/// Rows and columns of a heatmap that a reader can still distinguish.
const HEAT_MAX: usize = 60;

/// Ratios to the baseline by what each configuration is ranked by, rows as in the overall list;
/// absent without a baseline.
pub(super) fn heatmap(matrix: &Matrix) -> Option<Chart> {
    let base = plain(matrix.thing(matrix.baseline?));
    ratios(matrix, None, ("speed-up", format!("How many times as fast as {base}?")))
}

/// The same by the whole time of a batch; absent where every ranking is by that time already, or
/// where a configuration has none.
pub(super) fn whole_time(matrix: &Matrix) -> Option<Chart> {
    let base = plain(matrix.thing(matrix.baseline?));
    let has_time = |of: usize| matrix.row(of).iter().all(|cell| cell.sample(Metric::E2e).is_some());
    let is_of_part = |of: &Configuration| {
        !matches!(of.measure, Metric::E2e | Metric::TotalRate | Metric::RequestRate)
    };
    if !(0..matrix.configurations.len()).all(has_time)
        || !matrix.configurations.iter().any(is_of_part)
    {
        return None;
    }
    let title = format!("And over the whole time, against {base}?");
    ratios(matrix, Some(Metric::E2e), ("speed-up-whole", title))
}

fn ratios(matrix: &Matrix, measure: Option<Metric>, (id, title): (&str, String)) -> Option<Chart> {
    let baseline = matrix.baseline?;
    let mut things = order(matrix, baseline);
    things.truncate(HEAT_MAX);
    let mut columns = columns(matrix);
    columns.truncate(HEAT_MAX);
    let mut cells = Vec::new();
    let mut extremes: Vec<(f64, String)> = Vec::new();
    for (column, configuration) in columns.iter().enumerate() {
        let ratios = matrix.against_baseline(&[*configuration], measure);
        let contraries = match measure {
            None => matrix.contraries(*configuration),
            Some(_) => Vec::new(),
        };
        let place = matrix.configurations.get(*configuration)?.name();
        for (row, thing) in things.iter().enumerate() {
            let ratio = ratios.get(*thing).and_then(Option::as_ref);
            let words = format!("{} at {place}", matrix.thing(*thing));
            extremes.extend(ratio.map(|ratio| (ratio.value, plain(&words))));
            let has_contrary = contraries.iter().any(|contrary| contrary.thing == *thing);
            cells.push(cell((row, column), ratio, has_contrary));
        }
    }
    let least = extremes.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = extremes.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let base = plain(matrix.thing(baseline));
    let word = if unit(matrix) == "users" { "users" } else { "batch" };
    let heading = |configuration: &usize| {
        let of = matrix.configurations.get(*configuration)?;
        let group = of.batch.map(|batch| format!("{word} {batch}"));
        let lengths = plain(&of.short_name());
        let ending = of.ending.as_ref().map(|ending| ending.trim_start_matches(['_', '-']));
        let name = ending.map_or(lengths.clone(), |ending| format!("{lengths} {}", plain(ending)));
        // With a space the lengths can wrap onto two lines.
        Some(Heading { group, name, short: Some(lengths.replace('→', " →")) })
    };
    Some(Chart {
        id: id.to_owned(),
        title,
        subject: String::new(),
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
                .map(|thing| Heading { name: plain(matrix.thing(*thing)), ..Heading::default() })
                .collect(),
            columns: columns.iter().filter_map(heading).collect(),
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

fn cell((row, column): (usize, usize), ratio: Option<&Ratio>, has_contrary: bool) -> Cell {
    let state = match ratio {
        None => CellState::Missing,
        Some(ratio) if ratio.is_shown() => CellState::Shown,
        Some(_) => CellState::Tie,
    };
    let sign = if has_contrary { "†" } else { "" };
    let text = match ratio {
        None => super::NOT_MEASURED.to_owned(),
        Some(ratio) if !ratio.is_trusted => format!("~{}", meant(ratio.value, Meant::Times)),
        Some(ratio) => format!("{}{sign}", meant(ratio.value, Meant::Times)),
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

/// Configurations by size, equal sizes in their original order.
fn columns(matrix: &Matrix) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..matrix.configurations.len()).collect();
    let batch = |of: &usize| matrix.configurations.get(*of).and_then(|of| of.batch);
    columns.order_by(|a, b| {
        batch(a).unwrap_or(f64::INFINITY).total_cmp(&batch(b).unwrap_or(f64::INFINITY))
    });
    columns
}

/// Configurations that differ in their size alone, by rising size: what a line may join.
pub(super) fn joined(matrix: &Matrix) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, of) in matrix.configurations.iter().enumerate() {
        let is_like = |group: &&mut Vec<usize>| {
            let first = group.first().and_then(|first| matrix.configurations.get(*first));
            first.is_some_and(|first| first.short_name() == of.short_name())
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups.retain(|group| group.len() > 1);
    let size = |of: &usize| matrix.configurations.get(*of).and_then(|of| of.batch).unwrap_or(0.0);
    groups.iter_mut().for_each(|group| group.order_by(|a, b| size(a).total_cmp(&size(b))));
    groups
}

/// Ratios against the size, for each lengths that were measured at several sizes, a few lines to a
/// chart, and whether an interval leaves it.
pub(super) fn speed_ups(matrix: &Matrix) -> Vec<(Chart, bool)> {
    let Some(baseline) = matrix.baseline else { return Vec::new() };
    let things = order(matrix, baseline);
    let mut charts = Vec::new();
    for group in joined(matrix) {
        for some in things.chunks(LINES_MAX) {
            let lines: Vec<Series> =
                some.iter().map(|thing| line(matrix, *thing, &group)).collect();
            charts.extend(speed_up(matrix, (baseline, &group), lines, charts.len()));
        }
    }
    charts
}

fn speed_up(
    matrix: &Matrix,
    (baseline, group): (usize, &[usize]),
    series: Vec<Series>,
    before: usize,
) -> Option<(Chart, bool)> {
    let base = plain(matrix.thing(baseline));
    let lengths = plain(&matrix.configurations.get(*group.first()?)?.short_name());
    let range = around_values(&series, Some(1.0));
    let is_cut = is_cut(&series, range);
    let (name, many) = match unit(matrix) == "users" {
        true => ("users", "with more users"),
        false => ("batch size", "in larger batches"),
    };
    let scale = Scale::Linear { from_zero: false };
    let y = Axis::new(format!("speed over that of {base}"), "×").scaled(scale);
    let description = ends(&series, unit(matrix));
    let plot = Cartesian::new(Axis::new(name, "").scaled(Scale::Log2), Axis { range, ..y }, series);
    let guide = Guide::Horizontal { at: 1.0, name: base, tone: Tone::Neutral };
    let title = format!("Does it still pay {many}, at {lengths}?");
    let id = numbered("speed-up-size", before);
    Some((Chart::new(id, title, description, plot.guided([guide])), is_cut))
}

/// The ratios of one competitor at every size of the same lengths.
fn line(matrix: &Matrix, thing: usize, group: &[usize]) -> Series {
    let point = |of: &usize| {
        let ratio = matrix.speed_up(thing, *of)?;
        let interval = ratio.interval.filter(|_| ratio.is_trusted);
        let (low, high) = interval.unzip();
        let point = Point::at(matrix.configurations.get(*of)?.batch?, ratio.value);
        let point = point.between(low, high).trusted(ratio.is_trusted);
        Some(point.told(meant(ratio.value, Meant::Times)))
    };
    Series::new(plain(matrix.thing(thing)), group.iter().filter_map(point)).of(thing)
}

/// The ends of an axis that shows all values with some room, whatever their intervals are.
fn around_values(series: &[Series], other: Option<f64>) -> Option<(f64, f64)> {
    const ROOM: f64 = 0.15;
    let values = || series.iter().flat_map(|series| &series.points).filter_map(|point| point.y);
    let low = values().chain(other).fold(f64::INFINITY, f64::min);
    let high = values().chain(other).fold(f64::NEG_INFINITY, f64::max);
    let room = ROOM * (high - low);
    (room > 0.0 && room.is_finite()).then(|| ((low - room).max(0.0), high + room))
}

/// Whether an interval leaves the axis.
fn is_cut(series: &[Series], range: Option<(f64, f64)>) -> bool {
    let Some((low, high)) = range else { return false };
    let is_out = |point: &Point| {
        point.low.is_some_and(|end| end < low) || point.high.is_some_and(|end| end > high)
    };
    series.iter().flat_map(|series| &series.points).any(is_out)
}

/// Every repeat of a configuration as a dot next to the mean and its interval, by their means, and
/// whether an interval leaves the chart.
pub(super) fn repeats(
    matrix: &Matrix,
    configuration: usize,
    places: &[Place],
) -> Option<(Chart, bool)> {
    let of = matrix.configurations.get(configuration)?;
    let (name, unit, how) = measure_unit(of.measure);
    let names: Vec<String> = places.iter().map(|place| plain(matrix.thing(place.thing))).collect();
    // Times have the axis' unit, whatever their size.
    let label = |value: f64| match how {
        Meant::Ms => TimeUnit::Ms.text(value),
        how => meant(value, how),
    };
    let mut means = Vec::new();
    let mut each = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let (sample, x) = (&place.sample, index as f64);
        let (low, high) = sample.interval().unzip();
        let text = label(sample.mean);
        let mean = Point::at(x, sample.mean).between(low.map(|low| low.max(0.0)), high);
        let mean = mean.trusted(sample.is_trusted()).told(text.clone());
        means.push(Point { label: Some(text), ..mean });
        let each_of = sample.values.iter();
        each.extend(each_of.map(|value| Point::at(x, *value).told(label(*value))));
    }
    let (first, last) = (places.first()?, places.last()?);
    let words = |place: &Place| {
        format!("{} {}", plain(matrix.thing(place.thing)), meant(place.sample.mean, how))
    };
    let each = Series::reference("each repeat", each).form(Form::Dots);
    let series = vec![
        Series::new("mean, 95 % interval", means).form(Form::Dots),
        Series { mark: Mark::Diamond, ..each },
    ];
    let range = around_values(&series, None);
    let is_cut = is_cut(&series, range);
    let y = Axis::new(name, unit).scaled(Scale::Linear { from_zero: false });
    let plot = Cartesian::new(Axis::of_names(names), Axis { range, ..y }, series).horizontal();
    let id = format!("repeats-{}", configuration + 1);
    let title = format!("How fast is each, by {}?", name.to_lowercase());
    let description = format!("First {}; last {}.", words(first), words(last));
    Some((Chart::new(id, title, description, plot), is_cut))
}
