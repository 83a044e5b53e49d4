//! How much of a document its reader keeps in memory. Files come from strangers, and a few bytes of text can
//! become hundreds of bytes of cells, values and rows: every reader takes its room here.
//!
//! The limits together keep the reading of any document within half a gigabyte.

use ifm_core::sheet::{Figure, Row, SheetRequest};
use serde_json::{Map, Value};
use std::mem::size_of;

/// Limits in unit tests are this many times smaller, so that documents that exceed them are read quickly.
const SCALE: usize = if cfg!(test) { 32 } else { 1 };
/// Bytes of a text that is read as a whole.
pub(crate) const TEXT_BYTES_MAX: u64 = (64 << 20) / SCALE as u64;
/// Bytes of a line of such a text.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;
/// Lines of such a text.
pub(crate) const LINES_MAX: usize = 2_000_000 / SCALE;
/// Cells of a record of separated values.
pub(crate) const RECORD_CELLS_MAX: usize = 10_000;
/// Bytes of a record of separated values.
pub(crate) const RECORD_BYTES_MAX: usize = 4 << 20;
/// Bytes of one JSON value that is read as a whole.
pub(crate) const VALUE_BYTES_MAX: usize = (64 << 20) / SCALE;
/// Memory of the values inside one JSON value, bytes.
pub(crate) const VALUE_MEMORY_MAX: usize = (160 << 20) / SCALE;
/// Memory of the cells of the tables of a document, and of the figures that they become, bytes.
pub(crate) const CELLS_MEMORY_MAX: usize = (160 << 20) / SCALE;
/// Memory of the rows of a document, bytes.
pub(crate) const ROWS_MEMORY_MAX: usize = (160 << 20) / SCALE;
/// Memory of the parts of a YAML document that have an anchor, and of the references to them, bytes.
pub(crate) const ALIAS_MEMORY_MAX: usize = (16 << 20) / SCALE;
/// Memory of the rows of a document that is read piece by piece, so that nothing else of it is in memory, bytes.
pub(crate) const STREAMED_ROWS_MEMORY_MAX: usize = (256 << 20) / SCALE;
/// Single requests of a document.
pub(crate) const REQUESTS_MAX: usize = 1_000_000 / SCALE;

/// Memory of an allocation in addition to its content, bytes.
const ALLOCATION: usize = 16;
/// Memory of an object with a member, bytes: the members are in nodes of eleven.
const OBJECT: usize = 11 * (size_of::<String>() + size_of::<Value>()) + ALLOCATION;
/// Memory of a member of an object, bytes.
const MEMBER: usize = 2 * (size_of::<String>() + size_of::<Value>());

/// Memory that is left for things of one kind.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    /// Room for this number of bytes.
    pub fn new(bytes: usize) -> Room {
        Room(bytes)
    }

    /// Takes some of the room; false, and nothing is taken, where less is left.
    pub fn take(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// Memory of the cells of a row, and of the figures that they may become, bytes.
pub(crate) fn cells_memory(cells: &[String]) -> usize {
    let cell =
        |cell: &String| cell.len() + 2 * ALLOCATION + size_of::<String>() + size_of::<Figure>();
    size_of::<Row>() + cells.iter().map(cell).sum::<usize>()
}

/// Memory of a row, bytes.
pub(crate) fn row_memory(row: &Row) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + ALLOCATION);
    let figure = |figure: &Figure| {
        let pointer = figure.place.as_ref().map_or(0, |place| text(&place.pointer));
        size_of::<Figure>() + text(&figure.printed) + pointer
    };
    let request = |request: &SheetRequest| size_of::<SheetRequest>() + text(&request.error);
    let factor = |(name, value): (&str, &str)| MEMBER + name.len() + value.len() + 2 * ALLOCATION;
    size_of::<Row>()
        + text(&row.label)
        + text(&row.text)
        + text(&row.place.pointer)
        + row.figures.iter().map(figure).sum::<usize>()
        + row.requests.iter().map(request).sum::<usize>()
        + row.factors.iter().map(factor).sum::<usize>()
        + map_memory(&row.unknown)
}

/// Memory of an object in addition to its own fields, bytes.
pub(crate) fn map_memory(map: &Map<String, Value>) -> usize {
    let member = |(name, value): (&String, &Value)| member_memory(name, value) - MEMBER;
    // Nodes that are filled in order are half full.
    let nodes = if map.len() <= 11 { map.len().min(1) } else { map.len().div_ceil(6) };
    nodes * OBJECT + map.iter().map(member).sum::<usize>()
}

/// Memory of a member of an object, bytes.
pub(crate) fn member_memory(name: &str, value: &Value) -> usize {
    MEMBER + name.len() + ALLOCATION + value_memory(value)
}

fn value_memory(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + ALLOCATION,
        Value::Array(items) => {
            let item = |item: &Value| size_of::<Value>() + value_memory(item);
            ALLOCATION + items.iter().map(item).sum::<usize>()
        }
        Value::Object(map) => map_memory(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Whether a JSON text becomes values of more than [`VALUE_MEMORY_MAX`], counted by its marks. Whether it is
/// sound JSON is not looked at.
pub(crate) fn is_too_much_json(json: &[u8]) -> bool {
    // Even a text of nothing but objects stays below.
    if json.len() < VALUE_MEMORY_MAX / OBJECT {
        return false;
    }
    let (mut room, mut at) = (Room::new(VALUE_MEMORY_MAX), 0);
    while let Some(byte) = json.get(at) {
        at += 1;
        let bytes = match byte {
            b'{' => OBJECT,
            b'[' => 4 * size_of::<Value>(),
            b':' => MEMBER,
            b',' => 2 * size_of::<Value>(),
            b'"' => {
                let length = text_length(json.get(at..).unwrap_or_default());
                at += length;
                length + ALLOCATION
            }
            _ => continue,
        };
        if !room.take(bytes) {
            return true;
        }
    }
    false
}

/// What is said of such a value.
pub(crate) fn too_much_json() -> String {
    format!("one JSON value whose members need more than {} MiB of memory", VALUE_MEMORY_MAX >> 20)
}

/// Bytes up to the end of a text, with its closing quote.
fn text_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', rest.get(at..).unwrap_or_default()) {
        at += found + 1;
        if rest.get(at - 1) == Some(&b'"') {
            return at;
        }
        at += 1;
    }
    rest.len()
}

#[cfg(test)]
mod tests;
