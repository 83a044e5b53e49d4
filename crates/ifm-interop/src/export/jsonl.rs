//! Rows as they are in a sheet, a line each, with everything that is known of them.

use super::{Export, Exported, rows};
use ifm_core::Sheet;
use serde_json::json;

pub(super) const EXPORT: Export = Export {
    id: "jsonl",
    title: "rows with factors and figures, JSON Lines",
    definitions: None,
    write,
    holds: "measured rows",
};

fn write(sheet: &Sheet) -> Vec<Exported> {
    let lines: Vec<String> = rows(sheet, |_| true)
        .map(|(row, factors)| {
            let row = json!({
                "document": sheet.source.name,
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
    vec![Exported { stem: String::new(), ending: "jsonl", text: lines.concat() }]
}
