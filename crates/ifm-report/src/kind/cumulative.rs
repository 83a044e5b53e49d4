//! Latencies as cumulative distributions: which share of the requests had it by when.
//!
//! Our own runs are drawn from every request. Documents give a few percentiles: those are points and
//! are not joined, since the values between them are unknown.

use super::target;
use crate::ReportModel;
use crate::format::{meant, percent, span};
use crate::page::Figure;
use ifm_chart::{Axis, Cartesian, Chart, Form, Guide, Mark, Plot, Point, Scale, Series, Tone};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_core::spec::{SloSpec, SloTerm};
use ifm_metrics::stat::Cumulative;
use ifm_results::{Pooled, Stat};
use ifm_rules::insight::Meant;

const NS_PER_MS: f64 = 1e6;
const PERCENT: f64 = 100.0;
/// Latencies that span more than this factor get a logarithmic axis.
const SPAN_LINEAR_MAX: f64 = 20.0;
/// The percentiles of documents that are looked for.
const PERCENTILES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];
/// Points without which a distribution says nothing that a table does not.
const POINTS_MIN: usize = 2;

/// Which latency is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Latency {
    /// Time to first token.
    Ttft,
    /// Time per token after the first: of our own runs the mean of each request, of documents what
    /// they call ITL.
    Gap,
}

/// Percentiles named in the text next to a chart, the same as in the tables.
const TOLD: [f64; 2] = [50.0, 95.0];

/// What a series of a distribution is of.
pub(super) struct Of<'c> {
    /// Its name in the chart.
    pub name: String,
    /// The number of the thing, which has a colour.
    pub thing: usize,
    /// The measurement.
    pub cell: &'c Pooled<'c>,
}

/// The series of a chart, and whether any of them is only some percentiles.
struct Drawn {
    series: Vec<Series>,
    /// The text about each.
    words: Vec<String>,
    is_partial: bool,
}

/// A chart of these measurements, whose first entries are `runs`, with the limits of a target; absent if the distribution is unknown.
fn chart((runs, slo): (&[ReportModel], &SloSpec), latency: Latency, all: &[Of]) -> Option<Chart> {
    let mut drawn = Drawn { series: Vec::new(), words: Vec::new(), is_partial: false };
    for of in all {
        let own = of_run(runs, latency, of.cell);
        let is_own = own.is_some();
        let points = own.unwrap_or_else(|| stated(latency, of.cell));
        if points.len() < if is_own { 1 } else { POINTS_MIN } {
            continue;
        }
        drawn.is_partial |= !is_own;
        let words = said(latency, of.cell, is_own);
        // An estimated time per token has no percentiles under this name.
        if !words.is_empty() {
            drawn.words.push(format!("{}: {words}.", of.name));
        }
        let (form, mark) =
            if is_own { (Form::Step, Mark::None) } else { (Form::Dots, Mark::Circle) };
        drawn.series.push(Series { mark, ..Series::new(&of.name, points).form(form).of(of.thing) });
    }
    let (id, title, name) = match latency {
        Latency::Ttft => ("ttft-shares", "TTFT distribution", "TTFT"),
        Latency::Gap if drawn.is_partial => ("itl-shares", "Time-per-token distribution", "ITL"),
        Latency::Gap => ("itl-shares", "Time-per-token distribution", "time per token"),
    };
    let y = Axis::new("share of requests at or below", "%");
    let y = Axis { range: Some((0.0, PERCENT)), ..y };
    let (x, text) = (time_axis(name, &drawn.series), description(&drawn));
    let plot = Cartesian::new(x, y, drawn.series).guided(guides(slo, latency));
    (!plot.series.is_empty()).then(|| Chart::new(id, title, text, plot))
}

fn description(drawn: &Drawn) -> String {
    let mut text = drawn.words.join(" ");
    if drawn.is_partial {
        text.push_str(" Points are the percentiles that the document states.");
    }
    text
}

/// Two percentiles in words, by the rule of all tables: a staircase alone would give another one.
fn said(latency: Latency, cell: &Pooled, is_own: bool) -> String {
    let at = |p: f64| {
        let first = cell.first()?;
        let found = first.stat(quantity(latency, is_own), Statistic::percentile(p))?;
        Some(format!("{} % within {}", meant(p, Meant::Load), meant(found.value, Meant::Ms)))
    };
    TOLD.into_iter().filter_map(at).collect::<Vec<_>>().join(", ")
}

