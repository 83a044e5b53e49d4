//! Training runs, and other commands measured as a whole: time, memory, energy, steps and loss, as
//! far as they were measured or reported. Repeats share one row.

use super::super::Subject;
use crate::format::{ABSENT, count, number, plain, span};
use crate::page::{Block, Cell, Column, Columns, Head, Section};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic, key};
use ifm_results::{Point, Pooled};

const NS_PER_MS: f64 = 1e6;
const MS_PER_S: f64 = 1e3;
const MS_PER_MIN: f64 = 60_000.0;
/// Below this a time is written in seconds alone, ms.
const SECONDS_UNTIL_MS: f64 = 120_000.0;
/// Decimal gigabytes, as most people write memory.
const BYTES_PER_GB: f64 = 1e9;
const BYTES_PER_MB: f64 = 1e6;
const J_PER_KJ: f64 = 1e3;

/// The chapter, headed by what was measured; none without a training run or a command.
pub(super) fn section(subject: &Subject) -> Option<Section> {
    let cells = subject.question.results.pool(PartKind::Training).cells;
    if cells.is_empty() {
        return None;
    }
    let has_commands = cells.iter().any(|cell| cell.factor(key::COMMAND).is_some());
    let factor = |head: Head, name: &'static str| {
        Column::new(head, move |cell: &Pooled| {
            let value = cell.factor(name).map(|value| plain(&value));
            Cell::text(value.unwrap_or_else(|| ABSENT.to_owned()))
        })
    };
    let numbers = |head: &str, quantity: Metric, write: fn(f64) -> String| {
        Column::new(Head::number(head), move |cell: &Pooled| range(cell, quantity, write))
    };
    let other = |name: &str| Metric::other(name);
    let columns = Columns::<Pooled>::default()
        .name(if has_commands { "What" } else { "Model" }, |cell| plain(&name(cell)))
        .push(factor(Head::text("Model"), key::MODEL))
        .when(has_commands)
        .push(factor(Head::text("Method"), "method"))
        .push(factor(Head::text("GPU"), key::GPU))
        .push(factor(Head::number("Batch size"), key::BATCH_SIZE))
        .push(factor(Head::text("Ended early"), key::ENDED))
        .cell(Head::number("Runs"), |cell| match cell.points.len() {
            1 => Cell::text(ABSENT),
            runs => Cell::number(Some(runs as f64), whole),
        })
        .push(numbers("Time", Metric::Duration, clock))
        .push(numbers("Memory", Metric::Memory, memory))
        .push(numbers("Host memory", Metric::HostMemory, memory))
        .push(numbers("Energy", Metric::Energy, energy))
        .push(numbers("Steps", other("steps"), whole))
        .push(numbers("Steps per second", Metric::StepRate, number))
        .push(numbers("Tokens per second", Metric::TotalRate, number))
        .push(numbers("First loss", other("first loss"), number))
        .push(numbers("Loss", other("loss"), number));
    let caption = "Lowest and highest value where a document gives a range; in brackets the 95 % \
                   interval of a mean over three and more runs. Memory is that of the GPUs where \
                   inferometer measured it. Missing values were not measured or not recorded.";
    let mut table = columns.table(caption, cells.iter());
    table.drop_empty_columns();
    let mut blocks = vec![Block::Table(table)];
    let points = cells.iter().flat_map(|cell| &cell.points);
    let texts: Vec<&str> = points.filter_map(|point| point.text.as_deref()).collect();
    if !texts.is_empty() {
        let text = Block::Pre(texts.join("\n\n"));
        blocks.push(Block::Details("As it was written or printed".to_owned(), vec![text]));
    }
    let trained =
        cells.iter().filter(|cell| cell.points.iter().any(|point| is_training(point))).count();
    let heading = match trained {
        0 if cells.len() == 1 => "Command",
        0 => "Commands",
        all if all == cells.len() => "Training",
        _ => "Training and other commands",
    };
    Some(Section::new(heading, blocks))
}

/// Whether a document calls it training, or a measured command reported steps, tokens or a loss.
pub(super) fn is_training(point: &Point) -> bool {
    let other = |name: &str| Metric::other(name);
    let progress =
        [other("steps"), Metric::StepRate, Metric::TotalRate, other("first loss"), other("loss")];
    point.setting.get(key::COMMAND).is_none()
        || point.stats.iter().any(|reading| progress.contains(&reading.metric))
}

/// The name that the user gave, else the model, else the command.
fn name(cell: &Pooled) -> String {
    let first = cell.first();
    let is_own = cell.factor(key::COMMAND).is_some();
    let heading = first.filter(|_| is_own).and_then(|point| point.headings.last().cloned());
    let label = || first.and_then(|point| point.label.clone());
    let named = heading.or_else(|| cell.factor(key::MODEL)).or_else(label);
    named.or_else(|| cell.factor(key::COMMAND)).unwrap_or_default()
}

fn memory(value: f64) -> String {
    match value >= BYTES_PER_GB {
        true => format!("{} GB", number(value / BYTES_PER_GB)),
        false => format!("{} MB", number(value / BYTES_PER_MB)),
    }
}

/// A whole number without decimals.
fn whole(value: f64) -> String {
    if value.fract() == 0.0 { count(value as u64) } else { number(value) }
}

fn energy(joules: f64) -> String {
    match joules >= J_PER_KJ {
        true => format!("{} kJ", number(joules / J_PER_KJ)),
        false => format!("{} J", number(joules)),
    }
}

/// One value, or the mean of repeats with its interval, or the lowest and the highest.
fn range(cell: &Pooled, quantity: Metric, write: impl Fn(f64) -> String) -> Cell {
    if let Some(only) = cell.central(quantity) {
        let text = match (only.low, only.high) {
            (Some(low), Some(high)) if low < high => {
                format!("{} [{}, {}]", write(only.value), write(low), write(high))
            }
            _ => write(only.value),
        };
        return Cell { value: Some(only.value), ..Cell::text(text) };
    }
    let value = |statistic| cell.first().and_then(|point: &Point| point.value(quantity, statistic));
    match (value(Statistic::Min), value(Statistic::Max)) {
        (Some(low), Some(high)) => {
            let text = format!("{} to {}", write(low), write(high));
            Cell { value: Some(high), ..Cell::text(text) }
        }
        (low, high) => Cell::number(low.or(high), write),
    }
}

/// Hours and minutes above two minutes: `3 h 20 min`, `12 min 5 s`.
fn clock(ms: f64) -> String {
    if ms < SECONDS_UNTIL_MS {
        return span(ms * NS_PER_MS);
    }
    let minutes = (ms / MS_PER_MIN).round() as u64;
    let seconds = (ms / MS_PER_S).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, _) if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        (0, _) => format!("{} min {} s", seconds / 60, seconds % 60),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}
