//! The models that an engine ran: how fast each is, and what its machine allows at most.

use super::super::Subject;
use super::super::common::about;
use super::blocks::speed;
use crate::format::{ABSENT, bytes, meant, number, percent, plain};
use crate::page::{Block, Cell, Figure, Head, Section, Table};
use ifm_analysis::insight::{DecodeLimit, EngineLimit, Meant, Topic, decode_limit};
use ifm_analysis::survey::Point;
use ifm_chart::{Axis, Cartesian, Chart, Form, GREY, Mark, Plot, Scale, Series};
use ifm_core::sheet::{Quantity, Statistic, key};

/// One row of the list of models: its name and its rows.
pub(super) struct Model<'a> {
    pub name: String,
    points: Vec<&'a Point>,
}

impl Model<'_> {
    /// Mean and deviation of a rate, and the row that they stand in.
    pub fn speed(&self, quantity: &Quantity) -> Option<(f64, Option<f64>, &Point)> {
        self.points.iter().find_map(|point| match speed(point) {
            Some((found, mean, std)) if found == *quantity => Some((mean, std, *point)),
            _ => None,
        })
    }

    /// The headings that all its rows stand under.
    fn headings(&self) -> Vec<&str> {
        let Some((first, others)) = self.points.split_first() else { return Vec::new() };
        let has = |point: &&Point, word: &String| point.headings.contains(word);
        let is_shared = |word: &&String| others.iter().all(|point| has(point, word));
        first.headings.iter().filter(is_shared).map(String::as_str).collect()
    }

    /// What the document calls it: the innermost heading that all its rows stand under and no row
    /// of another model. An engine's own name tells the architecture (`llama 13B`), which need not
    /// be the name that the model is known by (`Mistral Nemo 12B`).
    fn known_as<'m>(&'m self, models: &'m [Model]) -> Option<&'m str> {
        let others: Vec<&str> = models
            .iter()
            .filter(|other| other.name != self.name)
            .flat_map(|other| other.points.iter().flat_map(|point| &point.headings))
            .map(String::as_str)
            .collect();
        let own = self.headings().into_iter().rfind(|word| !others.contains(word));
        own.filter(|own| models.len() > 1 && *own != self.name)
    }

    /// Its name; where the engine does not know the size (`llama ?B`), with the document's own.
    pub(super) fn named(&self, models: &[Model]) -> String {
        match self.known_as(models).filter(|_| self.name.contains("?B")) {
            Some(known) => format!("{known} ({})", self.name),
            None => self.name.clone(),
        }
    }

    /// What machine and model allow.
    fn limit(&self, subject: &Subject) -> Option<EngineLimit> {
        let (.., point) = self.speed(&Quantity::DecodeRate)?;
        decode_limit(&subject.question, point)
    }

    /// The same where it is a number.
    fn at_most(&self, subject: &Subject) -> Option<DecodeLimit> {
        match self.limit(subject)? {
            EngineLimit::AtMost(limit) => Some(limit),
            EngineLimit::Larger { .. } => None,
        }
    }
}

/// Models with their rows at the highest power limit, the fastest generation first.
pub(super) fn listed<'a>(points: &[&'a Point]) -> Vec<Model<'a>> {
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

