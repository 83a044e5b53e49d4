//! The charts of a comparison of variants.

use super::super::common::{ends, largest, point, value_axis};
use super::drawing::{chart, lines};
use super::offered;
use crate::format::{meant, number, plain};
use ifm_chart::{
    Along, Axis, Cartesian, Chart, Form, Guide, Note, Point, Scale, Series, Tone, Weight,
};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_results::{Curve, CurvePoint};
use ifm_rules::insight::{
    Bands, CENTER, Growth, LoadAxis, Matched, Meant, OUTPUT, Topic, Versus, growth,
};

const MS_PER_S: f64 = 1e3;

fn axis(versus: &Versus) -> Axis {
    let (name, unit) = match versus.axis {
        LoadAxis::Users => ("users", ""),
        LoadAxis::InFlight(_) => (versus.axis.words(), ""),
        LoadAxis::Rate => ("requests asked for", "req/s"),
    };
    Axis::new(name, unit).scaled(Scale::Log2)
}

/// With the short names of the parties.
fn shortened(versus: &Versus, mut series: Vec<Series>) -> Vec<Series> {
    for one in &mut series {
        let party = versus.parties().find(|party| plain(&party.name) == one.name);
        one.short = party.map(|party| plain(&party.short));
    }
    series
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
    quantity: Metric,
    statistics: &[Statistic],
    how: Meant,
) -> Vec<Series> {
    let series = lines(versus, |party| {
        let curve = versus.curve(party, quantity, statistics);
        Some(curve.points.iter().map(|at| point(at.at, &at.stat, how)).collect())
    });
    shortened(versus, series)
}

/// Measured lines against the load.
fn over_load(versus: &Versus, (name, unit): (&str, &str), series: Vec<Series>) -> Cartesian {
    Cartesian::new(axis(versus), value_axis(name, unit, &series), series).switched()
}

fn itl(versus: &Versus) -> Option<Chart> {
    let series = measured(versus, Metric::Itl, CENTER, Meant::Ms);
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
    let largest = largest(&series);
    let is_reached = |zone: &Guide| match zone {
        Guide::Zone { from, .. } => from.is_none_or(|from| from < largest),
        _ => false,
    };
    let description = ends(&series, versus.axis.words());
    let plot = over_load(versus, ("ITL", "ms"), series);
    let plot = plot.guided(zones.into_iter().filter(is_reached));
    chart("itl", "How long is the gap between tokens?", description, plot)
}

fn ttft(versus: &Versus) -> Option<Chart> {
    let series = measured(versus, Metric::Ttft, CENTER, Meant::Ms);
    let description = ends(&series, versus.axis.words());
    let plot = over_load(versus, ("TTFT", "ms"), series);
    chart("ttft", "How long until the first token?", description, plot)
}

/// Served against offered requests where the rates were set, else output against the load.
/// Against what was in flight; where the axis is the offered load, `offered` shows it already.
fn output(versus: &Versus) -> Option<Chart> {
    if versus.axis == LoadAxis::Rate {
        return None;
    }
    let series = measured(versus, Metric::OutputRate, OUTPUT, Meant::TokPerS);
    let description = ends(&series, versus.axis.words());
    chart(
        "output",
        "Output throughput",
        description,
        over_load(versus, ("output", "tok/s"), series),
    )
}

/// Output against the speed for one user, a point for each load.
fn pareto(versus: &Versus) -> Option<Chart> {
    let mut series = lines(versus, |party| {
        let outputs = versus.curve(party, Metric::OutputRate, OUTPUT);
        let gaps = versus.curve(party, Metric::Itl, CENTER);
        let at = |at: &CurvePoint| {
            let gap = gaps.at(at.at).filter(|gap| gap.stat.value > 0.0)?;
            let speed = MS_PER_S / gap.stat.value;
            let label = Some(number(at.at));
            Some(Point { label, ..point(speed, &at.stat, Meant::TokPerS) })
        };
        Some(outputs.points.iter().filter_map(at).collect())
    });
    series.iter_mut().for_each(|series| series.weight = Weight::Strong);
    let description = format!(
        "Output of the server against the speed for one user (1 / median ITL); each point is a \
         load, in {}.",
        versus.axis.words()
    );
    let [x, y] = ["speed for one user", "output"].map(|name| Axis::new(name, "tok/s"));
    let plot = Cartesian::new(x, y, series);
    chart("pareto", "Throughput vs. per-user speed", description, plot)
}

/// How many times shorter the ITL of each other is than the baseline's, at each load that was
/// requested of both.
pub(super) fn advantage(versus: &Versus) -> Option<Chart> {
    let series = lines(versus, |party| {
        let (_, matched) = versus.compared().find(|(other, _)| std::ptr::eq(*other, party))?;
        let at = |matched: &Matched| {
            let delta = matched.delta(Metric::Itl, CENTER)?;
            let (ratio, bounds) = delta.advantage();
            let (low, high) = bounds.unzip();
            let text = meant(ratio, Meant::Times);
            let is_decided = delta.is_shown() || delta.is_tie();
            let point = Point::at(matched.at, ratio).between(low, high);
            Some(point.trusted(is_decided).told(text))
        };
        Some(matched.iter().filter_map(at).collect())
    });
    let series = shortened(versus, series);
    let description = format!(
        "ITL of {} over that of each other at the load that was requested for both. {} Bands are 95 % \
         intervals. Hollow: inconclusive.",
        plain(&versus.base.name),
        ends(&series, versus.axis.words())
    );
    let guide = Guide::Horizontal { at: 1.0, name: "equal".to_owned(), tone: Tone::Neutral };
    let scale = Scale::Linear { from_zero: false };
    let y = Axis::new("ITL, baseline over other", "×").scaled(scale);
    let plot = Cartesian::new(axis(versus), y, series).guided([guide]);
    chart("advantage", "Does the advantage last under load?", description, plot)
}

/// The growth of the ITL of every party, with the loads on the bars.
pub(super) fn growths(versus: &Versus) -> Option<Chart> {
    let growths: Vec<(String, Growth)> = versus
        .parties()
        .filter_map(|party| {
            let curve: Curve = versus.curve(party, Metric::Itl, CENTER);
            Some((plain(&party.name), growth(&curve, None)?))
        })
        .collect();
    if growths.len() < 2 {
        return None;
    }
    let bar = |(index, (name, growth)): (usize, &(String, Growth))| {
        let text = meant(growth.ratio(), Meant::Times);
        let point = Point::at(index as f64, growth.ratio()).told(text);
        Series::new(name, [point]).form(Form::Bar).of(index)
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
    let x = Axis::of_names(growths.iter().map(|(name, _)| name));
    let y = Axis::new("ITL, highest over lowest load", "×");
    let series = growths.iter().enumerate().map(bar).collect();
    let notes = growths.iter().enumerate().map(note).collect();
    let plot = Cartesian { notes, ..Cartesian::new(x, y, series) };
    chart("growth", "How much does the ITL grow, each up to its own load?", description, plot)
}
