//! The models that an engine ran: how fast each is, and what its machine allows at most.

use super::super::Subject;
use super::super::common::about;
use super::blocks::speed;
use crate::format::{ABSENT, bytes, meant, number, percent, plain};
use crate::page::{Block, Cell, Columns, Figure, Head, Section, Table};
use ifm_chart::{Axis, Cartesian, Chart, Form, Mark, Point as ChartPoint, Scale, Series};
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{Factors, Statistic, key};
use ifm_core::words::counted;
use ifm_results::Point;
use ifm_rules::insight::{DecodeLimit, EngineLimit, Meant, Topic, decode_limit};

/// The setting of llama-bench and of our engine.
const THREADS: &str = "n_threads";

/// One row of the list of models: its name and its rows.
pub(super) struct Model<'a> {
    pub name: String,
    points: Vec<&'a Point>,
}

impl Model<'_> {
    /// Mean and deviation of a rate, and their row: the first test at the highest power limit, with
    /// the fastest number of threads.
    pub fn speed(&self, quantity: Metric) -> Option<(f64, Option<f64>, &Point)> {
        let mut rows = self.points.iter().filter_map(|point| match speed(point) {
            Some((found, mean, std)) if found == quantity => Some((mean, std, *point)),
            _ => None,
        });
        let first = rows.next()?;
        let but_threads = |point: &Point| {
            let mut setting = Factors::default();
            for (name, value) in point.setting.iter().filter(|(name, _)| *name != THREADS) {
                setting.set(name, value);
            }
            setting
        };
        let wanted = but_threads(first.2);
        let mut seen = vec![first.2.factor(THREADS)];
        let mut best = first;
        for row in rows.filter(|(.., point)| but_threads(point) == wanted) {
            // Of repeats the first, as without threads.
            let threads = row.2.factor(THREADS);
            if !seen.contains(&threads) {
                seen.push(threads);
                best = if row.0 > best.0 { row } else { best };
            }
        }
        Some(best)
    }

    /// The threads of a row, where not all rows ran with as many.
    fn threads(&self, point: &Point) -> Option<String> {
        let threads = point.factor(THREADS)?;
        let differ =
            self.points.iter().any(|other| other.factor(THREADS).as_ref() != Some(&threads));
        let words = || threads.parse().ok().map(|threads| counted(threads, "thread"));
        differ.then(words).flatten()
    }

    /// The headings above all of its rows.
    fn headings(&self) -> Vec<&str> {
        let Some((first, others)) = self.points.split_first() else { return Vec::new() };
        let has = |point: &&Point, word: &String| point.headings.contains(word);
        let is_shared = |word: &&String| others.iter().all(|point| has(point, word));
        first.headings.iter().filter(is_shared).map(String::as_str).collect()
    }

    /// The document's name for it: the innermost heading above all of its rows and above no row of
    /// another model. An engine reports the architecture (`llama 13B`), which may differ from the
    /// usual name of the model (`Mistral Nemo 12B`).
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
        let (.., point) = self.speed(Metric::DecodeRate)?;
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
        model.points.order_by(|a, b| limit(b).total_cmp(&limit(a)));
    }
    let decode = |model: &Model| model.speed(Metric::DecodeRate).map_or(0.0, |(rate, ..)| rate);
    models.order_by(|a, b| decode(b).total_cmp(&decode(a)));
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
    let dots = |(index, name, quantity): (usize, &str, Metric)| {
        let point = |(row, model): (usize, &Model)| {
            let (mean, std, _) = model.speed(quantity)?;
            let low = std.map(|std| (mean - std).max(mean / 10.0));
            let point = ChartPoint::at(row as f64, mean).between(low, std.map(|std| mean + std));
            Some(point.told(meant(mean, Meant::TokPerS)))
        };
        let points = models.iter().enumerate().filter_map(point);
        let mark = if index == 0 { Mark::Circle } else { Mark::Diamond };
        Series { mark, ..Series::new(name, points).form(Form::Dots).of(index) }
    };
    let limit = |(row, model): (usize, &Model)| {
        let limit = model.at_most(subject)?.tok_per_s;
        Some(ChartPoint::at(row as f64, limit).told(meant(limit, Meant::TokPerS)))
    };
    let limits = models.iter().enumerate().filter_map(limit);
    let limits = Series::reference("limit of generation", limits).form(Form::Tick);
    let speeds = [(0, "generation", Metric::DecodeRate), (1, "prompt", Metric::PrefillRate)];
    let mut series: Vec<Series> = speeds.map(dots).into_iter().chain([limits]).collect();
    series.retain(|series| !series.points.is_empty());
    let words = |model: &Model| {
        let (mean, ..) = model.speed(Metric::DecodeRate)?;
        Some(format!("{} {}", plain(&model.name), meant(mean, Meant::TokPerS)))
    };
    let ends: Vec<String> =
        [models.first(), models.last()].into_iter().flatten().filter_map(words).collect();
    let description = format!("Generation: {}.", ends.join(", down to "));
    let x = Axis::of_names(models.iter().map(|model| plain(&model.name)));
    let y = Axis::new("speed", "tok/s").scaled(Scale::Log10);
    let plot = Cartesian::new(x, y, series).horizontal();
    Chart::new("models", "How fast is each model?", description, plot)
}

