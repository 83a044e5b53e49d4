//! The limits of a latency target in a chart: only where the chart shows what the target limits.
//!
//! A target names a percentile. Its line is drawn in a chart of that percentile and in no other, and
//! points beyond it are hollow.

use crate::format::limit;
use ifm_chart::{Guide, Series, Tone};
use ifm_core::sheet::Statistic;
use ifm_core::spec::{SloSpec, SloTerm};
use ifm_results::Curve;

/// The terms about a metric (`ttft`, `itl`) whose percentile is this statistic.
pub(super) fn terms<'s>(
    slo: &'s SloSpec,
    metric: &str,
    statistic: Statistic,
) -> impl Iterator<Item = &'s SloTerm> {
    let is_of = move |term: &&SloTerm| term.statistic() == statistic;
    let metric = metric.to_owned();
    slo.terms.iter().filter(move |term| term.metric.word() == metric).filter(is_of)
}

/// The statistics of a tail, the best first: those that the target speaks of, then P99 and P95.
pub(super) fn tails(slo: &SloSpec, metric: &str) -> Vec<Statistic> {
    let asked = slo.terms.iter().filter(|term| term.metric.word() == metric);
    let mut tails: Vec<Statistic> = asked.map(SloTerm::statistic).collect();
    tails.retain(|statistic| ![Statistic::Median, Statistic::Mean].contains(statistic));
    tails.extend([99.0, 95.0].map(Statistic::Percentile));
    tails
}

/// The statistic that all points of these curves have; absent where they differ.
pub(super) fn common_statistic(curves: &[Curve]) -> Option<Statistic> {
    let mut all = curves.iter().flat_map(|curve| &curve.points).map(|at| at.stat.statistic);
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// A statistic as the name of an axis: `TTFT p99`, `TTFT, median`.
pub(super) fn named(name: &str, statistic: Option<Statistic>) -> String {
    match statistic {
        Some(Statistic::Percentile(p)) => format!("{name} p{p}"),
        Some(Statistic::Median) => format!("{name}, median"),
        Some(Statistic::Mean) => format!("{name}, mean"),
        _ => name.to_owned(),
    }
}

/// The label of a limit's line: `limit p99 500 ms`.
pub(super) fn name(term: &SloTerm) -> String {
    format!("limit {} {}", term.over(), limit(term.limit_ms))
}

/// A limit as a line.
pub(super) fn line(term: &SloTerm) -> Guide {
    // Times are drawn in milliseconds, ratios as they are.
    let at = if term.is_ratio() { term.limit() } else { term.limit_ms };
    Guide::Horizontal { at, name: name(term), tone: Tone::Bad }
}

/// Makes points beyond the lowest of these limits hollow; whether there is such a limit.
pub(super) fn hollow<'s>(series: &mut [Series], terms: impl Iterator<Item = &'s SloTerm>) -> bool {
    let Some(lowest) = terms.map(|term| term.limit_ms).min_by(f64::total_cmp) else { return false };
    for point in series.iter_mut().flat_map(|series| &mut series.points) {
        point.is_trusted &= point.y.is_none_or(|ms| ms <= lowest);
    }
    true
}

/// What a hollow point means, for the description of such a chart.
pub(super) const HOLLOW: &str = "Hollow: beyond the limit, or too few samples.";

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_chart::Point;
    use ifm_metrics::slo;

    #[test]
    fn a_limit_belongs_to_its_percentile() {
        let slo = slo::parse("ttft:p99<500ms,itl:p95<50ms,itl:p50<20ms").expect("a target");
        let of = |metric, statistic| terms(&slo, metric, statistic).count();
        assert_eq!(of("ttft", Statistic::Percentile(99.0)), 1);
        assert_eq!(of("ttft", Statistic::Median), 0);
        assert_eq!(of("itl", Statistic::Median), 1);
        let [p95, p99] = [95.0, 99.0].map(Statistic::Percentile);
        assert_eq!(tails(&slo, "itl"), [p95, p99, p95]);
        assert_eq!(tails(&slo, "ttft"), [p99, p99, p95]);
    }

    #[test]
    fn what_lies_beyond_is_hollow() {
        let slo = slo::parse("itl:p99<50ms").expect("a target");
        let p99 = Statistic::Percentile(99.0);
        let point = |y| Point { y: Some(y), ..Point::default() };
        let thin = Point { is_trusted: false, ..point(1.0) };
        let points = vec![point(49.9), point(50.0), point(50.1), thin];
        let mut series = [Series { points, ..Series::default() }];
        assert!(hollow(&mut series, terms(&slo, "itl", p99)));
        let full: Vec<bool> = series[0].points.iter().map(|point| point.is_trusted).collect();
        assert_eq!(full, [true, true, false, false]);
        assert!(!hollow(&mut series, terms(&slo, "ttft", p99)));
    }
}
