//! A table: a row for each measured row, a column for each factor and each figure.
//!
//! The head tells figures from factors, so that the table comes back by `import` without a map.

use super::{Export, Exported};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Factors, Figure, PartKind, Quantity, Row, RowRole, Statistic, StdKind, Unit,
};
use std::collections::BTreeSet;

pub(super) const EXPORT: Export = Export {
    id: "csv",
    title: "table, CSV",
    definitions: None,
    write,
    holds: "measured rows",
    lacks: "definitions, places and printed digits; single requests; fields that no figure holds; texts without a character",
};

/// First columns of every table: the name of the row, and what was measured.
pub(crate) const FIRST: [&str; 2] = ["label", "kind"];
/// In front of a factor whose name could be that of another column.
pub(crate) const FACTOR: &str = "factor:";
/// In front of a figure that no plain name holds: then quantity, statistic and unit as JSON.
pub(crate) const FIGURE: &str = "figure:";

fn write(sheet: &Sheet) -> Vec<Exported> {
    let rows: Vec<(PartKind, &Row, Factors)> = sheet
        .parts
        .iter()
        .flat_map(|part| {
            let measured = part.rows.iter().filter(|row| row.role == RowRole::Measured);
            measured.map(|row| (part.kind, row, row.factors.within(&part.factors)))
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let factors: BTreeSet<&str> =
        rows.iter().flat_map(|(.., factors)| factors.iter().map(|(name, _)| name)).collect();
    let mut figures: Vec<String> = Vec::new();
    for name in rows.iter().flat_map(|(_, row, _)| row.figures.iter().map(head_of_figure)) {
        if !figures.contains(&name) {
            figures.push(name);
        }
    }
    let head = FIRST.iter().map(|name| (*name).to_owned());
    let head = head.chain(factors.iter().map(|name| head_of_factor(name))).chain(figures.clone());
    let mut lines = vec![line(head)];
    for (kind, row, set) in &rows {
        let number = |name: &String| {
            let figure = row.figures.iter().find(|figure| head_of_figure(figure) == *name);
            let value = figure.and_then(|figure| figure.value);
            value.map(|value| value.to_string()).unwrap_or_default()
        };
        let cells = [row.label.clone().unwrap_or_default(), word(kind)].into_iter();
        let factors = factors.iter().map(|name| set.get(name).unwrap_or_default().to_owned());
        lines.push(line(cells.chain(factors).chain(figures.iter().map(number))));
    }
    vec![Exported { stem: String::new(), ending: "csv", text: lines.join("\n") + "\n" }]
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(|cell| quoted(&cell)).collect::<Vec<_>>().join(",")
}

/// The head of a factor's column.
fn head_of_factor(name: &str) -> String {
    let is_taken = FIRST.contains(&name)
        || name.starts_with(FACTOR)
        || name.starts_with(FIGURE)
        || figure_of_head(name).is_some();
    if is_taken { format!("{FACTOR}{name}") } else { name.to_owned() }
}

/// The head of a figure's column: its plain name where that reads back as the same.
fn head_of_figure(figure: &Figure) -> String {
    let name = column(figure);
    let meant = (figure.quantity.clone(), figure.statistic, figure.unit.clone());
    match figure_of_head(&name).as_ref() == Some(&meant) {
        true => name,
        false => format!("{FIGURE}{}", serde_json::to_string(&meant).unwrap_or_default()),
    }
}

/// What the column of a figure holds; absent for any other column.
pub(crate) fn figure_of_head(head: &str) -> Option<(Quantity, Statistic, Unit)> {
    if let Some(json) = head.strip_prefix(FIGURE) {
        return serde_json::from_str(json).ok();
    }
    // The longest beginning that is a quantity: `input_tokens` before `input`.
    let ends = head.match_indices('_').map(|(at, _)| at).chain([head.len()]);
    let ends: Vec<usize> = ends.collect();
    ends.into_iter().rev().find_map(|end| {
        let quantity: Quantity = named(head.get(..end)?)?;
        let rest = head.get(end..)?;
        let (statistic, unit) = statistic_and_unit(rest, &quantity)?;
        Some((quantity, statistic, unit))
    })
}

/// Of `_p99_ms` the percentile and the milliseconds.
fn statistic_and_unit(rest: &str, quantity: &Quantity) -> Option<(Statistic, Unit)> {
    let plain = match quantity {
        Quantity::Efficiency | Quantity::ErrorRate | Quantity::Attainment => Unit::One,
        Quantity::Sparsity | Quantity::Ratio => Unit::One,
        _ => Unit::Count,
    };
    let unit = |rest: &str| match rest {
        "" => Some(plain.clone()),
        rest => named::<Unit>(rest.strip_prefix('_')?),
    };
    if let Some(unit) = unit(rest) {
        return Some((Statistic::Value, unit));
    }
    let known = STATISTICS.iter().find_map(|(word, statistic)| {
        let unit = match statistic {
            Statistic::Count => Some(Unit::Count).filter(|_| rest == *word),
            _ => unit(rest.strip_prefix(word)?),
        };
        Some((*statistic, unit?))
    });
    known.or_else(|| {
        let digits = rest.strip_prefix("_p")?;
        let end = digits.find('_').unwrap_or(digits.len());
        let percent: f64 = digits.get(..end)?.parse().ok()?;
        Some((Statistic::percentile(percent), unit(digits.get(end..)?)?))
    })
}

/// Statistics and their words, longer ones first.
const STATISTICS: [(&str, Statistic); 10] = [
    ("_std_population", Statistic::Std(StdKind::Population)),
    ("_std", Statistic::Std(StdKind::Sample)),
    ("_half_width", Statistic::HalfWidth),
    ("_mean", Statistic::Mean),
    ("_p50", Statistic::Median),
    ("_min", Statistic::Min),
    ("_max", Statistic::Max),
    ("_sum", Statistic::Sum),
    ("_count", Statistic::Count),
    ("", Statistic::Value),
];

/// A quantity or unit by its stored word.
fn named<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::from(word)).ok()
}

/// The name of a figure's column, `ttft_p99_ms`: quantity, statistic, unit.
pub fn column(figure: &Figure) -> String {
    let quantity = match &figure.quantity {
        Quantity::Other(name) => name.clone(),
        known => word(known),
    };
    let statistic = match figure.statistic {
        Statistic::Percentile(p) => format!("_p{p}"),
        Statistic::Std(StdKind::Unknown) => "_std".to_owned(),
        known => {
            let found = STATISTICS.iter().find(|(_, statistic)| *statistic == known);
            found.map_or(String::new(), |(word, _)| (*word).to_owned())
        }
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

/// A cell that no reader takes apart, and no spreadsheet for a formula: an apostrophe stands in
/// front of such a text, and of one that begins with it.
fn quoted(cell: &str) -> String {
    let is_number = cell.parse::<f64>().is_ok();
    let is_formula = !is_number && cell.starts_with(['=', '+', '-', '@', '\'']);
    let cell = if is_formula { format!("'{cell}") } else { cell.to_owned() };
    match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}
