//! Training runs: time and memory, as far as somebody wrote them down.

use super::super::Subject;
use crate::format::{ABSENT, bytes, number, plain, span};
use crate::page::{Block, Cell, Column, Columns, Head, Section};
use ifm_analysis::survey::Point;
use ifm_core::sheet::{PartKind, Quantity, Statistic, key};

const NS_PER_MS: f64 = 1e6;
const MS_PER_MIN: f64 = 60_000.0;
/// Decimal gigabytes, as most people write memory.
const BYTES_PER_GB: f64 = 1e9;

/// The chapter; none without a training run.
pub(super) fn section(subject: &Subject) -> Option<Section> {
    let points: Vec<&Point> = subject.question.survey.measured(PartKind::Training).collect();
    if points.is_empty() {
        return None;
    }
    let factor = |head: Head, name: &'static str| {
        Column::new(head, move |point: &Point| {
            let value = point.factor(name).map(|value| plain(&value));
            Cell::text(value.unwrap_or_else(|| ABSENT.to_owned()))
        })
    };
    let numbers = |head: &str, quantity: Quantity, write: fn(f64) -> String| {
        Column::new(Head::number(head), move |point: &Point| range(point, &quantity, write))
    };
    let columns = Columns::<Point>::default()
        .name("Model", |point| {
            let model = point.factor(key::MODEL).or_else(|| point.label.clone());
            plain(&model.unwrap_or_default())
        })
        .push(factor(Head::text("Method"), "method"))
        .push(factor(Head::text("GPU"), key::GPU))
        .push(factor(Head::number("Batch size"), key::BATCH_SIZE))
        .push(numbers("Time", Quantity::Duration, clock))
        .push(numbers("Memory", Quantity::Memory, memory))
        .push(numbers("Tokens per second", Quantity::TotalRate, number));
    let caption = "Lowest and highest value where the document gives a range. What is not there was \
                   not written down: no loss, no number of steps or tokens.";
    let mut table = columns.table(caption, points.iter().copied());
    table.drop_empty_columns();
    let mut blocks = vec![Block::Table(table)];
    let texts: Vec<&str> = points.iter().filter_map(|point| point.text.as_deref()).collect();
    if !texts.is_empty() {
        let text = Block::Pre(texts.join("\n\n"));
        blocks.push(Block::Details("As it was written".to_owned(), vec![text]));
    }
    Some(Section::new("Training", blocks))
}

fn memory(value: f64) -> String {
    match value >= BYTES_PER_GB {
        true => format!("{} GB", number(value / BYTES_PER_GB)),
        false => bytes(value as u64),
    }
}

/// One value, or the lowest and the highest.
fn range(point: &Point, quantity: &Quantity, write: impl Fn(f64) -> String) -> Cell {
    let value = |statistic| point.value(quantity, statistic);
    match (value(Statistic::Min), value(Statistic::Max), point.central(quantity)) {
        (_, _, Some(only)) => Cell::number(Some(only.value), write),
        (Some(low), Some(high), None) => {
            let text = format!("{} to {}", write(low), write(high));
            Cell { value: Some(high), ..Cell::text(text) }
        }
        (low, high, None) => Cell::number(low.or(high), write),
    }
}

/// Hours and minutes above a minute: `3 h 20 min`.
fn clock(ms: f64) -> String {
    let minutes = (ms / MS_PER_MIN).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, 0) => span(ms * NS_PER_MS),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}
