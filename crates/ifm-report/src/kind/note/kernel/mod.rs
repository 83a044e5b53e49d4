//! Attention kernels under masks, and what the machine reaches at most.

mod tables;

use super::super::Subject;
use super::super::common::about;
use super::blocks::attention;
use crate::format::{count, meant, number, percent, plain};
use crate::page::{Block, Figure, Section, Table, Tile};
use ifm_chart::{Axis, Cartesian, Chart, Form, Guide, Mask, Plot, Point, Scale, Series, Tone};
use ifm_core::sheet::Part;
use ifm_results::{KernelMask, KernelTime, Results};
use ifm_rules::insight::{Meant, Topic};
use serde_json::Value;

const FLOP_PER_TFLOP: f64 = 1e12;
const FLOP_PER_GFLOP: f64 = 1e9;
const FORWARD: &str = "forward";

/// The chapter, and one inside it for each mask; none without a kernel.
pub(super) fn sections(subject: &Subject) -> Vec<Section> {
    let ceilings = tables::ceilings(&subject.question.results.ceilings());
    let masks = subject.question.results.kernels();
    if masks.is_empty() {
        return ceilings.into_iter().collect();
    }
    let over_all = about(subject.insights, &[Topic::Kernel]).filter(|one| one.of.is_none());
    let mut figures = Vec::new();
    figures.extend(ratios(&masks).map(|chart| {
        let caption = "Forward. Hollow: the kernel computes another mask there.";
        Figure::new(chart, over_all).captioned(caption)
    }));
    figures.extend(arithmetic(&masks).map(|chart| {
        let caption = match masks.iter().all(tables::is_ours) {
            true => "Forward; operations are counted alike for all kernels: allowed pairs alone.",
            false => {
                "Forward, by the tool's own count of operations, which need not be the same for all \
                 kernels: times compare better."
            }
        };
        Figure::new(chart, []).captioned(caption)
    }));
    let mut sections = vec![Section::new("Attention kernels", vec![Block::Figures(figures)])];
    for mask in &masks {
        let of = about(subject.insights, &[Topic::Kernel])
            .filter(|one| one.of.as_deref() == Some(mask.name.as_str()));
        let mut blocks = Vec::new();
        let part = super::part(subject, mask.part);
        let check = part.and_then(|part| part.unknown.get("correctness_check"));
        let picture = picture(mask, part);
        match picture {
            Some(chart) => blocks.push(Block::Figures(vec![Figure::new(chart, of)])),
            None => blocks.push(Block::Remarks(of.map(crate::page::Remark::of).collect())),
        }
        match tables::is_ours(mask) {
            true => blocks.push(tables::of_mask(mask)),
            false => blocks.push(Block::Pre(attention(mask, check.and_then(Value::as_str)))),
        }
        blocks.extend(tables::missing(subject, mask));
        sections.push(Section::inner(plain(&mask.name), blocks));
    }
    sections.extend(ceilings);
    sections
}

/// Every kernel under every mask in one table; absent without a kernel.
pub fn overview(results: &Results) -> Option<Table> {
    let masks = results.kernels();
    (!masks.is_empty()).then(|| tables::overview(&masks))
}

/// The largest lead of a kernel over another under a mask that both compute.
pub(super) fn tile(results: &Results) -> Option<Tile> {
    let masks = results.kernels();
    let leads = masks.iter().filter_map(|mask| {
        let ranked = mask.ranked(FORWARD);
        let ((first, ms), (last, slowest)) = (*ranked.first()?, *ranked.last()?);
        (first != last).then(|| (mask, first.to_owned(), last.to_owned(), slowest / ms))
    });
    let (mask, first, last, ratio) = leads.max_by(|a, b| a.3.total_cmp(&b.3))?;
    let empty = mask.sparsity.map(|share| format!(", {} of blocks skipped", percent(share)));
    let tokens = mask.tokens().map(|tokens| format!(", {} tokens", count(tokens)));
    let detail =
        format!("mask {}{}{}", mask.name, empty.unwrap_or_default(), tokens.unwrap_or_default());
    let question = "Largest speed-up of a forward pass?";
    let tile = Tile::new(question, meant(ratio, Meant::Times), plain(&last), plain(&detail));
    Some(tile.by(Some(plain(&first))))
}

fn kernels(masks: &[KernelMask]) -> Vec<String> {
    let mut kernels: Vec<String> = Vec::new();
    for time in masks.iter().flat_map(|mask| &mask.times) {
        if !kernels.contains(&time.kernel) {
            kernels.push(time.kernel.clone());
        }
    }
    kernels
}

fn categories(masks: &[KernelMask]) -> Axis {
    let names = masks.iter().map(|mask| plain(&mask.name));
    Axis { name: "mask".to_owned(), ..Axis::of_names(names) }
}

