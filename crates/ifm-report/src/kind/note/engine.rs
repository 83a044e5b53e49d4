//! Speeds of an engine that was called without a server: over power limits, and as its tool prints
//! them. Not here: the list of models (`models`).

use super::super::Subject;
use super::super::common::about;
use super::blocks::llama_bench;
use super::models;
use crate::format::{change, meant, number, percent, plain, with_spread};
use crate::page::{Block, Cell, Figure, Head, Section, Table, Tile};
use ifm_analysis::insight::{Insight, Meant, Topic};
use ifm_analysis::survey::{Point, PowerPoint, PowerSeries, Survey};
use ifm_chart::{Axis, Cartesian, Chart, Plot, Scale, Series};
use ifm_core::sheet::{PartKind, Quantity, key};
use serde_json::Value;

/// Series in one chart, at most.
const LINES_MAX: usize = 6;

/// The chapters; none without an engine row or a power series.
pub(super) fn sections(subject: &Subject) -> Vec<Section> {
    let survey = subject.question.survey;
    let mut sections = Vec::new();
    sections.extend(power(subject, &survey.power_series()));
    let points: Vec<&Point> = survey.measured(PartKind::Engine).collect();
    if points.is_empty() {
        return sections;
    }
    sections.push(models::section(subject, &points));
    sections.push(Section::new("llama-bench", Vec::new()));
    let mut parts: Vec<((usize, usize), Vec<&Point>)> = Vec::new();
    for point in points {
        let part = (point.origin, point.part);
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, points)) => points.push(point),
            None => parts.push((part, vec![point])),
        }
    }
    for (part, points) in parts {
        let of = super::part(subject, part);
        let build = of.and_then(|part| part.unknown.get("build")).and_then(Value::as_str);
        let heading = points.first().map(|point| heading(point)).unwrap_or_default();
        let table = Block::Pre(llama_bench(&points, build));
        sections.push(Section::inner(plain(&heading), vec![table]));
    }
    // A heading without anything under it helps nobody.
    if sections.last().is_some_and(|last| last.depth == 2 && last.blocks.is_empty()) {
        sections.pop();
    }
    sections
}

/// The two innermost headings above a row, or what ran.
fn heading(point: &Point) -> String {
    let from = point.headings.len().saturating_sub(if point.headings.len() > 2 { 2 } else { 1 });
    match point.headings.get(from..) {
        Some(words) if !words.is_empty() => words.join(" · "),
        _ => point.factor(key::MODEL).unwrap_or_else(|| "rows".to_owned()),
    }
}

/// Speed and efficiency against the power limit.
fn power(subject: &Subject, all: &[PowerSeries]) -> Option<Section> {
    if all.is_empty() {
        return None;
    }
    let mut figures = Vec::new();
    let insights: Vec<&Insight> = about(subject.insights, &[Topic::Power]).collect();
    let of_rule = |id: &'static str| {
        insights.iter().copied().filter(move |insight| insight.rule == id).collect::<Vec<_>>()
    };
    for (quantities, id, title, rule) in [
        (
            [Quantity::DecodeRate, Quantity::OutputRate].as_slice(),
            "power-decode",
            "How much speed does a lower limit cost?",
            "power",
        ),
        (
            [Quantity::PrefillRate].as_slice(),
            "power-prompt",
            "And how much for prompts?",
            "repeat_noise",
        ),
    ] {
        let of: Vec<&PowerSeries> =
            all.iter().filter(|series| quantities.contains(&series.quantity)).collect();
        for (index, some) in of.chunks(LINES_MAX).enumerate() {
            let remarks = of_rule(rule).into_iter().filter(|_| index == 0);
            figures.push(
                Figure::new(speed_chart(some, id, title), remarks)
                    .captioned("The band is one standard deviation of the repeats to each side."),
            );
        }
        if id == "power-decode" {
            for some in of.chunks(LINES_MAX) {
                figures.push(Figure::new(efficiency_chart(some), []).captioned(
                    "The band is one standard deviation of the speed; bands that reach each other \
                     are a tie.",
                ));
            }
        }
    }
    Some(Section::new(
        "Power limits",
        vec![Block::Figures(figures), Block::Table(power_table(all))],
    ))
}

