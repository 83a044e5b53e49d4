//! Several runs, or documents of other tools: their curves side by side, and every point.

use super::super::Subject;
use super::super::answers::Answers;
use super::super::common::{
    LINES_MAX, about, ends, lines, load_axis, sources, summary, trust, value_axis,
};
use super::super::limit;
use super::super::target;
use crate::format::{meant, number, plain};
use crate::model::load;
use crate::page::{Block, Cell, Figure, Head, Page, Section, Table, Tile};
use ifm_analysis::insight::{Meant, Tone, Topic, setup_of, told_by, user_speed_curves};
use ifm_analysis::survey::{Curve, Pool, Pooled};
use ifm_chart::{Cartesian, Chart, Plot};
use ifm_core::sheet::{PartKind, Quantity, Statistic, key};
use ifm_core::spec::SloSpec;
use ifm_core::words::counted;

/// The page.
pub(super) fn page(subject: &Subject) -> Page {
    let survey = subject.question.survey;
    let pool = survey.pool(PartKind::Serving);
    let by = told_by(&subject.question);
    let models = survey.values(key::MODEL);
    let title = match (subject.title, models.as_slice()) {
        (Some(title), _) => plain(title),
        (None, [only]) => plain(only),
        (None, []) => "Measurements".to_owned(),
        (None, [first, rest @ ..]) => format!("{} and {} more", plain(first), rest.len()),
    };
    let figures = figures(subject, &pool, &by);
    let mut sections = Vec::new();
    if !figures.is_empty() {
        sections.push(Section::new("Against the load", vec![Block::Figures(figures)]));
    }
    let answers = Answers::new(&subject.question, &pool, &by);
    sections.extend(answers.capacity(subject.insights));
    sections.extend(answers.cost(subject.insights));
    sections.push(Section::new("Points", vec![Block::Table(points(&pool, &by))]));
    Page {
        kind: "sweep",
        title,
        facts: sources(survey),
        conditions: vec![format!(
            "{}, {} measured apart",
            counted(pool.cells.iter().map(|cell| cell.points.len() as u64).sum(), "point"),
            pool.cells.len()
        )],
        tiles: answers.tile().into_iter().chain(tiles(&pool, &by)).collect(),
        trust: super::trust_of(subject.runs).or_else(|| subject.audit.map(trust)),
        remarks: summary(subject.insights),
        sections,
        footer: vec![format!("made by inferometer {}", env!("CARGO_PKG_VERSION"))],
        ..Page::default()
    }
}

/// The most output and the best speed for one user.
fn tiles(pool: &Pool, by: &[String]) -> Vec<Tile> {
    let named = |cell: &Pooled| format!("with {}", crate::model::load_words(cell.load()));
    let output = pool
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.central(&Quantity::OutputRate)?.value)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let tile = |question: &str, (value, unit): (String, &str), detail: String, topic| Tile {
        question: question.to_owned(),
        value,
        unit: unit.to_owned(),
        detail,
        topic: Some(topic),
        ..Tile::default()
    };
    let who = |cell: &Pooled| {
        let words: Vec<String> = by.iter().filter_map(|name| cell.factor(name)).collect();
        (!words.is_empty()).then(|| plain(&words.join(" · ")))
    };
    let mut tiles = Vec::new();
    if let Some((cell, rate)) = output {
        let value = (number(rate), "tok/s");
        let tile = tile("What gives most output?", value, named(cell), Topic::Throughput);
        tiles.push(Tile { who: who(cell), ..tile });
    }
    let curves = user_speed_curves(pool, by);
    let fastest = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .max_by(|a, b| a.reading.value.total_cmp(&b.reading.value));
    if let Some(point) = fastest {
        let speed = number(point.reading.value);
        let cell = &point.cell;
        let question = "What is fastest for one user?";
        let tile = tile(question, (speed, "tok/s"), named(cell), Topic::DecodeSpeed);
        tiles.push(Tile { who: who(cell), ..tile });
    }
    tiles
}

