//! A condition on and off over a grid of workload, load and model: what it costs in every cell.
//!
//! Rows are workload and load, columns are models; a cell holds the end-to-end latency without and
//! with the condition. Cells that are announced or implied by the grid but not filled are missing,
//! never zero. Not here: what the changes mean (`rule`), titles and images.

use super::versus::{baseline, is_off, names};
use super::{Delta, Question};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{PartKind, RowRole, Statistic, key};
use ifm_metrics::level::Load;
use ifm_metrics::stat::interval::percentile_interval;
use ifm_metrics::stat::percentile_of_sorted;
use ifm_results::{Point, Pooled, Results, Stat, factor_words};
use std::collections::{BTreeMap, BTreeSet};

/// Confidence of the interval of a median over cells.
const CONFIDENCE: f64 = 0.95;
/// Factors that are not conditions.
const NO_CONDITION: [&str; 9] = [
    key::RUN,
    key::MODEL,
    key::QUANTIZATION,
    key::WORKLOAD,
    key::STRATEGY,
    key::REQUESTS,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
    key::ENGINE,
];

/// The two statistics of a grid, in their order.
pub const GRID_STATISTICS: [Statistic; 2] = [Statistic::Mean, Statistic::Percentile(99.0)];

/// What was sent: the workload as it was named, and its lengths.
#[derive(Debug, Clone, PartialEq)]
pub struct GridWorkload {
    /// Its name.
    pub name: String,
    /// Prompt tokens asked for.
    pub input_tokens: Option<f64>,
    /// Output tokens asked for.
    pub output_tokens: Option<f64>,
}

/// A row: a workload at a load.
#[derive(Debug, Clone, PartialEq)]
pub struct GridRow {
    /// What was sent.
    pub workload: GridWorkload,
    /// Users, or requests per second.
    pub load: Option<Load>,
}

/// One model at one row.
#[derive(Debug, Clone)]
pub struct GridCell<'a> {
    /// Index into [`Grid::rows`].
    pub row: usize,
    /// Index into [`Grid::models`].
    pub model: usize,
    /// Without the condition.
    pub base: Option<Pooled<'a>>,
    /// With the condition.
    pub other: Option<Pooled<'a>>,
    /// The change of the end-to-end latency for each of [`GRID_STATISTICS`]; absent where a side has
    /// no number.
    pub deltas: [Option<Delta>; 2],
}

/// A condition over a grid.
#[derive(Debug, Clone)]
pub struct Grid<'a> {
    /// The factor that is on or off.
    pub by: String,
    /// Its value in the baseline: `No CC`.
    pub base: String,
    /// Its other value: `CC`.
    pub other: String,
    /// Further values that are left out.
    pub left_out: Vec<String>,
    /// Workloads in the order of their appearance, each with its loads from the highest.
    pub rows: Vec<GridRow>,
    /// Models in the order of their appearance, each with what else distinguishes its points.
    pub models: Vec<String>,
    /// Every row with every model.
    pub cells: Vec<GridCell<'a>>,
}

impl GridCell<'_> {
    /// The change of the end-to-end latency.
    pub fn delta(&self, statistic: Statistic) -> Option<&Delta> {
        let index = GRID_STATISTICS.iter().position(|known| *known == statistic)?;
        self.deltas.get(index)?.as_ref()
    }

    /// The change of any quantity as it was measured, other over baseline, less 1.
    pub fn change(&self, quantity: Metric, statistic: Statistic) -> Option<f64> {
        let value = |side: &Option<Pooled>| {
            let value = side.as_ref()?.stat(quantity, statistic)?.value;
            (value > 0.0 && value.is_finite()).then_some(value)
        };
        Some(value(&self.other)? / value(&self.base)? - 1.0)
    }

    /// The end-to-end latency of a side, ms.
    pub fn reading(&self, of_base: bool, statistic: Statistic) -> Option<Stat> {
        let side = if of_base { &self.base } else { &self.other };
        side.as_ref()?.stat(Metric::E2e, statistic)
    }
}

