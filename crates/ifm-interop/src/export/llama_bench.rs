//! The Markdown table of `llama-bench`, for engines that were called without a server.
//!
//! Factors that the test name does not contain get columns of their own, like the tool's settings.

use super::{Export, Exported, Writer, rows};
use crate::import::column_of_factor;
use ifm_core::Metric;
use ifm_core::Sheet;
use ifm_core::sheet::{Factors, PartKind, Row, Statistic, StdKind, key};
use std::collections::BTreeSet;

pub(super) const EXPORT: Export = Export {
    id: "llama-bench",
    title: "llama-bench, Markdown",
    definitions: None,
    write: Writer::Sheet(write),
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
/// Columns that come first, in the tool's order.
const FIRST: [&str; 3] = ["backends", "n_gpu_layers", "n_threads"];

/// A column between the model and the test: its head, and the cell of a row.
type Column<'a> = (String, Box<dyn Fn(&Row, &Factors) -> String + 'a>);

fn write(sheet: &Sheet) -> Vec<Exported> {
    let rows: Vec<(&Row, Factors)> = rows(sheet, |part| part.kind == PartKind::Engine).collect();
    let columns = columns(&rows);
    let lines: Vec<String> =
        rows.iter().filter_map(|(row, factors)| line(row, factors, &columns)).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let between = |cell: &dyn Fn(&str) -> String| -> String {
        columns.iter().map(|(name, _)| format!(" {} |", cell(name))).collect()
    };
    let head = format!(
        "| {:<30} |{} {:>15} | {:>20} |\n| {} |{} {}: | {}: |\n",
        "model",
        between(&|name| padded(name, name)),
        "test",
        "t/s",
        "-".repeat(30),
        between(&|name| match name == BACKEND {
            true => "-".repeat(width(name)),
            false => format!("{}:", "-".repeat(width(name) - 1)),
        }),
        "-".repeat(14),
        "-".repeat(19)
    );
    let builds: BTreeSet<String> = rows.iter().filter_map(|(row, _)| build(row)).collect();
    let builds: String = builds.iter().map(|build| format!("\nbuild: {build}\n")).collect();
    vec![Exported {
        name: None,
        stem: String::new(),
        ending: "md",
        text: head + &lines.concat() + &builds,
    }]
}

/// The leftmost column.
const BACKEND: &str = "backend";

/// How wide the tool makes a column.
fn width(name: &str) -> usize {
    match name {
        "size" | "params" | BACKEND => 10,
        _ => name.chars().count().max(3),
    }
}

/// A cell of a column.
fn padded(name: &str, text: &str) -> String {
    let width = width(name);
    if name == BACKEND { format!("{text:<width$}") } else { format!("{text:>width$}") }
}

/// Size and parameters of the model where rows tell them, then a column for each other factor.
fn columns<'a>(rows: &[(&Row, Factors)]) -> Vec<Column<'a>> {
    let mut columns: Vec<Column<'a>> = Vec::new();
    let size = |row: &Row| row.value(Metric::other("model_size"), Statistic::Value);
    let parameters = |row: &Row| row.value(Metric::Parameters, Statistic::Value);
    if rows.iter().any(|(row, _)| size(row).is_some()) {
        let cell = move |row: &Row, _: &Factors| size(row).map_or_else(String::new, bytes);
        columns.push(("size".to_owned(), Box::new(cell)));
    }
    if rows.iter().any(|(row, _)| parameters(row).is_some()) {
        let cell = move |row: &Row, _: &Factors| parameters(row).map_or_else(String::new, count);
        columns.push(("params".to_owned(), Box::new(cell)));
    }
    let names: BTreeSet<String> = rows
        .iter()
        .flat_map(|(_, factors)| factors.iter().map(|(name, _)| name.to_owned()))
        .filter(|name| !FIELDS.contains(&name.as_str()) && is_cell(name))
        .collect();
    let is_first = |name: &String| FIRST.contains(&name.as_str());
    let first = FIRST.into_iter().map(str::to_owned).filter(|name| names.contains(name));
    for name in first.chain(names.iter().filter(|name| !is_first(name)).cloned()) {
        let head = column_of_factor(&name).to_owned();
        let cell = move |_: &Row, factors: &Factors| {
            factors.get(&name).filter(|text| is_cell(text)).unwrap_or("").to_owned()
        };
        columns.push((head, Box::new(cell)));
    }
    columns
}

/// Bytes as the tool prints them.
fn bytes(bytes: f64) -> String {
    const GIB: f64 = 1_073_741_824.0;
    match bytes >= GIB {
        true => format!("{:.2} GiB", bytes / GIB),
        false => format!("{:.2} MiB", bytes / 1_048_576.0),
    }
}

/// Parameters as the tool prints them.
fn count(parameters: f64) -> String {
    match parameters >= 1e9 {
        true => format!("{:.2} B", parameters / 1e9),
        false => format!("{:.2} M", parameters / 1e6),
    }
}

/// Which build wrote a row, if the row says it.
fn build(row: &Row) -> Option<String> {
    let commit = row.unknown.get("build_commit")?.as_str()?;
    let number = row.unknown.get("build_number").and_then(serde_json::Value::as_u64);
    Some(number.map_or(commit.to_owned(), |number| format!("{commit} ({number})")))
}

/// Whether a table cell preserves the text unchanged.
fn is_cell(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(['|', '\n', '\r'])
}

fn line(row: &Row, factors: &Factors, columns: &[Column]) -> Option<String> {
    let speed = [Metric::PrefillRate, Metric::DecodeRate, Metric::TotalRate].into_iter().find_map(
        |quantity| {
            let mean = row
                .value(quantity, Statistic::Mean)
                .or_else(|| row.value(quantity, Statistic::Value))?;
            // What its readers take for a deviation of a sample.
            Some(match row.value(quantity, Statistic::Std(StdKind::Sample)) {
                Some(spread) => format!("{mean:.2} ± {spread:.2}"),
                None => format!("{mean:.2}"),
            })
        },
    )?;
    // A name with a bar would end its cell.
    let model = factors.get(key::MODEL).unwrap_or("?").replace('|', "/");
    let test = factors.get(key::TEST).unwrap_or("?").replace('|', "/");
    let depth = factors.get(key::DEPTH_TOKENS).filter(|_| !test.contains('@'));
    let test = depth.map_or(test.clone(), |depth| format!("{test} @ d{depth}"));
    let set: String = columns
        .iter()
        .map(|(name, cell)| format!(" {} |", padded(name, &cell(row, factors))))
        .collect();
    Some(format!("| {model:<30} |{set} {test:>15} | {speed:>20} |\n"))
}
