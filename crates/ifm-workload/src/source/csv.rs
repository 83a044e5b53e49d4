//! Rows of a table with a header, separated by commas or tabs.
//!
//! Every field is a text; whoever reads a number out of it says so if it is none.
//!
//! Not here: other formats.

use std::{
    fs::File,
    io::{self, BufReader, Read},
};

use csv::{ByteRecord, Reader, ReaderBuilder};
use serde_json::{Map, Value};

use super::{Given, ROW_BYTES_MAX, RowFile};
use crate::error::WorkloadError;

/// The rows of one file.
pub(super) struct CsvRows {
    name: String,
    reader: Reader<Bounded>,
    header: Vec<String>,
    record: ByteRecord,
}

impl CsvRows {
    /// Reads the header.
    ///
    /// # Errors
    /// [`WorkloadError::File`] for a header that is not UTF-8.
    pub(super) fn open(name: String, file: File, delimiter: u8) -> Result<Self, WorkloadError> {
        let file = Bounded { file: BufReader::new(file), left: ROW_BYTES_MAX };
        let mut reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(file);
        let wrong = |reason: String| WorkloadError::File { file: name.clone(), reason };
        let header = reader.headers().map_err(|error| wrong(format!("no header: {error}")))?;
        let mut header = header.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>();
        if let Some(first) = header.first_mut() {
            *first = first.trim_start_matches('\u{feff}').to_owned();
        }
        Ok(Self { name, reader, header, record: ByteRecord::new() })
    }

    fn fields(&self) -> Result<Map<String, Value>, String> {
        if self.record.len() != self.header.len() {
            let (have, need) = (self.record.len(), self.header.len());
            return Err(format!("{have} fields where the header has {need}"));
        }
        let fields = self.header.iter().zip(&self.record).map(|(name, bytes)| {
            let text = std::str::from_utf8(bytes);
            let text = text.map_err(|_| format!("not UTF-8 in the column {name}"))?;
            Ok((name.clone(), Value::String(text.to_owned())))
        });
        fields.collect()
    }
}

/// A file of which so much may be read for one row: a quotation mark that is never closed
/// makes one row of all that follows.
struct Bounded {
    file: BufReader<File>,
    left: usize,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("a row is longer than 64 MiB; is a quotation mark open?"));
        }
        let read = self.file.read(buffer)?;
        self.left = self.left.saturating_sub(read);
        Ok(read)
    }
}

impl RowFile for CsvRows {
    fn next(&mut self) -> Result<Given, WorkloadError> {
        self.reader.get_mut().left = ROW_BYTES_MAX;
        let more = self.reader.read_byte_record(&mut self.record);
        let more = more.map_err(|error| WorkloadError::File {
            file: self.name.clone(),
            reason: error.to_string(),
        })?;
        let line = self.record.position().map_or(0, csv::Position::line);
        Ok(more.then(|| (line, self.fields())))
    }

    fn header(&self) -> Option<&[String]> {
        Some(&self.header)
    }
}
