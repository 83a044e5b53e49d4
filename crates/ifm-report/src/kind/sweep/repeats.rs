//! The repeats of each load, taken together.

use crate::ReportModel;
use crate::format::{ABSENT, count, number, span};
use crate::model::load;
use crate::page::{Block, Cell, Head, Section, Table};
use crate::words;
use ifm_analysis::Repeated;
use ifm_analysis::repeats::Between;

/// One row for each load that was measured more than once; nothing where none was.
pub(super) fn section(model: &ReportModel) -> Option<Section> {
    let repeats = &model.summary.repeats;
    if repeats.is_empty() {
        return None;
    }
    let gap = model.gap_label();
    let mut heads = vec![Head::number(model.load_unit()), Head::number("repeats")];
    heads.extend(["req/s", "out tok/s", "tok/s/user", "TTFT p50", "TTFT p99"].map(Head::number));
    heads.extend(["p50", "p99"].map(|p| Head::number(format!("{} {p}", gap.short()))));
    heads.push(Head::text("inside the target"));
    let table = Table {
        caption: words::REPEATS_CAPTION.to_owned(),
        heads,
        rows: repeats.iter().map(row).collect(),
    };
    Some(Section::new("Repeats together", vec![Block::Table(table)]))
}

fn row(repeated: &Repeated) -> Vec<Cell> {
    let mark = if repeated.user_speed_is_estimated { "~" } else { "" };
    let estimate = |speed: f64| format!("{mark}{}", number(speed));
    vec![
        Cell { value: Some(repeated.load.value()), ..Cell::head(load(Some(repeated.load))) },
        Cell::number(Some(repeated.levels.len() as f64), |_| count(repeated.levels.len() as u64)),
        cell(repeated.req_per_s.as_ref(), number),
        cell(repeated.output_tok_per_s.as_ref(), number),
        cell(repeated.user_tok_per_s.as_ref(), estimate),
        cell(repeated.ttft_ns_p50.as_ref(), span).in_unit("ns"),
        cell(repeated.ttft_ns_p99.as_ref(), span).in_unit("ns"),
        cell(repeated.gap_ns_p50.as_ref(), span).in_unit("ns"),
        cell(repeated.gap_ns_p99.as_ref(), span).in_unit("ns"),
        Cell::text(words::inside(repeated)),
    ]
}

fn cell(between: Option<&Between>, write: impl Fn(f64) -> String) -> Cell {
    between.map_or_else(
        || Cell::text(ABSENT),
        |between| Cell { value: Some(between.mean), ..Cell::text(words::between(between, write)) },
    )
}
