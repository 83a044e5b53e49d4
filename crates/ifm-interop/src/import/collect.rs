//! What all readers of files with fields do alike: read the pieces, count the bytes, build the
//! sheet, and say what could not be read.

use super::error::ImportError;
use super::json::pieces::{self, End, Piece};
use super::{Input, Recognised};
use ifm_core::Sheet;
use ifm_core::sheet::{
    Factors, Part, PartKind, Place, Remark, RemarkKind, Row, SheetRequest, Source,
};
use serde_json::{Map, Value};
use std::io::{self, BufRead, Read};

/// Remarks that are kept while a file is gone through.
const SKIPPED_MAX: usize = 1_000;

/// A file that was gone through.
pub(crate) struct Gone {
    pub name: String,
    pub bytes: u64,
    end: End,
}

impl Gone {
    /// The file is of a format and nothing of it could be used.
    pub fn broken(self, title: &'static str, lacking: &str, remarks: Vec<Remark>) -> ImportError {
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
pub(crate) fn pieces(
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
pub(crate) fn counted<T>(
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

/// A sheet with one part.
pub(crate) fn sheet(about: Recognised, gone: &Gone, kind: PartKind, rows: Vec<Row>) -> Sheet {
    let mut remarks = Vec::new();
    if let End::Early(line, why) = &gone.end {
        remarks.push(skipped(*line, &format!("the rest of the file: {why}")));
    }
    let source = Source {
        name: gone.name.clone(),
        format: about.id.to_owned(),
        bytes: gone.bytes,
        ..Source::default()
    };
    let part = Part {
        kind,
        tool: None,
        headings: Vec::new(),
        place: Place::line(1),
        factors: Factors::default(),
        rows,
        unknown: Map::new(),
    };
    Sheet { source, parts: vec![part], remarks }
}

/// A remark about something that was not read.
pub(crate) fn skipped(line: u32, reason: &str) -> Remark {
    Remark { kind: RemarkKind::Skipped, place: Place::line(line), text: reason.to_owned() }
}

/// Tells what was not read; of very much only the beginning.
pub(crate) fn skip(remarks: &mut Vec<Remark>, line: u32, reason: &str) {
    match remarks.len() {
        length if length < SKIPPED_MAX => remarks.push(skipped(line, reason)),
        SKIPPED_MAX => remarks.push(skipped(line, "from here on more that is not listed")),
        _ => {}
    }
}

/// A remark about something that stands in the file and in no sheet.
pub(crate) fn lost(pointer: impl Into<String>, what: &str) -> Remark {
    Remark { kind: RemarkKind::Lost, place: Place::pointer(pointer), text: what.to_owned() }
}

/// Counts starts from the first of them.
pub(crate) fn from_first_start(requests: &mut [SheetRequest]) {
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
pub(crate) fn summaries(
    mut input: Input<'_>,
    about: Recognised,
    tool: &str,
    lacking: &str,
    row: impl Fn(Map<String, Value>) -> Row,
) -> Result<Sheet, ImportError> {
    let (mut rows, mut remarks) = (Vec::new(), Vec::new());
    let gone = pieces(&mut input, &[], &mut |piece| match piece.value::<Map<String, Value>>() {
        Ok(object) => rows.push(row(object)),
        Err((line, reason)) => skip(&mut remarks, line, &reason),
    })?;
    if rows.is_empty() {
        return Err(gone.broken(about.title, lacking, remarks));
    }
    let mut sheet = sheet(about, &gone, PartKind::Serving, rows);
    sheet.source.tool = Some(tool.to_owned());
    sheet.remarks.extend(remarks);
    Ok(sheet)
}
