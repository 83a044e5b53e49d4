//! Rows of a table with a header, separated by commas or tabs.
//!
//! Every field is a text; whoever reads a number out of it says so if it is none.
//!
//! Not here: other formats.

use std::{fs::File, io::BufReader};

use csv::{ByteRecord, Reader, ReaderBuilder};
use serde_json::{Map, Value};

use super::{Given, RowFile};
use crate::error::WorkloadError;

/// The rows of one file.
pub(super) struct CsvRows {
    name: String,
    reader: Reader<BufReader<File>>,
    header: Vec<String>,
    record: ByteRecord,
}

impl CsvRows {
    /// Reads the header.
    ///
    /// # Errors
    /// [`WorkloadError::File`] for a header that is no UTF-8.
    pub(super) fn open(
        name: String,
        file: BufReader<File>,
        delimiter: u8,
    ) -> Result<Self, WorkloadError> {
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

impl RowFile for CsvRows {
    fn next(&mut self) -> Result<Given, WorkloadError> {
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