impl<'a> Grid<'a> {
    /// The grid that results hold or announce: a condition of two values, at least one
    /// workload and model, and end-to-end latencies in some cell unless all are only announced.
    pub fn of(question: &Question<'a>) -> Option<Grid<'a>> {
        let results = question.results;
        let (by, base, mut others) = condition(question)?;
        // A cell would take what was predicted and what was measured for repeats of one thing.
        if results.is_mixed() && by != key::NUMBERS {
            return None;
        }
        let other = others.remove(0);
        let apart = apart(results, &by);
        let (mut rows, mut models): (Vec<GridRow>, Vec<String>) = (Vec::new(), Vec::new());
        for point in points(results) {
            let (row, model) = (row(point), column(point, &apart));
            if !rows.contains(&row) {
                rows.push(row);
            }
            if !models.contains(&model) {
                models.push(model);
            }
        }
        let rows = by_workload(rows);
        let columns = models.len();
        let row_of = |row| (0..columns).map(move |model| (row, model));
        let empty =
            |(row, model)| GridCell { row, model, base: None, other: None, deltas: [None, None] };
        let mut cells: Vec<GridCell> = (0..rows.len()).flat_map(row_of).map(empty).collect();
        for point in points(results).filter(|point| point.role == RowRole::Measured) {
            let (place, model) = (row(point), column(point, &apart));
            let at = rows.iter().position(|known| *known == place);
            let column = models.iter().position(|known| *known == model);
            let index = at.zip(column).map(|(at, column)| at * columns + column);
            let Some(cell) = index.and_then(|index| cells.get_mut(index)) else { continue };
            let side = match super::versus::value(results, point, &by) {
                Some(value) if value == base => &mut cell.base,
                Some(value) if value == other => &mut cell.other,
                _ => continue,
            };
            side.get_or_insert_with(|| Pooled { points: Vec::new() }).points.push(point);
        }
        compare(&mut cells, question);
        (!cells.is_empty()).then_some(Grid {
            base: factor_words(&by, &base),
            other: factor_words(&by, &other),
            by,
            left_out: others,
            rows,
            models,
            cells,
        })
    }

    /// Figures that the grid needs: two statistics of two sides of every cell.
    pub fn wanted(&self) -> usize {
        self.cells.len() * GRID_STATISTICS.len() * 2
    }

    /// Figures that the grid needs and that were not measured.
    pub fn missing(&self) -> usize {
        let has = |cell: &GridCell, of_base: bool| {
            GRID_STATISTICS.iter().filter(|s| cell.reading(of_base, **s).is_some()).count()
        };
        let filled: usize = self.cells.iter().map(|cell| has(cell, true) + has(cell, false)).sum();
        self.wanted() - filled
    }

    /// The changes of a statistic, each with its cell.
    pub fn deltas(&self, statistic: Statistic) -> Vec<(&GridCell<'a>, &Delta)> {
        self.cells.iter().filter_map(|cell| Some((cell, cell.delta(statistic)?))).collect()
    }

    /// Cells in which a difference is shown.
    pub fn shown(&self, statistic: Statistic) -> usize {
        self.deltas(statistic).iter().filter(|(_, delta)| delta.is_shown()).count()
    }

    /// Cells in which a relevant difference is ruled out.
    pub fn ties(&self, statistic: Statistic) -> usize {
        self.deltas(statistic).iter().filter(|(_, delta)| delta.is_tie()).count()
    }
}

/// Compares the two sides of every cell; all cells are tested together, for each statistic by itself.
fn compare(cells: &mut [GridCell], question: &Question) {
    for (index, statistic) in GRID_STATISTICS.iter().enumerate() {
        let sides = |cell: &GridCell| cell.base.is_some() && cell.other.is_some();
        let pairs = cells.iter().filter_map(|cell| cell.base.as_ref().zip(cell.other.as_ref()));
        let found = question.deltas(pairs, Metric::E2e, &[*statistic]);
        for (cell, delta) in cells.iter_mut().filter(|cell| sides(cell)).zip(found) {
            if let Some(place) = cell.deltas.get_mut(index) {
                *place = delta;
            }
        }
    }
}

/// The median of changes, with the bounds that their order gives where there are enough.
pub fn median_change(changes: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    let mut sorted = changes.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = percentile_of_sorted(&sorted, 50.0)?;
    let bounds = percentile_interval(&sorted, 50.0, CONFIDENCE)
        .and_then(|interval| interval.low.zip(interval.high));
    Some((median, bounds))
}

/// Serving measurements and announced cells.
fn points(results: &Results) -> impl Iterator<Item = &Point> {
    results.points.iter().filter(|point| {
        point.kind == PartKind::Serving
            && [RowRole::Measured, RowRole::Planned].contains(&point.role)
    })
}

fn row(point: &Point) -> GridRow {
    let (input_tokens, output_tokens) = point.lengths();
    let name = point.setting.get(key::WORKLOAD).unwrap_or_default().to_owned();
    GridRow { workload: GridWorkload { name, input_tokens, output_tokens }, load: point.load }
}

/// The column of a point: its model, and the values of these factors.
fn column(point: &Point, apart: &[String]) -> String {
    let model = point.setting.get(key::MODEL).unwrap_or_default().to_owned();
    let words = apart.iter().filter_map(|name| Some(factor_words(name, point.setting.get(name)?)));
    let words: Vec<String> = std::iter::once(model).chain(words).collect();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Factors in which points of one cell and one value of the condition differ: they are not repeats.
fn apart(results: &Results, by: &str) -> Vec<String> {
    const OF_CELL: [&str; 6] = [
        key::MODEL,
        key::WORKLOAD,
        key::INPUT_TOKENS,
        key::OUTPUT_TOKENS,
        key::REQUESTS,
        key::HARDWARE,
    ];
    type Of<'p> = (String, Option<String>, Option<&'p str>);
    let of = |point: &'_ Point| -> (String, Option<String>) {
        (format!("{:?}", row(point)), point.factor(by))
    };
    let measured: Vec<&Point> =
        points(results).filter(|point| point.role == RowRole::Measured).collect();
    let differs = |name: &&str| {
        let mut seen: BTreeMap<Of, Option<&str>> = BTreeMap::new();
        measured.iter().any(|point| {
            let ((row, side), value) = (of(point), point.setting.get(name));
            let cell = (row, side, point.setting.get(key::MODEL));
            *seen.entry(cell).or_insert(value) != value
        })
    };
    let names: BTreeSet<&str> =
        measured.iter().flat_map(|point| point.setting.iter()).map(|(name, _)| name).collect();
    let is_asked = |name: &&str| *name != by && !OF_CELL.contains(name);
    names.into_iter().filter(is_asked).filter(differs).map(str::to_owned).collect()
}