/// What is drawn: of our own runs, which have it, the mean gap of each request.
fn quantity(latency: Latency, is_own: bool) -> Metric {
    match latency {
        Latency::Ttft => Metric::Ttft,
        Latency::Gap if is_own => Metric::Tpot,
        Latency::Gap => Metric::Itl,
    }
}

/// The text under the chart.
fn caption(chart: &Chart, has_repeats: bool, runs: &[ReportModel]) -> String {
    let Plot::Cartesian(plot) = &chart.plot else { return String::new() };
    let of = if has_repeats { " Of several repeats, the first." } else { "" };
    match plot.series.iter().any(|series| series.form == Form::Dots) {
        true => format!(
            "Only percentiles are stated: each is a point, and the values between them are \
             unknown.{of}"
        ),
        false => {
            let mut levels = runs.iter().flat_map(|run| &run.summary.levels);
            let but = match levels.any(|level| level.first_wave.is_some()) {
                true => ", without each user's first, as in the table",
                false => "",
            };
            format!("Every complete answer counts once{but}.{of}")
        }
    }
}

/// The target's limits, where they are of this latency: the share that they want inside it.
fn guides(slo: &SloSpec, latency: Latency) -> Vec<Guide> {
    let metric = match latency {
        Latency::Ttft => "ttft",
        Latency::Gap => "itl",
    };
    let terms = slo.terms.iter().filter(|term| term.metric.word() == metric);
    let guide = |term: &SloTerm| Guide::Vertical {
        at: term.limit_ms,
        name: target::name(term),
        tone: Tone::Bad,
    };
    // An ITL limit applies to every gap; the mean of a request is not a gap.
    terms.filter(|_| latency == Latency::Ttft).map(guide).collect()
}

fn time_axis(name: &str, series: &[Series]) -> Axis {
    let times = || series.iter().flat_map(|series| &series.points).map(|point| point.x);
    let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let is_wide = low > 0.0 && high > SPAN_LINEAR_MAX * low;
    let scale = if is_wide { Scale::Log10 } else { Scale::Linear { from_zero: false } };
    Axis::new(name, "ms").scaled(scale)
}

/// The requests of a level of an inferometer run.
fn of_run(runs: &[ReportModel], latency: Latency, cell: &Pooled) -> Option<Vec<Point>> {
    let first = cell.first()?;
    let level = first.place.pointer.as_deref()?.strip_prefix("/levels/")?.parse::<u16>().ok()?;
    let run = runs.get(first.source)?;
    let of_level = run.cumulative.iter().find(|of| of.level == level)?;
    steps(match latency {
        Latency::Ttft => of_level.ttft_ns.as_ref()?,
        Latency::Gap => of_level.tpot_ns.as_ref()?,
    })
}

/// A distribution of nanoseconds as a staircase that begins at 0 %.
fn steps(found: &Cumulative) -> Option<Vec<Point>> {
    let (first, _) = found.steps.first()?;
    let step = |ns: f64, share: f64| {
        let text = format!("{} within {}", percent(share), span(ns));
        Point::at(ns / NS_PER_MS, share * PERCENT).told(text)
    };
    let rising = found.steps.iter().map(|(ns, share)| step(*ns, *share));
    Some(std::iter::once(step(*first, 0.0)).chain(rising).collect())
}

/// The percentiles that a document states.
fn stated(latency: Latency, cell: &Pooled) -> Vec<Point> {
    let quantity = quantity(latency, false);
    let place = |p: f64| {
        let found: Stat = cell.stat(quantity, Statistic::percentile(p))?;
        let text = format!("p{p} {}", meant(found.value, Meant::Ms));
        let at = Point::at(found.value, p).trusted(found.is_enough).told(text);
        Some(Point { label: Some(format!("p{p}")), ..at })
    };
    PERCENTILES.into_iter().filter_map(place).collect()
}

/// The figures of both latencies; empty where their distributions are unknown.
pub(super) fn figures(of: (&[ReportModel], &SloSpec), all: &[Of]) -> Vec<Figure> {
    let has_repeats = all.iter().any(|of| of.cell.points.len() > 1);
    [Latency::Ttft, Latency::Gap]
        .into_iter()
        .filter_map(|latency| chart(of, latency, all))
        .map(|chart| {
            let under = caption(&chart, has_repeats, of.0);
            Figure::alone(chart).captioned(under)
        })
        .collect()
}
