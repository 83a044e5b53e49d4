//! Records of a file that nobody knows: CSV, an array of JSON objects, JSON Lines.

use super::super::error::ImportError;
use super::super::head::Head;
use super::super::input::Input;
use super::super::json::{lines, pieces};
use super::super::separated;
use ifm_core::sheet::{Place, Remark, RemarkKind};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::io::BufRead;

/// Records that are read; what follows is told.
const RECORDS_MAX: usize = 1_000_000;

/// A record: its cells by column.
pub(super) struct Record {
    pub place: Place,
    pub cells: Map<String, Value>,
}

/// All records of a file.
#[derive(Default)]
pub(super) struct Table {
    pub columns: BTreeSet<String>,
    pub records: Vec<Record>,
    pub remarks: Vec<Remark>,
    pub bytes: u64,
    refused: usize,
}

impl Table {
    fn push(&mut self, place: Place, cells: Map<String, Value>) {
        if self.records.len() == RECORDS_MAX {
            self.refused += 1;
            return;
        }
        for column in cells.keys() {
            if !self.columns.contains(column) {
                self.columns.insert(column.clone());
            }
        }
        self.records.push(Record { place, cells });
    }

    fn skip(&mut self, line: u32, reason: String) {
        let (kind, place) = (RemarkKind::Skipped, Place::line(line));
        self.remarks.push(Remark { kind, place, text: reason });
    }
}

/// Reads the records of a file.
///
/// # Errors
/// [`ImportError`] when it cannot be read, or is a text that is too large.
pub(super) fn read(input: Input<'_>) -> Result<Table, ImportError> {
    let name = input.name().to_owned();
    let (head, input) = input.with_head()?;
    let first = head.bytes().iter().find(|byte| !byte.is_ascii_whitespace()).copied();
    let bytes = input.all()?;
    let mut table = Table { bytes: bytes.len() as u64, ..Table::default() };
    let mut reader: &[u8] = &bytes;
    let read = match first {
        Some(b'[') => array(&mut reader, &mut table),
        Some(b'{') => objects(&mut reader, &mut table),
        _ => separated(&bytes, &mut table),
    };
    read.map_err(|error| ImportError::Unreadable { name, error })?;
    if table.refused > 0 {
        let text = format!("{} records behind the first {RECORDS_MAX}", table.refused);
        table.skip(1, text);
    }
    Ok(table)
}

fn array(reader: &mut dyn BufRead, table: &mut Table) -> std::io::Result<()> {
    let end = pieces::read(reader, &["/*"], &mut |piece| {
        if piece.cut.is_none() {
            return;
        }
        match piece.value::<Map<String, Value>>() {
            Ok(cells) => {
                let place = Place { line: Some(piece.line), pointer: Some(piece.pointer()) };
                table.push(place, cells);
            }
            Err((line, reason)) => table.skip(line, reason),
        }
    })?;
    if let pieces::End::Early(line, reason) = end {
        table.skip(line, reason);
    }
    Ok(())
}

fn objects(reader: &mut dyn BufRead, table: &mut Table) -> std::io::Result<()> {
    lines::read::<Map<String, Value>>(reader, |line, cells| match cells {
        Ok(cells) => table.push(Place::line(line), cells),
        Err(reason) => table.skip(line, reason),
    })
}

fn separated(bytes: &[u8], table: &mut Table) -> std::io::Result<()> {
    let separator = separator(bytes);
    let mut header: Option<Vec<String>> = None;
    for record in separated::records(bytes, separator) {
        let (line, cells) = record?;
        let cells = separated::trimmed(&cells);
        let Some(header) = &header else {
            header = Some(cells);
            continue;
        };
        if cells.len() != header.len() {
            table.skip(line, separated::misfit(cells.len(), header.len()));
            continue;
        }
        let cells = header.iter().cloned().zip(cells.into_iter().map(Value::from));
        table.push(Place::line(line), cells.collect());
    }
    Ok(())
}

/// What stands most often in the first line, of what may separate cells.
fn separator(bytes: &[u8]) -> u8 {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let often = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
    [b'\t', b';', b','].into_iter().max_by_key(often).unwrap_or(b',')
}

/// Columns that are told at most.
const COLUMNS_MAX: usize = 20;

/// The columns of a file that looks like rows: fields of JSON objects, or the cells of a first line
/// that has as many as the second.
pub(in super::super) fn columns(head: &Head) -> Vec<String> {
    if head.is_json() {
        return head.keys().iter().take(COLUMNS_MAX).cloned().collect();
    }
    let bytes = head.bytes();
    let mut records = separated::records(bytes, separator(bytes)).filter_map(Result::ok);
    let (Some((_, first)), Some((_, second))) = (records.next(), records.next()) else {
        return Vec::new();
    };
    let is_table = first.len() > 1 && first.len() == second.len();
    let has_names = first.iter().all(|cell| {
        !cell.trim().is_empty() && cell.len() < 64 && !cell.chars().any(char::is_control)
    });
    match is_table && has_names {
        true => separated::trimmed(&first).into_iter().take(COLUMNS_MAX).collect(),
        false => Vec::new(),
    }
}
