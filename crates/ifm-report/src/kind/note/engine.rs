//! Speeds of an engine that was called without a server: over power limits, and as its tool prints
//! them. Not here: the list of models (`models`).

use super::super::Subject;
use super::super::common::{LINES_MAX, about, ends};
use super::blocks::llama_bench;
use super::models;
use crate::format::{change, meant, number, percent, plain, with_spread};
use crate::page::{Block, Cell, Columns, Figure, Head, Section, Table, Tile};
use ifm_chart::{Axis, Cartesian, Chart, Scale, Series};
use ifm_core::Metric;
use ifm_core::sheet::key;
use ifm_results::{Point, PowerPoint, PowerSeries, Results};
use ifm_rules::insight::{Insight, Meant, Topic};
use serde_json::Value;

/// The chapters; none without an engine row or a power series.
pub(super) fn sections(subject: &Subject) -> Vec<Section> {
    let results = subject.question.results;
    let mut sections = Vec::new();
    sections.extend(power(subject, &results.power_series()));
    let points: Vec<&Point> = results.engine_tests().collect();
    if points.is_empty() {
        return sections;
    }
    sections.push(models::section(subject, &points));
    sections.push(Section::new("llama-bench", Vec::new()));
    let mut parts: Vec<((usize, usize), Vec<&Point>)> = Vec::new();
    for point in points {
        let part = (point.source, point.part);
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
    // Drop a heading without content.
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
            [Metric::DecodeRate, Metric::OutputRate].as_slice(),
            "power-decode",
            "How much speed does a lower limit cost?",
            "power",
        ),
        (
            [Metric::PrefillRate].as_slice(),
            "power-prompt",
            "And how much for prompts?",
            "repeat_noise",
        ),
    ] {
        let of: Vec<&PowerSeries> =
            all.iter().filter(|series| quantities.contains(&series.metric)).collect();
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

/// Series against the power limit, their points with one deviation to each side.
fn over_limits(
    all: &[&PowerSeries],
    (id, title): (&str, &str),
    y: Axis,
    figure: impl Fn(&PowerSeries, &PowerPoint) -> (f64, Option<f64>, String),
) -> Chart {
    let line = |(index, series): (usize, &&PowerSeries)| {
        let best: Vec<f64> = series.best().iter().map(|best| best.limit_w).collect();
        let word = if best.len() > 1 { "tie" } else { "best" };
        let point = |point: &PowerPoint| {
            let (value, std, text) = figure(series, point);
            let (low, high) = (std.map(|std| (value - std).max(0.0)), std.map(|std| value + std));
            let is_marked = id == EFFICIENCY && best.contains(&point.limit_w);
            let label = is_marked.then(|| word.to_owned());
            ifm_chart::Point {
                label,
                ..ifm_chart::Point::at(point.limit_w, value).between(low, high).told(text)
            }
        };
        Series::new(plain(&series.name), series.points.iter().map(point)).of(index)
    };
    let series: Vec<Series> = all.iter().enumerate().map(line).collect();
    let x = Axis::new("power limit", "W").scaled(Scale::Linear { from_zero: false });
    let description = ends(&series, "W");
    Chart::new(id, title, description, Cartesian::new(x, y, series))
}

fn speed_chart(all: &[&PowerSeries], id: &str, title: &str) -> Chart {
    over_limits(all, (id, title), Axis::new("speed", "tok/s"), |_, point| {
        (point.rate, point.std, meant(point.rate, Meant::TokPerS))
    })
}

/// What the energy of a series is of.
fn per(series: &PowerSeries) -> &'static str {
    if series.is_told { "tok/J" } else { "tok/s per W of limit" }
}

/// Tokens per joule with their deviation: `0.95 ± 0.01`.
fn efficiency(point: &PowerPoint) -> String {
    match point.per_joule_std() {
        Some(std) => with_spread(point.per_joule, std),
        None => number(point.per_joule),
    }
}

/// Id of the chart of what each limit gives for its power; its best limits are marked.
const EFFICIENCY: &str = "power-efficiency";

