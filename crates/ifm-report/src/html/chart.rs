//! Line charts of a measure against the load, drawn as SVG.
//!
//! Only measured points are drawn and joined; nothing is extended. The load is on a binary
//! logarithmic axis with a tick for each measured number. The table of levels holds the same
//! numbers for those who cannot see the drawing. What is not here: any other kind of chart.

use crate::ReportModel;
use crate::format::{count, number, span};
use ifm_analysis::LevelSummary;
use ifm_analysis::level::Load;
use ifm_analysis::slo::VerdictState;
use ifm_analysis::stat::Distribution;
use maud::{Markup, html};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 260.0;
/// Room around the plot for ticks and labels: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (64.0, 48.0, 12.0, 40.0);
/// Lines between bottom and top of the value axis.
const TICKS: u32 = 4;
/// Labels at line ends stand at least this far apart, pixels.
const LABEL_HEIGHT: f64 = 14.0;

/// A measured point.
struct Point {
    load: f64,
    value: f64,
    /// Whether its level is inside the latency target.
    is_inside: bool,
}

struct Line {
    name: &'static str,
    class: &'static str,
    points: Vec<Point>,
}

/// One chart.
pub(super) struct Chart {
    id: &'static str,
    question: String,
    axis: String,
    /// What the loads are counted in.
    unit: &'static str,
    lines: Vec<Line>,
    /// Upper bound of the latency target.
    limit: Option<f64>,
    write: fn(f64) -> String,
}

/// The charts of a run; none with fewer than two different loads.
pub(super) fn charts(model: &ReportModel) -> Vec<Chart> {
    let levels = &model.summary.levels;
    let label = model.gap_label();
    let unit = model.load_unit();
    let limit = |metric: &str| {
        let terms = &model.manifest.spec.slo.terms;
        terms.iter().find(|term| term.metric == metric).map(|term| term.limit_ms * 1e6)
    };
    let percentiles = |pick: fn(&LevelSummary) -> Option<&Distribution>| {
        vec![
            line("p50", "one", levels, |level| pick(level)?.median()),
            line("p99", "two", levels, |level| Some(pick(level)?.percentile(99.0)?.value)),
        ]
    };
    let output = line("output", "one", levels, LevelSummary::output_tok_per_s);
    let all = [
        Chart {
            id: "chart-output",
            question: "How much comes out?".to_owned(),
            axis: "output tok/s".to_owned(),
            unit,
            lines: vec![output],
            limit: None,
            write: number,
        },
        Chart {
            id: "chart-ttft",
            question: "How long until the first token?".to_owned(),
            axis: "TTFT".to_owned(),
            unit,
            lines: percentiles(|level| level.latencies.ttft_ns.as_ref()),
            limit: limit("ttft"),
            write: span,
        },
        Chart {
            id: "chart-gap",
            question: "How even is the stream?".to_owned(),
            axis: format!("{} ({})", label.short(), label.long()),
            unit,
            lines: percentiles(|level| level.latencies.gap_ns.as_ref()),
            limit: limit("itl"),
            write: span,
        },
    ];
    all.into_iter().filter(Chart::is_worth_drawing).collect()
}

fn line(
    name: &'static str,
    class: &'static str,
    levels: &[LevelSummary],
    value: impl Fn(&LevelSummary) -> Option<f64>,
) -> Line {
    // Users and rates do not share an axis.
    let is_rate = |level: &LevelSummary| matches!(level.load(), Some(Load::ReqPerS(_)));
    let has_rates = levels.iter().any(is_rate);
    let mut points: Vec<Point> = levels
        .iter()
        .filter(|level| is_rate(level) == has_rates)
        .filter_map(|level| {
            Some(Point {
                load: level.load()?.value(),
                value: value(level)?,
                is_inside: level.verdict.state == VerdictState::Pass,
            })
        })
        .collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    Line { name, class, points }
}

impl Chart {
    fn is_worth_drawing(&self) -> bool {
        self.lines.iter().any(|line| {
            let (first, last) = (line.points.first(), line.points.last());
            first.zip(last).is_some_and(|(first, last)| first.load < last.load)
        })
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.lines.iter().flat_map(|line| &line.points)
    }

    /// Top of the value axis. The limit is shown if it is near the values.
    fn top(&self) -> f64 {
        let largest = self.points().map(|point| point.value).fold(0.0, f64::max);
        let near = self.limit.filter(|limit| *limit <= 1.5 * largest).unwrap_or(0.0);
        nice_above(largest.max(near))
    }

