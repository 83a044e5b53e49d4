//! What all readers of files with fields do alike: read the pieces, count the bytes, build the
//! sheet, and say what could not be read.

use super::Input;
use super::bounds::{self, Room};
use super::error::ImportError;
use super::form::Format;
use super::json::Word;
use super::json::pieces::{self, End, Piece};
use ifm_core::Sheet;
use ifm_core::sheet::{Part, Place, Remark, RemarkKind, Row, RowRole, SheetRequest, Source};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::io::{self, BufRead, Read};

/// Remarks that are kept while a file is gone through.
const SKIPPED_MAX: usize = 1_000;

/// A file that was gone through.
pub(super) struct Gone {
    pub name: String,
    pub bytes: u64,
    end: End,
}

impl Gone {
    /// The file is of a format and nothing of it could be used.
    fn broken(self, title: &'static str, lacking: &str, remarks: Vec<Remark>) -> ImportError {
        let first = remarks.into_iter().find(|remark| remark.kind == RemarkKind::Skipped);
        let reason = match (self.end, first) {
            (End::Early(line, why), _) => format!("line {line}: {why}"),
            (End::Whole, Some(Remark { place: Place { line: Some(line), .. }, text, .. })) => {
                format!("line {line}: {text}")
            }
            (End::Whole, _) => lacking.to_owned(),
        };
        ImportError::Broken { name: self.name, title, reason }
    }
}

/// Goes through a JSON file piece by piece.
///
/// # Errors
/// [`ImportError::Unreadable`].
pub(super) fn pieces(
    input: &mut Input<'_>,
    paths: &[&str],
    take: &mut dyn FnMut(Piece<'_>),
) -> Result<Gone, ImportError> {
    let (gone, end) = counted(input, |reader| pieces::read(reader, paths, take))?;
    Ok(Gone { end, ..gone })
}

/// Goes through a file line by line, or however `read` does.
///
/// # Errors
/// [`ImportError::Unreadable`].
pub(super) fn counted<T>(
    input: &mut Input<'_>,
    read: impl FnOnce(&mut dyn BufRead) -> io::Result<T>,
) -> Result<(Gone, T), ImportError> {
    let name = input.name().to_owned();
    let mut counter = Counter { reader: input.reader(), bytes: 0 };
    match read(&mut counter) {
        Ok(value) => Ok((Gone { name, bytes: counter.bytes, end: End::Whole }, value)),
        Err(error) => Err(ImportError::Unreadable { name, error }),
    }
}

/// What the pieces of a file become.
pub(super) struct Gathered {
    pub rows: Vec<Row>,
    /// What no row holds.
    pub rest: Map<String, Value>,
    pub remarks: Vec<Remark>,
    /// Remaining memory for rows, and the number of rows beyond it.
    pub room: Room,
    pub beyond: usize,
}

impl Default for Gathered {
    fn default() -> Gathered {
        let room = Room::new(bounds::STREAMED_ROWS_MEMORY_MAX);
        let (rest, remarks) = (Map::new(), Vec::new());
        Gathered { rows: Vec::new(), rest, remarks, room, beyond: 0 }
    }
}

impl Gathered {
    /// Keeps a row; those for which there is no memory are counted.
    pub fn push(&mut self, row: Row) {
        // After the first that had no room none is kept: what is kept is the beginning.
        match self.beyond == 0 && self.room.take(bounds::row_memory(&row)) {
            true => self.rows.push(row),
            false => self.beyond += 1,
        }
    }

    /// The value of a piece; a damaged one is reported as a remark.
    pub fn value<T: DeserializeOwned>(&mut self, piece: &Piece<'_>) -> Option<T> {
        match piece.value() {
            Ok(value) => Some(value),
            Err((line, reason)) => {
                skip(&mut self.remarks, line, &reason);
                None
            }
        }
    }

    /// The sheet, with one part.
    ///
    /// # Errors
    /// A file without rows: `lacking` says what it lacks.
    pub fn finish(self, format: &Format, gone: Gone, lacking: &str) -> Result<Sheet, ImportError> {
        if self.rows.is_empty() {
            return Err(gone.broken(format.title, lacking, self.remarks));
        }
        let mut remarks = Vec::new();
        if let End::Early(line, why) = &gone.end {
            remarks.push(skipped(*line, &format!("the rest of the file: {why}")));
        }
        remarks.extend(self.remarks);
        if self.beyond > 0 {
            let text =
                format!("{} rows beyond the first {} are not kept", self.beyond, self.rows.len());
            remarks.push(Remark { kind: RemarkKind::Lost, place: Place::default(), text });
        }
        let part =
            Part { rows: self.rows, unknown: self.rest, ..Part::new(format.kind, Place::line(1)) };
        Ok(Sheet { source: source(format, gone.name, gone.bytes), parts: vec![part], remarks })
    }
}

/// Where the sheet of a file comes from.
pub(super) fn source(format: &Format, name: String, bytes: u64) -> Source {
    let (id, tool) = (format.id.to_owned(), format.tool.map(str::to_owned));
    Source { name, format: id, tool, bytes, ..Source::default() }
}

/// A remark about something that was not read.
pub(super) fn skipped(line: u32, reason: &str) -> Remark {
    Remark { kind: RemarkKind::Skipped, place: Place::line(line), text: reason.to_owned() }
}

/// Reports what was not read, up to the limit of [`note`].
pub(super) fn skip(remarks: &mut Vec<Remark>, line: u32, reason: &str) {
    note(remarks, skipped(line, reason));
}

/// Adds a remark on something of the file; of very many only the beginning.
pub(super) fn note(remarks: &mut Vec<Remark>, remark: Remark) {
    match remarks.len() {
        length if length < SKIPPED_MAX => remarks.push(remark),
        SKIPPED_MAX => {
            let text = "from here on more that is not listed".to_owned();
            remarks.push(Remark { text, ..remark });
        }
        _ => {}
    }
}

/// A remark about something that is in the file and in no sheet.
pub(super) fn lost(pointer: impl Into<String>, what: &str) -> Remark {
    Remark { kind: RemarkKind::Lost, place: Place::pointer(pointer), text: what.to_owned() }
}

/// What a request failed of, by its code and its message.
pub(super) fn failure(code: Word, message: Word) -> Option<String> {
    match (code.0, message.0.filter(|message| !message.is_empty())) {
        (Some(code), Some(message)) => Some(format!("{code} {message}")),
        (code, message) => code.or(message),
    }
}

/// Counts starts from the first of them.
pub(super) fn from_first_start(requests: &mut [SheetRequest]) {
    let first = requests.iter().filter_map(|request| request.start_s).reduce(f64::min);
    for request in requests {
        request.start_s = request.start_s.zip(first).map(|(start, first)| start - first);
    }
}

/// A reader that counts what went through.
struct Counter<'a> {
    reader: &'a mut dyn BufRead,
    bytes: u64,
}

