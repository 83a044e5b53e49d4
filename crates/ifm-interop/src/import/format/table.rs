//! The table that `inferometer export --as csv` writes.
//!
//! Its header marks columns as figures or factors; the numbers of a row are read back bit for bit.
//! Other tables need a map (`mapped`).

use super::super::Input;
use super::super::error::ImportError;
use super::{Format, Like, records, rows, sure};
use crate::heads::{FACTOR, FIRST, figure_of_head};
use ifm_core::Sheet;
use ifm_core::sheet::{Figure, PartKind, Place, Remark, RemarkKind, Row};
use serde_json::Value;

pub(super) const FORMAT: Format = Format {
    id: "table",
    title: "table of inferometer export --as csv, CSV",
    tool: None,
    kind: PartKind::Other,
    like: Like::By(|head| sure(head.text().starts_with(&format!("{},", FIRST.join(","))))),
    marks: &[],
    read,
};

fn read(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut kinds = Vec::new();
    let sheet = records::read_csv(format, input, |fields, draft| {
        let mut kind = PartKind::Other;
        for (head, cell) in fields {
            let (head, cell) = (unquoted(&head), unquoted(&cell));
            match head {
                _ if cell.is_empty() => {}
                "label" => draft.row.label = Some(cell.to_owned()),
                "kind" => {
                    kind = serde_json::from_value(Value::from(cell)).unwrap_or(kind);
                }
                head => draft.remarks.extend(field(head, cell, &mut draft.row)),
            }
        }
        if !draft.row.figures.is_empty() || !draft.row.factors.is_empty() {
            kinds.push(kind);
        }
    })?;
    Ok(rows::by_kind(sheet, kinds))
}

/// Reads a figure or a factor; a figure that is not a number gives a remark.
fn field(head: &str, cell: &str, row: &mut Row) -> Option<Remark> {
    let Some((quantity, statistic, unit)) = figure_of_head(head) else {
        row.factors.set(head.strip_prefix(FACTOR).unwrap_or(head), cell);
        return None;
    };
    match cell.parse::<f64>() {
        Ok(value) => {
            row.figures.push(Figure::new(quantity, statistic, value, unit));
            None
        }
        Err(_) => Some(Remark {
            kind: RemarkKind::Missing,
            place: Place { pointer: Some(head.to_owned()), ..row.place.clone() },
            text: format!("{cell:?} is not a number"),
        }),
    }
}

/// A text without the apostrophe that keeps spreadsheets from reading it as a formula.
fn unquoted(cell: &str) -> &str {
    cell.strip_prefix('\'').unwrap_or(cell)
}
