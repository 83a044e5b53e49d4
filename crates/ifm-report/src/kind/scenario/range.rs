//! The area between the best and the worst scenario.

use super::super::common::{ends, load_axis};
use super::data::{Data, Drawn};
use crate::format::{meant, plain};
use ifm_chart::{Chart, Form, Point, Series};
use ifm_results::Curve;

/// A scenario and its number.
struct Edge {
    name: String,
    value: f64,
}

/// Both edges at one load.
struct Span {
    at: f64,
    low: Edge,
    high: Edge,
}

/// The area between the best and the worst curve, with both edges named; absent where no load has
/// two curves.
pub(super) fn band(data: &Data, drawn: &Drawn, curves: &[Curve]) -> Option<Chart> {
    let spans = spans(curves);
    let last = spans.last()?;
    let text = |edge: &Edge, name: &str| match edge.name == name {
        true => meant(edge.value, drawn.how),
        false => format!("{} {}", edge.name, meant(edge.value, drawn.how)),
    };
    let edge = |pick: fn(&Span) -> &Edge| {
        let name = &pick(last).name;
        let point = |span: &Span| Point::at(span.at, pick(span).value).told(text(pick(span), name));
        data.series(name.clone(), spans.iter().map(point).collect())
    };
    let area = |span: &Span| {
        let point = Point { x: span.at, ..Point::default() };
        point.between(Some(span.low.value), Some(span.high.value))
    };
    let area = Series::reference("range", spans.iter().map(area)).form(Form::Band);
    let edges = [edge(|span| &span.high), edge(|span| &span.low)];
    let description = ends(&edges, "users");
    let series = std::iter::once(area).chain(edges).collect();
    Some(Chart { description, ..drawn.chart(0, load_axis(curves), series) })
}

/// The loads at which at least two curves have a point, rising.
fn spans(curves: &[Curve]) -> Vec<Span> {
    let mut loads: Vec<f64> =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.at).collect();
    loads.sort_unstable_by(f64::total_cmp);
    loads.dedup();
    let span = |at: f64| {
        let here = || {
            let edge = |curve: &Curve| {
                Some(Edge { name: plain(&curve.name()), value: curve.at(at)?.stat.value })
            };
            curves.iter().filter_map(edge)
        };
        let high = here().max_by(|a, b| a.value.total_cmp(&b.value))?;
        let low = here().min_by(|a, b| a.value.total_cmp(&b.value))?;
        (here().count() > 1).then_some(Span { at, low, high })
    };
    loads.into_iter().filter_map(span).collect()
}
