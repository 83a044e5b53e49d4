//! The charts of a run: each against the load, from the points of its results.

use super::super::common::{ends, largest, lines, load_axis, value_axis};
use super::super::limit::{self, Bounded};
use super::super::target;
use crate::ReportModel;
use crate::format::meant;
use crate::model::load;
use ifm_chart::{Axis, Cartesian, Chart, Dash, Plot, Point, Scale, Series, Weight};
use ifm_core::Metric;
use ifm_core::metric::MetricUnit;
use ifm_core::sheet::{PartKind, Statistic};
use ifm_core::spec::SloTerm;
use ifm_core::words::counted;
use ifm_metrics::level::USER_RATE_ESTIMATED;
use ifm_metrics::slo::VerdictState;
use ifm_results::{Curve, CurvePoint, Pool, Pooled, metrics_of};
use ifm_rules::insight::{Meant, OUTPUT, Question, Topic};

/// A latency limit is drawn up to this multiple of the largest value: further away it would flatten
/// the curves.
const LIMIT_NEAR: f64 = 1.5;
/// What a hollow point means where no single limit can be drawn.
const INSIDE: &str = "Filled points are inside the latency target.";
/// A limit of output further above the largest value than this is named in the text, not drawn: it
/// would flatten the curve.
const ABOVE_MAX: f64 = 4.0;

/// A chart, what it is about, and what has to be said under it.
pub(super) type Shown = (Chart, &'static [Topic], Option<String>);

/// The charts with the limit of the machine, where machine and model are known; none with fewer
/// than two different loads.
pub(super) fn charts(model: &ReportModel, question: &Question) -> Vec<Shown> {
    let pool = question.results.pool(PartKind::Serving);
    let mut all: Vec<(Option<Chart>, &'static [Topic])> = vec![
        (output(&pool), &[Topic::Throughput, Topic::Scaling]),
        (pareto(&pool), &[Topic::Pareto, Topic::DecodeSpeed]),
    ];
    for metric in over_load(model) {
        let topics: &[Topic] = match metric {
            Metric::Ttft => &[Topic::Ttft],
            Metric::Itl => &[Topic::Itl],
            _ => &[],
        };
        all.push((over_the_load(model, &pool, metric), topics));
    }
    let caption = limit::caption(question, &pool.cells);
    let bounded = |(chart, topics): (Option<Chart>, _)| {
        let mut chart = chart?;
        let bounded = match chart.id.as_str() {
            "itl" => Some((Bounded::Gap, f64::INFINITY)),
            "output" => Some((Bounded::Output, ABOVE_MAX)),
            _ => None,
        };
        let line = bounded.and_then(|(bounded, above_max)| {
            let line = limit::line(question, &pool.cells, bounded)?;
            let Plot::Cartesian(plot) = &mut chart.plot else { return None };
            let is_near = largest(std::slice::from_ref(&line)) <= above_max * largest(&plot.series);
            is_near.then(|| plot.series.push(line))
        });
        Some((chart, topics, line.and(caption.clone())))
    };
    all.into_iter().filter_map(bounded).collect()
}

/// What hollow points and bands mean, where a chart over the load has any.
pub(super) fn marks(chart: &Chart) -> Option<String> {
    let Plot::Cartesian(plot) = &chart.plot else { return None };
    let has = |is: fn(&Point) -> bool| plot.series.iter().flat_map(|all| &all.points).any(is);
    let few = "Hollow: misses the target, or too few samples (few).";
    let hollow = has(|point| !point.is_trusted).then_some(few);
    let band = "Bands: 95 % intervals (repeats: of their geometric mean).";
    let band = has(|point| point.low.is_some()).then_some(band);
    let words: Vec<&str> = hollow.into_iter().chain(band).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// A quantity against the load, where two loads have it.
fn curve<'a>(pool: &Pool<'a>, quantity: Metric, statistics: &[Statistic]) -> Option<Curve<'a>> {
    let reading =
        |cell: &Pooled| Some((cell.load()?.value(), cell.first_of(quantity, statistics)?));
    let curve = pool.curves_against(&[], reading).pop()?;
    (curve.points.first()?.at < curve.points.last()?.at).then_some(curve)
}