fn models_table(subject: &Subject, models: &[Model]) -> Table {
    let size = Metric::other("model_size");
    let gpus = gpus(models);
    let has_names = models.iter().any(|model| model.known_as(models).is_some());
    let value = |model: &Model, quantity: Metric| {
        model.points.iter().find_map(|point| point.value(quantity, Statistic::Value))
    };
    let gpu = |model: &Model| model.points.first().and_then(|point| point.factor(key::GPU));
    let or_absent = |text: Option<&str>| text.map_or_else(|| ABSENT.to_owned(), plain);
    let decode = |model: &Model| model.speed(Metric::DecodeRate).map(|(mean, ..)| mean);
    let columns = Columns::<Model>::default()
        .name("model", |model| plain(&model.name))
        .text("in the document", |model: &Model| or_absent(model.known_as(models)))
        .explained("the heading above its rows")
        .when(has_names)
        .number("size", |model| value(model, size), |size| bytes(size as u64))
        .number("parameters", |model| value(model, Metric::Parameters), billions)
        .cell(Head::number("prompt, tok/s"), |model| rate(model, Metric::PrefillRate))
        .cell(Head::number("generation, tok/s"), |model| rate(model, Metric::DecodeRate))
        .cell(Head::number("limit, tok/s"), |model: &Model| at_most(subject, model))
        .explained("what the machine allows: see the caption")
        .number("of limit", |model: &Model| share(subject, model, decode(model)), percent)
        .explained("generation over what the machine allows")
        .text("GPU", |model: &Model| or_absent(gpu(model).as_deref()))
        .when(gpus.len() > 1);
    let on = match gpus.as_slice() {
        [Some(only)] => format!(" All on {}.", plain(only)),
        _ => String::new(),
    };
    let caption = format!(
        "Mean ± standard deviation of the repeats, as the tool computes them.{on}{}",
        formula(subject, models)
    );
    columns.table(caption, models)
}

/// A speed with its deviation, and the test that it is of.
fn rate(model: &Model, quantity: Metric) -> Cell {
    let Some((mean, std, point)) = model.speed(quantity) else { return Cell::text(ABSENT) };
    let text = match std {
        Some(std) => format!("{mean:.2} ± {std:.2}"),
        None => format!("{mean:.2}"),
    };
    let cell = Cell { value: Some(mean), ..Cell::text(text) };
    let note = point.factor(key::TEST).into_iter().chain(model.threads(point));
    match note.collect::<Vec<String>>().join(", ") {
        note if note.is_empty() => cell,
        note => cell.noted(plain(&note)),
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

/// The maximum that the machine allows, with the bytes read for it; or why it is unknown.
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
    let has_threads = |model: &Model| model.points.iter().any(|row| model.threads(row).is_some());
    if models.iter().any(has_threads) {
        caption.push_str(" With several numbers of threads, the fastest.");
    }
    if models.iter().any(|model| model.at_most(subject).is_some()) {
        caption.push_str(" Gray marks: the limit set by the machine's memory bandwidth.");
    }
    let is_larger =
        |model: &&Model| matches!(model.limit(subject), Some(EngineLimit::Larger { .. }));
    let larger: Vec<String> =
        models.iter().filter(is_larger).map(|model| plain(&model.name)).collect();
    if !larger.is_empty() {
        caption.push_str(&format!(
            " {}: no mark, since the weights are larger than the memory of the GPU and part of \
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
            let from = if limit.is_measured { "" } else { "the hardware table: " };
            format!("{from}{rate} ({}: {})", limit.machine, plain(&limit.source))
        })
        .collect();
    rows.dedup();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        " At most: memory bandwidth / bytes of weights and cache read for one token; bandwidth from \
         {}.",
        rows.join("; ")
    )
}
