//! Files that are a sequence of rows: JSON Lines, a list of objects, a single object, a table of
//! comma-separated values, lines. Read in one pass; the fields before the damage in an object are
//! kept, and unreadable data is reported with its line.

use super::bounds::{self, Room};
use super::error::ImportError;
use super::form::Format;
use super::json::{Fault, Reader};
use super::{Input, collect, lines, separated};
use ifm_core::Sheet;
use ifm_core::sheet::{Part, Place, Remark, RemarkKind, Row, RowRole};
use serde_json::{Map, Value};

/// Rows of a file at most.
const ROWS_MAX: usize = 100_000;
/// Remarks about damaged or skipped objects of a file at most.
const REMARKS_MAX: usize = 1_000;
/// Bytes of a line at most.
const LINE_BYTES_MAX: u64 = 1 << 24;
/// Characters of a field that no figure holds, as far as it is kept.
const UNKNOWN_BYTES_MAX: usize = 64 * 1024;

/// A row that is being read, and what there is to say about it.
pub(crate) struct Draft<'a> {
    /// The row; its place is set.
    pub row: Row,
    /// Rows of the object in addition to its own.
    pub more: Vec<Row>,
    /// Remarks to report.
    pub remarks: &'a mut Vec<Remark>,
    /// Remaining memory for fields that no figure holds, and the number of fields beyond it.
    room: Room,
    lost: usize,
}

impl Draft<'_> {
    /// Gives it the rows that the object is; the first is its own.
    pub fn fill(&mut self, rows: Vec<Row>) {
        let mut rows = rows.into_iter();
        if let Some(row) = rows.next() {
            self.row = row;
            self.more.extend(rows);
        }
    }

    /// Keeps a field that no figure holds, unless it is too long.
    pub fn keep(&mut self, field: &str, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let line = reader.line();
        match reader.value(UNKNOWN_BYTES_MAX)? {
            Some(value) if self.room.take(bounds::member_memory(field, &value)) => {
                self.row.unknown.insert(field.to_owned(), value);
            }
            Some(_) => self.lost += 1,
            None => self.remarks.push(Remark {
                kind: RemarkKind::Lost,
                place: Place { line: Some(line), pointer: Some(format!("/{field}")) },
                text: format!("longer than {} KiB: not kept", UNKNOWN_BYTES_MAX / 1024),
            }),
        }
        Ok(())
    }
}

/// Reads a file of objects that are rows. Calls `take` at the start of each object, and `take` must
/// read it; an object without figures and factors is not a row.
///
/// # Errors
/// [`ImportError::Broken`] when not one row could be read.
pub(crate) fn read(
    format: &Format,
    mut input: Input<'_>,
    mut take: impl FnMut(&mut Reader<'_>, &mut Draft<'_>) -> Result<(), Fault>,
) -> Result<Sheet, ImportError> {
    let mut records = Records::default();
    let name = input.name().to_owned();
    let mut source = input.reader();
    let mut reader = Reader::new(&mut source);
    let end = reader.objects(|reader| {
        if records.full() {
            return reader.skip();
        }
        let line = reader.line();
        let mut result = Ok(());
        let kept = records.draft(line, |draft| result = take(reader, draft));
        if let Err(fault) = &result {
            records.skip(
                fault.line,
                match kept {
                    true => format!("the rest of the object is damaged: {fault}"),
                    false => format!("a damaged object: {fault}"),
                },
            );
        }
        result
    });
    end.map_err(|error| ImportError::Unreadable { name: name.clone(), error })?;
    records.finish(format, name, reader.bytes())
}

/// Reads a file of small objects, each given whole with its place.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_small(
    format: &Format,
    input: Input<'_>,
    mut take: impl FnMut(Map<String, Value>, &mut Draft<'_>),
) -> Result<Sheet, ImportError> {
    read(format, input, |reader, draft| {
        let mut object = Map::new();
        reader.object(|name, reader| {
            match reader.value(UNKNOWN_BYTES_MAX)? {
                Some(value) if draft.room.take(bounds::member_memory(name, &value)) => {
                    object.insert(name.to_owned(), value);
                }
                Some(_) => draft.lost += 1,
                None => {}
            }
            Ok(())
        })?;
        take(object, draft);
        Ok(())
    })
}

/// Reads a table of comma-separated values whose first line names the fields: each record as
/// names and cells.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_csv(
    format: &Format,
    mut input: Input<'_>,
    mut take: impl FnMut(Vec<(String, String)>, &mut Draft<'_>),
) -> Result<Sheet, ImportError> {
    let mut records = Records::default();
    let (gone, ()) = collect::counted(&mut input, |reader| {
        let mut head: Option<Vec<String>> = None;
        for record in separated::records(reader, b',') {
            let (line, cells) = record?;
            let Some(head) = &head else {
                head = Some(cells);
                continue;
            };
            if records.full() {
                continue;
            }
            if cells.len() != head.len() {
                records.skip(line, separated::misfit(cells.len(), head.len()));
                continue;
            }
            let fields = head.iter().cloned().zip(cells).collect();
            records.draft(line, |draft| take(fields, draft));
        }
        Ok(())
    })?;
    records.finish(format, gone.name, gone.bytes)
}