/// Rows of one workload together, its highest load first.
fn by_workload(rows: Vec<GridRow>) -> Vec<GridRow> {
    let mut groups: Vec<Vec<GridRow>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| group.iter().any(|own| own.workload == row.workload)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    for group in &mut groups {
        let load = |row: &GridRow| row.load.map_or(0.0, Load::value);
        group.order_by(|a, b| load(b).total_cmp(&load(a)));
    }
    groups.into_iter().flatten().collect()
}

/// The factor that is on or off, its baseline, and its other values.
fn condition(question: &Question) -> Option<(String, String, Vec<String>)> {
    let results = question.results;
    let split = |by: &str, is_sure: bool| {
        let names = values(results, by);
        let base = baseline(question, by, &names)?;
        let others: Vec<String> = names.into_iter().filter(|name| *name != base).collect();
        // A tag that the user did not name is a condition only where one of two values says "off".
        let is_switch = others.len() == 1 && (is_off(&base) || question.baseline.is_some());
        (!others.is_empty() && (is_sure || is_switch)).then(|| (by.to_owned(), base, others))
    };
    if let Some(by) = &question.compare_by {
        let is_condition = by == key::RUN || !NO_CONDITION.contains(&by.as_str());
        return split(by, true).filter(|_| is_condition);
    }
    split(key::CONDITION, true).or_else(|| {
        let varying = results.varying(PartKind::Serving);
        let mut tags = varying.iter().filter(|name| !NO_CONDITION.contains(&name.as_str()));
        tags.find_map(|name| split(name, false))
    })
}

/// The values of a factor, of announced cells too.
fn values(results: &Results, by: &str) -> Vec<String> {
    let measured = names(results, by);
    if measured.len() > 1 {
        return measured;
    }
    let mut values: Vec<String> = Vec::new();
    for value in points(results).filter_map(|point| point.factor(by)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}
