//! What one user sees: speed, gaps, efficiency, and the wait for the first token.

use super::super::common::{LINES_MAX, largest, value_axis};
use super::super::target;
use super::data::{CENTER, Data, Drawn};
use super::range::band;
use crate::format::{meant, percent, plain};
use crate::page::Section;
use ifm_chart::{
    Along, Axis, Chart, Dash, Guide, Plot, Point, Scale, Second, Series, Tone, Weight,
};
use ifm_core::Metric;
use ifm_core::sheet::Statistic;
use ifm_results::{Curve, CurvePoint};
use ifm_rules::insight::{
    Band, Bands, Meant, Topic, efficiency_curves, step_limit, user_speed_curves,
};

const MS_PER_S: f64 = 1e3;
/// Maximum number of scenarios whose tail shares a chart with their median.
const TWINS_MAX: usize = LINES_MAX / 2;

/// Speed for one user, with the gap as a second reading and the limit of the machine.
pub(super) fn decode_speed(data: &Data) -> Option<Section> {
    let curves = data.ordered(user_speed_curves(&data.users, &data.by));
    let lines = data.lines(&curves, Meant::TokPerS);
    let second = Second {
        name: "ITL".to_owned(),
        unit: "ms".to_owned(),
        factor: MS_PER_S,
        is_inverse: true,
    };
    let drawn = Drawn {
        id: "speed",
        title: "How fast does one user get tokens?",
        how: Meant::TokPerS,
        y: value_axis("speed for one user", "tok/s", &lines).read_as(second),
        guides: Vec::new(),
    };
    let mut charts = data.charts(&drawn, &curves);
    let mut caption = "One line for each scenario.";
    let limits: Vec<Series> = curves.iter().filter_map(|curve| limit(data, curve)).collect();
    if let Some(Chart { plot: Plot::Cartesian(first), .. }) = charts.first_mut() {
        if !limits.is_empty() {
            caption = "One line for each scenario; gray and dotted: the machine's limit per user at \
                       that number of users.";
        }
        // Limits of several scenarios lie close together: the lowest and the highest are enough.
        let by = |series: &Series| series.points.last().and_then(|point| point.y).unwrap_or(0.0);
        let low = limits.iter().min_by(|a, b| by(a).total_cmp(&by(b))).cloned();
        let high = limits.iter().max_by(|a, b| by(a).total_cmp(&by(b))).cloned();
        first.series.extend(low.iter().cloned());
        first.series.extend(high.filter(|high| Some(high) != low.as_ref()));
    }
    data.section(
        (
            "Decode speed",
            "Tokens per second that each user gets at that number of concurrent users. The right \
             axis reads the same points as milliseconds between tokens.",
        ),
        (charts, caption),
        &[Topic::DecodeSpeed],
    )
}

/// The machine's limit per user at a number of users, where machine and model are known.
fn limit(data: &Data, curve: &Curve) -> Option<Series> {
    let bound = |at: &CurvePoint| {
        let limit = step_limit(data.question, &at.cell)?.strict;
        Some((at.at, limit.seconds.recip(), limit.binds.label()))
    };
    let bounds: Vec<_> = curve.points.iter().filter_map(bound).collect();
    let (.., binds) = bounds.first()?;
    let place = |(x, speed, _): &(f64, f64, &str)| {
        Point::at(*x, *speed).told(format!("at most {}", meant(*speed, Meant::TokPerS)))
    };
    let name = format!("at most ({binds}) {}", plain(&curve.name()));
    let line = Series::reference(name.trim(), bounds.iter().map(place));
    Some(Series { dash: Dash::Dotted, weight: Weight::Faint, ..line })
}

/// The zones of a band that the values reach.
fn zones(band: &Band, largest: f64) -> Vec<Guide> {
    let tones = [Tone::Good, Tone::Caution, Tone::Bad];
    let reached = |from: Option<f64>| from.is_none_or(|from| from < largest);
    let zones = band.stretches().into_iter().zip(tones);
    zones
        .filter(|(stretch, _)| reached(stretch.from))
        .map(|(stretch, tone)| Guide::Zone {
            along: Along::Y,
            from: stretch.from,
            to: stretch.to.filter(|to| *to < largest),
            name: stretch.word.to_owned(),
            tone,
        })
        .collect()
}

