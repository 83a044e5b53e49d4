//! Levels with longer tails than heavier levels: cold, or disturbed.

use super::{Curve, CurvePoint, Pool, Pooled, Stat};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_metrics::cold::{At, breaks, is_break};

/// The tails that are compared.
const TAILS: [Statistic; 2] = [Statistic::Percentile(99.0), Statistic::Percentile(95.0)];

/// An outlying level.
#[derive(Debug, Clone)]
pub struct Cold<'a> {
    /// The level.
    pub cell: Pooled<'a>,
    /// The next heavier one.
    pub beside: Pooled<'a>,
    /// The quantity whose tail is too long.
    pub metric: Metric,
    /// Its tail, ms.
    pub tail: Stat,
    /// The tail of the heavier level, ms.
    pub tail_beside: Stat,
    /// Whether it comes before the heavier level if both were recorded in order.
    pub is_before: bool,
}

impl<'a> Pool<'a> {
    /// Levels whose tail of ITL or TTFT is more than twice that of the next heavier level, each
    /// once; these factors distinguish curves.
    pub fn cold(&self, by: &[&str]) -> Vec<Cold<'a>> {
        let mut found: Vec<Cold> = Vec::new();
        for metric in [Metric::Itl, Metric::Ttft] {
            let curves = self.curves_against(by, |cell| {
                let tail = TAILS.iter().find_map(|tail| cell.stat(metric, *tail))?;
                Some((cell.load()?.value(), tail))
            });
            for curve in &curves {
                let points = curve.points.iter();
                let measured: Vec<At<&CurvePoint>> = points
                    .map(|point| At { load: point.at, time: point.stat.value, of: point })
                    .collect();
                for (low, high) in breaks(&measured) {
                    let (low, high) = (low.of, high.of);
                    let is_same = low.stat.statistic == high.stat.statistic;
                    let is_known = found.iter().any(|cold| is_same_cell(&cold.cell, &low.cell));
                    if is_same && !is_known {
                        found.push(Cold {
                            cell: low.cell.clone(),
                            beside: high.cell.clone(),
                            metric,
                            tail: low.stat.clone(),
                            tail_beside: high.stat.clone(),
                            is_before: place(&low.cell) < place(&high.cell),
                        });
                    }
                }
            }
        }
        found
    }

    /// The measurements but for these.
    #[must_use]
    pub fn without(&self, cold: &[Cold]) -> Pool<'a> {
        let is_kept = |cell: &&Pooled<'a>| !cold.iter().any(|cold| is_same_cell(&cold.cell, cell));
        Pool { cells: self.cells.iter().filter(is_kept).cloned().collect() }
    }
}

impl<'a> Curve<'a> {
    /// The curve without the points whose value is more than twice that of the next heavier one,
    /// and those points: the load does not explain such a tail, and a line through it says nothing
    /// about the neighboring loads.
    #[must_use]
    pub fn parted(self) -> (Curve<'a>, Vec<CurvePoint<'a>>) {
        let next = self.points.iter().skip(1).map(|point| Some(point.stat.value)).chain([None]);
        let next: Vec<Option<f64>> = next.collect();
        let (mut kept, mut apart) = (Vec::new(), Vec::new());
        for (point, next) in self.points.into_iter().zip(next) {
            let is_apart = next.is_some_and(|next| is_break(point.stat.value, next));
            if is_apart { &mut apart } else { &mut kept }.push(point);
        }
        (Curve { of: self.of, points: kept }, apart)
    }
}

fn is_same_cell(a: &Pooled, b: &Pooled) -> bool {
    a.first().zip(b.first()).is_some_and(|(a, b)| std::ptr::eq(a, b))
}

fn place(cell: &Pooled) -> Option<(usize, usize, Option<u32>, Option<String>)> {
    let first = cell.first()?;
    Some((first.source, first.part, first.place.line, first.place.pointer.clone()))
}