/// A measure that a chart shows.
struct Shown {
    id: &'static str,
    question: &'static str,
    name: &'static str,
    quantity: Quantity,
    /// The metric of a latency target; absent for what is no latency.
    metric: Option<&'static str>,
    statistics: Vec<Statistic>,
    topics: &'static [Topic],
}

const CENTER: &[Statistic] = &[Statistic::Median, Statistic::Mean, Statistic::Value];

/// Output, and middle and tail of both latencies.
fn shown(slo: &SloSpec) -> [Shown; 5] {
    let output = Shown {
        id: "output",
        question: "How much comes out?",
        name: "output",
        quantity: Quantity::OutputRate,
        metric: None,
        statistics: vec![Statistic::Value, Statistic::Mean, Statistic::Median],
        topics: &[Topic::Throughput],
    };
    let middle = |id, question, name, quantity, topics| Shown {
        id,
        question,
        name,
        quantity,
        metric: Some(id),
        statistics: CENTER.to_vec(),
        topics,
    };
    let tail = |id, metric, question, name, quantity| Shown {
        id,
        question,
        name,
        quantity,
        metric: Some(metric),
        statistics: target::tails(slo, metric),
        topics: &[],
    };
    [
        output,
        middle(
            "ttft",
            "How long until the first token?",
            "TTFT",
            Quantity::Ttft,
            [Topic::Ttft].as_slice(),
        ),
        tail("ttft-tail", "ttft", "How long do the unlucky wait?", "TTFT", Quantity::Ttft),
        middle("itl", "How long between tokens?", "ITL", Quantity::Itl, [Topic::Itl].as_slice()),
        tail("itl-tail", "itl", "How long are the long gaps?", "ITL", Quantity::Itl),
    ]
}

pub(in crate::kind) fn figures(subject: &Subject, pool: &Pool, by: &[String]) -> Vec<Figure> {
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    let mut figures = Vec::new();
    for shown in shown(&subject.question.slo) {
        let curves = pool.curves_against(&names, |cell| {
            let reading = shown
                .statistics
                .iter()
                .find_map(|statistic| cell.reading(&shown.quantity, *statistic))?;
            Some((cell.load()?.value(), reading))
        });
        let curves: Vec<Curve> =
            curves.into_iter().filter(|curve| curve.points.len() > 1).collect();
        // More lines than a reader can tell apart become several charts.
        for (index, some) in curves.chunks(LINES_MAX).enumerate() {
            let mut chart = chart(subject, &shown, some, index);
            let caption = bounded(subject, &shown, some, &mut chart);
            let insights = about(subject.insights, shown.topics);
            let figure = Figure::new(chart, insights.filter(|_| index == 0));
            figures.push(Figure { caption, ..figure });
        }
    }
    figures
}

/// Draws the limit of the machine where all lines share one; gives the caption that explains it.
fn bounded(
    subject: &Subject,
    shown: &Shown,
    curves: &[Curve],
    chart: &mut Chart,
) -> Option<String> {
    let Plot::Cartesian(plot) = &mut chart.plot else { return None };
    let cells: Vec<Pooled> =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.cell.clone()).collect();
    let setups = cells.iter().map(|cell| {
        setup_of(&subject.question, cell)
            .map(|setup| (setup.model().name.clone(), setup.machine().name.clone(), setup.gpus()))
    });
    let mut setups: Vec<_> = setups.collect();
    setups.dedup();
    let ([Some(_)], "itl") = (setups.as_slice(), shown.id) else { return None };
    plot.series.push(limit::line(&subject.question, &cells, limit::Bounded::Gap)?);
    limit::caption(&subject.question, &cells)
}

fn chart(subject: &Subject, shown: &Shown, curves: &[Curve], index: usize) -> Chart {
    let (how, unit) = match shown.metric {
        Some(_) => (Meant::Ms, "ms"),
        None => (Meant::TokPerS, "tok/s"),
    };
    let mut series = lines(curves, how);
    let mut description = ends(&series, "users");
    let statistic = shown.metric.and(target::common_statistic(curves));
    let of_target = || {
        let metric = shown.metric.unwrap_or_default();
        let slo = &subject.question.slo;
        statistic.into_iter().flat_map(move |statistic| target::terms(slo, metric, statistic))
    };
    if target::hollow(&mut series, of_target()) {
        description.push_str(&format!(" {}", target::HOLLOW));
    }
    let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
    Chart {
        id: format!("{}{number}", shown.id),
        title: shown.question.to_owned(),
        description,
        plot: Plot::Cartesian(Cartesian {
            x: load_axis(curves),
            y: value_axis(&target::named(shown.name, statistic), unit, &series),
            series,
            guides: of_target().map(target::line).collect(),
            has_switch: true,
            ..Cartesian::default()
        }),
    }
}

