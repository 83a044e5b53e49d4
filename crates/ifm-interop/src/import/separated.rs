//! Tables of separated values, record by record: the line on which each begins, blank lines before
//! it counted as its own, and its cells.
//!
//! A record may have any number of cells up to a limit; the table ends with an error at one that exceeds it.
//! Not here: what a first record says of the others.

use super::bounds::{RECORD_BYTES_MAX, RECORD_CELLS_MAX};
use csv_core::ReadRecordResult;
use std::io::{self, Read};

/// Bytes that are read at once.
const WINDOW_BYTES: usize = 1 << 16;
/// Room that a record has at first, bytes and cells.
const RECORD: (usize, usize) = (1 << 12, 64);

/// Goes through the records of a table. What is not UTF-8 in a cell is replaced.
pub(crate) fn records<'a>(
    reader: impl Read + 'a,
    separator: u8,
) -> impl Iterator<Item = io::Result<(u32, Vec<String>)>> + 'a {
    let core = csv_core::ReaderBuilder::new().delimiter(separator).build();
    let window = vec![0; WINDOW_BYTES];
    let (bytes, ends) = (vec![0; RECORD.0], vec![0; RECORD.1]);
    Records { reader, core, window, at: 0, filled: 0, bytes, ends, is_done: false }
}

struct Records<R> {
    reader: R,
    core: csv_core::Reader,
    window: Vec<u8>,
    /// Position of the first unread byte of the window.
    at: usize,
    filled: usize,
    /// The cells of the record, one behind the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    is_done: bool,
}

impl<R: Read> Iterator for Records<R> {
    type Item = io::Result<(u32, Vec<String>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let line = u32::try_from(self.core.line()).unwrap_or(u32::MAX);
        let record = self.record(line).transpose()?;
        self.is_done = record.is_err();
        Some(record.map(|cells| (line, cells)))
    }
}

impl<R: Read> Records<R> {
    fn record(&mut self, line: u32) -> io::Result<Option<Vec<String>>> {
        let (mut length, mut cells) = (0, 0);
        loop {
            if self.at == self.filled {
                self.filled = self.fill()?;
                self.at = 0;
            }
            // An empty window ends the table.
            let window = self.window.get(self.at..self.filled).unwrap_or_default();
            let bytes = self.bytes.get_mut(length..).unwrap_or_default();
            let ends = self.ends.get_mut(cells..).unwrap_or_default();
            let (result, read, written, ended) = self.core.read_record(window, bytes, ends);
            self.at += read;
            length += written;
            cells += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => {
                    if length >= RECORD_BYTES_MAX {
                        let limit = format!("{} MiB", RECORD_BYTES_MAX >> 20);
                        return Err(too_large(line, &limit));
                    }
                    self.bytes.resize(2 * self.bytes.len(), 0);
                }
                ReadRecordResult::OutputEndsFull => {
                    if cells >= RECORD_CELLS_MAX {
                        return Err(too_large(line, &format!("{RECORD_CELLS_MAX} cells")));
                    }
                    self.ends.resize(2 * self.ends.len(), 0);
                }
                ReadRecordResult::Record => return Ok(Some(self.cells(cells))),
                ReadRecordResult::End => {
                    self.is_done = true;
                    return Ok(None);
                }
            }
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        loop {
            match self.reader.read(&mut self.window) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    fn cells(&self, cells: usize) -> Vec<String> {
        let mut start = 0;
        let ends = self.ends.iter().take(cells);
        let cell = |end: &usize| {
            let cell = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            String::from_utf8_lossy(cell).into_owned()
        };
        ends.map(cell).collect()
    }
}

fn too_large(line: u32, limit: &str) -> io::Error {
    io::Error::other(format!("line {line}: a record of more than {limit}"))
}

/// Cells without the blanks around them.
pub(crate) fn trimmed(cells: &[String]) -> Vec<String> {
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The message about a record that does not fit its table.
pub(crate) fn misfit(cells: usize, columns: usize) -> String {
    format!("{cells} cells for {columns} columns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Read = Vec<(u32, Vec<String>)>;

    fn read(text: &[u8]) -> Read {
        records(text, b',').map(|record| record.expect("a record")).collect()
    }

    #[test]
    fn records_keep_their_lines_and_their_cells() {
        let all = read(b"a,b\n\"1\n,2\" , 3\n\xb1,,\n");
        let lines: Vec<(u32, usize)> =
            all.iter().map(|(line, cells)| (*line, cells.len())).collect();
        assert_eq!(lines, [(1, 2), (2, 2), (4, 3)]);
        assert_eq!(all[1].1, ["1\n,2 ", " 3"]);
        assert_eq!(trimmed(&all[1].1), ["1\n,2", "3"]);
        assert_eq!(all[2].1[0], "\u{fffd}");
    }

    #[test]
    fn rejects_a_record_with_too_many_cells_or_bytes() {
        let error = |record: String| {
            let text = format!("a,b\n{record}");
            let mut records = records(text.as_bytes(), b',');
            assert!(records.next().is_some_and(|first| first.is_ok()));
            let error = records.next().and_then(Result::err).map(|error| error.to_string());
            assert!(records.next().is_none());
            error
        };
        assert_eq!(error(",".repeat(1000)), None);
        let cells = "line 2: a record of more than 10000 cells";
        assert_eq!(error(",".repeat(20_000)).as_deref(), Some(cells));
        // A line break in quotes does not end a record.
        assert_eq!(error("\"\n\",".repeat(20_000)).as_deref(), Some(cells));
        let bytes = "line 2: a record of more than 4 MiB";
        assert_eq!(error("x".repeat(5 << 20)).as_deref(), Some(bytes));
        assert_eq!(error(format!("\"{}", "\n".repeat(5 << 20))).as_deref(), Some(bytes));
    }

    proptest! {
        #[test]
        fn reads_what_the_csv_crate_reads(text in "[a-c,\"\r\n ]{0,80}", copies in 1_usize..200) {
            let text = text.repeat(copies);
            let expected: Read = ::csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(text.as_bytes())
                .into_records()
                .map(|record| {
                    let record = record.expect("a record");
                    let line = record.position().expect("a place").line();
                    (line as u32, record.iter().map(str::to_owned).collect())
                })
                .collect();
            prop_assert_eq!(read(text.as_bytes()), expected);
        }
    }
}
