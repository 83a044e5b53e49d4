//! Repeats of the same measurement, taken together.

use super::{Point, Results, Stat};
use ifm_core::Metric;
use ifm_core::metric::MetricUnit;
use ifm_core::sheet::{Factors, PartKind, RowRole, Statistic};
use ifm_metrics::level::Load;
use ifm_metrics::slo::VerdictState;
use ifm_metrics::stat::{Scale, center, center_interval};

/// Confidence of every interval over repeats.
pub const CONFIDENCE: f64 = 0.95;
/// Minimum number of repeats for an interval; over two it is so wide that it says nothing.
pub const REPEATS_MIN: usize = 3;

/// Points with the same setting and load: one measurement, or its repeats.
#[derive(Debug, Clone)]
pub struct Pooled<'a> {
    /// The repeats, in order; never empty.
    pub points: Vec<&'a Point>,
}

/// All measurements of a kind, repeats taken together, in the order of their first points.
#[derive(Debug, Clone)]
pub struct Pool<'a> {
    /// The measurements.
    pub cells: Vec<Pooled<'a>>,
}

impl Results {
    /// The measured points of a kind, repeats taken together. Points are repeats of each other if
    /// kind, setting, load and headings are the same; two blocks of a document that give neither
    /// load nor a number of the repeat are two measurements. Sides differ in their settings: see
    /// [`with_sides`](Results::with_sides).
    pub fn pool(&self, kind: PartKind) -> Pool<'_> {
        self.pool_of(kind, |_| true)
    }

    /// As [`pool`](Results::pool), of the points that `keep` says yes to.
    pub fn pool_of(&self, kind: PartKind, keep: impl Fn(&Point) -> bool) -> Pool<'_> {
        let mut cells: Vec<Pooled> = Vec::new();
        for point in self.measured(kind).filter(|point| keep(point)) {
            match cells.iter_mut().find(|cell| cell.holds(point)) {
                Some(cell) => cell.points.push(point),
                None => cells.push(Pooled { points: vec![point] }),
            }
        }
        Pool { cells }
    }

    /// Cells that a document announces and does not fill.
    pub fn planned(&self) -> impl Iterator<Item = &Point> {
        self.of_role(RowRole::Planned)
    }
}

impl<'a> Pooled<'a> {
    fn holds(&self, point: &Point) -> bool {
        let Some(first) = self.points.first() else { return false };
        let can_repeat = point.kind != PartKind::Serving || point.load.is_some();
        can_repeat
            && point.kind != PartKind::Kernel
            && first.setting == point.setting
            && first.load == point.load
            && first.headings == point.headings
    }

    /// The first of the repeats.
    pub fn first(&self) -> Option<&'a Point> {
        self.points.first().copied()
    }

    /// What was set.
    pub fn factor(&self, name: &str) -> Option<String> {
        self.first()?.factor(name)
    }

    /// What was set, the load and the repeat apart.
    pub fn setting(&self) -> Option<&'a Factors> {
        Some(&self.first()?.setting)
    }

    /// The load.
    pub fn load(&self) -> Option<Load> {
        self.first()?.load
    }

    /// Whether it is inside the latency target: only if each repeat is.
    pub fn verdict(&self) -> VerdictState {
        let any = |state| self.points.iter().any(|point| point.verdict == state);
        match (any(VerdictState::Fail), any(VerdictState::Unknown)) {
            (true, _) => VerdictState::Fail,
            (false, true) => VerdictState::Unknown,
            (false, false) => VerdictState::Pass,
        }
    }

    /// The value of every repeat that has one, in order.
    pub fn values(&self, metric: Metric, statistic: Statistic) -> Vec<f64> {
        self.points.iter().filter_map(|point| point.value(metric, statistic)).collect()
    }

    /// The statistic of a metric; absent where one of the repeats does not have it, since the others
    /// are not all of them. A single point is returned as it is. Repeats give their central value,
    /// the same as in a comparison ([`center`](ifm_metrics::stat::center())), and from three repeats with different values on its
    /// 95 % interval (Student); `n` is then the number of repeats.
    pub fn stat(&self, metric: Metric, statistic: Statistic) -> Option<Stat> {
        let stats: Vec<&Stat> =
            self.points.iter().filter_map(|point| point.stat(metric, statistic)).collect();
        let first = *stats.first().filter(|_| stats.len() == self.points.len())?;
        if stats.len() == 1 {
            return Some(first.clone());
        }
        let values: Vec<f64> = stats.iter().map(|stat| stat.value).collect();
        let scale = scale_of(metric);
        let interval = (values.len() >= REPEATS_MIN)
            .then(|| center_interval(&values, scale, CONFIDENCE))
            .flatten();
        Some(Stat {
            value: center(&values, scale)?,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            n: Some(values.len() as u64),
            is_enough: stats.iter().all(|stat| stat.is_enough),
            printed: None,
            ..first.clone()
        })
    }

    /// The first of these statistics that it has.
    pub fn first_of(&self, metric: Metric, statistics: &[Statistic]) -> Option<Stat> {
        statistics.iter().find_map(|statistic| self.stat(metric, *statistic))
    }

    /// The central number of a metric: the first of [`Statistic::central`].
    pub fn central(&self, metric: Metric) -> Option<Stat> {
        Statistic::central(metric).into_iter().find_map(|statistic| self.stat(metric, statistic))
    }
}

/// On which scale repeats of a metric vary.
pub(super) fn scale_of(metric: Metric) -> Scale {
    let is_share = metric.unit() == MetricUnit::Share && !metric.has_many_values();
    if is_share { Scale::Share } else { Scale::Ratio }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;
    use crate::testing::repeat as point;

    #[test]
    fn repeats_become_a_mean_with_students_interval() {
        let points =
            vec![point(1, 1, 10.0), point(2, 1, 30.0), point(1, 2, 12.0), point(1, 3, 14.0)];
        let results = Results { sources: vec![Source::of_document("x")], points };
        let pool = results.pool(PartKind::StaticBatch);
        assert_eq!(pool.cells.len(), 2);
        let one = pool.cells[0].central(Metric::OutputRate).expect("measured");
        // The logarithms have the deviation 0.168433, t(0.975, 2) = 4.302653.
        assert!((one.value - 11.887_844).abs() < 1e-6 && one.n == Some(3), "{one:?}");
        assert!((one.high.expect("three repeats") - 18.064_090).abs() < 1e-5);
        let far = vec![point(1, 1, 1.0), point(1, 2, 40.0), point(1, 3, 90.0)];
        let results = Results { sources: Vec::new(), points: far };
        let wide = results.pool(PartKind::StaticBatch).cells[0].central(Metric::OutputRate);
        let low = wide.expect("measured").low.expect("three repeats");
        assert!(low > 0.0 && low < 0.1, "no rate is below zero: {low}");
        let two = pool.cells[1].central(Metric::OutputRate).expect("measured");
        assert_eq!((two.value, two.n, two.low), (30.0, None, None));
    }
}
