//! What the charts of a comparison of variants have in common.

use crate::format::plain;
use ifm_chart::{Cartesian, Chart, Point, Series};
use ifm_rules::insight::{Party, Versus};

/// The lines of all parties that have two points, the baseline first.
pub(super) fn lines<'v, 'a: 'v>(
    versus: &'v Versus<'a>,
    points: impl Fn(&'v Party<'a>) -> Option<Vec<Point>>,
) -> Vec<Series> {
    let line = |(index, party): (usize, &'v Party<'a>)| {
        Some(Series::new(plain(&party.name), points(party)?).of(index))
    };
    let all = versus.parties().enumerate().filter_map(line);
    all.filter(|series| series.points.len() > 1).collect()
}

pub(super) fn chart(id: &str, title: &str, description: String, plot: Cartesian) -> Option<Chart> {
    (!plot.series.is_empty()).then(|| Chart::new(id, title, description, plot))
}
