//! A table: a row for each measured row, a column for each factor and each figure.

use super::{Export, Exported, rows};
use ifm_core::Sheet;
use ifm_core::sheet::{Figure, Quantity, Statistic, StdKind, Unit};
use std::collections::BTreeSet;

pub(super) const EXPORT: Export =
    Export { id: "csv", title: "table, CSV", definitions: None, write, holds: "measured rows" };

fn write(sheet: &Sheet) -> Vec<Exported> {
    let rows: Vec<_> = rows(sheet, |_| true).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let factors: BTreeSet<String> = rows
        .iter()
        .flat_map(|(_, factors)| {
            factors.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let mut figures: Vec<String> = Vec::new();
    for name in rows.iter().flat_map(|(row, _)| row.figures.iter().map(column)) {
        if !figures.contains(&name) {
            figures.push(name);
        }
    }
    let mut lines = vec![
        std::iter::once("label".to_owned())
            .chain(factors.iter().cloned())
            .chain(figures.iter().cloned())
            .map(|cell| quoted(&cell))
            .collect::<Vec<_>>()
            .join(","),
    ];
    for (row, set) in &rows {
        let number = |name: &String| {
            let figure = row.figures.iter().find(|figure| column(figure) == *name);
            figure
                .and_then(|figure| figure.value)
                .map(|value| value.to_string())
                .unwrap_or_default()
        };
        let cells = std::iter::once(row.label.clone().unwrap_or_default())
            .chain(factors.iter().map(|name| set.get(name).unwrap_or_default().to_owned()))
            .chain(figures.iter().map(number));
        lines.push(cells.map(|cell| quoted(&cell)).collect::<Vec<_>>().join(","));
    }
    vec![Exported { stem: String::new(), ending: "csv", text: lines.join("\n") + "\n" }]
}

/// The name of a figure's column, `ttft_p99_ms`: quantity, statistic, unit.
pub fn column(figure: &Figure) -> String {
    let quantity = match &figure.quantity {
        Quantity::Other(name) => name.clone(),
        known => word(known),
    };
    let statistic = match figure.statistic {
        Statistic::Value => String::new(),
        Statistic::Mean => "_mean".to_owned(),
        Statistic::Median => "_p50".to_owned(),
        Statistic::Percentile(p) => format!("_p{p}"),
        Statistic::Min => "_min".to_owned(),
        Statistic::Max => "_max".to_owned(),
        Statistic::Std(StdKind::Population) => "_std_population".to_owned(),
        Statistic::Std(_) => "_std".to_owned(),
        Statistic::HalfWidth => "_half_width".to_owned(),
        Statistic::Sum => "_sum".to_owned(),
        Statistic::Count => "_count".to_owned(),
    };
    let unit = match (&figure.unit, figure.statistic) {
        (Unit::Count | Unit::One, _) | (_, Statistic::Count) => String::new(),
        (Unit::Other(unit), _) => format!("_{unit}"),
        (unit, _) => format!("_{}", word(unit)),
    };
    format!("{quantity}{statistic}{unit}")
}

/// The stored word of a quantity or unit.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// A cell that no reader takes apart, and no spreadsheet for a formula.
fn quoted(cell: &str) -> String {
    let is_number = cell.parse::<f64>().is_ok();
    let is_formula = !is_number && cell.starts_with(['=', '+', '-', '@']);
    let cell = if is_formula { format!("'{cell}") } else { cell.to_owned() };
    match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}