/// The chapter.
pub(super) fn section(subject: &Subject, points: &[&Point]) -> Section {
    let models = listed(points);
    let mut blocks = Vec::new();
    if models.len() > 1 {
        let limit = about(subject.insights, &[Topic::DecodeSpeed])
            .filter(|insight| insight.rule == "engine_limit");
        let figure =
            Figure::new(models_chart(subject, &models), limit).captioned(caption(subject, &models));
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
        let limit = model.at_most(subject)?.tok_per_s;
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
    let gpus = gpus(models);
    let has_names = models.iter().any(|model| model.known_as(models).is_some());
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
        let gpu = first.and_then(|point| point.factor(key::GPU));
        let mut row = vec![
            Cell::head(plain(&model.name)),
            Cell::number(of(&size), |size| bytes(size as u64)),
            Cell::number(of(&Quantity::Parameters), billions),
            rate(&Quantity::PrefillRate),
            rate(&Quantity::DecodeRate),
            at_most(subject, model),
            Cell::number(share(subject, model, decode), percent),
        ];
        if has_names {
            row.insert(1, Cell::text(model.known_as(models).map_or(ABSENT.to_owned(), plain)));
        }
        if gpus.len() > 1 {
            row.push(Cell::text(gpu.map_or_else(|| ABSENT.to_owned(), |gpu| plain(&gpu))));
        }
        row
    };
    let mut heads = vec![Head::text("model")];
    if has_names {
        heads.push(Head::text("in the document").explained("the heading that it stands under"));
    }
    heads.extend(["size", "parameters", "prompt, tok/s", "generation, tok/s"].map(Head::number));
    heads
        .push(Head::number("at most, tok/s").explained("what the machine allows: see the caption"));
    heads.push(Head::number("of limit").explained("generation over what the machine allows"));
    let mut on = String::new();
    match gpus.as_slice() {
        [Some(only)] => on = format!(" All on {}.", plain(only)),
        [] | [None] => {}
        _ => heads.push(Head::text("GPU")),
    }
    Table {
        caption: format!(
            "Mean ± standard deviation of the repeats, as the tool computes them.{on}{}",
            formula(subject, models)
        ),
        heads,
        rows: models.iter().map(row).collect(),
    }
}

/// The GPUs that the models ran on; none where a row does not say it.
fn gpus(models: &[Model]) -> Vec<Option<String>> {
    let mut gpus: Vec<Option<String>> = Vec::new();
    for model in models {
        let gpu = model.points.first().and_then(|point| point.factor(key::GPU));
        if !gpus.contains(&gpu) {
            gpus.push(gpu);
        }
    }
    gpus
}

/// A number of parameters as people say it: `6.74 B`.
fn billions(parameters: f64) -> String {
    format!("{} B", number(parameters / 1e9))
}

/// The most that the machine allows, with what is read for it; or why there is no such number.
fn at_most(subject: &Subject, model: &Model) -> Cell {
    match model.limit(subject) {
        None => Cell::text(ABSENT),
        Some(EngineLimit::AtMost(limit)) => {
            let cell = Cell::number(Some(limit.tok_per_s), number);
            match limit.bytes_per_token {
                Some(read) => cell.noted(format!("{} per token", bytes(read as u64))),
                None => cell,
            }
        }
        Some(EngineLimit::Larger { memory_bytes, .. }) => Cell::text(ABSENT).noted(format!(
            "larger than the GPU's {}: part of it runs elsewhere",
            bytes(memory_bytes as u64)
        )),
    }
}

fn share(subject: &Subject, model: &Model, rate: Option<f64>) -> Option<f64> {
    Some(rate? / model.at_most(subject)?.tok_per_s)
}

/// What the strokes are, and which models have none because they do not fit.
fn caption(subject: &Subject, models: &[Model]) -> String {
    let mut caption = "Where a model ran at several power limits, at the highest.".to_owned();
    if models.iter().any(|model| model.at_most(subject).is_some()) {
        caption.push_str(" Grey strokes: what the memory bandwidth of the machine allows.");
    }
    let is_larger =
        |model: &&Model| matches!(model.limit(subject), Some(EngineLimit::Larger { .. }));
    let larger: Vec<String> =
        models.iter().filter(is_larger).map(|model| plain(&model.name)).collect();
    if !larger.is_empty() {
        caption.push_str(&format!(
            " {}: no stroke, since the weights are larger than the memory of the GPU and part of \
             the model runs elsewhere.",
            larger.join(", ")
        ));
    }
    caption
}

/// How the limit is computed and from which row of the table of machines; nothing without one.
fn formula(subject: &Subject, models: &[Model]) -> String {
    let limits = models.iter().filter_map(|model| model.at_most(subject));
    let mut rows: Vec<String> = limits
        .map(|limit| {
            let rate = meant(limit.bytes_per_s, Meant::BytesPerS);
            format!("{rate} ({}: {})", limit.machine, plain(&limit.source))
        })
        .collect();
    rows.dedup();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        " At most: memory bandwidth / bytes of weights and cache read for one token; bandwidth from \
         the hardware table: {}.",
        rows.join("; ")
    )
}
