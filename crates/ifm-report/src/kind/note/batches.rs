//! Static batches: how long each takes, and how fast its two phases are. Repeats share one row.
//!
//! Not here: variants against each other, which are a matrix.

use super::super::Subject;
use crate::format::{ABSENT, count, number, plain, with_spread};
use crate::page::{Block, Cell, Column, Columns, Head, Section};
use ifm_core::Metric;
use ifm_core::sheet::{PartKind, Statistic, key};
use ifm_metrics::stat::welch::Moments;
use ifm_results::Pooled;

/// The chapter; none without a static batch.
pub(super) fn section(subject: &Subject) -> Option<Section> {
    let cells = subject.question.results.pool(PartKind::StaticBatch).cells;
    if cells.is_empty() {
        return None;
    }
    let factor = |head: &str, name: &'static str| {
        Column::new(Head::number(head), move |cell: &Pooled| {
            let value = cell.factor(name).map(|value| plain(&value));
            Cell::text(value.unwrap_or_else(|| ABSENT.to_owned()))
        })
    };
    let numbers = |head: &str, quantity: Metric, statistic: Statistic| {
        Column::new(Head::number(head), move |cell: &Pooled| {
            Cell::text(spread(cell, quantity, statistic))
        })
    };
    let value = Statistic::Value;
    let columns = Columns::<Pooled>::default()
        .name("Model", |cell| plain(&cell.factor(key::MODEL).unwrap_or_default()))
        .push(factor("Batch", key::BATCH_SIZE))
        .push(factor("Input", key::INPUT_TOKENS))
        .push(factor("Output", key::OUTPUT_TOKENS))
        .push(factor("Depth", key::DEPTH_TOKENS))
        .cell(Head::number("Repeats"), |cell| Cell::text(count(cell.points.len() as u64)))
        .push(numbers("Duration, ms", Metric::Duration, value))
        .push(numbers("Prefill, tok/s", Metric::PrefillRate, value))
        .push(numbers("Decode, tok/s", Metric::DecodeRate, value))
        .push(numbers("Total, tok/s", Metric::TotalRate, value))
        .push(numbers("ITL P50, ms", Metric::Itl, Statistic::Median))
        .push(numbers("Of roofline", Metric::other("share of the roofline"), value));
    let caption = "Mean ± standard deviation over the repeats (n − 1). Prefill: prompt tokens over the \
                   time to the last first token; decode: tokens of the steps behind it.";
    let mut table = columns.table(caption, cells.iter());
    table.drop_empty_columns();
    Some(Section::new("Static batches", vec![Block::Table(table)]))
}

/// Mean and deviation of the repeats.
fn spread(cell: &Pooled, quantity: Metric, statistic: Statistic) -> String {
    match Moments::of(&cell.values(quantity, statistic)) {
        None => ABSENT.to_owned(),
        Some(moments) => match moments.std() {
            Some(std) => with_spread(moments.mean, std),
            None => number(moments.mean),
        },
    }
}
