//! The charts of a comparison of variants.

use super::super::common::{ends, point, value_axis};
use super::drawing::{chart, color, lines};
use super::offered;
use super::tables::mark;
use crate::format::{meant, number, plain};
use ifm_analysis::insight::{
    Bands, CENTER, Growth, LoadAxis, Meant, OUTPUT, Topic, Versus, growth,
};
use ifm_analysis::survey::{Curve, Reading};
use ifm_chart::{
    Along, Axis, Cartesian, Chart, Form, Guide, Note, Point, Scale, Series, Tone, Weight,
};
use ifm_core::sheet::{Quantity, Statistic};

const MS_PER_S: f64 = 1e3;

fn axis(versus: &Versus) -> Axis {
    let (name, unit) = match versus.axis {
        LoadAxis::Users => ("users", ""),
        LoadAxis::InFlight(_) => (versus.axis.words(), ""),
        LoadAxis::Rate => ("requests asked for", "req/s"),
    };
    Axis { name: name.to_owned(), unit: unit.to_owned(), scale: Scale::Log2, ..Axis::default() }
}

/// ITL, TTFT and output against the load, and output against speed, with what each is about.
pub(super) fn against_load(versus: &Versus) -> Vec<(Chart, &'static [Topic])> {
    let all = [
        (itl(versus), [Topic::Itl].as_slice()),
        (ttft(versus), [Topic::Ttft].as_slice()),
        (offered::against_offered(versus), [Topic::Throughput].as_slice()),
        (output(versus), [Topic::Throughput].as_slice()),
        (pareto(versus), [Topic::Capacity].as_slice()),
    ];
    all.into_iter().filter_map(|(chart, topics)| Some((chart?, topics))).collect()
}

/// The measured points of every party as lines.
fn measured(
    versus: &Versus,
    quantity: &Quantity,
    statistics: &[Statistic],
    how: Meant,
) -> Vec<Series> {
    lines(versus, |versus, index| {
        let party = versus.parties().nth(index)?;
        let curve = versus.curve(party, quantity, statistics);
        let points = curve.points.iter().map(|at| point(at.at, &at.reading, how)).collect();
        Some(Series {
            name: plain(&party.name),
            short: Some(plain(&party.short)),
            color: color(index),
            points,
            ..Series::default()
        })
    })
}

fn itl(versus: &Versus) -> Option<Chart> {
    let series = measured(versus, &Quantity::Itl, CENTER, Meant::Ms);
    let largest = series.iter().flat_map(|series| &series.points).filter_map(|point| point.y);
    let largest = largest.fold(0.0, f64::max);
    let band = &Bands::get().itl_ms;
    let [good, poor] = band.bounds();
    let [instant, acceptable, sluggish] = band.words();
    let zone = |from: Option<f64>, to: Option<f64>, name: &str, tone| Guide::Zone {
        along: Along::Y,
        from,
        to,
        name: name.to_owned(),
        tone,
    };
    let zones = [
        zone(Some(0.0), good, instant, Tone::Good),
        zone(good, poor, acceptable, Tone::Caution),
        zone(poor, None, sluggish, Tone::Bad),
    ];
    let is_reached = |zone: &Guide| match zone {
        Guide::Zone { from, .. } => from.is_none_or(|from| from < largest),
        _ => false,
    };
    let description = ends(&series, versus.axis.words());
    chart(
        "itl",
        "How long is the gap between tokens?",
        description,
        Cartesian {
            x: axis(versus),
            y: value_axis("ITL", "ms", &series),
            series,
            guides: zones.into_iter().filter(is_reached).collect(),
            has_switch: true,
            ..Cartesian::default()
        },
    )
}

fn ttft(versus: &Versus) -> Option<Chart> {
    let series = measured(versus, &Quantity::Ttft, CENTER, Meant::Ms);
    let description = ends(&series, versus.axis.words());
    let y = value_axis("TTFT", "ms", &series);
    let x = axis(versus);
    let plot = Cartesian { x, y, series, has_switch: true, ..Cartesian::default() };
    chart("ttft", "How long until the first token?", description, plot)
}

/// Served against offered requests where the rates were set, else output against the load.
/// Against what was in flight; where the axis is the offered load, `offered` shows it already.
fn output(versus: &Versus) -> Option<Chart> {
    if versus.axis == LoadAxis::Rate {
        return None;
    }
    let series = measured(versus, &Quantity::OutputRate, OUTPUT, Meant::TokPerS);
    let description = ends(&series, versus.axis.words());
    let (x, y) = (axis(versus), value_axis("output", "tok/s", &series));
    let plot = Cartesian { x, y, series, has_switch: true, ..Cartesian::default() };
    chart("output", "How much comes out?", description, plot)
}

