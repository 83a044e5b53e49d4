//! Values against the number of users as a chart, for results that are computed and not measured.

use crate::kind::common::{axis_of, ends, value_axis};
use crate::page::Figure;
use ifm_chart::{Cartesian, Chart, Dash, Point, Series};

/// A line of such a chart.
#[derive(Debug, Clone)]
pub struct LoadLine {
    /// Its name.
    pub name: String,
    /// Users, value, and the value as tables print it.
    pub points: Vec<(f64, f64, String)>,
    /// Whether it is dotted, as estimates are.
    pub is_dotted: bool,
}

/// Lines over the number of users; absent without a point.
pub fn load_figure(
    (id, question): (&str, &str),
    (name, unit): (&str, &str),
    lines: &[LoadLine],
) -> Option<Figure> {
    let line = |(index, line): (usize, &LoadLine)| {
        let points = line.points.iter().map(|(x, y, text)| Point::at(*x, *y).told(text.clone()));
        let series = Series::new(line.name.clone(), points).of(index);
        let dash = if line.is_dotted { Dash::Dotted } else { Dash::Solid };
        Series { dash, ..series }
    };
    let series: Vec<Series> = lines.iter().enumerate().map(line).collect();
    let series: Vec<Series> = series.into_iter().filter(|one| !one.points.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let description = ends(&series, "users");
    let y = value_axis(name, unit, &series);
    let plot = Cartesian::new(axis_of(false), y, series).switched();
    Some(Figure::alone(Chart::new(id, question, description, plot)))
}
