//! Rows as they are in a sheet, a line each, with everything that is known of them.

use super::{Export, Exported, Writer};
use ifm_core::Sheet;
use ifm_core::sheet::RowRole;
use serde_json::json;

pub(super) const EXPORT: Export = Export {
    id: "jsonl",
    title: "rows with factors and figures, JSON Lines",
    definitions: None,
    write: Writer::Sheet(write),
    holds: "measured rows",
    lacks: "headings and places of the document; rows that were not measured",
};

fn write(sheet: &Sheet) -> Vec<Exported> {
    let measured = sheet.parts.iter().flat_map(|part| {
        let rows = part.rows.iter().filter(|row| row.role == RowRole::Measured);
        rows.map(move |row| (part, row))
    });
    let lines: Vec<String> = measured
        .map(|(part, row)| {
            let factors = row.factors.within(&part.factors);
            let row = json!({
                "document": sheet.source.name,
                "kind": part.kind,
                "place": row.place,
                "label": row.label,
                "factors": factors,
                "figures": row.figures,
                "requests": row.requests,
                "unknown": row.unknown,
            });
            format!("{row}\n")
        })
        .collect();
    if lines.is_empty() {
        return Vec::new();
    }
    vec![Exported { name: None, stem: String::new(), ending: "jsonl", text: lines.concat() }]
}