/// What the loads count.
fn unit(curves: &[Curve]) -> &'static str {
    if load_axis(curves).unit.is_empty() { "users" } else { "req/s" }
}

fn is_inside(cell: &Pooled) -> bool {
    cell.verdict() == VerdictState::Pass
}

fn output(pool: &Pool) -> Option<Chart> {
    let curves = [curve(pool, Metric::OutputRate, OUTPUT)?];
    let mut series = lines(&curves, Meant::TokPerS);
    for line in &mut series {
        line.name = "output".to_owned();
        for (point, at) in line.points.iter_mut().zip(&curves[0].points) {
            point.is_trusted = is_inside(&at.cell);
        }
    }
    let description = format!("{} {INSIDE}", ends(&series, unit(&curves)));
    let plot = Cartesian::new(load_axis(&curves), Axis::new("output", "tok/s"), series);
    Some(Chart::new("output", "Output throughput", description, plot))
}

/// Output of the server against the speed for one user, a point for each load.
fn pareto(pool: &Pool) -> Option<Chart> {
    let speed = |cell: &Pooled| {
        let estimated = || cell.central(Metric::other(USER_RATE_ESTIMATED));
        cell.central(Metric::UserSpeed).or_else(estimated)
    };
    let by_load = pool.curves_against(&[], |cell| Some((cell.load()?.value(), speed(cell)?)));
    let point = |at: &CurvePoint| {
        let output = at.cell.first_of(Metric::OutputRate, OUTPUT)?.value;
        let point = Point::at(at.stat.value, output).trusted(is_inside(&at.cell));
        let label = Some(load(at.cell.load()));
        Some(Point { label, ..point.told(meant(output, Meant::TokPerS)) })
    };
    let points = by_load.iter().flat_map(|curve| &curve.points).filter_map(point);
    let line = Series::new("output against speed", points);
    let first = line.points.first()?.x;
    if line.points.iter().all(|point| point.x == first) {
        return None;
    }
    let description = format!(
        "Output of the server against the speed for one user, {}. {INSIDE}",
        counted(line.points.len() as u64, "load")
    );
    let [x, y] = ["speed for one user", "output"].map(|name| Axis::new(name, "tok/s"));
    let plot = Cartesian::new(x, y, vec![line.weighing(Weight::Strong)]);
    Some(Chart::new("pareto", "Throughput vs. per-user speed", description, plot))
}

/// The metrics that are drawn over the load: time to first token and gaps, and those that the target of
/// the run bounds. A speed that it asks for is in the chart of throughput against speed.
fn over_load(model: &ReportModel) -> Vec<Metric> {
    let slo = model.manifest.spec.slo.named();
    let asked = slo.terms.iter().filter(|term| !term.is_least()).map(|term| term.metric);
    let mut metrics = vec![Metric::Ttft, Metric::Itl];
    for metric in asked.filter(|metric| Metric::of_requests().any(|of| of == *metric)) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    metrics
}

