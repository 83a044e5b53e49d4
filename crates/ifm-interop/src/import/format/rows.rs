//! Rows with factors and figures, JSON Lines: what `inferometer export --as jsonl` writes.
//!
//! A line holds all that is known of a row, so that nothing is lost on the way out and back but the
//! headings of the document and what held for a part as a whole.

use super::super::Input;
use super::super::error::ImportError;
use super::super::json;
use super::{Format, Like, records};
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, Figure, Part, PartKind, SheetRequest};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) const FORMAT: Format = Format {
    id: "rows",
    title: "rows of inferometer export --as jsonl, JSON Lines",
    tool: None,
    kind: PartKind::Other,
    like: Like::Json(&[MARKS]),
    marks: MARKS,
    read,
};
const MARKS: &[&str] = &["document", "factors", "figures"];

/// A line. Its place is that in this file, not in the document that it once stood in.
#[derive(Deserialize)]
struct Line {
    #[serde(default = "other")]
    kind: PartKind,
    label: Option<String>,
    factors: Factors,
    figures: Vec<Figure>,
    #[serde(default)]
    requests: Vec<SheetRequest>,
    #[serde(default)]
    unknown: Map<String, Value>,
}

/// The kind of a row that does not say it.
fn other() -> PartKind {
    PartKind::Other
}

fn read(format: &Format, input: Input<'_>) -> Result<Sheet, ImportError> {
    let mut kinds = Vec::new();
    let sheet = records::read_lines(format, input, |text, draft| {
        if text.trim().is_empty() {
            return Ok(());
        }
        let line: Line = json::lenient(text.as_bytes()).map_err(|error| error.to_string())?;
        if line.figures.is_empty() && line.factors.is_empty() {
            return Ok(());
        }
        kinds.push(line.kind);
        draft.row.label = line.label;
        draft.row.factors = line.factors;
        draft.row.figures = line.figures;
        draft.row.requests = line.requests;
        draft.row.unknown = line.unknown;
        Ok(())
    })?;
    Ok(by_kind(sheet, kinds))
}

/// Rows of one part in parts of one kind each: neighbours of a kind stay together.
pub(super) fn by_kind(mut sheet: Sheet, kinds: Vec<PartKind>) -> Sheet {
    let rows = std::mem::take(&mut sheet.parts).into_iter().flat_map(|part| part.rows);
    for (row, kind) in rows.zip(kinds) {
        match sheet.parts.last_mut() {
            Some(part) if part.kind == kind => part.rows.push(row),
            _ => {
                let mut part = Part::new(kind, row.place.clone());
                part.rows.push(row);
                sheet.parts.push(part);
            }
        }
    }
    sheet
}
