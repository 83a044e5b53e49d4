//! Rows of a file that no reader knows, by a map from names to its columns:
//! `ttft_ms=first_tok,users=conc`.
//!
//! CSV with any usual separator, JSON Lines, or JSON documents; members of inner objects by names such as
//! `first.p99`. What is not mapped is kept with the figures. Not here: the names that columns can be mapped to (`names`).

mod names;
mod rows;

pub(super) use names::example;
pub use names::{Target, names};
pub(super) use rows::columns;

use super::collect;
use super::error::ImportError;
use super::input::Input;
use super::measure;
use ifm_core::Sheet;
use ifm_core::contained::contained;
use ifm_core::sheet::{
    Definition, Factors, Figure, Part, PartKind, Place, Remark, RemarkKind, Row, RowRole, Source,
};
use rows::Record;
use serde_json::{Map, Value};
use thiserror::Error;

/// Id of sheets that were read by a map.
const FORMAT: &str = "mapped";
/// Names that a message lists at most.
const LISTED_MAX: usize = 60;

/// Which column is what.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnMap {
    pairs: Vec<(Target, String)>,
}

/// Why a file could not be read by a map.
#[derive(Debug, Error)]
pub enum MapError {
    /// A piece of the map is not a pair.
    #[error("{0:?} is not a pair: write NAME=COLUMN, as in ttft_ms=first_tok")]
    NoPair(String),
    /// A name is not known.
    #[error("{name:?} is not a name that a column can be mapped to{nearest}; names: {names}")]
    Name {
        /// The name.
        name: String,
        /// The nearest one, in words.
        nearest: String,
        /// All of them.
        names: String,
    },
    /// The file lacks a column.
    #[error("{file}: no column {column:?}{nearest}; columns: {columns}")]
    Column {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The nearest one, in words.
        nearest: String,
        /// Those that it has.
        columns: String,
    },
    /// The file holds no rows.
    #[error(
        "{file}: no rows in it: CSV with a line of names, JSON objects, alone, in a list, or one on each line"
    )]
    NoRows {
        /// The file.
        file: String,
    },
    /// The file could not be read.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl ColumnMap {
    /// Reads a map such as `ttft_ms=first_tok,p99_e2e_s=total p99,users=conc`. A column whose name
    /// holds a comma cannot be named so; see [`ColumnMap::new`].
    ///
    /// # Errors
    /// [`MapError::NoPair`] and [`MapError::Name`], with the nearest name.
    pub fn parse(text: &str) -> Result<ColumnMap, MapError> {
        let pairs = text.split(',').filter(|pair| !pair.trim().is_empty()).map(|pair| {
            let (name, column) =
                pair.split_once('=').ok_or_else(|| MapError::NoPair(pair.to_owned()))?;
            Ok((name, column))
        });
        ColumnMap::new(pairs.collect::<Result<Vec<_>, MapError>>()?)
    }

    /// A map of names and columns.
    ///
    /// # Errors
    /// [`MapError::NoPair`] for an empty map or column, [`MapError::Name`] for an unknown name.
    pub fn new<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ColumnMap, MapError> {
        let mut map = ColumnMap { pairs: Vec::new() };
        for (name, column) in pairs {
            let (name, column) = (name.trim(), column.trim());
            let target = Target::of(name).ok_or_else(|| MapError::Name {
                name: name.to_owned(),
                nearest: nearest(name, names()),
                names: list(names()),
            })?;
            if column.is_empty() {
                return Err(MapError::NoPair(format!("{name}=")));
            }
            map.pairs.push((target, column.to_owned()));
        }
        match map.pairs.is_empty() {
            true => Err(MapError::NoPair(String::new())),
            false => Ok(map),
        }
    }
}

/// Reads the rows of a file by a map.
///
/// # Errors
/// [`MapError`]: a column that the file lacks, with those that it has and the nearest; a file that
/// holds no rows. A row or a cell that cannot be read is a remark.
pub fn read_mapped(input: Input<'_>, map: &ColumnMap) -> Result<Sheet, MapError> {
    let name = input.name().to_owned();
    contained(|| read_rows(input, map))
        .unwrap_or_else(|error| Err(ImportError::Panicked { name, error }.into()))
}