/// A metric over the load: the middle and the tails that the target of the run speaks of, else P99.
fn over_the_load(model: &ReportModel, pool: &Pool, metric: Metric) -> Option<Chart> {
    let name = if metric == Metric::Itl { model.gap_label().short() } else { metric.name() };
    let question = match metric {
        Metric::Ttft => "How long until the first token?",
        Metric::Itl => "How long between tokens?",
        _ => name,
    };
    let is_time = metric.unit() == MetricUnit::Ns;
    let (axis_unit, how) = if is_time { ("ms", Meant::Ms) } else { ("", Meant::Plain) };
    let limit_of = |term: &SloTerm| if is_time { term.limit_ms } else { term.limit() };
    let quantities = metrics_of(metric);
    let slo = model.manifest.spec.slo.named();
    let terms = || slo.terms.iter().filter(|term| term.metric == metric);
    // A point of a percentile is outside where a term of that one or a higher one fails with it.
    let limit = |p: f64| {
        let limits = terms().filter(|term| term.percentile.is_some_and(|asked| asked >= p));
        limits.map(limit_of).fold(f64::INFINITY, f64::min)
    };
    let mut tails: Vec<f64> = terms().filter_map(|term| term.percentile).collect();
    tails.retain(|p| *p != 50.0);
    tails.sort_unstable_by(f64::total_cmp);
    tails.dedup();
    if tails.is_empty() {
        tails.push(99.0);
    }
    let (mut curves, mut series) = (Vec::new(), Vec::new());
    for (index, p) in [50.0].into_iter().chain(tails).enumerate() {
        let of_p = [Statistic::percentile(p)];
        let curves_of = quantities.iter().map(|quantity| curve(pool, *quantity, &of_p));
        let Some(curve) = curves_of.flatten().next() else { continue };
        for mut line in lines(std::slice::from_ref(&curve), how) {
            for point in line.points.iter_mut().filter(|point| !point.is_trusted) {
                point.label = Some("few".to_owned());
                point.text = point.text.take().map(|text| format!("~{text}"));
            }
            for point in &mut line.points {
                point.is_trusted &= point.y.is_none_or(|value| value <= limit(p));
            }
            let dash = if index == 0 { Dash::Solid } else { Dash::Dashed };
            series.push(Series { name: format!("p{p}"), dash, ..line }.of(index));
        }
        curves.push(curve);
    }
    let y = value_axis(name, axis_unit, &series);
    let (is_wide, largest) = (y.scale == Scale::Log10, largest(&series));
    let near = terms().filter(|term| is_wide || limit_of(term) <= LIMIT_NEAR * largest);
    let guides: Vec<_> = near.map(target::line).collect();
    let description = format!("{} {}", ends(&series, unit(&curves)), target::HOLLOW);
    let plot = Cartesian::new(load_axis(&curves), y, series).guided(guides).switched();
    (!plot.series.is_empty()).then(|| Chart::new(metric.word(), question, description, plot))
}

#[cfg(test)]
mod tests {
    use crate::ReportModel;
    use crate::testing::{model, single, sweep};
    use ifm_chart::{Guide, Plot};
    use ifm_results::Results;
    use ifm_rules::insight::Question;

    #[test]
    fn a_sweep_has_four_charts_and_a_single_level_none() {
        let drawn = |model: &ReportModel| {
            let results = Results::of_run(&model.manifest, &model.summary);
            super::charts(model, &Question::new(&results))
        };
        let charts = drawn(&model(&sweep()));
        let ids: Vec<&str> = charts.iter().map(|(chart, ..)| chart.id.as_str()).collect();
        assert_eq!(ids, ["output", "pareto", "ttft", "itl"]);
        let Plot::Cartesian(ttft) = &charts[2].0.plot else { panic!("{:?}", charts[2]) };
        let inside = |index: usize| {
            ttft.series[index].points.iter().map(|point| point.is_trusted).collect::<Vec<_>>()
        };
        assert_eq!(inside(0), [true, true, false]);
        assert!(matches!(&ttft.guides[..], [Guide::Horizontal { at, .. }] if *at == 500.0));
        assert!(drawn(&model(&single())).is_empty());
        let mut asked = model(&sweep());
        asked.manifest.spec.slo =
            ifm_metrics::slo::parse("e2e:p90<1s,speed:p5>20").expect("a target");
        let charts = drawn(&asked);
        let ids: Vec<&str> = charts.iter().map(|(chart, ..)| chart.id.as_str()).collect();
        assert_eq!(ids, ["output", "pareto", "ttft", "itl", "e2e"]);
        let Plot::Cartesian(e2e) = &charts[4].0.plot else { panic!("{:?}", charts[4]) };
        assert_eq!(
            e2e.series.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(),
            ["p50", "p90"]
        );
    }

    #[test]
    fn the_limit_of_a_known_machine_is_drawn_with_its_formula_and_source() {
        let model = model(&sweep());
        let results = Results::of_run(&model.manifest, &model.summary);
        let unknown = super::charts(&model, &Question::new(&results));
        assert!(unknown.iter().all(|(.., caption)| caption.is_none()));
        let question = Question {
            gpu: Some("H100 SXM".to_owned()),
            model: Some("Llama-3.1-8B-Instruct".to_owned()),
            ..Question::new(&results)
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