/// The load of a measurement in a table: `128`, `no limit`, `?`.
pub(in super::super) fn load_of(cell: &Pooled) -> String {
    let stated = cell.factor(key::CONCURRENCY).filter(|_| cell.load().is_none());
    match stated {
        Some(word) if UNLIMITED.iter().any(|other| word.eq_ignore_ascii_case(other)) => {
            "no limit".to_owned()
        }
        Some(word) => plain(&word),
        None => load(cell.load()),
    }
}

/// Words for a concurrency that is not limited.
const UNLIMITED: [&str; 5] = ["max", "inf", "infinite", "unlimited", "none"];

/// Every point.
pub(in super::super) fn points(pool: &Pool, by: &[String]) -> Table {
    let mut heads: Vec<Head> = by.iter().map(|name| Head::text(name.replace('_', " "))).collect();
    let measures: [(&str, Quantity, &[Statistic], Meant); 8] = [
        ("req/s", Quantity::RequestRate, &[Statistic::Value, Statistic::Mean], Meant::Plain),
        (
            "out tok/s",
            Quantity::OutputRate,
            &[Statistic::Value, Statistic::Mean, Statistic::Median],
            Meant::Plain,
        ),
        ("TTFT", Quantity::Ttft, CENTER, Meant::Ms),
        ("TTFT p99", Quantity::Ttft, &[Statistic::Percentile(99.0)], Meant::Ms),
        ("TPOT", Quantity::Tpot, CENTER, Meant::Ms),
        ("ITL", Quantity::Itl, CENTER, Meant::Ms),
        ("ITL p99", Quantity::Itl, &[Statistic::Percentile(99.0)], Meant::Ms),
        ("E2E", Quantity::E2e, CENTER, Meant::Ms),
    ];
    heads.push(Head::number("load"));
    heads.push(Head::number("in flight").explained(
        "requests in flight on average: as told, else by Little's law, req/s times mean time of a \
         request",
    ));
    heads.extend(measures.iter().map(|(name, ..)| Head::number(*name)));
    heads.push(Head::number("repeats"));
    let row = |cell: &Pooled| {
        let mut row: Vec<Cell> = by
            .iter()
            .map(|name| Cell::text(plain(&cell.factor(name).unwrap_or_default())))
            .collect();
        let at = cell.load();
        row.push(Cell { value: at.map(|at| at.value()), ..Cell::head(load_of(cell)) });
        row.push(Cell::number(cell.in_flight_mean(), number));
        for (_, quantity, statistics, how) in &measures {
            let reading =
                statistics.iter().find_map(|statistic| cell.reading(quantity, *statistic));
            let written = Cell::number(reading.as_ref().map(|reading| reading.value), |value| {
                meant(value, *how)
            });
            let is_thin = reading.as_ref().is_some_and(|reading| !reading.is_enough);
            row.push(match (is_thin, reading.and_then(|reading| reading.n)) {
                (true, Some(n)) => written.noted(format!("n={n}")).toned(Tone::Note),
                _ => written,
            });
        }
        row.push(Cell::text(cell.points.len().to_string()));
        row
    };
    // Where the load is not known a row has no place among the others.
    let mut cells: Vec<&Pooled> = pool.cells.iter().collect();
    cells.sort_by_key(|cell| cell.load().is_none());
    let mut table = Table {
        caption: "Means over repeats. Latencies are medians where the document has them, else \
                  means, as its tool defines them."
            .to_owned(),
        heads,
        rows: cells.into_iter().map(row).collect(),
    };
    table.drop_empty_columns();
    table
}
