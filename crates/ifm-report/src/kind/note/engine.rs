//! Speeds of an engine that was called without a server: over power limits, and by model.

use super::super::Subject;
use super::super::common::about;
use super::blocks::{llama_bench, speed};
use crate::format::{ABSENT, bytes, change, meant, number, percent, plain};
use crate::page::{Block, Cell, Figure, Head, Section, Table, Tile};
use ifm_analysis::insight::{Insight, Meant, Topic, decode_limit};
use ifm_analysis::survey::{Point, PowerSeries, Survey};
use ifm_chart::{Axis, Cartesian, Chart, Form, GREY, Mark, Plot, Scale, Series};
use ifm_core::sheet::{PartKind, Quantity, Statistic, key};
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
    sections.push(models(subject, &points));
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
                figures.push(Figure::new(efficiency_chart(some), []));
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

fn efficiency_chart(all: &[&PowerSeries]) -> Chart {
    let line = |(index, series): (usize, &&PowerSeries)| {
        let best = series.best().map(|best| best.limit_w);
        let point = |point: &ifm_analysis::survey::PowerPoint| ifm_chart::Point {
            x: point.limit_w,
            y: Some(point.per_joule),
            label: (Some(point.limit_w) == best).then(|| "best".to_owned()),
            text: Some(format!("{} {}", number(point.per_joule), per(series))),
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
                Cell::number(Some(point.per_joule), number).noted(per(series)),
            ]);
        }
    }
    let mut heads = vec![Head::text("what"), Head::number("limit, W"), Head::number("tok/s")];
    heads.extend([
        Head::number("change"),
        Head::number("spread").explained("standard deviation over mean of the repeats"),
        Head::number("efficiency"),
    ]);
    Table { caption: "Against the highest limit.".to_owned(), heads, rows }
}

/// One row of the list of models: its name and its rows.
struct Model<'a> {
    name: String,
    points: Vec<&'a Point>,
}

impl Model<'_> {
    fn speed(&self, quantity: &Quantity) -> Option<(f64, Option<f64>, &Point)> {
        self.points.iter().find_map(|point| match speed(point) {
            Some((found, mean, std)) if found == *quantity => Some((mean, std, *point)),
            _ => None,
        })
    }
}

impl Model<'_> {
    /// What machine and model allow, tokens per second.
    fn limit(&self, subject: &Subject) -> Option<f64> {
        let (.., point) = self.speed(&Quantity::DecodeRate)?;
        decode_limit(&subject.question, point)
    }
}

/// Models with their rows at the highest power limit, the fastest generation first.
fn listed<'a>(points: &[&'a Point]) -> Vec<Model<'a>> {
    let mut models: Vec<Model> = Vec::new();
    for point in points {
        let name = point.factor(key::MODEL).unwrap_or_else(|| "unnamed".to_owned());
        match models.iter_mut().find(|model| model.name == name) {
            Some(model) => model.points.push(point),
            None => models.push(Model { name, points: vec![point] }),
        }
    }
    for model in &mut models {
        let limit = |point: &&Point| point.setting.number(key::POWER_LIMIT_W).unwrap_or(0.0);
        model.points.sort_by(|a, b| limit(b).total_cmp(&limit(a)));
    }
    let decode = |model: &Model| model.speed(&Quantity::DecodeRate).map_or(0.0, |(rate, ..)| rate);
    models.sort_by(|a, b| decode(b).total_cmp(&decode(a)));
    models
}

fn models(subject: &Subject, points: &[&Point]) -> Section {
    let models = listed(points);
    let mut blocks = Vec::new();
    if models.len() > 1 {
        let limit = about(subject.insights, &[Topic::DecodeSpeed])
            .filter(|insight| insight.rule == "engine_limit");
        let figure = Figure::new(models_chart(subject, &models), limit)
            .captioned("Where a model ran at several power limits, at the highest. Grey strokes: what the memory of the machine allows.");
        blocks.push(Block::Figures(vec![figure]));
    }
    blocks.push(Block::Table(models_table(subject, &models)));
    Section::new("Models", blocks)
}

/// Rows of the chart, at most.
const MODELS_MAX: usize = 40;