impl Read for Counter<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(into)?;
        self.bytes += length as u64;
        Ok(length)
    }
}

impl BufRead for Counter<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.bytes += length as u64;
        self.reader.consume(length);
    }
}

/// Reads a file of one JSON object, or several, each of which is a row.
///
/// # Errors
/// A file without one: `lacking` says what it lacks.
pub(super) fn summaries(
    format: &Format,
    mut input: Input<'_>,
    lacking: &str,
    row: impl Fn(Map<String, Value>) -> Row,
) -> Result<Sheet, ImportError> {
    let mut all = Gathered::default();
    let gone = pieces(&mut input, &[], &mut |piece| {
        if let Some(object) = all.value(&piece) {
            all.push(row(object));
        }
    })?;
    all.finish(format, gone, lacking)
}

/// Reads a list of single requests into one row, with starts relative to the first of them; `lost`
/// names the data that no sheet holds.
///
/// # Errors
/// A file without one.
pub(super) fn requests<T: DeserializeOwned>(
    format: &Format,
    mut input: Input<'_>,
    lost: Option<&str>,
    request: impl Fn(T) -> SheetRequest,
) -> Result<Sheet, ImportError> {
    let mut all = Gathered::default();
    all.remarks.extend(lost.map(|what| self::lost("", what)));
    let mut row = Row::new(RowRole::Measured, Place::pointer(""));
    let gone = pieces(&mut input, &["/*"], &mut |piece| {
        // What remains of the array is empty.
        if piece.cut.is_some() {
            row.requests.extend(all.value(&piece).map(&request));
        }
    })?;
    from_first_start(&mut row.requests);
    if !row.requests.is_empty() {
        all.rows.push(row);
    }
    all.finish(format, gone, "no request in it")
}