/// Gaps between tokens, with their zones and their tails.
pub(super) fn gaps(data: &Data) -> Option<Section> {
    let middle = data.curves(Metric::Itl, CENTER);
    let tails = data.curves(Metric::Itl, &[Statistic::Percentile(99.0)]);
    let all = [&middle, &tails].map(|curves| data.lines(curves, Meant::Ms)).concat();
    let band = &Bands::get().itl_ms;
    let mut drawn = Drawn {
        id: "itl",
        title: "How long between tokens?",
        how: Meant::Ms,
        y: value_axis("ITL", "ms", &all),
        guides: zones(band, largest(&all)),
    };
    let mut charts = data.charts(&drawn, &middle);
    let are_twins = middle.len() <= TWINS_MAX;
    let caption = match are_twins {
        true => "The median gap at each number of users; p99 dashed.",
        false => "The median gap at each number of users, and p99 in a chart of its own.",
    };
    if let (Some(Chart { plot: Plot::Cartesian(first), .. }), true) =
        (charts.first_mut(), are_twins)
    {
        first.series.extend(tails.iter().map(|curve| data.tail(curve, Meant::Ms, "p99")));
    } else {
        (drawn.id, drawn.title) = ("itl-p99", "How long are the long gaps (p99)?");
        charts.extend(data.charts(&drawn, &tails));
    }
    let words = band.stretches().into_iter().map(|stretch| match stretch.to {
        Some(to) => format!("below {} {}", meant(to, Meant::Ms), stretch.word),
        None => format!("and from there on {}", stretch.word),
    });
    let intro =
        format!("Time between two tokens of one stream: {}.", words.collect::<Vec<_>>().join(", "));
    data.section(("Inter-token latency", &intro), (charts, caption), &[Topic::Itl])
}

/// What is left of the speed of a single user.
pub(super) fn efficiency(data: &Data) -> Option<Section> {
    const PERCENT: f64 = 100.0;
    let curves = data.ordered(efficiency_curves(&data.users, &data.by));
    let curves: Vec<Curve> = curves
        .into_iter()
        .filter(|curve| curve.points.iter().any(|point| point.at > 1.0))
        .collect();
    let stretches = Bands::get().efficiency.stretches();
    let mut guides =
        vec![Guide::Horizontal { at: PERCENT, name: "ideal".to_owned(), tone: Tone::Neutral }];
    guides.extend(stretches.iter().filter(|stretch| stretch.is_poor).map(|stretch| Guide::Zone {
        along: Along::Y,
        from: stretch.to.map(|to| to * PERCENT),
        to: stretch.from.map(|from| from * PERCENT),
        name: stretch.word.to_owned(),
        tone: if stretch.to.is_some() { Tone::Caution } else { Tone::Bad },
    }));
    let drawn = Drawn {
        id: "efficiency",
        title: "How much speed does each user keep?",
        how: Meant::Share,
        y: Axis { range: Some((0.0, 110.0)), ..Axis::new("efficiency", "%") },
        guides,
    };
    let mut charts = data.charts(&drawn, &curves);
    for chart in &mut charts {
        let Plot::Cartesian(plot) = &mut chart.plot else { continue };
        for point in plot.series.iter_mut().flat_map(|series| &mut series.points) {
            let scale = |share: Option<f64>| share.map(|share| share * PERCENT);
            (point.low, point.high) = (scale(point.low), scale(point.high));
            point.text = point.y.map(percent);
            point.y = scale(point.y);
        }
        plot.has_switch = false;
        let top = largest(&plot.series) * 1.05;
        plot.y.range = Some((0.0, top.max(110.0)));
    }
    data.section(
        (
            "Scaling efficiency",
            "Speed for one of N users over the speed for a single one. At 100 % each user is as \
             fast as if alone.",
        ),
        (charts, "One line for each scenario; dotted the ideal."),
        &[Topic::Scaling],
    )
}

/// Best and worst speed for one user over all scenarios.
pub(super) fn speed_range(data: &Data) -> Option<Section> {
    let curves = data.ordered(user_speed_curves(&data.users, &data.by));
    let drawn = Drawn {
        id: "speed-range",
        title: "How far apart are the scenarios?",
        how: Meant::TokPerS,
        y: value_axis("speed for one user", "tok/s", &[]),
        guides: Vec::new(),
    };
    let charts = band(data, &drawn, &curves).into_iter().collect();
    data.section(
        (
            "Per-user speed range",
            "From the fastest to the slowest scenario. A narrow band means that it matters \
             little how long prompts are.",
        ),
        (charts, "The upper edge is the fastest scenario, the lower one the slowest."),
        &[Topic::Range],
    )
}