fn efficiency_chart(all: &[&PowerSeries]) -> Chart {
    let unit = all.first().map_or("tok/J", |series| per(series));
    let title = "Which limit gives most for its power?";
    over_limits(all, (EFFICIENCY, title), Axis::new("efficiency", unit), |series, point| {
        let text = format!("{} {}", efficiency(point), per(series));
        (point.per_joule, point.per_joule_std(), text)
    })
}

fn power_table(all: &[PowerSeries]) -> Table {
    let mut units: Vec<&str> = all.iter().map(per).collect();
    units.sort_unstable();
    units.dedup();
    let highest =
        |series: &PowerSeries| series.highest().map(|of| of.rate).filter(|rate| *rate > 0.0);
    type Row<'p> = (&'p PowerSeries, &'p PowerPoint);
    let columns = Columns::<Row>::default()
        .name("what", |(series, _)| plain(&series.name))
        .number("limit, W", |(_, point)| Some(point.limit_w), number)
        .number("tok/s", |(_, point)| Some(point.rate), number)
        .number("change", |(of, point)| Some(point.rate / highest(of)? - 1.0), change)
        .number(
            "spread",
            |(_, point): &Row| Some(point.std.filter(|_| point.rate > 0.0)? / point.rate),
            percent,
        )
        .explained("standard deviation over mean of the repeats")
        .cell(Head::number(format!("efficiency, {}", units.join(" or "))), |(_, point)| {
            Cell::number(Some(point.per_joule), |_| efficiency(point))
        });
    let rows = all.iter().flat_map(|of| of.points.iter().rev().map(move |point| (of, point)));
    columns.table("Against the highest limit.", rows)
}

/// The fastest generation, and what a lower power limit is worth.
pub(super) fn tiles(results: &Results) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let points: Vec<&Point> = results.engine_tests().collect();
    let models = models::listed(&points);
    let fastest = models.first().and_then(|model| Some((model, model.speed(Metric::DecodeRate)?)));
    if let Some((model, (rate, ..))) = fastest {
        let slowest = models.iter().rev().find_map(|model| {
            let (rate, ..) = model.speed(Metric::DecodeRate)?;
            let name = plain(&model.named(&models));
            Some(format!("; slowest {name} {}", meant(rate, Meant::TokPerS)))
        });
        let other = slowest.filter(|_| models.len() > 1).unwrap_or_default();
        let detail = format!("{}, one sequence{other}", plain(&model.name));
        tiles.push(Tile::new("How fast does it generate?", number(rate), "tok/s", detail));
    }
    let all_series = results.power_series();
    let is_decode = |series: &&PowerSeries| series.metric != Metric::PrefillRate;
    let shown = all_series.iter().find(is_decode).or(all_series.first());
    if let Some(series) = shown
        && let (Some(keeping), Some(highest)) = (series.keeping(), series.highest())
    {
        let what = if is_decode(&series) { "generation" } else { "prompts" };
        let kept = match keeping.limit_w < highest.limit_w {
            true => format!("keeps the speed of {} for {what}", meant(highest.limit_w, Meant::W)),
            false => format!("no lower limit keeps the speed for {what}"),
        };
        let prompts = beside_prompts(&all_series, series, keeping.limit_w)
            .filter(|_| keeping.limit_w < highest.limit_w)
            .unwrap_or_default();
        let detail = format!(
            "{kept}{prompts}; most per watt of the limit: {}",
            best_limits(series, highest.rate)
        );
        let value = number(keeping.limit_w);
        tiles.push(Tile::new("Which power limit is enough?", value, "W", detail));
    }
    tiles
}

/// What prompts lose at a limit that is enough for the generation of the same model.
fn beside_prompts(all: &[PowerSeries], shown: &PowerSeries, limit_w: f64) -> Option<String> {
    let model = |series: &PowerSeries| series.name.split(", ").next().map(str::to_owned);
    let is_beside = |series: &&PowerSeries| {
        series.metric == Metric::PrefillRate
            && shown.metric != Metric::PrefillRate
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