fn models_chart(subject: &Subject, models: &[Model]) -> Chart {
    let models = models.get(..models.len().min(MODELS_MAX)).unwrap_or_default();
    let dots = |(index, name, quantity): (u8, &str, Quantity)| Series {
        name: name.to_owned(),
        color: index,
        form: Form::Dots,
        mark: if index == 0 { Mark::Circle } else { Mark::Diamond },
        points: models
            .iter()
            .enumerate()
            .filter_map(|(row, model)| {
                let (mean, std, _) = model.speed(&quantity)?;
                Some(ifm_chart::Point {
                    x: row as f64,
                    y: Some(mean),
                    low: std.map(|std| (mean - std).max(mean / 10.0)),
                    high: std.map(|std| mean + std),
                    text: Some(meant(mean, Meant::TokPerS)),
                    ..ifm_chart::Point::default()
                })
            })
            .collect(),
        ..Series::default()
    };
    let limit = |(row, model): (usize, &Model)| {
        let limit = model.limit(subject)?;
        Some(ifm_chart::Point {
            x: row as f64,
            y: Some(limit),
            text: Some(meant(limit, Meant::TokPerS)),
            ..ifm_chart::Point::default()
        })
    };
    let limits = Series {
        name: "limit of generation".to_owned(),
        color: GREY,
        form: Form::Tick,
        mark: Mark::None,
        points: models.iter().enumerate().filter_map(limit).collect(),
        ..Series::default()
    };
    let series: Vec<Series> =
        [(0, "generation", Quantity::DecodeRate), (1, "prompt", Quantity::PrefillRate)]
            .map(dots)
            .into_iter()
            .chain([limits])
            .filter(|series| !series.points.is_empty())
            .collect();
    let words = |model: &Model| {
        let (mean, ..) = model.speed(&Quantity::DecodeRate)?;
        Some(format!("{} {}", plain(&model.name), meant(mean, Meant::TokPerS)))
    };
    let ends: Vec<String> =
        [models.first(), models.last()].into_iter().flatten().filter_map(words).collect();
    Chart {
        id: "models".to_owned(),
        title: "How fast is each model?".to_owned(),
        description: format!("Generation: {}.", ends.join(", down to ")),
        plot: Plot::Cartesian(Cartesian {
            x: Axis {
                scale: Scale::Category(models.iter().map(|model| plain(&model.name)).collect()),
                ..Axis::default()
            },
            y: Axis {
                name: "speed".to_owned(),
                unit: "tok/s".to_owned(),
                scale: Scale::Log10,
                ..Axis::default()
            },
            series,
            is_horizontal: true,
            ..Cartesian::default()
        }),
    }
}

fn models_table(subject: &Subject, models: &[Model]) -> Table {
    let size = Quantity::Other("model_size".to_owned());
    let row = |model: &Model| {
        let first = model.points.first();
        let of = |quantity: &Quantity| {
            model.points.iter().find_map(|point| point.value(quantity, Statistic::Value))
        };
        let rate = |quantity: &Quantity| {
            let found = model.speed(quantity);
            let test = found.and_then(|(_, _, point)| point.factor(key::TEST));
            let text = found.map_or_else(
                || ABSENT.to_owned(),
                |(mean, std, _)| match std {
                    Some(std) => format!("{mean:.2} ± {std:.2}"),
                    None => format!("{mean:.2}"),
                },
            );
            let cell = Cell { value: found.map(|(mean, ..)| mean), ..Cell::text(text) };
            match test {
                Some(test) => cell.noted(plain(&test)),
                None => cell,
            }
        };
        let decode = model.speed(&Quantity::DecodeRate).map(|(mean, ..)| mean);
        let share = decode.zip(model.limit(subject)).map(|(rate, limit)| rate / limit);
        let gpu = first.and_then(|point| point.factor(key::GPU));
        vec![
            Cell::head(plain(&model.name)),
            Cell::number(of(&size), |size| bytes(size as u64)),
            Cell::number(of(&Quantity::Parameters), number),
            rate(&Quantity::PrefillRate),
            rate(&Quantity::DecodeRate),
            Cell::number(share, percent),
            Cell::text(gpu.map_or_else(|| ABSENT.to_owned(), |gpu| plain(&gpu))),
        ]
    };
    let mut heads = vec![Head::text("model")];
    heads.extend(["size", "parameters", "prompt, tok/s", "generation, tok/s"].map(Head::number));
    heads.push(
        Head::number("of limit").explained("generation over what the memory of the machine allows"),
    );
    heads.push(Head::text("GPU"));
    Table {
        caption: "Mean ± standard deviation of the repeats, as the tool computes them.".to_owned(),
        heads,
        rows: models.iter().map(row).collect(),
    }
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
    let models = listed(&points);
    let fastest =
        models.first().and_then(|model| Some((model, model.speed(&Quantity::DecodeRate)?)));
    if let Some((model, (rate, ..))) = fastest {
        let slowest = models.iter().rev().find_map(|model| {
            let (rate, ..) = model.speed(&Quantity::DecodeRate)?;
            Some(format!("; slowest {} {}", plain(&model.name), meant(rate, Meant::TokPerS)))
        });
        let other = slowest.filter(|_| models.len() > 1).unwrap_or_default();
        let detail = format!("{}, one sequence{other}", plain(&model.name));
        tiles.push(tile("How fast does it generate?", number(rate), "tok/s", detail));
    }
    let series = survey.power_series();
    let is_decode = |series: &&PowerSeries| series.quantity != Quantity::PrefillRate;
    let shown = series.iter().find(is_decode).or(series.first());
    if let Some(series) = shown
        && let (Some(keeping), Some(best), Some(highest)) =
            (series.keeping(), series.best(), series.highest())
    {
        let detail = format!(
            "keep the speed of {}; {} give the most per watt ({}{})",
            meant(highest.limit_w, Meant::W),
            meant(best.limit_w, Meant::W),
            change(best.rate / highest.rate - 1.0),
            " speed"
        );
        let value = number(keeping.limit_w);
        tiles.push(tile("Which power limit is enough?", value, "W", detail));
    }
    tiles
}