fn read_rows(input: Input<'_>, map: &ColumnMap) -> Result<Sheet, MapError> {
    let file = input.name().to_owned();
    let seen = input.seen();
    let wanted: Vec<&str> = map.pairs.iter().map(|(_, column)| column.as_str()).collect();
    let table = rows::read(input, &wanted)?;
    if table.records.is_empty() {
        return Err(MapError::NoRows { file });
    }
    for (_, column) in &map.pairs {
        if !table.columns.contains(column) {
            let columns = || table.columns.iter().map(String::as_str);
            return Err(MapError::Column {
                file,
                column: column.clone(),
                nearest: nearest(column, columns()),
                columns: list(columns()),
            });
        }
    }
    let mut remarks = table.remarks;
    let rows = table.records.into_iter().map(|record| row(record, map, &mut remarks)).collect();
    let source =
        Source { name: file, format: FORMAT.to_owned(), bytes: table.bytes, ..Source::default() };
    let part = Part {
        kind: PartKind::Other,
        tool: None,
        headings: Vec::new(),
        place: Place::line(1),
        factors: Factors::default(),
        rows,
        unknown: Map::new(),
    };
    let mut sheet = Sheet { source, parts: vec![part], remarks };
    seen.get().tell(&mut sheet);
    Ok(sheet)
}

fn row(mut record: Record, map: &ColumnMap, remarks: &mut Vec<Remark>) -> Row {
    let mut row = Row::new(RowRole::Measured, record.place.clone());
    for (target, column) in &map.pairs {
        let Some(cell) = record.cells.remove(column) else { continue };
        let text = match &cell {
            Value::Null => continue,
            Value::String(text) => text.trim().to_owned(),
            other => other.to_string(),
        };
        if text.is_empty() {
            continue;
        }
        match target {
            Target::Label => row.label = Some(text),
            Target::Factor(name) => row.factors.set(name.clone(), text),
            Target::Figure(quantity, statistic, unit) => {
                let number = measure::printed(&text);
                let place = Place { pointer: Some(column.clone()), ..record.place.clone() };
                if number.is_none() {
                    collect::note(
                        remarks,
                        Remark {
                            kind: RemarkKind::Missing,
                            place: place.clone(),
                            text: format!("{text:?} is not a number"),
                        },
                    );
                }
                let (value, own) = number.map_or((f64::NAN, None), |(value, _, own)| (value, own));
                let unit = own.unwrap_or_else(|| unit.clone());
                let mut figure =
                    Figure::new(*quantity, *statistic, value, unit).defined(Definition::Unstated);
                figure.printed = Some(text);
                figure.place = Some(place);
                row.figures.push(figure);
            }
        }
    }
    row.unknown = record.cells;
    row
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.collect();
    let shown = all.get(..LISTED_MAX).unwrap_or(&all).join(", ");
    match all.len().saturating_sub(LISTED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The nearest of some names, as ` (did you mean "x"?)`, if one is near.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let near = names
        .map(|other| (distance(&name.to_lowercase(), &other.to_lowercase()), other))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, other)| *distance <= other.chars().count().div_ceil(2));
    near.map_or(String::new(), |(_, other)| format!(" (did you mean {other:?}?)"))
}

/// Single characters that have to be put in, taken out or replaced (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(256).collect();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.chars().take(256).enumerate() {
        let mut left = row + 1;
        let mut diagonal = std::mem::replace(&mut above[0], left);
        for (b, up) in other.iter().zip(above.iter_mut().skip(1)) {
            let best = (diagonal + usize::from(a != *b)).min(*up + 1).min(left + 1);
            diagonal = std::mem::replace(up, best);
            left = best;
        }
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "ab"), distance("ab", ""), distance("ab", "ab")), (2, 2, 0));
    }

    #[test]
    fn maps_say_what_is_wrong_with_them() {
        let error = |text: &str| ColumnMap::parse(text).unwrap_err().to_string();
        assert!(error("ttft_ms").contains("NAME=COLUMN"));
        assert!(error("tfft_ms=a").contains("did you mean \"ttft_ms\"?"), "{}", error("tfft_ms=a"));
        assert!(error("").contains("NAME=COLUMN"));
        assert!(error("ttft_ms=").contains("NAME=COLUMN"));
        assert_eq!(ColumnMap::parse("ttft_ms=a, users=b").unwrap().pairs.len(), 2);
    }
}
