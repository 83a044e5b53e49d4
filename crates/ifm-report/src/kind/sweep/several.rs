//! Several runs, or documents of other tools: their curves side by side, and every point.

use super::super::Subject;
use super::super::answers::Answers;
use super::super::common::{
    LINES_MAX, about, ends, lines, load_axis, numbered, page as frame, value_axis,
};
use super::super::cumulative::{self, Of};
use super::super::limit;
use super::super::target;
use super::KIND;
use crate::format::{meant, number, plain};
use crate::model::load;
use crate::page::{Block, Cell, Column, Columns, Figure, Head, Page, Section, Table, Tile};
use ifm_chart::{Cartesian, Chart, Plot};
use ifm_compare::comparison::Doubt;
use ifm_core::Metric;
use ifm_core::order::Order as _;
use ifm_core::sheet::{PartKind, Statistic, key};
use ifm_core::spec::SloSpec;
use ifm_core::words::counted;
use ifm_metrics::level::Load;
use ifm_results::{Curve, Pool, Pooled, Stat, factor_words};
use ifm_rules::insight::{
    CENTER, Delta, Meant, OUTPUT, Question, Tone, Topic, setup_of, told_by, user_speed,
    user_speed_curves,
};

/// The page.
pub(super) fn page(subject: &Subject) -> Page {
    let results = subject.question.results;
    let pool = results.pool(PartKind::Serving);
    let by = told_by(&subject.question);
    let figures = figures(subject, &pool, &by);
    let mut sections = Vec::new();
    if !figures.is_empty() {
        sections.push(Section::new("Against the load", vec![Block::Figures(figures)]));
    }
    sections.extend(distributions(subject, &pool, &by).filter(|_| sections.is_empty()));
    let answers = Answers::new(&subject.question, &pool, &by);
    sections.extend(answers.capacity(subject.insights));
    sections.extend(answers.cost(subject.insights));
    sections.push(Section::new("Points", vec![Block::Table(points(&pool, &by))]));
    let page = frame(subject, (KIND.word, results), subject.insights, (key::MODEL, "Measurements"));
    let points = || pool.cells.iter().flat_map(|cell| &cell.points);
    let predicted = points().filter(|point| point.is_predicted()).count();
    let of_them = match predicted {
        0 => counted(pool.cells.len() as u64, "configuration"),
        _ => format!(
            "{}, {predicted} predicted and not measured",
            counted(pool.cells.len() as u64, "configuration")
        ),
    };
    // A prediction wins nothing against a measurement.
    let measured = results.without_predictions();
    let tiles: Vec<Tile> = match results.is_mixed() {
        false => answers.tile().into_iter().chain(tiles(&subject.question, &pool, &by)).collect(),
        true => {
            let question = Question { results: &measured, ..subject.question.clone() };
            let (pool, by) = (measured.pool(PartKind::Serving), told_by(&question));
            let answer = Answers::new(&question, &pool, &by).tile();
            answer.into_iter().chain(tiles(&question, &pool, &by)).collect()
        }
    };
    Page {
        conditions: vec![format!("{}, {of_them}", counted(points().count() as u64, "point"))],
        tiles,
        trust: super::trust_of(subject.runs).or(page.trust),
        sections,
        footer: vec![format!("made by inferometer {}", env!("CARGO_PKG_VERSION"))],
        ..page
    }
}

/// How the latencies of each configuration are distributed: what a chart shows where nothing was
/// measured at two loads.
fn distributions(subject: &Subject, pool: &Pool, by: &[String]) -> Option<Section> {
    let name = |cell: &Pooled| {
        let words: Vec<String> =
            by.iter().filter_map(|name| Some(factor_words(name, &cell.factor(name)?))).collect();
        plain(&format!("{} {}", words.join(" · "), crate::model::load_words(cell.load())))
    };
    let cells = pool.cells.iter().take(LINES_MAX).enumerate();
    let all: Vec<Of> =
        cells.map(|(thing, cell)| Of { name: name(cell).trim().to_owned(), thing, cell }).collect();
    let found = cumulative::figures((subject.runs, &subject.question.slo), &all);
    (!found.is_empty())
        .then(|| Section::new("Latency of the requests", vec![Block::Figures(found)]))
}

