//! One configuration: the summary of each thing, a picture of the repeats, and the repeats.

use super::super::Subject;
pub(super) use super::measure::{measure_unit, unit};
use super::{NOT_MEASURED, charts, many, of_configuration, ranking};
use crate::format::{meant, plain};
use crate::page::{Block, Cell, Figure, Head, Section, Table};
use ifm_chart::rounded;
use ifm_compare::matrix::{Contrary, Matrix, Place, Sample};
use ifm_core::Metric;
use ifm_rules::insight::{Meant, Ranks, Tone};

const MS_PER_S: f64 = 1e3;
/// Decimals of means and deviations.
const PLACES: usize = 2;
/// Maximum number of configurations with a picture: a page of thousands of charts is useless.
const PICTURES_MAX: usize = 24;
/// What a picture of repeats shows.
const DOTS: &str =
    "Every repeat, and the mean with its 95 % interval; the axis need not begin at 0.";

/// A column of measurements: its head, its quantity, its unit, and how many of the canonical unit
/// make one of that.
struct Column {
    head: &'static str,
    quantity: Metric,
    unit: &'static str,
    scale: f64,
}

impl Column {
    const fn rate(head: &'static str, quantity: Metric) -> Column {
        Column { head, quantity, unit: "tok/s", scale: 1.0 }
    }
}

static COLUMNS: [Column; 4] = [
    Column { head: "Latency (s)", quantity: Metric::E2e, unit: "s", scale: MS_PER_S },
    Column::rate("Output Throughput (tok/s)", Metric::OutputRate),
    Column::rate("Overall Throughput (tok/s)", Metric::TotalRate),
    Column::rate("Input Throughput (tok/s)", Metric::InputRate),
];
/// What is shown where any model has it.
static OF_MEDIA: [Column; 6] = [
    Column {
        head: "Image Throughput (images/s)",
        quantity: Metric::ImageRate,
        unit: "images/s",
        scale: 1.0,
    },
    Column {
        head: "Pixel Throughput (megapixels/s)",
        quantity: Metric::PixelRate,
        unit: "megapixels/s",
        scale: 1e6,
    },
    Column {
        head: "RTFx of the Level (audio s/s)",
        quantity: Metric::LevelRtfx,
        unit: "audio s/s",
        scale: 1.0,
    },
    Column { head: "RTFx of a Request", quantity: Metric::Rtfx, unit: "", scale: 1.0 },
    Column { head: "TTFA (ms)", quantity: Metric::Ttfa, unit: "ms", scale: 1.0 },
    Column { head: "RTF", quantity: Metric::Rtf, unit: "", scale: 1.0 },
];

/// The columns of a matrix.
fn columns(matrix: &Matrix) -> Vec<&'static Column> {
    let has = |column: &&Column| {
        let central = |point: &&ifm_results::Point| point.central(column.quantity).is_some();
        matrix.cells.iter().any(|cell| cell.points.iter().any(&central))
    };
    COLUMNS.iter().chain(OF_MEDIA.iter().filter(has)).collect()
}

/// The sections of all configurations.
pub(super) fn sections(subject: &Subject, matrix: &Matrix) -> Vec<Section> {
    let ids = matrix.repeat_ids(subject.question.results);
    let mut sections = Vec::new();
    for (index, configuration) in matrix.configurations.iter().enumerate() {
        let name = configuration.name();
        let places = matrix.ranking(index);
        let cells = matrix.row(index).len();
        let mut blocks =
            vec![Block::Prose(format!("Total models tested: {cells}{}", ending(configuration)))];
        let chart = charts::repeats(matrix, index, &places).filter(|_| index < PICTURES_MAX);
        if let Some((chart, is_cut)) = chart {
            let insights = of_configuration(subject.insights, &name);
            let figure = Figure::new(chart, insights).captioned(match is_cut {
                true => format!("{DOTS} An interval that leaves the chart is cut at its edge."),
                false => DOTS.to_owned(),
            });
            blocks.push(Block::Figures(vec![figure]));
        }
        sections.push(Section::new(format!("Configuration: {}", plain(&name)), blocks));
        let summary = vec![Block::Table(summary(matrix, index, &places, subject.question.ranks))];
        sections.push(Section::inner("Summary Table", summary));
        let runs: usize = matrix.row(index).iter().map(|cell| cell.points.len()).sum();
        let table = Block::Table(details(matrix, index, &ids));
        let folded = Block::Details(many(runs, "run", "runs"), vec![table]);
        sections.push(Section::inner("Detailed Results", vec![folded]));
    }
    sections
}

fn ending(configuration: &ifm_compare::matrix::Configuration) -> String {
    match &configuration.ending {
        Some(ending) => format!(". In the document their names end in {}", plain(ending)),
        None => String::new(),
    }
}

/// Mean and standard deviation as these reports write them.
fn spread(sample: Option<&Sample>, column: &Column, unit: &str) -> Cell {
    let Some(sample) = sample else { return Cell::text(NOT_MEASURED) };
    let mean = sample.mean / column.scale;
    let text = match sample.std {
        Some(std) => {
            format!("{} ± {}{unit}", rounded(mean, PLACES), rounded(std / column.scale, PLACES))
        }
        None => format!("{}{unit}", rounded(mean, PLACES)),
    };
    let cell = Cell { value: Some(mean), ..Cell::text(text) };
    if sample.is_trusted() { cell } else { cell.toned(Tone::Warn) }
}

