//! The charts of a run: each against the load.

use super::super::limit::{self, Bounded};
use super::super::target;
use crate::ReportModel;
use crate::format::{meant, span};
use crate::model::load;
use ifm_analysis::LevelSummary;
use ifm_analysis::insight::{Meant, Question, Topic};
use ifm_analysis::level::Load;
use ifm_analysis::slo::VerdictState;
use ifm_analysis::stat::{Distribution, Percentile};
use ifm_chart::{Axis, Cartesian, Chart, Dash, Form, Plot, Point, Scale, Series, Weight};
use ifm_core::sheet::PartKind;
use ifm_core::words::counted;

const NS_PER_MS: f64 = 1e6;
/// A latency limit is drawn if it is at most so many times the largest value: further away it
/// would press the curves flat.
const LIMIT_NEAR: f64 = 1.5;
/// Values that span more than this factor stand on a logarithmic axis.
const SPAN_LINEAR_MAX: f64 = 20.0;

/// What a hollow point means where no single limit can be drawn.
const INSIDE: &str = "Filled points are inside the latency target.";

/// A limit of output further above the largest value than this is told and not drawn: it would
/// press the curve flat.
const ABOVE_MAX: f64 = 4.0;

/// A chart, what it is about, and what has to be said under it.
pub(super) type Shown = (Chart, &'static [Topic], Option<String>);

/// The charts with the limit of the machine, where machine and model are known; none with fewer
/// than two different loads.
pub(super) fn charts(model: &ReportModel, question: &Question) -> Vec<Shown> {
    let cells = question.survey.pool(PartKind::Serving).cells;
    let caption = limit::caption(question, &cells);
    let with_limit = |(mut chart, topics): (Chart, &'static [Topic])| {
        let line = match chart.id.as_str() {
            "itl" => limit::line(question, &cells, Bounded::Gap),
            "output" => limit::line(question, &cells, Bounded::Output),
            _ => None,
        };
        let drawn = line.filter(|line| {
            let Plot::Cartesian(plot) = &mut chart.plot else { return false };
            let is_near = chart.id == "itl"
                || largest(std::slice::from_ref(line)) <= ABOVE_MAX * largest(&plot.series);
            if is_near {
                plot.series.push(line.clone());
            }
            is_near
        });
        let caption = drawn.and(caption.clone());
        (chart, topics, caption)
    };
    drawn(model).into_iter().map(with_limit).collect()
}

fn largest(series: &[Series]) -> f64 {
    series.iter().flat_map(|one| &one.points).filter_map(|point| point.y).fold(0.0, f64::max)
}

fn drawn(model: &ReportModel) -> Vec<(Chart, &'static [Topic])> {
    let label = model.gap_label();
    let all = [
        (output(model), [Topic::Throughput, Topic::Scaling].as_slice()),
        (pareto(model), [Topic::Pareto, Topic::DecodeSpeed].as_slice()),
        (
            latency(model, "ttft", "How long until the first token?", "TTFT", |level| {
                level.latencies.ttft_ns.as_ref()
            }),
            [Topic::Ttft].as_slice(),
        ),
        (
            latency(model, "itl", "How long between tokens?", label.short(), |level| {
                level.latencies.gap_ns.as_ref()
            }),
            [Topic::Itl].as_slice(),
        ),
    ];
    all.into_iter().filter_map(|(chart, topics)| Some((chart?, topics))).collect()
}

/// Levels in rising order of their loads; of users and rates the kind that rates are of, if any.
fn rising(model: &ReportModel) -> Vec<(f64, &LevelSummary)> {
    let is_rate = |level: &&LevelSummary| matches!(level.load(), Some(Load::ReqPerS(_)));
    let levels = || model.summary.levels.iter();
    let has_rates = levels().any(|level| is_rate(&level));
    let mut rising: Vec<(f64, &LevelSummary)> = levels()
        .filter(|level| is_rate(level) == has_rates && level.measured_again.is_none())
        .filter_map(|level| Some((level.load()?.value(), level)))
        .collect();
    rising.sort_by(|a, b| a.0.total_cmp(&b.0));
    rising
}

/// Points of the same place as one: the mean of the repeats of a load, with the smallest and the
/// largest of them, and as good as the worst.
fn together(points: Vec<Point>, write: impl Fn(f64) -> String) -> Vec<Point> {
    let mut groups: Vec<Vec<Point>> = Vec::new();
    for point in points {
        match groups.last_mut().filter(|group| group.iter().all(|known| known.x == point.x)) {
            Some(group) => group.push(point),
            None => groups.push(vec![point]),
        }
    }
    let one = |mut group: Vec<Point>| {
        let values: Vec<f64> = group.iter().filter_map(|point| point.y).collect();
        let is_trusted = group.iter().all(|point| point.is_trusted);
        let label = group.iter().find_map(|point| point.label.clone());
        let only = group.pop()?;
        if group.is_empty() || values.is_empty() {
            return Some(only);
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Point {
            y: Some(mean),
            low: values.iter().copied().reduce(f64::min),
            high: values.iter().copied().reduce(f64::max),
            text: Some(write(mean)),
            label,
            is_trusted,
            ..only
        })
    };
    groups.into_iter().filter_map(one).collect()
}

/// What hollow points and bands mean, where a chart over the load has any.
pub(super) fn marks(chart: &Chart) -> Option<String> {
    let Plot::Cartesian(plot) = &chart.plot else { return None };
    let has = |is: fn(&Point) -> bool| plot.series.iter().flat_map(|all| &all.points).any(is);
    let few = "Hollow points are outside the target, or stand on too few values (few).";
    let hollow = has(|point| !point.is_trusted).then_some(few);
    let band = "Bands are 95 % intervals; of repeats, from the smallest to the largest.";
    let band = has(|point| point.low.is_some()).then_some(band);
    let words: Vec<&str> = hollow.into_iter().chain(band).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn has_two_loads(levels: &[(f64, &LevelSummary)]) -> bool {
    levels.first().zip(levels.last()).is_some_and(|(first, last)| first.0 < last.0)
}

fn load_axis(model: &ReportModel) -> Axis {
    let is_open = model.load_unit() != "users";
    let (name, unit) = if is_open { ("requests asked for", "req/s") } else { ("users", "") };
    Axis { name: name.to_owned(), unit: unit.to_owned(), scale: Scale::Log2, ..Axis::default() }
}

fn is_inside(level: &LevelSummary) -> bool {
    level.verdict.state == VerdictState::Pass
}

fn output(model: &ReportModel) -> Option<Chart> {
    let levels = rising(model);
    let points: Vec<Point> = levels
        .iter()
        .filter_map(|(load, level)| {
            let value = level.output_tok_per_s()?;
            Some(Point {
                x: *load,
                y: Some(value),
                is_trusted: is_inside(level),
                text: Some(meant(value, Meant::TokPerS)),
                ..Point::default()
            })
        })
        .collect();
    let points = together(points, |value| meant(value, Meant::TokPerS));
    if !has_two_loads(&levels) || points.len() < 2 {
        return None;
    }
    let series = vec![Series { name: "output".to_owned(), points, ..Series::default() }];
    Some(Chart {
        id: "output".to_owned(),
        title: "How much comes out?".to_owned(),
        description: format!("{} {INSIDE}", ends(model, &series)),
        plot: Plot::Cartesian(Cartesian {
            x: load_axis(model),
            y: Axis { name: "output".to_owned(), unit: "tok/s".to_owned(), ..Axis::default() },
            series,
            ..Cartesian::default()
        }),
    })
}

/// Output of the server against the speed for one user, a point for each level.
fn pareto(model: &ReportModel) -> Option<Chart> {
    let levels = rising(model);
    // Repeats of a load are one point: their mean.
    let points: Vec<Point> = levels
        .chunk_by(|a, b| a.0 == b.0)
        .filter_map(|same| {
            let mean = |of: &dyn Fn(&LevelSummary) -> Option<f64>| {
                let values: Vec<f64> = same.iter().filter_map(|(_, level)| of(level)).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            };
            let output = mean(&LevelSummary::output_tok_per_s)?;
            Some(Point {
                x: mean(&|level| Some(level.user_tok_per_s()?.0))?,
                y: Some(output),
                label: Some(load(same.first()?.1.load())),
                is_trusted: same.iter().all(|(_, level)| is_inside(level)),
                text: Some(meant(output, Meant::TokPerS)),
                ..Point::default()
            })
        })
        .collect();
    let first = points.first()?;
    if points.iter().all(|point| point.x == first.x) {
        return None;
    }
    let name = "output against speed".to_owned();
    let series = vec![Series { name, weight: Weight::Strong, points, ..Series::default() }];
    let axis =
        |name: &str| Axis { name: name.to_owned(), unit: "tok/s".to_owned(), ..Axis::default() };
    Some(Chart {
        id: "pareto".to_owned(),
        title: "What does speed for one cost in output?".to_owned(),
        description: format!(
            "Output of the server against the speed for one user, {}. {}",
            counted(series.first().map_or(0, |series| series.points.len() as u64), "load"),
            INSIDE
        ),
        plot: Plot::Cartesian(Cartesian {
            x: axis("speed for one user"),
            y: axis("output"),
            series,
            ..Cartesian::default()
        }),
    })
}

fn latency(
    model: &ReportModel,
    metric: &str,
    question: &str,
    name: &str,
    pick: fn(&LevelSummary) -> Option<&Distribution>,
) -> Option<Chart> {
    let levels = rising(model);
    let terms = || model.manifest.spec.slo.terms.iter().filter(|term| term.metric == metric);
    // A point of a percentile is outside where a term of that one or a higher one fails with it.
    let limit = |p: f64| {
        let limits = terms().filter(|term| term.percentile.is_some_and(|asked| asked >= p));
        let limits = limits.map(|term| term.limit_ms);
        limits.fold(f64::INFINITY, f64::min)
    };
    let line = |(index, (p, dash)): (usize, (f64, Dash))| Series {
        name: format!("p{p}"),
        color: u8::try_from(index).unwrap_or(0),
        dash,
        form: Form::Line,
        points: together(
            levels
                .iter()
                .filter_map(|(load, level)| {
                    Some(point(*load, pick(level)?.percentile(p)?, limit(p)))
                })
                .collect(),
            |ms| span(ms * NS_PER_MS),
        ),
        ..Series::default()
    };
    let mut tails: Vec<f64> = terms().filter_map(|term| term.percentile).collect();
    tails.retain(|p| *p != 50.0);
    tails.sort_by(f64::total_cmp);
    tails.dedup();
    if tails.is_empty() {
        tails.push(99.0);
    }
    let tails = tails.into_iter().map(|p| (p, Dash::Dashed));
    let series: Vec<Series> =
        [(50.0, Dash::Solid)].into_iter().chain(tails).enumerate().map(line).collect();
    if !has_two_loads(&levels) || series.iter().all(|series| series.points.len() < 2) {
        return None;
    }
    let values = || series.iter().flat_map(|series| &series.points).filter_map(|point| point.y);
    let largest = largest(&series);
    let smallest = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let is_wide = largest > SPAN_LINEAR_MAX * smallest;
    let near = terms().filter(|term| is_wide || term.limit_ms <= LIMIT_NEAR * largest);
    let guides = near.map(target::line).collect();
    Some(Chart {
        id: metric.to_owned(),
        title: question.to_owned(),
        description: format!("{} {}", ends(model, &series), target::HOLLOW),
        plot: Plot::Cartesian(Cartesian {
            x: load_axis(model),
            y: Axis {
                name: name.to_owned(),
                unit: "ms".to_owned(),
                scale: if is_wide { Scale::Log10 } else { Scale::Linear { from_zero: true } },
                ..Axis::default()
            },
            series,
            guides,
            has_switch: true,
            ..Cartesian::default()
        }),
    })
}

fn point(load: f64, percentile: &Percentile, limit_ms: f64) -> Point {
    let ms = |ns: f64| ns / NS_PER_MS;
    let interval = percentile.interval;
    Point {
        x: load,
        y: Some(ms(percentile.value)),
        low: interval.and_then(|interval| interval.low).map(ms),
        high: interval.and_then(|interval| interval.high).map(ms),
        label: (!percentile.enough).then(|| "few".to_owned()),
        is_trusted: percentile.enough && ms(percentile.value) <= limit_ms,
        text: Some(crate::words::marked_span(percentile)),
    }
}

/// The ends of the lines in words.
fn ends(model: &ReportModel, series: &[Series]) -> String {
    let unit = model.load_unit();
    let end = |series: &Series| {
        let (first, last) = (series.points.first()?, series.points.last()?);
        let words = |point: &Point| {
            Some(format!("{} at {}", point.text.as_ref()?, meant(point.x, Meant::Load)))
        };
        Some(format!("{}: {}, {} {unit}.", series.name, words(first)?, words(last)?))
    };
    let ends: Vec<String> = series.iter().filter_map(end).collect();
    ends.join(" ")
}

#[cfg(test)]
mod tests {
    use crate::testing::{model, single, sweep};
    use ifm_analysis::insight::Question;
    use ifm_analysis::survey::Survey;
    use ifm_chart::{Guide, Plot};

    #[test]
    fn a_sweep_has_four_charts_and_a_single_level_none() {
        let charts = super::drawn(&model(&sweep()));
        let ids: Vec<&str> = charts.iter().map(|(chart, _)| chart.id.as_str()).collect();
        assert_eq!(ids, ["output", "pareto", "ttft", "itl"]);
        let Plot::Cartesian(ttft) = &charts[2].0.plot else { panic!("{:?}", charts[2]) };
        let inside = |index: usize| {
            ttft.series[index].points.iter().map(|point| point.is_trusted).collect::<Vec<_>>()
        };
        assert_eq!(inside(0), [true, true, false]);
        assert!(matches!(&ttft.guides[..], [Guide::Horizontal { at, .. }] if *at == 500.0));
        assert!(super::drawn(&model(&single())).is_empty());
    }

    #[test]
    fn the_limit_of_a_known_machine_is_drawn_with_its_formula_and_source() {
        let model = model(&sweep());
        let survey = Survey::of_run(&model.manifest, &model.summary);
        let unknown = super::charts(&model, &Question::new(&survey));
        assert!(unknown.iter().all(|(.., caption)| caption.is_none()));
        let question = Question {
            gpu: Some("H100 SXM".to_owned()),
            model: Some("Llama-3.1-8B-Instruct".to_owned()),
            ..Question::new(&survey)
        };
        let charts = super::charts(&model, &question);
        let (chart, _, caption) =
            charts.iter().find(|(chart, ..)| chart.id == "itl").expect("drawn");
        let Plot::Cartesian(plot) = &chart.plot else { panic!("{chart:?}") };
        let line = plot.series.last().expect("a limit");
        assert_eq!(line.name, "at least (memory bandwidth)");
        // 7.5 billion weights of two bytes (all but the table of input tokens) at 3350 GB/s take
        // 4.48 ms; the context adds a little.
        let alone = line.points.first().and_then(|point| point.y).expect("one user");
        assert!((4.48..4.5).contains(&alone), "{alone}");
        let caption = caption.as_deref().expect("explained");
        assert!(caption.contains("3350 GB/s") && caption.contains("data sheet"), "{caption}");
    }
}
