//! A table: a row for each measured row, a column for each factor and each figure.
//!
//! The header distinguishes figures from factors (`heads`), so `import` reads the table back
//! without a map.

use super::{Export, Exported, Writer};
use crate::heads::{FIRST, head_of_factor, head_of_figure, word};
use ifm_core::Sheet;
use ifm_core::delimited::csv_cell;
use ifm_core::sheet::{Factors, Part, PartKind, Row, RowRole};
use std::collections::BTreeSet;

pub(super) const EXPORT: Export = Export {
    id: "csv",
    title: "table, CSV",
    definitions: None,
    write: Writer::Sheet(write),
    holds: "measured rows",
    lacks: "definitions, places and printed digits; single requests; fields that no figure holds; texts without a character",
};

fn write(sheet: &Sheet) -> Vec<Exported> {
    let Some(table) = Table::of(sheet) else { return Vec::new() };
    let mut lines = vec![line(table.head().into_iter())];
    for row in &table.rows {
        let texts = table.texts(row).into_iter().map(Option::unwrap_or_default);
        let numbers = table.numbers(row).into_iter();
        let numbers = numbers.map(|value| value.map(|v| v.to_string()).unwrap_or_default());
        lines.push(line(texts.chain(numbers)));
    }
    vec![Exported { name: None, stem: String::new(), ending: "csv", text: lines.join("\n") + "\n" }]
}

/// A column of a document's table: a cell for each measured row.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Labels, kinds and factors.
    Texts(Vec<Option<String>>),
    /// Figures.
    Numbers(Vec<Option<f64>>),
}

/// The measured rows of a document as columns, with the same headers as the CSV.
pub fn columns(sheet: &Sheet) -> Vec<(String, Column)> {
    let Some(table) = Table::of(sheet) else { return Vec::new() };
    let texts: Vec<Vec<Option<String>>> = table.rows.iter().map(|row| table.texts(row)).collect();
    let numbers: Vec<Vec<Option<f64>>> = table.rows.iter().map(|row| table.numbers(row)).collect();
    let of_texts = FIRST.len() + table.factors.len();
    let column = |at: usize| match at.checked_sub(of_texts) {
        None => Column::Texts(texts.iter().map(|row| row.get(at).cloned().flatten()).collect()),
        Some(at) => Column::Numbers(numbers.iter().map(|row| *row.get(at)?).collect()),
    };
    table.head().into_iter().enumerate().map(|(at, head)| (head, column(at))).collect()
}

/// The measured rows of a document, and the contents of their table.
struct Table<'s> {
    rows: Vec<(PartKind, &'s Row, Factors)>,
    factors: BTreeSet<String>,
    /// Heads of the figures' columns.
    figures: Vec<String>,
}

impl<'s> Table<'s> {
    /// The table of a document; absent where nothing was measured in it.
    fn of(sheet: &'s Sheet) -> Option<Table<'s>> {
        let measured = |part: &'s Part| {
            let rows = part.rows.iter().filter(|row| row.role == RowRole::Measured);
            rows.map(|row| (part.kind, row, row.factors.within(&part.factors)))
        };
        let rows: Vec<(PartKind, &Row, Factors)> = sheet.parts.iter().flat_map(measured).collect();
        let names = rows.iter().flat_map(|(.., set)| set.iter().map(|(name, _)| name.to_owned()));
        let factors = names.collect();
        let mut figures: Vec<String> = Vec::new();
        for name in rows.iter().flat_map(|(_, row, _)| row.figures.iter().map(head_of_figure)) {
            if !figures.contains(&name) {
                figures.push(name);
            }
        }
        (!rows.is_empty()).then_some(Table { rows, factors, figures })
    }

    fn head(&self) -> Vec<String> {
        let first = FIRST.iter().map(|name| (*name).to_owned());
        let factors = self.factors.iter().map(|name| head_of_factor(name));
        first.chain(factors).chain(self.figures.iter().cloned()).collect()
    }

    /// Label, kind and factors of a row.
    fn texts(&self, (kind, row, set): &(PartKind, &Row, Factors)) -> Vec<Option<String>> {
        let factors = self.factors.iter().map(|name| set.get(name).map(str::to_owned));
        [row.label.clone(), Some(word(kind))].into_iter().chain(factors).collect()
    }

    /// Figures of a row.
    fn numbers(&self, (_, row, _): &(PartKind, &Row, Factors)) -> Vec<Option<f64>> {
        let number = |name: &String| {
            let mut figures = row.figures.iter();
            figures.find(|figure| head_of_figure(figure) == *name)?.value
        };
        self.figures.iter().map(number).collect()
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(|cell| csv_cell(&cell)).collect::<Vec<_>>().join(",")
}
