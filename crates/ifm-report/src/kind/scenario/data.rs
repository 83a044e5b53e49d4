//! What the sections of the page share: the curves, their names and colours.

use super::super::common::{LINES_MAX, about, ends, load_axis, numbered, point};
use crate::format::plain;
use crate::page::{Block, Figure, Section};
use ifm_chart::{Axis, Cartesian, Chart, Dash, Form, Guide, Point, Series, Weight};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_metrics::level::Load;
use ifm_results::{Curve, Pool, Pooled};
use ifm_rules::insight::{Insight, Meant, Question, Topic, told_by};

/// The median of a population if reported, else its mean.
pub(super) const CENTER: &[Statistic] = &[Statistic::Median, Statistic::Mean, Statistic::Value];

/// What the sections are made of.
pub(super) struct Data<'q> {
    /// What is asked.
    pub question: &'q Question<'q>,
    /// What the rules say.
    pub insights: &'q [Insight],
    /// Measurements by number of users.
    pub users: Pool<'q>,
    /// Measurements by requests per second.
    pub rates: Pool<'q>,
    /// Factors that distinguish scenarios.
    pub by: Vec<String>,
    /// Names of the scenarios, the shortest prompts first.
    pub names: Vec<String>,
    /// Whether the figures are only stated.
    pub is_stated: bool,
}

impl<'q> Data<'q> {
    /// Of a question's results.
    pub fn new(question: &'q Question<'q>, insights: &'q [Insight], is_stated: bool) -> Data<'q> {
        let pool = question.results.pool(PartKind::Serving);
        let by = told_by(question);
        let of = |wanted: fn(&Pooled) -> bool| Pool {
            cells: pool.cells.iter().filter(|cell| wanted(cell)).cloned().collect(),
        };
        let users = of(|cell| matches!(cell.load(), Some(Load::Users(_))));
        let rates = of(|cell| matches!(cell.load(), Some(Load::ReqPerS(_))));
        let keys: Vec<&str> = by.iter().map(String::as_str).collect();
        let any = |cell: &Pooled<'q>| {
            let reading = cell.first()?.stats.first()?.clone();
            Some((cell.load().map_or(0.0, Load::value), reading))
        };
        let mut scenarios = pool.curves_against(&keys, any);
        let length = |curve: &Curve| curve.input_tokens().unwrap_or(f64::INFINITY);
        scenarios.order_by(|a, b| length(a).total_cmp(&length(b)));
        let names = scenarios.iter().map(|curve| plain(&curve.name())).collect();
        Data { question, insights, users, rates, by, names, is_stated }
    }

    /// The factors that distinguish scenarios, as the results take them.
    pub fn keys(&self) -> Vec<&str> {
        self.by.iter().map(String::as_str).collect()
    }

    /// Curves of a quantity against the users, in the order of the scenarios.
    pub fn curves(&self, quantity: Metric, statistics: &[Statistic]) -> Vec<Curve<'q>> {
        self.ordered(self.users.curves_against(&self.keys(), |cell| {
            Some((cell.load()?.value(), cell.first_of(quantity, statistics)?))
        }))
    }

    /// In the order of the scenarios.
    pub fn ordered(&self, mut curves: Vec<Curve<'q>>) -> Vec<Curve<'q>> {
        curves.order_by_key(|curve| self.position(&plain(&curve.name())));
        curves
    }

    /// The number of a scenario, whose colour it keeps on the whole page.
    pub fn position(&self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or(self.names.len())
    }

    /// Points of a scenario; stated ones are not joined.
    pub fn series(&self, name: String, points: Vec<Point>) -> Series {
        let form = if self.is_stated { Form::Dots } else { Form::Line };
        let thing = self.position(&name);
        Series::new(name, points).form(form).of(thing)
    }

    /// A curve as a line.
    pub fn line(&self, curve: &Curve, how: Meant) -> Series {
        let points = curve.points.iter().map(|at| point(at.at, &at.stat, how));
        self.series(plain(&curve.name()), points.collect())
    }

    /// Curves as lines.
    pub fn lines(&self, curves: &[Curve], how: Meant) -> Vec<Series> {
        curves.iter().map(|curve| self.line(curve, how)).collect()
    }

    /// A curve's tail: thin and dashed, in its colour.
    pub fn tail(&self, curve: &Curve, how: Meant, word: &str) -> Series {
        let line = self.line(curve, how);
        let name = format!("{} {word}", line.name).trim().to_owned();
        Series { name, dash: Dash::Dashed, weight: Weight::Faint, ..line }
    }

    /// Lines against the users, at most six in a chart.
    pub fn charts(&self, drawn: &Drawn, curves: &[Curve]) -> Vec<Chart> {
        let chart = |(index, some): (usize, &[Curve])| {
            drawn.chart(index, load_axis(some), self.lines(some, drawn.how))
        };
        curves.chunks(LINES_MAX).enumerate().map(chart).collect()
    }

    /// A chapter of charts with sentences under the first; without a chart it says what is missing,
    /// where the figures are only stated.
    pub fn section(
        &self,
        (heading, intro): (&str, &str),
        (charts, caption): (Vec<Chart>, &str),
        topics: &'static [Topic],
    ) -> Option<Section> {
        if charts.is_empty() {
            let none = || Block::Prose("The document states no figure for this.".to_owned());
            return self.is_stated.then(|| Section::new(heading, vec![none()]));
        }
        let mut blocks = vec![Block::Prose(intro.to_owned())];
        let caption = match self.is_stated {
            true => "The points are the figures that the document states; no line joins them.",
            false => caption,
        };
        let figure = |(index, chart): (usize, Chart)| {
            let said = about(self.insights, topics).filter(|_| index == 0);
            Figure::new(chart, said).captioned(caption)
        };
        blocks.push(Block::Figures(charts.into_iter().enumerate().map(figure).collect()));
        Some(Section::new(heading, blocks))
    }
}

/// What a chart of lines shows.
pub(super) struct Drawn {
    /// Id in the page.
    pub id: &'static str,
    /// Its title, a question.
    pub title: &'static str,
    /// How its numbers are meant.
    pub how: Meant,
    /// The measured axis, made for all lines.
    pub y: Axis,
    /// What the lines are read against.
    pub guides: Vec<Guide>,
}

impl Drawn {
    /// One chart.
    pub fn chart(&self, index: usize, x: Axis, series: Vec<Series>) -> Chart {
        let description = ends(&series, "users");
        let plot = Cartesian::new(x, self.y.clone(), series).guided(self.guides.clone());
        Chart::new(numbered(self.id, index), self.title, description, plot.switched())
    }
}
