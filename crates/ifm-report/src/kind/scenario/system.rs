//! What the whole server gives: output, output against speed, and how it bears a load that does
//! not wait.

use super::super::common::{LINES_MAX, load_axis, value_axis};
use super::data::{CENTER, Data, Drawn};
use crate::format::{meant, plain};
use crate::model::load_words;
use crate::page::Section;
use ifm_analysis::insight::{Meant, Topic, configurations, is_per_gpu, knee_at};
use ifm_analysis::survey::Curve;
use ifm_chart::{
    Axis, Cartesian, Chart, Form, Note, Plot, Point, Scale, Second, Series, Tone, Weight,
};
use ifm_core::sheet::{Quantity, Statistic};

const SECONDS_PER_HOUR: f64 = 3600.0;

/// Output of the server at each load, in tokens per second and per hour.
pub(super) fn throughput(data: &Data) -> Option<Section> {
    let rate = [Statistic::Value, Statistic::Mean, Statistic::Median];
    let curves = data.curves(&Quantity::OutputRate, &rate);
    let mut loads: Vec<f64> =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.at).collect();
    loads.sort_by(f64::total_cmp);
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
        .max_by(|a, b| a.1.reading.value.total_cmp(&b.1.reading.value));
    let description = best.map_or_else(String::new, |(curve, point)| {
        format!(
            "Most output: {} ({}, {}).",
            meant(point.reading.value, Meant::TokPerS),
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
    let number_of = if index == 0 { String::new() } else { format!("-{}", index + 1) };
    Chart {
        id: format!("throughput{number_of}"),
        title: "How much comes out?".to_owned(),
        description,
        plot: Plot::Cartesian(Cartesian {
            x: Axis {
                name: "users".to_owned(),
                scale: Scale::Category(
                    loads.iter().map(|load| meant(*load, Meant::Load)).collect(),
                ),
                ..Axis::default()
            },
            y: Axis {
                name: "output".to_owned(),
                unit: "tok/s".to_owned(),
                second: Some(second),
                ..Axis::default()
            },
            // With several scenarios the words would lie upon each other; the sentences say it.
            notes: if curves.len() == 1 {
                curves.iter().filter_map(knee).collect()
            } else {
                Vec::new()
            },
            series,
            ..Cartesian::default()
        }),
    }
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
                .find(|fitting| ifm_analysis::survey::name_of(&fitting.of) == one.name)
                .and_then(|fitting| fitting.load());
            let frontier = one.frontier(&all);
            let is_best = frontier.iter().all(|on| *on);
            let points = one.places.iter().map(|place| Point {
                x: place.speed,
                y: Some(place.output),
                label: place.cell.load().map(|load| meant(load.value(), Meant::Load)),
                is_trusted: !has_target
                    || place
                        .cell
                        .load()
                        .zip(most)
                        .is_some_and(|(here, most)| here.value() <= most.value()),
                text: Some(format!(
                    "{} at {}",
                    meant(place.output, Meant::TokPerS),
                    load_words(place.cell.load())
                )),
                ..Point::default()
            });
            Series {
                color: data.color(&name),
                name,
                weight: if is_best { Weight::Strong } else { Weight::Normal },
                points: points.collect(),
                ..Series::default()
            }
        })
        .collect();
    let axis = |name: &str, unit: &str| Axis {
        name: name.to_owned(),
        unit: unit.to_owned(),
        ..Axis::default()
    };
    let chart = |(index, some): (usize, &[Series])| {
        let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
        let target = if has_target { " Filled points are inside the target." } else { "" };
        Chart {
            id: format!("pareto{number}"),
            title: "What does speed for one cost in output?".to_owned(),
            description: format!("Output against speed, {} curves.{target}", some.len()),
            plot: Plot::Cartesian(Cartesian {
                x: axis("speed for one user", "tok/s"),
                y: axis("output", unit),
                series: some.to_vec(),
                ..Cartesian::default()
            }),
        }
    };
    let charts = series.chunks(LINES_MAX).enumerate().map(chart).collect();
    data.section(
        (
            "Output against speed",
            "Each point is a number of users. Up is more output for the owner, right is more \
             speed for the user; scenarios of different lengths do not compete.",
        ),
        (charts, "Users beside each point; thick where no other configuration is better."),
        &[Topic::Pareto],
    )
}

/// The wait for the first token under requests that come by themselves.
pub(super) fn under_load(data: &Data) -> Option<Section> {
    let curves = |statistics: &[Statistic]| {
        data.ordered(data.rates.curves_against(&data.keys(), |cell| {
            let reading = statistics
                .iter()
                .find_map(|statistic| cell.reading(&Quantity::Ttft, *statistic))?;
            Some((cell.load()?.value(), reading))
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
            let mut series: Vec<Series> =
                some.iter().map(|curve| data.line(curve, Meant::Ms)).collect();
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
            "Requests come at their own rate, whether the server has answered or not, so a queue \
             may grow.",
        ),
        (charts, "Median and p95 against the rate that was asked for."),
        &[],
    )
}