/// The most output and the best speed for one user. Other sides from which the data do not distinguish
/// the best one are named.
fn tiles(question: &Question, pool: &Pool, by: &[String]) -> Vec<Tile> {
    let who = |cell: &Pooled| {
        let words: Vec<String> =
            by.iter().filter_map(|name| Some(factor_words(name, &cell.factor(name)?))).collect();
        (!words.is_empty()).then(|| plain(&words.join(" · ")))
    };
    type Judge<'j> = &'j dyn Fn(&Pooled, &Pooled) -> Option<Delta>;
    let tile = |asked: &str, found: &[(&Pooled, f64)], judge: Judge, topic| {
        let (best, rate) = *found.first()?;
        let mut open: Vec<String> = Vec::new();
        let mut short: Vec<String> = Vec::new();
        let mut known = vec![who(best)];
        // The best of each other side.
        for (other, _) in found {
            if known.contains(&who(other)) {
                continue;
            }
            known.push(who(other));
            let Some(delta) = judge(other, best).filter(Delta::is_open) else { continue };
            match &delta.doubt {
                Some(Doubt::Short(shortage)) => {
                    short.extend(who(other).map(|name| format!("{name} ({shortage})")));
                }
                _ => open.extend(who(other)),
            }
        }
        let at = crate::model::load_words(best.load());
        let mut detail = match (topic, best.load()) {
            // The load is not that of the one user who is asked about.
            (Topic::DecodeSpeed, Some(Load::Users(2..))) => format!("speed of each of {at}"),
            _ => format!("with {at}"),
        };
        if !open.is_empty() {
            detail.push_str(&format!("; not distinguished from {}", open.join(", ")));
        }
        if !short.is_empty() {
            detail.push_str(&format!("; not proven against {}", short.join(", ")));
        }
        Some(Tile::new(asked, number(rate), "tok/s", detail).by(who(best)).on(topic))
    };
    let mut output: Vec<(&Pooled, f64)> = pool
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.central(Metric::OutputRate)?.value)))
        .collect();
    output.order_by(|a, b| b.1.total_cmp(&a.1));
    let curves = user_speed_curves(pool, by);
    let points = curves.iter().flat_map(|curve| &curve.points);
    let mut speeds: Vec<(&Pooled, f64)> =
        points.map(|point| (&point.cell, point.stat.value)).collect();
    speeds.order_by(|a, b| b.1.total_cmp(&a.1));
    let most = |a: &Pooled, b: &Pooled| question.delta(a, b, Metric::OutputRate, OUTPUT);
    let fastest = |a: &Pooled, b: &Pooled| user_speed(question, a, b);
    [
        tile("What gives most output?", &output, &most, Topic::Throughput),
        tile("What is fastest for one user?", &speeds, &fastest, Topic::DecodeSpeed),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A measure that a chart shows.
struct Shown {
    id: &'static str,
    question: &'static str,
    name: &'static str,
    quantity: Metric,
    /// The metric of a latency target; absent for what is not a latency.
    metric: Option<&'static str>,
    statistics: Vec<Statistic>,
    topics: &'static [Topic],
}

/// Output, middle and tail of both latencies of a stream, and the time of whole answers.
fn shown(slo: &SloSpec) -> [Shown; 6] {
    let of = |id, name, quantity, question, statistics: &[Statistic], topics| Shown {
        id,
        question,
        name,
        quantity,
        metric: None,
        statistics: statistics.to_vec(),
        topics,
    };
    let middle = |id, name, quantity, question, topics| Shown {
        metric: Some(id),
        ..of(id, name, quantity, question, CENTER, topics)
    };
    let tail = |id, metric, name, quantity, question| Shown {
        metric: Some(metric),
        ..of(id, name, quantity, question, &target::tails(slo, metric), &[])
    };
    let (ttft, itl) = (Metric::Ttft, Metric::Itl);
    let long = "How long until the first token?";
    [
        of(
            "output",
            "output",
            Metric::OutputRate,
            "Output throughput",
            OUTPUT,
            &[Topic::Throughput],
        ),
        middle("ttft", "TTFT", ttft, long, &[Topic::Ttft]),
        tail("ttft-tail", "ttft", "TTFT", ttft, "How long do the slowest requests wait?"),
        middle("itl", "ITL", itl, "How long between tokens?", &[Topic::Itl]),
        tail("itl-tail", "itl", "ITL", itl, "How long are the long gaps?"),
        middle("e2e", "E2E", Metric::E2e, "How long does a whole answer take?", &[]),
    ]
}

pub(in crate::kind) fn figures(subject: &Subject, pool: &Pool, by: &[String]) -> Vec<Figure> {
    let names: Vec<&str> = by.iter().map(String::as_str).collect();
    let mut figures = Vec::new();
    for shown in shown(&subject.question.slo) {
        let curves = pool.curves_against(&names, |cell| {
            Some((cell.load()?.value(), cell.first_of(shown.quantity, &shown.statistics)?))
        });
        let curves: Vec<Curve> =
            curves.into_iter().filter(|curve| curve.points.len() > 1).collect();
        // More lines than a reader can distinguish become several charts.
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
    let y = value_axis(&target::named(shown.name, statistic), unit, &series);
    let plot = Cartesian::new(load_axis(curves), y, series).switched();
    let plot = plot.guided(of_target().map(target::line));
    Chart::new(numbered(shown.id, index), shown.question, description, plot)
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

/// A column: its name, what it shows, and how.
type Measured = (&'static str, Metric, &'static [Statistic], Meant);

const PER_MEGA: f64 = 1e6;

/// What columns of media are, in words.
const EXPLAINED: [(Metric, &str); 6] = [
    (Metric::ImageRate, "images in the prompts of complete answers, per second"),
    (Metric::PixelRate, "pixels of images and video frames, likewise, in millions"),
    (
        Metric::LevelRtfx,
        "seconds of audio in the prompts of complete answers, per second: many are heard at once",
    ),
    (Metric::Rtfx, "seconds of audio in a prompt over its end-to-end time"),
    (Metric::Ttfa, "time to the first byte of audio in an answer"),
    (Metric::Rtf, "end-to-end time over the length of the audio in the answer"),
];

/// Words for a concurrency that is not limited.
const UNLIMITED: [&str; 5] = ["max", "inf", "infinite", "unlimited", "none"];

/// Every point.
pub(in super::super) fn points(pool: &Pool, by: &[String]) -> Table {
    const RATE: &[Statistic] = &[Statistic::Value, Statistic::Mean];
    const P99: &[Statistic] = &[Statistic::Percentile(99.0)];
    let measures: [Measured; 15] = [
        ("req/s", Metric::RequestRate, RATE, Meant::Plain),
        ("out tok/s", Metric::OutputRate, OUTPUT, Meant::Plain),
        ("TTFT", Metric::Ttft, CENTER, Meant::Ms),
        ("TTFT p99", Metric::Ttft, P99, Meant::Ms),
        ("TPOT", Metric::Tpot, CENTER, Meant::Ms),
        ("ITL", Metric::Itl, CENTER, Meant::Ms),
        ("ITL p99", Metric::Itl, P99, Meant::Ms),
        ("E2E", Metric::E2e, CENTER, Meant::Ms),
        ("images/s", Metric::ImageRate, RATE, Meant::Plain),
        ("megapixels/s", Metric::PixelRate, RATE, Meant::Plain),
        ("RTFx of the level", Metric::LevelRtfx, RATE, Meant::Plain),
        ("RTFx", Metric::Rtfx, CENTER, Meant::Plain),
        ("TTFA", Metric::Ttfa, CENTER, Meant::Ms),
        ("RTF", Metric::Rtf, CENTER, Meant::Plain),
        ("failed", Metric::RequestsFailed, RATE, Meant::Plain),
    ];
    let factor = |name: &String| {
        let (head, name) = (Head::text(name.replace('_', " ")), name.clone());
        Column::new(head, move |cell: &Pooled| {
            Cell::text(plain(&cell.factor(&name).unwrap_or_default()))
        })
    };
    let measure = |(name, quantity, statistics, how): Measured| {
        let head = Head::number(named(pool, name, quantity, statistics));
        let explained = EXPLAINED.iter().find(|(of, _)| *of == quantity);
        let head =
            explained.map_or_else(|| head.clone(), |(_, long)| head.clone().explained(*long));
        Column::new(head, move |cell: &Pooled| {
            let reading = cell.first_of(quantity, statistics);
            let per_unit = if quantity == Metric::PixelRate { PER_MEGA } else { 1.0 };
            let scaled = |reading: Stat| Stat { value: reading.value / per_unit, ..reading };
            measured(reading.map(scaled), how)
        })
    };
    let columns = Columns::<Pooled>::default()
        .all(by.iter().map(factor))
        .cell(Head::number("load"), |cell| Cell {
            value: cell.load().map(|at| at.value()),
            ..Cell::head(load_of(cell))
        })
        .number("in flight", |cell| cell.in_flight_mean(), number)
        .explained(
            "requests in flight on average: as told, else by Little's law, req/s times mean time of \
             a request",
        )
        .all(measures.map(measure))
        .cell(Head::number("repeats"), |cell| Cell::text(cell.points.len().to_string()));
    // Where the load is not known a row has no place among the others.
    let mut cells: Vec<&Pooled> = pool.cells.iter().collect();
    cells.order_by_key(|cell| cell.load().is_none());
    let caption = "Geometric means over repeats. Latencies are medians where the document has them, else \
                   means, as its tool defines them.";
    let mut table = columns.table(caption, cells);
    table.drop_empty_columns();
    table
}

/// The head of a column with the statistic that all its figures are; without it where they differ.
fn named(pool: &Pool, name: &str, quantity: Metric, statistics: &[Statistic]) -> String {
    if statistics != CENTER {
        return name.to_owned();
    }
    let stats = pool.cells.iter().filter_map(|cell| cell.first_of(quantity, statistics));
    let mut found: Vec<Statistic> = stats.map(|reading| reading.statistic).collect();
    found.dedup();
    match found.as_slice() {
        [Statistic::Median] => format!("{name} p50"),
        [Statistic::Mean] => format!("{name} mean"),
        _ => name.to_owned(),
    }
}

/// A figure, marked where it is based on too few values.
fn measured(reading: Option<Stat>, how: Meant) -> Cell {
    let value = reading.as_ref().map(|reading| reading.value);
    let cell = Cell::number(value, |value| meant(value, how));
    match reading.filter(|reading| !reading.is_enough).and_then(|reading| reading.n) {
        Some(n) => cell.noted(format!("n={n}")).toned(Tone::Note),
        None => cell,
    }
}