fn summary(matrix: &Matrix, index: usize, places: &[Place], ranks: Ranks) -> Table {
    let contraries = matrix.contraries(index);
    let mut heads = vec![Head::text("Model"), Head::number("Runs")];
    let columns = columns(matrix);
    heads.extend(columns.iter().map(|column| Head::number(column.head)));
    let base = matrix.baseline.map(|baseline| plain(matrix.thing(baseline)));
    heads.extend(base.iter().map(|base| Head::number(format!("× {base}"))));
    heads.push(Head::number("Rank"));
    let row = |(number, place): (usize, &Place)| {
        let cell = matrix.cell(place.thing, index)?;
        let runs = place.sample.n.unwrap_or(cell.points.len());
        let mut row = vec![
            Cell::head(plain(matrix.thing(place.thing))),
            Cell::number(Some(runs as f64), |runs| runs.to_string()),
        ];
        for column in &columns {
            row.push(spread(cell.written(column.quantity).as_ref(), column, ""));
        }
        if base.is_some() {
            let contrary = contraries.iter().find(|contrary| contrary.thing == place.thing);
            row.push(ratio(matrix, place.thing, index, contrary));
        }
        row.push(match () {
            _ if !ranks.are_shared => Cell::number(Some((number + 1) as f64), |n| n.to_string()),
            _ => Cell {
                value: Some(place.placement.first as f64),
                ..Cell::text(ranking::place_text(place))
            },
        });
        Some(row)
    };
    Table {
        caption: caption(matrix, index, ranks),
        heads,
        rows: places.iter().enumerate().filter_map(row).collect(),
    }
}

/// What the numbers of a summary are, and the rule of its ranks.
fn caption(matrix: &Matrix, index: usize, ranks: Ranks) -> String {
    let of = matrix.configurations.get(index);
    let by = of.map(|of| {
        let name = measure_unit(of.measure).0.to_lowercase();
        format!("{name}{}", ranking::reason(of))
    });
    let by = by.unwrap_or_default();
    match ranks.are_shared {
        true => {
            format!("Mean ± standard deviation over the runs. Ranks by {by}. {}.", ranking::SHARED)
        }
        false => format!(
            "Mean ± standard deviation over the runs. Ranks by {by}, each by its mean alone."
        ),
    }
}

/// The ratio to the baseline, and what another measure shows of the same runs.
fn ratio(matrix: &Matrix, thing: usize, index: usize, contrary: Option<&Contrary>) -> Cell {
    if matrix.baseline == Some(thing) {
        return Cell { value: Some(1.0), ..Cell::text("baseline") };
    }
    let Some(ratio) = matrix.speed_up(thing, index) else { return Cell::text(NOT_MEASURED) };
    let cell = Cell { value: Some(ratio.value), ..Cell::text(meant(ratio.value, Meant::Times)) };
    let cell = match contrary.and_then(|contrary| contrary.others.first()) {
        Some((measure, other)) => {
            let name = measure_unit(*measure).0.to_lowercase();
            cell.noted(format!("{} by {name}", meant(other.value, Meant::Times)))
        }
        None => cell,
    };
    match () {
        () if ratio.is_faster() => cell.toned(Tone::Good),
        () if ratio.is_slower() => cell.toned(Tone::Bad),
        () if ratio.is_equal() => cell.noted("no difference shown"),
        () if !ratio.is_trusted => cell.noted("inconclusive: the repeats contradict each other"),
        () => match &ratio.doubt {
            Some(doubt) => cell.noted(format!("inconclusive: {doubt}")),
            None => cell.noted("inconclusive"),
        },
    }
}

/// Every run by model, and the statistics of each with units.
fn details(matrix: &Matrix, index: usize, ids: &[Vec<String>]) -> Table {
    let mut heads = vec![Head::text("Model"), Head::text("Run")];
    let columns = columns(matrix);
    heads.extend(columns.iter().map(|column| Head::number(column.head)));
    let mut rows = Vec::new();
    let cells = matrix.cells.iter().zip(ids).filter(|(cell, _)| cell.configuration == index);
    for (cell, ids) in cells {
        for (number, (point, id)) in cell.points.iter().zip(ids).enumerate() {
            let model = if number == 0 { plain(matrix.thing(cell.thing)) } else { String::new() };
            let is_renamed = point.label.as_ref().is_some_and(|label| label != id);
            let run = Cell::text(plain(id));
            let run = if is_renamed { run.noted("label used twice") } else { run };
            let mut row = vec![Cell { is_head: number == 0, ..Cell::text(model) }, run];
            for column in &columns {
                let value = point.central(column.quantity).map(|found| found.value / column.scale);
                row.push(match value {
                    Some(_) => Cell::number(value, |value| rounded(value, PLACES)),
                    None => Cell::text(NOT_MEASURED),
                });
            }
            rows.push(row);
        }
        let mut row = vec![Cell::text(""), Cell::text("Statistics")];
        for column in &columns {
            let unit = format!(" {}", column.unit);
            row.push(spread(cell.written(column.quantity).as_ref(), column, &unit));
        }
        rows.push(row);
    }
    Table { caption: "Every run under a name of its own.".to_owned(), heads, rows }
}
