//! The metrics of requests in tables: which of them a level shows, by what name, in which unit.
//!
//! Not here: the tables, which are in `terminal/single.rs` and in the pages of a run.

use crate::format::{ABSENT, marked_span, number, span};
use crate::page::Cell;
use ifm_core::Metric;
use ifm_core::metric::{Direction, MetricUnit};
use ifm_metrics::level::{GapLabel, Latencies, MetricValues};
use ifm_metrics::stat::Percentile;
use std::collections::BTreeSet;

/// The populations that say something: without the time to the answer proper where nothing came before
/// it, and without gaps that are mostly 0.
pub(crate) fn shown(latencies: &Latencies) -> impl Iterator<Item = &MetricValues> {
    let says_something = |found: &&MetricValues| match found.metric {
        Metric::Ttfat => latencies.get(Metric::Ttft) != Some(&found.values),
        Metric::Itl => latencies.gaps().is_some(),
        _ => true,
    };
    latencies.populations().filter(says_something)
}

/// The name of a population.
pub(crate) fn name(found: &MetricValues, gap: GapLabel) -> String {
    let name = match found.metric {
        Metric::Itl => gap.short(),
        metric => metric.name(),
    };
    format!("{name}{}", if found.is_estimated { " (estimated)" } else { "" })
}

/// The name in a narrow table, where `~` is the mark of an estimate.
pub(crate) fn short_name(found: &MetricValues, gap: GapLabel) -> String {
    let name = match found.metric {
        Metric::Itl => gap.short(),
        metric => metric.short_name(),
    };
    format!("{name}{}", if found.is_estimated { " ~" } else { "" })
}

/// A value of a metric as text.
pub(crate) fn value(metric: Metric, value: f64) -> String {
    if metric.unit() == MetricUnit::Ns { span(value) } else { number(value) }
}

/// A percentile of a metric as text, marked where it rests on too few values.
pub(crate) fn marked(metric: Metric, found: &Percentile) -> String {
    match metric.unit() {
        MetricUnit::Ns => marked_span(found),
        _ => format!("{}{}", if found.enough { "" } else { "~" }, number(found.value)),
    }
}

/// The value at the end of the tail: the largest, or the smallest where more is better.
pub(crate) fn worst(found: &MetricValues) -> f64 {
    match found.metric.direction() {
        Direction::Lower | Direction::Neither => found.values.max,
        Direction::Higher => found.values.min,
    }
}

/// Whether its tail is the slow end, at small percentiles: more is better.
pub(crate) fn has_slow_end(found: &MetricValues) -> bool {
    found.metric.direction() == Direction::Higher
}

/// That the columns of the tail hold the other end for some metrics; absent where none of `shown` has
/// more as better.
pub(crate) fn tail_note<'v>(
    shown: impl Iterator<Item = &'v MetricValues>,
    gap: GapLabel,
) -> Option<String> {
    let names: BTreeSet<String> =
        shown.filter(|found| has_slow_end(found)).map(|found| name(found, gap)).collect();
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty())
        .then(|| format!("{} at the slow end: p10, p5, p1 and min", names.join(", ")))
}

/// A value of a metric in a table.
pub(crate) fn cell(metric: Metric, found: Option<f64>) -> Cell {
    let cell = Cell::number(found, |found| value(metric, found));
    if metric.unit() == MetricUnit::Ns { cell.in_unit("ns") } else { cell }
}

/// A percentile of a population in a table, of the slow end where more is better, with its size where
/// that is too small.
pub(crate) fn percentile(found: &MetricValues, p: f64) -> Cell {
    let p = found.metric.slow_tail(p);
    let Some(percentile) = found.values.percentile(p) else { return Cell::text(ABSENT) };
    let text = marked(found.metric, percentile);
    let cell = Cell { text, ..cell(found.metric, Some(percentile.value)) };
    if percentile.enough { cell } else { cell.noted(format!("n={}", found.values.n)) }
}
