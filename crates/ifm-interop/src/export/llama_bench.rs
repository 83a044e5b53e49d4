//! The Markdown table of `llama-bench`, for engines that were called without a server.
//!
//! Factors that the name of the test does not say stand in columns of their own, as the tool's
//! settings do.

use super::{Export, Exported, rows};
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, PartKind, Quantity, Row, Statistic, StdKind, key};
use std::collections::BTreeSet;

pub(super) const EXPORT: Export = Export {
    id: "llama-bench",
    title: "llama-bench, Markdown",
    definitions: None,
    write,
    holds: "prompt and generation speeds of an engine without a server",
    lacks: "all but the mean of one speed, with two decimals, and its deviation of a sample; labels of rows; factors with a bar or a line break in them; definitions and places",
};

/// Factors that the columns of the format, or the name of the test, hold.
const FIELDS: [&str; 7] = [
    key::MODEL,
    key::TEST,
    key::BATCH_SIZE,
    key::INPUT_TOKENS,
    key::OUTPUT_TOKENS,
    key::DEPTH_TOKENS,
    key::ENGINE,
];

fn write(sheet: &Sheet) -> Vec<Exported> {
    let rows: Vec<(&Row, Factors)> = rows(sheet, |part| part.kind == PartKind::Engine).collect();
    let columns: BTreeSet<String> = rows
        .iter()
        .flat_map(|(_, factors)| {
            factors.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        })
        .filter(|name| !FIELDS.contains(&name.as_str()) && is_cell(name))
        .collect();
    let lines: Vec<String> =
        rows.iter().filter_map(|(row, factors)| line(row, factors, &columns)).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let between = |cell: &dyn Fn(&str) -> String| -> String {
        columns.iter().map(|name| format!(" {} |", cell(name))).collect()
    };
    let head = format!(
        "| {:<30} |{} {:>15} | {:>20} |\n| {} |{} {}: | {}: |\n",
        "model",
        between(&str::to_owned),
        "test",
        "t/s",
        "-".repeat(30),
        between(&|name: &str| "-".repeat(name.chars().count().max(3))),
        "-".repeat(14),
        "-".repeat(19)
    );
    vec![Exported { stem: String::new(), ending: "md", text: head + &lines.concat() }]
}

/// Whether a text can stand in a cell of a table and come out the same.
fn is_cell(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(['|', '\n', '\r'])
}

fn line(row: &Row, factors: &Factors, columns: &BTreeSet<String>) -> Option<String> {
    let speed = [Quantity::PrefillRate, Quantity::DecodeRate, Quantity::TotalRate]
        .into_iter()
        .find_map(|quantity| {
            let mean = row
                .value(&quantity, Statistic::Mean)
                .or_else(|| row.value(&quantity, Statistic::Value))?;
            // What its readers take for a deviation of a sample.
            Some(match row.value(&quantity, Statistic::Std(StdKind::Sample)) {
                Some(spread) => format!("{mean:.2} ± {spread:.2}"),
                None => format!("{mean:.2}"),
            })
        })?;
    // A name with a bar would end its cell.
    let model = factors.get(key::MODEL).unwrap_or("?").replace('|', "/");
    let test = factors.get(key::TEST).unwrap_or("?").replace('|', "/");
    let depth = factors.get(key::DEPTH_TOKENS).filter(|_| !test.contains('@'));
    let test = depth.map_or(test.clone(), |depth| format!("{test} @ d{depth}"));
    let set: String = columns
        .iter()
        .map(|name| format!(" {} |", factors.get(name).filter(|text| is_cell(text)).unwrap_or("")))
        .collect();
    Some(format!("| {model:<30} |{set} {test:>15} | {speed:>20} |\n"))
}