    /// The figure with its caption.
    pub fn draw(&self) -> Markup {
        let (left, right, top, bottom) = MARGIN;
        let scale = self.top();
        let loads: Vec<f64> = self.points().map(|point| point.load).collect();
        let low = loads.iter().copied().fold(f64::INFINITY, f64::min).log2();
        let high = loads.iter().copied().fold(f64::MIN_POSITIVE, f64::max).log2();
        let x = |load: f64| {
            left + (load.log2() - low) / (high - low).max(1e-9) * (WIDTH - left - right)
        };
        let y = |value: f64| HEIGHT - bottom - value / scale * (HEIGHT - top - bottom);
        let mut ticks = loads;
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        html! {
            figure {
                figcaption { (self.question) }
                svg class="chart" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                    aria-labelledby=(format!("{0}-title {0}-desc", self.id)) {
                    title id=(format!("{}-title", self.id)) { (self.axis) " against " (self.unit) }
                    desc id=(format!("{}-desc", self.id)) { (self.description()) }
                    @for step in 0..=TICKS {
                        @let value = scale * f64::from(step) / f64::from(TICKS);
                        line class="tick" x1=(left) x2=(WIDTH - right) y1=(px(y(value))) y2=(px(y(value))) {}
                        text x=(left - 6.0) y=(px(y(value) + 4.0)) text-anchor="end" { ((self.write)(value)) }
                    }
                    @for load in &ticks {
                        line class="axis" x1=(px(x(*load))) x2=(px(x(*load))) y1=(HEIGHT - bottom) y2=(HEIGHT - bottom + 4.0) {}
                    }
                    @for load in spread(&ticks, &x) {
                        text x=(px(x(load))) y=(HEIGHT - bottom + 17.0) text-anchor="middle" { (ticked(load)) }
                    }
                    text x=(WIDTH / 2.0) y=(HEIGHT - 4.0) text-anchor="middle" { (self.unit) }
                    @if let Some(limit) = self.limit.filter(|limit| *limit <= scale) {
                        line class="limit" x1=(left) x2=(WIDTH - right) y1=(px(y(limit))) y2=(px(y(limit))) {}
                        text x=(left + 4.0) y=(px(y(limit) - 4.0)) { "limit " ((self.write)(limit)) }
                    }
                    @for line in &self.lines { (self.draw_line(line, &x, &y)) }
                    @for (line, at) in self.labels(&y) {
                        text class=(line.class) x=(WIDTH - right + 8.0) y=(px(at + 4.0)) { (line.name) }
                    }
                }
            }
        }
    }

    fn draw_line(&self, line: &Line, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> Markup {
        let path: Vec<String> = line
            .points
            .iter()
            .map(|point| format!("{},{}", px(x(point.load)), px(y(point.value))))
            .collect();
        html! {
            polyline class={ "line " (line.class) } points=(path.join(" ")) {}
            @for point in &line.points {
                circle class={ (line.class) @if point.is_inside { " inside" } } r="3.5"
                    cx=(px(x(point.load))) cy=(px(y(point.value))) {
                    title { (self.unit) " " (ticked(point.load)) ": " ((self.write)(point.value)) }
                }
            }
        }
    }

    /// Where the names at the line ends stand, pushed apart.
    fn labels(&self, y: &dyn Fn(f64) -> f64) -> Vec<(&Line, f64)> {
        let mut labels: Vec<(&Line, f64)> = self
            .lines
            .iter()
            .filter_map(|line| line.points.last().map(|point| (line, y(point.value))))
            .collect();
        labels.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut lowest = f64::INFINITY;
        for (_, at) in &mut labels {
            *at = at.min(lowest - LABEL_HEIGHT);
            lowest = *at;
        }
        labels
    }

    /// The extreme points in words.
    fn description(&self) -> String {
        let ends = self.lines.iter().filter_map(|line| {
            let (first, last) = (line.points.first()?, line.points.last()?);
            Some(format!(
                "{}: {} at {}, {} at {} {}.",
                line.name,
                (self.write)(first.value),
                ticked(first.load),
                (self.write)(last.value),
                ticked(last.load),
                self.unit
            ))
        });
        ends.collect::<Vec<_>>().join(" ") + " Filled points are inside the latency target."
    }
}

/// A load: a whole number of users, or a rate.
fn ticked(load: f64) -> String {
    if load.fract() == 0.0 { count(load as u64) } else { number(load) }
}

/// Those ticks whose labels do not run into each other; the first is always kept.
fn spread(ticks: &[f64], x: &dyn Fn(f64) -> f64) -> Vec<f64> {
    const APART: f64 = 28.0;
    let mut kept: Vec<f64> = Vec::new();
    for &tick in ticks {
        if kept.last().is_none_or(|last| x(tick) - x(*last) >= APART) {
            kept.push(tick);
        }
    }
    kept
}

/// The next number above that is 1, 2, 4 or 8 times a power of ten.
fn nice_above(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 4.0, 8.0]
        .into_iter()
        .map(|step| step * power)
        .find(|top| *top >= value)
        .unwrap_or(10.0 * power)
}

/// A coordinate with one digit after the point.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{model, single, sweep};

    #[test]
    fn axes_end_above_the_values() {
        for (value, expect) in [(0.0, 1.0), (1.0, 1.0), (1.1, 2.0), (790.0, 800.0), (801.0, 1000.0)]
        {
            assert_eq!(nice_above(value), expect, "{value}");
        }
    }

    #[test]
    fn a_sweep_has_three_charts_and_a_single_level_none() {
        let charts = charts(&model(&sweep()));
        assert_eq!(charts.len(), 3);
        let drawn = charts[1].draw().into_string();
        assert_eq!(drawn.matches("<circle").count(), 6);
        assert_eq!(drawn.matches("inside\"").count(), 4);
        assert!(drawn.contains("limit 500 ms"), "{drawn}");
        assert!(super::charts(&model(&single())).is_empty());
    }
}