/// Best and worst wait for the first token over all scenarios.
pub(super) fn ttft_range(data: &Data) -> Option<Section> {
    let curves = data.curves(Metric::Ttft, CENTER);
    let mut guides = Vec::new();
    // A stated figure without a load has no place on the axis of loads.
    for point in data.question.results.points.iter().filter(|point| point.load.is_none()) {
        let Some(reading) = point.central(Metric::Ttft) else { continue };
        let name = point.factor(ifm_core::sheet::key::WORKLOAD).unwrap_or_default();
        guides.push(Guide::Horizontal {
            at: reading.value,
            name: plain(&format!(
                "{} stated without a load ({name})",
                meant(reading.value, Meant::Ms)
            )),
            tone: Tone::Neutral,
        });
    }
    let drawn = Drawn {
        id: "ttft",
        title: "How long until the first token?",
        how: Meant::Ms,
        y: Axis {
            range: decades(&curves, &guides),
            ..Axis::new("TTFT", "ms").scaled(Scale::Log10)
        },
        guides,
    };
    let range = band(data, &drawn, &curves);
    let mut charts: Vec<Chart> = match range {
        Some(range) => {
            let each = Drawn {
                id: "ttft-each",
                title: "How long does each scenario wait?",
                guides: Vec::new(),
                y: drawn.y.clone(),
                ..drawn
            };
            let mut charts = vec![range];
            charts.extend(data.charts(&each, &curves));
            charts
        }
        None => data.charts(&drawn, &curves),
    };
    let tails = ttft_tails(data);
    let caption = match tails.is_empty() {
        true => "Between the scenario that waits least and the one that waits longest.",
        false => "The target speaks of the slowest requests, so they are shown next to the median.",
    };
    charts.extend(tails);
    charts.retain(|chart| !matches!(&chart.plot, Plot::Cartesian(plot) if plot.series.is_empty()));
    data.section(
        (
            "TTFT range",
            "How long a user waits for the first token: the prompt is read, and the request may \
             wait behind others.",
        ),
        (charts, caption),
        &[Topic::Ttft],
    )
}

/// The percentile that the target uses, with its limit; nothing without a target, or where
/// that percentile was not measured.
fn ttft_tails(data: &Data) -> Vec<Chart> {
    let slo = &data.question.slo;
    let mut asked: Vec<Statistic> = target::tails(slo, "ttft");
    asked.retain(|statistic| target::terms(slo, "ttft", *statistic).next().is_some());
    let Some(statistic) = asked.first().copied() else { return Vec::new() };
    let curves = data.curves(Metric::Ttft, &[statistic]);
    let terms = || target::terms(slo, "ttft", statistic);
    let lines = data.lines(&curves, Meant::Ms);
    let drawn = Drawn {
        id: "ttft-tail",
        title: "How long do the slowest requests wait?",
        how: Meant::Ms,
        y: value_axis(&target::named("TTFT", Some(statistic)), "ms", &lines),
        guides: terms().map(target::line).collect(),
    };
    let mut charts = data.charts(&drawn, &curves);
    for chart in &mut charts {
        if let Plot::Cartesian(plot) = &mut chart.plot {
            target::hollow(&mut plot.series, terms());
        }
        chart.description.push_str(&format!(" {}", target::HOLLOW));
    }
    charts
}

/// Whole powers of ten around all values, where a line to read them against lies outside.
fn decades(curves: &[Curve], guides: &[Guide]) -> Option<(f64, f64)> {
    let stated = guides.iter().filter_map(|guide| match guide {
        Guide::Horizontal { at, tone: Tone::Neutral, .. } => Some(*at),
        _ => None,
    });
    let stated: Vec<f64> = stated.filter(|at| *at > 0.0).collect();
    let values = curves.iter().flat_map(|curve| &curve.points).map(|point| point.stat.value);
    let all = || stated.iter().copied().chain(values.clone().filter(|value| *value > 0.0));
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    (!stated.is_empty() && high > 0.0)
        .then(|| (10_f64.powf(low.log10().floor()), 10_f64.powf(high.log10().ceil())))
}
