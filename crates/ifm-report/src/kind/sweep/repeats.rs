//! The repeats of each load, taken together.

use crate::ReportModel;
use crate::format::{ABSENT, count, number, span};
use crate::model::load;
use crate::page::{Block, Cell, Column, Columns, Head, Section};
use crate::words;
use ifm_metrics::Repeated;
use ifm_metrics::repeats::Between;

/// One row for each load that was measured more than once; nothing where none was.
pub(super) fn section(model: &ReportModel) -> Option<Section> {
    let repeats = &model.summary.repeats;
    if repeats.is_empty() {
        return None;
    }
    let gap = model.gap_label().short();
    let speed = |repeated: &Repeated| {
        let mark = if repeated.user_speed_is_estimated { "~" } else { "" };
        cell(repeated.user_tok_per_s.as_ref(), |speed| format!("{mark}{}", number(speed)))
    };
    let time = |head: String, of: fn(&Repeated) -> &Option<Between>| {
        Column::new(Head::number(head), move |repeated: &Repeated| {
            cell(of(repeated).as_ref(), span).in_unit("ns")
        })
    };
    let columns = Columns::<Repeated>::default()
        .cell(Head::number(model.load_unit()), |of| Cell {
            value: Some(of.load.value()),
            ..Cell::head(load(Some(of.load)))
        })
        .number("repeats", |of| Some(of.levels.len() as f64), |n| count(n as u64))
        .cell(Head::number("req/s"), |of| cell(of.req_per_s.as_ref(), number))
        .cell(Head::number("out tok/s"), |of| cell(of.output_tok_per_s.as_ref(), number))
        .cell(Head::number("tok/s/user"), speed)
        .push(time("TTFT p50".to_owned(), |of| &of.ttft_ns_p50))
        .push(time("TTFT p99".to_owned(), |of| &of.ttft_ns_p99))
        .push(time(format!("{gap} p50"), |of| &of.gap_ns_p50))
        .push(time(format!("{gap} p99"), |of| &of.gap_ns_p99))
        .text("inside the target", words::inside)
        .when(!model.manifest.spec.slo.is_default);
    let table = columns.table(words::REPEATS_CAPTION, repeats);
    Some(Section::new("Repeats together", vec![Block::Table(table)]))
}

fn cell(between: Option<&Between>, write: impl Fn(f64) -> String) -> Cell {
    between.map_or_else(
        || Cell::text(ABSENT),
        |between| Cell { value: Some(between.mean), ..Cell::text(words::between(between, write)) },
    )
}
