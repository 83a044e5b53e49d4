//! A page as one JSON document: the same sections, with every number in full.

use super::{Block, Cell, Figure, Page, Remark, Section, Table};
use ifm_analysis::insight::Meant;
use serde_json::{Value, json};

/// Version of the document.
pub(crate) const PAGE_VERSION: &str = "1.0";

/// The whole page; ends with a line break.
pub fn json(page: &Page) -> String {
    let page = page.clone().with_unique_ids();
    let tile = |tile: &super::Tile| {
        json!({
            "question": tile.question,
            "who": tile.who,
            "value": tile.value,
            "unit": tile.unit,
            "detail": tile.detail,
            "tone": tile.tone.map(ifm_analysis::insight::Tone::word),
            "not_valid": tile.not_valid,
        })
    };
    let trust = page.trust.as_ref().map(|trust| {
        let loud = |(tone, text): &(ifm_analysis::insight::Tone, String)| {
            json!({"tone": tone.word(), "text": text})
        };
        json!({"line": trust.line, "loud": trust.loud.iter().map(loud).collect::<Vec<_>>()})
    });
    let notes =
        page.notes.as_ref().map(|notes| json!({"source": notes.name, "markdown": notes.text}));
    let whole = json!({
        "schema_version": PAGE_VERSION,
        "kind": page.kind,
        "title": page.title,
        "facts": page.facts,
        "conditions": page.conditions,
        "banners": page.banners,
        "answers": page.tiles.iter().map(tile).collect::<Vec<_>>(),
        "findings": page.remarks.iter().map(remark).collect::<Vec<_>>(),
        "checks": trust,
        "notes": notes,
        "sections": page.sections.iter().map(section).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&whole).unwrap_or_default();
    text.push('\n');
    text
}

fn section(section: &Section) -> Value {
    json!({
        "id": section.id,
        "heading": section.heading,
        "depth": section.depth,
        "blocks": section.blocks.iter().map(block).collect::<Vec<_>>(),
    })
}

fn block(piece: &Block) -> Value {
    match piece {
        Block::Prose(text) => json!({"kind": "prose", "text": text}),
        Block::Figures(figures) => {
            json!({"kind": "figures", "figures": figures.iter().map(figure).collect::<Vec<_>>()})
        }
        Block::Table(table) => table_of(table),
        Block::Remarks(all) => {
            json!({"kind": "findings", "findings": all.iter().map(remark).collect::<Vec<_>>()})
        }
        Block::Pre(text) => json!({"kind": "text", "text": text}),
        Block::List(points) => json!({"kind": "list", "points": points}),
        Block::Details(summary, blocks) => json!({
            "kind": "details",
            "summary": summary,
            "blocks": blocks.iter().map(block).collect::<Vec<_>>(),
        }),
    }
}

fn figure(figure: &Figure) -> Value {
    json!({
        "chart": figure.chart,
        "caption": figure.caption,
        "findings": figure.remarks.iter().map(remark).collect::<Vec<_>>(),
    })
}

fn table_of(table: &Table) -> Value {
    let heads: Vec<&str> = table.heads.iter().map(|head| head.name.as_str()).collect();
    let row = |row: &Vec<Cell>| -> Vec<Value> { row.iter().map(cell).collect() };
    json!({
        "kind": "table",
        "caption": table.caption,
        "columns": heads,
        "rows": table.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Value {
    json!({
        "text": cell.text,
        "value": cell.value,
        "note": cell.note,
        "tone": cell.tone.map(ifm_analysis::insight::Tone::word),
    })
}

fn remark(remark: &Remark) -> Value {
    let number = |(value, meant): &(f64, Meant)| json!({"value": value, "unit": meant.word()});
    json!({
        "rule": remark.rule,
        "tone": remark.tone.word(),
        "text": remark.text,
        "numbers": remark.numbers.iter().map(number).collect::<Vec<_>>(),
        "is_hypothesis": remark.is_hypothesis,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::page;

    #[test]
    fn a_page() {
        insta::assert_snapshot!(super::json(&page()));
    }
}