/// A series for each of the kernels: hollow where it computes another mask.
fn series(
    masks: &[KernelMask],
    (without, form): (Option<&str>, Form),
    figure: impl Fn(&KernelMask, &str) -> Option<Point>,
) -> Vec<Series> {
    let all = kernels(masks);
    let shown = all.iter().enumerate().filter(|(_, kernel)| without != Some(kernel.as_str()));
    let one = |(index, kernel): (usize, &String)| {
        let point = |(x, mask): (usize, &KernelMask)| {
            let point = figure(mask, kernel)?;
            Some(Point { x: x as f64, ..point }.trusted(mask.computes(kernel)))
        };
        let points = masks.iter().enumerate().filter_map(point);
        Series::new(plain(kernel), points).form(form).of(index)
    };
    shown.map(one).collect()
}

/// The largest figure of all, with its series.
fn best(series: &[Series]) -> Option<(&Series, &Point)> {
    let all = series.iter().flat_map(|series| series.points.iter().map(move |at| (series, at)));
    all.max_by(|a, b| a.1.y.unwrap_or(0.0).total_cmp(&b.1.y.unwrap_or(0.0)))
}

/// How many times as fast as the slowest kernel, a dot for each.
fn ratios(masks: &[KernelMask]) -> Option<Chart> {
    let slowest = KernelMask::slowest(masks, FORWARD)?;
    let series = series(masks, (Some(&slowest), Form::Dots), |mask, kernel| {
        let ratio = mask.ratio(kernel, &slowest, FORWARD)?;
        Some(Point::at(0.0, ratio).told(meant(ratio, Meant::Times)))
    });
    let (_, best) = best(&series)?;
    let place = masks.get(best.x as usize).map(|mask| plain(&mask.name)).unwrap_or_default();
    let description = format!("At most {} ({place}).", best.text.clone().unwrap_or_default());
    let name = plain(&slowest);
    let y = Axis::new(format!("speed over that of {name}"), "×").scaled(Scale::Log10);
    let title = format!("How many times as fast as {name}?");
    let guide = Guide::Horizontal { at: 1.0, name, tone: Tone::Neutral };
    let plot = Cartesian::new(categories(masks), y, series).horizontal().guided([guide]);
    Some(Chart::new("kernel-ratio", title, description, plot))
}

/// Arithmetic rates as groups of bars.
fn arithmetic(masks: &[KernelMask]) -> Option<Chart> {
    let rates = masks.iter().flat_map(|mask| &mask.times).filter_map(|time| time.flop_per_s);
    let (unit, scale) = match rates.fold(0.0, f64::max) {
        most if most < FLOP_PER_TFLOP => ("GFLOPS", FLOP_PER_GFLOP),
        _ => ("TFLOPS", FLOP_PER_TFLOP),
    };
    let series = series(masks, (None, Form::Bar), |mask, kernel| {
        let is = |time: &&KernelTime| time.pass == FORWARD && time.kernel == kernel;
        let rate = mask.times.iter().find(is)?.flop_per_s?;
        Some(Point::at(0.0, rate / scale).told(format!("{} {unit}", number(rate / scale))))
    });
    let (of, best) = best(&series)?;
    let text = best.text.clone().unwrap_or_default();
    let description = format!("At most {text} ({}).", of.name);
    let y = Axis::new("arithmetic", unit);
    let plot = Cartesian::new(categories(masks), y, series).horizontal();
    let title = "How much arithmetic does each do?";
    Some(Chart::new("kernel-arithmetic", title, description, plot))
}

/// The mask itself: fine where its cells are known, else as it was drawn.
fn picture(mask: &KernelMask, part: Option<&Part>) -> Option<Chart> {
    let cells = part.and_then(|part| part.rows.iter().find_map(|row| row.unknown.get("cells")));
    let rows = match cells.and_then(Value::as_array) {
        Some(cells) => cells.iter().filter_map(Value::as_str).map(row_of_cells).collect(),
        None => blocks(mask.drawing?),
    };
    let share = mask.sparsity.map(percent).unwrap_or_default();
    (!rows.is_empty()).then(|| Chart {
        id: format!("mask-{}", crate::page::slug(&mask.name)),
        title: format!("Blocks skipped by the mask {}", plain(&mask.name)),
        subject: String::new(),
        description: format!("{share} of the blocks are empty."),
        plot: Plot::Mask(Mask {
            row_name: "query block".to_owned(),
            column_name: "key block".to_owned(),
            rows,
        }),
    })
}

/// A row of `0` (empty), `1` (some pairs) and `2` (all of them).
fn row_of_cells(cells: &str) -> Vec<ifm_chart::Block> {
    let block = |cell: char| match cell {
        '2' => ifm_chart::Block::Full,
        '1' => ifm_chart::Block::Partial,
        _ => ifm_chart::Block::Empty,
    };
    cells.chars().map(block).collect()
}

/// Two characters per block: full, shaded for a partial one, spaces for an empty one.
fn blocks(drawing: &str) -> Vec<Vec<ifm_chart::Block>> {
    let row = |line: &str| -> Vec<ifm_chart::Block> {
        let block = |c: char| match c {
            '█' => ifm_chart::Block::Full,
            '░' | '▒' | '▓' => ifm_chart::Block::Partial,
            _ => ifm_chart::Block::Empty,
        };
        line.chars().step_by(2).map(block).collect()
    };
    let mut rows: Vec<Vec<ifm_chart::Block>> = drawing.lines().map(row).collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    for row in &mut rows {
        row.resize(width, ifm_chart::Block::Empty);
    }
    rows
}