/// Output against the speed for one user, a point for each load.
fn pareto(versus: &Versus) -> Option<Chart> {
    let series = lines(versus, |versus, index| {
        let party = versus.parties().nth(index)?;
        let outputs = versus.curve(party, &Quantity::OutputRate, OUTPUT);
        let gaps = versus.curve(party, &Quantity::Itl, CENTER);
        let at = |at: &ifm_analysis::survey::CurvePoint| {
            let gap = gaps.at(at.at).filter(|gap| gap.reading.value > 0.0)?;
            let speed = MS_PER_S / gap.reading.value;
            let label = Some(number(at.at));
            Some(Point { label, ..point(speed, &at.reading, Meant::TokPerS) })
        };
        let points = outputs.points.iter().filter_map(at).collect();
        let (name, weight) = (plain(&party.name), Weight::Strong);
        Some(Series { name, color: color(index), weight, points, ..Series::default() })
    });
    let axis =
        |name: &str| Axis { name: name.to_owned(), unit: "tok/s".to_owned(), ..Axis::default() };
    let description = format!(
        "Output of the server against the speed for one user (1 / median ITL); each point is a \
         load, in {}.",
        versus.axis.words()
    );
    let (x, y) = (axis("speed for one user"), axis("output"));
    let plot = Cartesian { x, y, series, ..Cartesian::default() };
    chart("pareto", "What does speed for one cost in output?", description, plot)
}

/// How many times shorter the ITL of each other is than the baseline's, against the load.
pub(super) fn advantage(versus: &Versus) -> Option<Chart> {
    let base = versus.curve(&versus.base, &Quantity::Itl, CENTER);
    let series: Vec<Series> = lines(versus, |versus, index| {
        let party = versus.others.get(index.checked_sub(1)?)?;
        let other = versus.curve(party, &Quantity::Itl, CENTER);
        let at = |at: &f64| {
            let ratio = base.between(*at)? / other.between(*at)?;
            let is_measured = base.at(*at).is_some() && other.at(*at).is_some();
            let reading = Reading {
                is_enough: is_measured,
                ..Reading::new(Quantity::Ratio, Statistic::Value, ratio)
            };
            let text = Some(format!("{}{}", mark(is_measured), meant(ratio, Meant::Times)));
            Some(Point { text, ..point(*at, &reading, Meant::Times) })
        };
        let points = Versus::common(&base, &other).iter().filter_map(at).collect();
        Some(Series {
            name: plain(&party.name),
            short: Some(plain(&party.short)),
            color: color(index),
            points,
            ..Series::default()
        })
    });
    let description = format!(
        "ITL of {} over that of each other at the same load. {} Hollow: one of the two was read \
         between two measured loads.",
        plain(&versus.base.name),
        ends(&series, versus.axis.words())
    );
    let guide = Guide::Horizontal { at: 1.0, name: "equal".to_owned(), tone: Tone::Neutral };
    let y = Axis {
        name: "ITL, baseline over other".to_owned(),
        unit: "×".to_owned(),
        scale: Scale::Linear { from_zero: false },
        ..Axis::default()
    };
    let x = axis(versus);
    let plot = Cartesian { x, y, series, guides: vec![guide], ..Cartesian::default() };
    chart("advantage", "Does the advantage last under load?", description, plot)
}

/// The growth of the ITL of every party, with the loads on the bars.
pub(super) fn growths(versus: &Versus) -> Option<Chart> {
    let growths: Vec<(String, Growth)> = versus
        .parties()
        .filter_map(|party| {
            let curve: Curve = versus.curve(party, &Quantity::Itl, CENTER);
            Some((plain(&party.name), growth(&curve, None)?))
        })
        .collect();
    if growths.len() < 2 {
        return None;
    }
    let bar = |(index, (name, growth)): (usize, &(String, Growth))| Series {
        name: name.clone(),
        color: color(index),
        form: Form::Bar,
        points: vec![Point {
            x: index as f64,
            y: Some(growth.ratio()),
            text: Some(meant(growth.ratio(), Meant::Times)),
            ..Point::default()
        }],
        ..Series::default()
    };
    let loads = |growth: &Growth| {
        format!("{} → {}", meant(growth.from.0, Meant::Load), meant(growth.to.0, Meant::Load))
    };
    let note = |(index, (_, growth)): (usize, &(String, Growth))| Note {
        x: index as f64,
        y: None,
        text: format!("{} at {}", meant(growth.ratio(), Meant::Times), loads(growth)),
        tone: Tone::Neutral,
    };
    let words = |(name, growth): &(String, Growth)| {
        let ratio = meant(growth.ratio(), Meant::Times);
        format!("{name}: {ratio} from {} {}.", loads(growth), versus.axis.words())
    };
    let description = growths.iter().map(words).collect::<Vec<_>>().join(" ");
    let names = growths.iter().map(|(name, _)| name.clone()).collect();
    let series = growths.iter().enumerate().map(bar).collect();
    let plot = Cartesian {
        x: Axis { scale: Scale::Category(names), ..Axis::default() },
        y: Axis {
            name: "ITL, highest over lowest load".to_owned(),
            unit: "×".to_owned(),
            ..Axis::default()
        },
        series,
        notes: growths.iter().enumerate().map(note).collect(),
        ..Cartesian::default()
    };
    chart("growth", "How much does the ITL grow, each up to its own load?", description, plot)
}