fn watts() -> Axis {
    Axis {
        name: "power limit".to_owned(),
        unit: "W".to_owned(),
        scale: Scale::Linear { from_zero: false },
        ..Axis::default()
    }
}

fn speed_chart(all: &[&PowerSeries], id: &str, title: &str) -> Chart {
    let series: Vec<Series> = all
        .iter()
        .enumerate()
        .map(|(index, series)| Series {
            name: plain(&series.name),
            color: u8::try_from(index % 8).unwrap_or(0),
            points: series
                .points
                .iter()
                .map(|point| ifm_chart::Point {
                    x: point.limit_w,
                    y: Some(point.rate),
                    low: point.std.map(|std| (point.rate - std).max(0.0)),
                    high: point.std.map(|std| point.rate + std),
                    text: Some(meant(point.rate, Meant::TokPerS)),
                    ..ifm_chart::Point::default()
                })
                .collect(),
            ..Series::default()
        })
        .collect();
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        description: super::super::common::ends(&series, "W"),
        plot: Plot::Cartesian(Cartesian {
            x: watts(),
            y: Axis { name: "speed".to_owned(), unit: "tok/s".to_owned(), ..Axis::default() },
            series,
            ..Cartesian::default()
        }),
    }
}

/// What the energy of a series is of.
fn per(series: &PowerSeries) -> &'static str {
    if series.is_measured { "tok/J" } else { "tok/s per W of limit" }
}

/// Tokens per joule with their deviation: `0.95 ± 0.01`.
fn efficiency(point: &PowerPoint) -> String {
    match point.per_joule_std() {
        Some(std) => with_spread(point.per_joule, std),
        None => number(point.per_joule),
    }
}

fn efficiency_chart(all: &[&PowerSeries]) -> Chart {
    let line = |(index, series): (usize, &&PowerSeries)| {
        let best: Vec<f64> = series.best().iter().map(|best| best.limit_w).collect();
        let word = if best.len() > 1 { "tie" } else { "best" };
        let point = |point: &PowerPoint| ifm_chart::Point {
            x: point.limit_w,
            y: Some(point.per_joule),
            low: point.per_joule_std().map(|std| (point.per_joule - std).max(0.0)),
            high: point.per_joule_std().map(|std| point.per_joule + std),
            label: best.contains(&point.limit_w).then(|| word.to_owned()),
            text: Some(format!("{} {}", efficiency(point), per(series))),
            ..ifm_chart::Point::default()
        };
        Series {
            name: plain(&series.name),
            color: u8::try_from(index % 8).unwrap_or(0),
            points: series.points.iter().map(point).collect(),
            ..Series::default()
        }
    };
    let series: Vec<Series> = all.iter().enumerate().map(line).collect();
    let unit = all.first().map_or("tok/J", |series| per(series));
    Chart {
        id: "power-efficiency".to_owned(),
        title: "Which limit gives most for its power?".to_owned(),
        description: super::super::common::ends(&series, "W"),
        plot: Plot::Cartesian(Cartesian {
            x: watts(),
            y: Axis { name: "efficiency".to_owned(), unit: unit.to_owned(), ..Axis::default() },
            series,
            ..Cartesian::default()
        }),
    }
}

fn power_table(all: &[PowerSeries]) -> Table {
    let mut rows = Vec::new();
    for series in all {
        let highest = series.highest().map(|point| point.rate).filter(|rate| *rate > 0.0);
        for point in series.points.iter().rev() {
            let spread = point.std.filter(|_| point.rate > 0.0).map(|std| std / point.rate);
            rows.push(vec![
                Cell::head(plain(&series.name)),
                Cell::number(Some(point.limit_w), number),
                Cell::number(Some(point.rate), number),
                Cell::number(highest.map(|highest| point.rate / highest - 1.0), change),
                Cell::number(spread, percent),
                Cell::number(Some(point.per_joule), |_| efficiency(point)),
            ]);
        }
    }
    let mut units: Vec<&str> = all.iter().map(per).collect();
    units.sort_unstable();
    units.dedup();
    let mut heads = vec![Head::text("what"), Head::number("limit, W"), Head::number("tok/s")];
    heads.extend([
        Head::number("change"),
        Head::number("spread").explained("standard deviation over mean of the repeats"),
        Head::number(format!("efficiency, {}", units.join(" or "))),
    ]);
    Table { caption: "Against the highest limit.".to_owned(), heads, rows }
}

