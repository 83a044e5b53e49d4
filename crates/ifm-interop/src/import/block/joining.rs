//! Tables of one run that a tool prints apart become rows that hold all of it.

use ifm_core::sheet::{Part, Place, Remark, RemarkKind, Row};
use serde_json::Value;

/// Where a part keeps the names of the tables it came from.
pub(super) const TABLES: &str = "tables";

/// Joins neighbouring parts of a tool that are of one run: rows of the same names in the same
/// order, and no table that stands in both.
pub(super) fn join(tool: &str, parts: &mut Vec<Part>, remarks: &mut Vec<Remark>) {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts.drain(..) {
        match joined.last_mut() {
            Some(last) if are_of_one_run(tool, last, &part) => merge(last, part, remarks),
            _ => joined.push(part),
        }
    }
    *parts = joined;
}

fn are_of_one_run(tool: &str, one: &Part, other: &Part) -> bool {
    let own = |part: &Part| part.tool.as_deref() == Some(tool) && part.unknown.contains_key(TABLES);
    let labels = |part: &Part| part.rows.iter().map(|row| row.label.clone()).collect::<Vec<_>>();
    let known = tables(one);
    own(one)
        && own(other)
        && labels(one) == labels(other)
        && !tables(other).iter().any(|table| known.contains(table))
}

fn tables(part: &Part) -> Vec<Value> {
    part.unknown.get(TABLES).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn merge(into: &mut Part, part: Part, remarks: &mut Vec<Remark>) {
    remarks.push(Remark {
        kind: RemarkKind::Assumed,
        place: part.place.clone(),
        text: format!(
            "this table and the one on line {} are of one run: the same rows in the same order",
            into.place.line.unwrap_or_default()
        ),
    });
    let all: Vec<Value> = tables(into).into_iter().chain(tables(&part)).collect();
    into.unknown.insert(TABLES.to_owned(), Value::Array(all));
    let shared = into.headings.iter().zip(&part.headings).take_while(|(a, b)| a == b).count();
    into.headings.truncate(shared);
    for (row, more) in into.rows.iter_mut().zip(part.rows) {
        add(row, more);
    }
}

fn add(row: &mut Row, more: Row) {
    for mut figure in more.figures {
        // The row's place is that of its first table: each figure says its own.
        figure.place = figure.place.or(Some(Place { pointer: None, ..more.place.clone() }));
        row.figures.push(figure);
    }
    row.unknown.extend(more.unknown);
}