/// Reads a file line by line. A line that `take` cannot read is reported with its reason.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_lines(
    format: &Format,
    mut input: Input<'_>,
    mut take: impl FnMut(&str, &mut Draft<'_>) -> Result<(), String>,
) -> Result<Sheet, ImportError> {
    let mut records = Records::default();
    let name = input.name().to_owned();
    let read = lines::each(input.reader(), LINE_BYTES_MAX, |number, line| {
        if records.full() {
            return;
        }
        let Some(line) = line else {
            let text = format!("a line of more than {} MiB", LINE_BYTES_MAX >> 20);
            return records.skip(number, text);
        };
        let mut result = Ok(());
        let text = String::from_utf8_lossy(line);
        records.draft(number, |draft| result = take(&text, draft));
        if let Err(reason) = result {
            records.skip(number, reason);
        }
    });
    let bytes = read.map_err(|error| ImportError::Unreadable { name: name.clone(), error })?;
    records.finish(format, name, bytes)
}

/// Rows and remarks while a file is read.
#[derive(Debug)]
struct Records {
    rows: Vec<Row>,
    remarks: Vec<Remark>,
    beyond: usize,
    /// Memory for more rows.
    room: Room,
}

impl Default for Records {
    fn default() -> Records {
        let room = Room::new(bounds::STREAMED_ROWS_MEMORY_MAX);
        Records { rows: Vec::new(), remarks: Vec::new(), beyond: 0, room }
    }
}

impl Records {
    /// Whether no more rows are kept; counts one that is not.
    fn full(&mut self) -> bool {
        // After one that had no room all others are counted too: what is kept is the beginning.
        let full = self.rows.len() >= ROWS_MAX || self.beyond > 0;
        self.beyond += usize::from(full);
        // One more than are kept, to report at the end that there were more.
        self.remarks.truncate(REMARKS_MAX + 1);
        full
    }

    /// Fills a row, keeps it if it has content, and returns whether it has.
    fn draft(&mut self, line: u32, fill: impl FnOnce(&mut Draft<'_>)) -> bool {
        let row = Row::new(RowRole::Measured, Place::line(line));
        let room = Room::new(bounds::VALUE_MEMORY_MAX);
        let mut draft = Draft { row, more: Vec::new(), remarks: &mut self.remarks, room, lost: 0 };
        fill(&mut draft);
        if draft.lost > 0 {
            let text = format!(
                "{} fields of this object: they need more than {} MiB of memory",
                draft.lost,
                bounds::VALUE_MEMORY_MAX >> 20
            );
            draft.remarks.push(Remark { kind: RemarkKind::Lost, place: Place::line(line), text });
        }
        let kept = !draft.row.figures.is_empty() || !draft.row.factors.is_empty();
        // Of a file with very many rows the room that a growing list keeps is half of all memory.
        for row in std::iter::once(&mut draft.row).chain(&mut draft.more) {
            row.figures.shrink_to_fit();
            row.requests.shrink_to_fit();
        }
        if kept {
            let rows = std::iter::once(draft.row).chain(draft.more);
            for row in rows {
                match self.room.take(bounds::row_memory(&row)) {
                    true => self.rows.push(row),
                    false => self.beyond += 1,
                }
            }
        }
        kept
    }

    fn skip(&mut self, line: u32, text: String) {
        self.remarks.push(Remark { kind: RemarkKind::Skipped, place: Place::line(line), text });
    }

    fn finish(mut self, format: &Format, name: String, bytes: u64) -> Result<Sheet, ImportError> {
        if self.rows.is_empty() {
            let skipped = self.remarks.iter().find(|remark| remark.kind == RemarkKind::Skipped);
            let reason = match skipped {
                Some(Remark { place: Place { line: Some(line), .. }, text, .. }) => {
                    format!("line {line}: {text}")
                }
                _ => "no results in it".to_owned(),
            };
            return Err(ImportError::Broken { name, title: format.title, reason });
        }
        if self.remarks.len() > REMARKS_MAX {
            self.remarks.truncate(REMARKS_MAX);
            self.lost(format!("remarks beyond the first {REMARKS_MAX} are not kept"));
        }
        if self.beyond > 0 {
            let (beyond, kept) = (self.beyond, self.rows.len());
            self.lost(format!("{beyond} rows beyond the first {kept} are not kept"));
        }
        let part = Part { rows: self.rows, ..Part::new(format.kind, Place::line(1)) };
        Ok(Sheet {
            source: collect::source(format, name, bytes),
            parts: vec![part],
            remarks: self.remarks,
        })
    }

    fn lost(&mut self, text: String) {
        self.remarks.push(Remark { kind: RemarkKind::Lost, place: Place::default(), text });
    }
}