/// The fastest generation, and what a lower power limit is worth.
pub(super) fn tiles(survey: &Survey) -> Vec<Tile> {
    let tile = |question: &str, value: String, unit: &str, detail: String| Tile {
        question: question.to_owned(),
        value,
        unit: unit.to_owned(),
        detail,
        ..Tile::default()
    };
    let mut tiles = Vec::new();
    let points: Vec<&Point> = survey.measured(PartKind::Engine).collect();
    let models = models::listed(&points);
    let fastest =
        models.first().and_then(|model| Some((model, model.speed(&Quantity::DecodeRate)?)));
    if let Some((model, (rate, ..))) = fastest {
        let slowest = models.iter().rev().find_map(|model| {
            let (rate, ..) = model.speed(&Quantity::DecodeRate)?;
            let name = plain(&model.named(&models));
            Some(format!("; slowest {name} {}", meant(rate, Meant::TokPerS)))
        });
        let other = slowest.filter(|_| models.len() > 1).unwrap_or_default();
        let detail = format!("{}, one sequence{other}", plain(&model.name));
        tiles.push(tile("How fast does it generate?", number(rate), "tok/s", detail));
    }
    let survey_series = survey.power_series();
    let is_decode = |series: &&PowerSeries| series.quantity != Quantity::PrefillRate;
    let shown = survey_series.iter().find(is_decode).or(survey_series.first());
    if let Some(series) = shown
        && let (Some(keeping), Some(highest)) = (series.keeping(), series.highest())
    {
        let what = if is_decode(&series) { "generation" } else { "prompts" };
        let kept = match keeping.limit_w < highest.limit_w {
            true => format!("keeps the speed of {} for {what}", meant(highest.limit_w, Meant::W)),
            false => format!("no lower limit keeps the speed for {what}"),
        };
        let prompts = beside_prompts(&survey_series, series, keeping.limit_w)
            .filter(|_| keeping.limit_w < highest.limit_w)
            .unwrap_or_default();
        let detail = format!(
            "{kept}{prompts}; most per watt of the limit: {}",
            best_limits(series, highest.rate)
        );
        let value = number(keeping.limit_w);
        tiles.push(tile("Which power limit is enough?", value, "W", detail));
    }
    tiles
}

/// What prompts lose at a limit that is enough for the generation of the same model.
fn beside_prompts(all: &[PowerSeries], shown: &PowerSeries, limit_w: f64) -> Option<String> {
    let model = |series: &PowerSeries| series.name.split(", ").next().map(str::to_owned);
    let is_beside = |series: &&PowerSeries| {
        series.quantity == Quantity::PrefillRate
            && shown.quantity != Quantity::PrefillRate
            && model(series) == model(shown)
    };
    let prompts = all.iter().find(is_beside)?;
    let (highest, point) =
        (prompts.highest()?, prompts.points.iter().find(|point| point.limit_w == limit_w)?);
    Some(format!(" (prompts: {})", change(point.rate / highest.rate - 1.0)))
}

/// The limits with the most tokens per joule, each with what it costs.
fn best_limits(series: &PowerSeries, rate_max: f64) -> String {
    let best = series.best();
    let word = |point: &&PowerPoint| {
        let speed = change(point.rate / rate_max - 1.0);
        format!("{} ({speed} speed)", meant(point.limit_w, Meant::W))
    };
    let words = best.iter().map(word).collect::<Vec<_>>().join(" and ");
    if best.len() > 1 { format!("{words}, a tie within their ±") } else { words }
}
