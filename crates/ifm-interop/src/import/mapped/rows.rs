//! Records of a file that no reader knows: CSV, JSON Lines, or JSON documents.
//!
//! Members of inner objects are columns too, by names such as `first.p99`. If an object holds a
//! list of objects, each item is a record and also has the fields outside of the list. This does
//! not apply if all columns of the map are outside already, as in a result with the list of its
//! requests.

use super::super::bounds::{self, Room};
use super::super::collect;
use super::super::error::ImportError;
use super::super::head::Head;
use super::super::input::Input;
use super::super::json::{lenient, lines, pieces};
use super::super::separated;
use ifm_core::sheet::{Figure, Place, Remark, RemarkKind, Row};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::io::BufRead;

/// Records that are read, if there is memory for them; a remark counts the rest.
const RECORDS_MAX: usize = 1_000_000;
/// Nesting that is looked through.
const DEPTH_MAX: usize = 16;

/// A record: its cells by column.
pub(super) struct Record {
    pub place: Place,
    pub cells: Map<String, Value>,
}

/// All records of a file.
pub(super) struct Table {
    pub columns: BTreeSet<String>,
    pub records: Vec<Record>,
    pub remarks: Vec<Remark>,
    pub bytes: u64,
    /// Memory for more records.
    room: Room,
    refused: usize,
}

impl Table {
    fn push(&mut self, place: Place, cells: Map<String, Value>) {
        let memory = size_of::<Row>() + size_of::<Figure>() + bounds::map_memory(&cells);
        // After the first that had no room none is kept: what is kept is the beginning.
        let has_room =
            self.refused == 0 && self.records.len() < RECORDS_MAX && self.room.take(memory);
        if !has_room {
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

    /// Adds a JSON object, after the fields outside of its list.
    fn push_object(
        &mut self,
        place: &Place,
        object: Map<String, Value>,
        outer: &Map<String, Value>,
        wanted: &[&str],
    ) {
        let mut cells = outer.clone();
        let mut lists = Vec::new();
        flatten(object, "", "", 0, &mut cells, &mut lists);
        let is_record = wanted.iter().all(|column| cells.contains_key(*column));
        if is_record || lists.is_empty() {
            cells.extend(lists.into_iter().map(|list| (list.column, Value::Array(list.items))));
            return self.push(place.clone(), cells);
        }
        for List { pointer, items, .. } in lists {
            let outer_pointer = place.pointer.as_deref().unwrap_or_default();
            for (at, item) in items.into_iter().enumerate() {
                let Value::Object(item) = item else { continue };
                let pointer = Some(format!("{outer_pointer}{pointer}/{at}"));
                self.push_object(&Place { pointer, ..place.clone() }, item, &cells, wanted);
            }
        }
    }

    fn skip(&mut self, line: u32, reason: String) {
        collect::skip(&mut self.remarks, line, &reason);
    }
}

/// A list of objects within an object.
struct List {
    column: String,
    pointer: String,
    items: Vec<Value>,
}

/// Puts the members of an object and of its inner objects into cells, but for lists of objects.
fn flatten(
    object: Map<String, Value>,
    prefix: &str,
    pointer: &str,
    depth: usize,
    cells: &mut Map<String, Value>,
    lists: &mut Vec<List>,
) {
    for (name, value) in object {
        let column = format!("{prefix}{name}");
        let pointer = format!("{pointer}/{name}");
        match value {
            Value::Object(inner) if depth < DEPTH_MAX && !inner.is_empty() => {
                flatten(inner, &format!("{column}."), &pointer, depth + 1, cells, lists);
            }
            Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
                lists.push(List { column, pointer, items });
            }
            value => _ = cells.insert(column, value),
        }
    }
}

/// Reads the records of a file. `wanted` are the columns of the map.
///
/// # Errors
/// [`ImportError`] when it cannot be read, or is a text that is too large.
pub(super) fn read(input: Input<'_>, wanted: &[&str]) -> Result<Table, ImportError> {
    let (head, mut input) = input.with_head()?;
    let first = head.bytes().iter().find(|byte| !byte.is_ascii_whitespace()).copied();
    let mut table = Table {
        columns: BTreeSet::new(),
        records: Vec::new(),
        remarks: Vec::new(),
        bytes: 0,
        room: Room::new(bounds::ROWS_MEMORY_MAX),
        refused: 0,
    };
    let (gone, ()) = collect::counted(&mut input, |reader| match first {
        Some(b'[') => documents(reader, &["/*"], wanted, &mut table),
        Some(b'{') if has_object_on_first_line(head.bytes()) => objects(reader, wanted, &mut table),
        Some(b'{') => documents(reader, &[], wanted, &mut table),
        _ => separated(reader, separator(head.bytes()), &mut table),
    })?;
    table.bytes = gone.bytes;
    if table.refused > 0 {
        let (kind, place) = (RemarkKind::Lost, Place::default());
        let text =
            format!("{} rows beyond the first {} are not kept", table.refused, table.records.len());
        table.remarks.push(Remark { kind, place, text });
    }
    Ok(table)
}

/// Whether the first line that is not empty is an object: the file is JSON Lines then.
fn has_object_on_first_line(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    line.is_some_and(|line| lenient::<Map<String, Value>>(line).is_ok())
}

/// Documents, or what is cut out of them.
fn documents(
    reader: &mut dyn BufRead,
    paths: &[&str],
    wanted: &[&str],
    table: &mut Table,
) -> std::io::Result<()> {
    let end = pieces::read(reader, paths, &mut |piece| {
        if piece.cut.is_none() && !paths.is_empty() {
            return;
        }
        match piece.value::<Map<String, Value>>() {
            Ok(object) => {
                let pointer = Some(piece.pointer()).filter(|pointer| !pointer.is_empty());
                let place = Place { line: Some(piece.line), pointer };
                table.push_object(&place, object, &Map::new(), wanted);
            }
            Err((line, reason)) => table.skip(line, reason),
        }
    })?;
    if let pieces::End::Early(line, reason) = end {
        table.skip(line, reason);
    }
    Ok(())
}

fn objects(reader: &mut dyn BufRead, wanted: &[&str], table: &mut Table) -> std::io::Result<()> {
    lines::read::<Map<String, Value>>(reader, |line, object| match object {
        Ok(object) => table.push_object(&Place::line(line), object, &Map::new(), wanted),
        Err(reason) => table.skip(line, reason),
    })
}

fn separated(reader: &mut dyn BufRead, separator: u8, table: &mut Table) -> std::io::Result<()> {
    let mut header: Option<Vec<String>> = None;
    for record in separated::records(reader, separator) {
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

/// The most frequent separator character in the first line.
fn separator(bytes: &[u8]) -> u8 {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let often = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
    [b'\t', b';', b','].into_iter().max_by_key(often).unwrap_or(b',')
}

/// Maximum number of columns to list.
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
