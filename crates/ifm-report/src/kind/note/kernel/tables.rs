//! Tables of kernels: what was measured here, with one count of operations for all rows, next to
//! the limit.

use super::super::super::Subject;
use super::super::part;
use crate::format::{ABSENT, count, meant, percent, plain, time};
use crate::page::{Block, Cell, Column, Columns, Head, Section, Table};
use ifm_core::Metric;
use ifm_core::sheet::kernel::{DEVICE, KERNEL, PASS, PROVIDER, SIZE, THREADS, TYPE};
use ifm_core::sheet::{RowRole, Statistic, WHY};
use ifm_results::{CeilingTime, KernelMask, KernelTime};
use ifm_rules::insight::Meant;
use serde_json::Value;

/// Whether a mask's rows contain more than another tool's output has room for.
pub(super) fn is_ours(mask: &KernelMask) -> bool {
    mask.times.iter().any(|time| time.error.is_some())
}

/// The kernels under a mask.
pub(super) fn of_mask(mask: &KernelMask) -> Block {
    let times = |value: Option<f64>| Cell::number(value, |value| meant(value, Meant::Times));
    let columns = Columns::<KernelTime>::default()
        .cell(Head::text("Kernel"), |time| {
            let cell = Cell::head(plain(&time.kernel));
            match &time.computes {
                Some(mask) => cell.noted(format!("computes {}", plain(mask))),
                None => cell,
            }
        })
        .cell(Head::text("Pass"), |time| Cell::text(plain(&time.pass)))
        .cell(Head::number("Time"), |one| {
            Cell { value: Some(one.ms), ..Cell::text(time(one.ms, one.std_ms)) }.in_unit("ms")
        })
        .cell(Head::number("Calls"), |time| {
            Cell::text(time.calls.map_or_else(|| ABSENT.to_owned(), count))
        })
        .cell(Head::number("Arithmetic"), |time| {
            Cell::number(time.flop_per_s, |rate| meant(rate, Meant::FlopPerS))
        })
        .cell(Head::number("By its tool's rule"), |time| {
            Cell::number(time.own_flop_per_s, |rate| meant(rate, Meant::FlopPerS))
        })
        .cell(Head::number("Of roofline"), |time| Cell::number(time.roofline, percent))
        .cell(Head::number("Over reference"), move |time| times(time.over_reference))
        .cell(Head::number("Over full mask"), move |time| times(time.over_full))
        .cell(Head::number("Error"), |time| {
            Cell::number(time.error, |error| format!("{error:.0e}"))
        });
    let caption = "Median ± standard deviation of the calls. Operations are counted alike in all rows: \
                   allowed pairs alone; next to it the rate by the rule of the tool that \
                   a kernel is known from. Error: against 64-bit floats, relative to the greatest value.";
    let mut table = columns.table(caption, mask.times.iter());
    table.drop_empty_columns();
    Block::Table(table)
}

/// Every kernel under every mask in one table, as short as it can be.
pub(super) fn overview(masks: &[KernelMask]) -> Table {
    let rows = masks.iter().flat_map(|mask| mask.times.iter().map(move |time| (mask, time)));
    let columns = Columns::<(&KernelMask, &KernelTime)>::default()
        .name("Mask", |(mask, _)| plain(&mask.name))
        .text("Kernel", |(_, one)| plain(&one.kernel))
        .text("Pass", |(_, one)| plain(&one.pass))
        .cell(Head::number("Time"), |(_, one)| {
            Cell { value: Some(one.ms), ..Cell::text(time(one.ms, one.std_ms)) }.in_unit("ms")
        })
        .cell(Head::number("Arithmetic"), |(_, one)| {
            Cell::number(one.flop_per_s, |rate| meant(rate, Meant::FlopPerS))
        });
    let rows: Vec<(&KernelMask, &KernelTime)> = rows.collect();
    let mut table = columns.table("Median ± standard deviation of the calls.", rows);
    table.drop_empty_columns();
    table
}

/// What could not be measured under a mask, and why; none where all was.
pub(super) fn missing(subject: &Subject, mask: &KernelMask) -> Option<Block> {
    let rows = part(subject, mask.part)?.rows.iter();
    let told = rows.filter(|row| row.role == RowRole::Planned).map(|row| {
        let factor = |name: &str| row.factors.get(name).map(plain).unwrap_or_default();
        let why = row.unknown.get(WHY).and_then(Value::as_str).unwrap_or("not measured");
        format!("{}, {}: {}", factor(KERNEL), factor(PASS), plain(why))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then_some(Block::List(told))
}

/// What the machine was measured to do at most.
pub(super) fn ceilings(all: &[CeilingTime]) -> Option<Section> {
    if all.is_empty() {
        return None;
    }
    let factor = |head: &str, name: &'static str| {
        Column::new(Head::text(head), move |one: &CeilingTime| {
            let value = one.point.setting.get(name).map(plain);
            Cell::text(value.unwrap_or_else(|| ABSENT.to_owned()))
        })
    };
    let columns = Columns::<CeilingTime>::default()
        .name("Kernel", |one| plain(one.kernel))
        .push(factor("Type", TYPE))
        .cell(Head::number("Size"), |one| Cell::text(size(one)))
        .push(factor("By", PROVIDER))
        .push(factor("On", DEVICE))
        .push(factor("Threads", THREADS))
        .cell(Head::number("Time"), |one| {
            let quantity = Metric::Kernel;
            let std = Statistic::Std(ifm_core::sheet::StdKind::Sample);
            let std_ms = one.point.value(quantity, std);
            let ms = one.point.central(quantity).map(|ms| ms.value);
            Cell::number(ms, |ms| time(ms, std_ms)).in_unit("ms")
        })
        .cell(Head::number("Rate"), |one| match (one.flop_per_s, one.bytes_per_s) {
            (Some(rate), _) => Cell::number(Some(rate), |rate| meant(rate, Meant::FlopPerS)),
            (_, rate) => Cell::number(rate, |rate| meant(rate, Meant::BytesPerS)),
        });
    let caption = "Median ± standard deviation of the calls. A product counts 2 m n k operations; a \
                   transfer the bytes that the program reads and writes. Arrays that fit into caches \
                   tell of caches.";
    let mut table = columns.table(caption, all.iter());
    table.drop_empty_columns();
    Some(Section::new("What this machine reaches at most", vec![Block::Table(table)]))
}

/// The size of a product as it is, that of an array in bytes.
fn size(one: &CeilingTime) -> String {
    let size = one.point.setting.get(SIZE).unwrap_or_default();
    match (one.bytes_per_s, size.parse()) {
        (Some(_), Ok(bytes)) => crate::format::bytes(bytes),
        _ => plain(size),
    }
}
