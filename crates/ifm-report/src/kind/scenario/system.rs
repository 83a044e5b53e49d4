//! What the whole server gives: output, output against speed, and how it bears a load that does
//! not wait.

use super::super::common::{LINES_MAX, load_axis, numbered, value_axis};
use super::data::{CENTER, Data, Drawn};
use crate::format::{meant, plain};
use crate::model::load_words;
use crate::page::Section;
use ifm_chart::{Axis, Cartesian, Chart, Form, Note, Point, Second, Series, Tone, Weight};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_results::Curve;
use ifm_rules::insight::{Meant, Place, Topic, configurations, is_per_gpu, knee_at};

const SECONDS_PER_HOUR: f64 = 3600.0;

/// Output of the server at each load, in tokens per second and per hour.
pub(super) fn throughput(data: &Data) -> Option<Section> {
    let rate = [Statistic::Value, Statistic::Mean, Statistic::Median];
    let curves = data.curves(Metric::OutputRate, &rate);
    let mut loads: Vec<f64> =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.at).collect();
    loads.sort_unstable_by(f64::total_cmp);
    loads.dedup();
    let charts: Vec<Chart> = curves
        .chunks(LINES_MAX)
        .enumerate()
        .map(|(index, some)| bars(data, index, some, &loads))
        .collect();
    data.section(
        (
            "System throughput",
            "Output tokens of the whole server per second; the right axis reads the same bars as \
             tokens per hour.",
        ),
        (charts, "A bar for each scenario at each number of users."),
        &[Topic::Throughput],
    )
}

fn bars(data: &Data, index: usize, curves: &[Curve], loads: &[f64]) -> Chart {
    let place = |at: f64| loads.iter().position(|load| *load == at).map(|place| place as f64);
    let series: Vec<Series> = curves
        .iter()
        .map(|curve| {
            let mut series = data.line(curve, Meant::TokPerS);
            series.form = Form::Bar;
            for (point, at) in series.points.iter_mut().zip(&curve.points) {
                point.x = place(at.at).unwrap_or(0.0);
            }
            series
        })
        .collect();
    let knee = |curve: &Curve| {
        let at = knee_at(curve)?;
        let text = format!("knee of {}", plain(&curve.name()));
        Some(Note { x: place(at)?, y: None, text: text.trim().to_owned(), tone: Tone::Neutral })
    };
    let best = curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(move |point| (curve, point)))
        .max_by(|a, b| a.1.stat.value.total_cmp(&b.1.stat.value));
    let description = best.map_or_else(String::new, |(curve, point)| {
        format!(
            "Most output: {} ({}, {}).",
            meant(point.stat.value, Meant::TokPerS),
            plain(&curve.name()),
            load_words(point.cell.load())
        )
    });
    let second = Second {
        name: "output".to_owned(),
        unit: "tokens/hour".to_owned(),
        factor: SECONDS_PER_HOUR,
        is_inverse: false,
    };
    // With several scenarios the words would lie upon each other; the sentences say it.
    let notes = curves.iter().filter_map(knee).filter(|_| curves.len() == 1).collect();
    let x = Axis::of_names(loads.iter().map(|load| meant(*load, Meant::Load)));
    let x = Axis { name: "users".to_owned(), ..x };
    let y = Axis::new("output", "tok/s").read_as(second);
    let plot = Cartesian { notes, ..Cartesian::new(x, y, series) };
    Chart::new(numbered("throughput", index), "Output throughput", description, plot)
}

/// Output against the speed for one user.
pub(super) fn pareto(data: &Data) -> Option<Section> {
    let all = configurations(&data.users, &data.by);
    let unit = if is_per_gpu(&data.users) { "tok/s per GPU" } else { "tok/s" };
    let has_target = !data.question.slo.terms.is_empty();
    let fittings = data.users.fittings(&data.keys(), &data.question.slo);
    let series: Vec<Series> = all
        .iter()
        .map(|one| {
            let name = plain(&one.name);
            let most = fittings
                .iter()
                .find(|fitting| ifm_results::name_of(&fitting.of) == one.name)
                .and_then(|fitting| fitting.load());
            let frontier = one.frontier(&all);
            let is_best = frontier.iter().all(|on| *on);
            let point = |place: &Place| {
                let here = place.cell.load();
                let is_inside = here.zip(most).is_some_and(|(at, most)| at.value() <= most.value());
                let output = meant(place.output, Meant::TokPerS);
                let label = here.map(|load| meant(load.value(), Meant::Load));
                let point = Point::at(place.speed, place.output)
                    .trusted(!has_target || is_inside)
                    .told(format!("{output} at {}", load_words(here)));
                Point { label, ..point }
            };
            let thing = data.position(&name);
            let weight = if is_best { Weight::Strong } else { Weight::Normal };
            Series::new(name, one.places.iter().map(point)).of(thing).weighing(weight)
        })
        .collect();
    let chart = |(index, some): (usize, &[Series])| {
        let target = if has_target { " Filled points are inside the target." } else { "" };
        let description = format!("Output against speed, {} curves.{target}", some.len());
        let (x, y) = (Axis::new("speed for one user", "tok/s"), Axis::new("output", unit));
        let title = "Throughput vs. per-user speed";
        let plot = Cartesian::new(x, y, some.to_vec());
        Chart::new(numbered("pareto", index), title, description, plot)
    };
    let charts = series.chunks(LINES_MAX).enumerate().map(chart).collect();
    data.section(
        (
            "Output against speed",
            "Each point is a number of users. Up is more output for the owner, right is more \
             speed for the user; scenarios of different lengths do not compete.",
        ),
        (charts, "Labels: users; thick where no other configuration is better."),
        &[Topic::Pareto],
    )
}

/// The wait for the first token under requests that come by themselves.
pub(super) fn under_load(data: &Data) -> Option<Section> {
    let curves = |statistics: &[Statistic]| {
        data.ordered(data.rates.curves_against(&data.keys(), |cell| {
            Some((cell.load()?.value(), cell.first_of(Metric::Ttft, statistics)?))
        }))
    };
    let (middle, tails) = (curves(CENTER), curves(&[Statistic::Percentile(95.0)]));
    if middle.is_empty() {
        return None;
    }
    let charts: Vec<Chart> = middle
        .chunks(LINES_MAX / 2)
        .enumerate()
        .map(|(index, some)| {
            let mut series = data.lines(some, Meant::Ms);
            let shown = |tail: &&Curve| some.iter().any(|curve| curve.of == tail.of);
            series
                .extend(tails.iter().filter(shown).map(|curve| data.tail(curve, Meant::Ms, "p95")));
            let drawn = Drawn {
                id: "under-load",
                title: "How long does the first token take when requests do not wait?",
                how: Meant::Ms,
                y: value_axis("TTFT", "ms", &series),
                guides: Vec::new(),
            };
            drawn.chart(index, load_axis(some), series)
        })
        .collect();
    data.section(
        (
            "Under load",
            "Requests are sent at a fixed rate, whether or not the server has answered, so a \
             queue may grow.",
        ),
        (charts, "Median and p95 against the requested rate."),
        &[],
    )
}
