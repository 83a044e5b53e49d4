//! Rows of a data set's files, one at a time.
//!
//! A row is a JSON object, whichever format it comes from. A malformed row stops the
//! reading or is left out and counted, as asked; nothing is read twice and nothing is
//! kept but what the caller keeps.
//!
//! Not here: what rows mean (`dataset`), fetching files (`hub`).

mod columns;
mod csv;
mod json;
mod parquet;

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    vec,
};

use ifm_core::regular::open_regular;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

pub(crate) use columns::Columns;
pub(crate) use json::kind;

use crate::{
    error::{WorkloadError, file_name},
    facts::{DropReason, RowCounts, SourceFile},
    request::OnBadRow,
};

/// The largest row in bytes.
const ROW_BYTES_MAX: usize = 64 << 20;
/// Files of one data set at most.
const FILES_MAX: usize = 4096;
/// Endings of files that hold rows.
const ENDINGS: [&str; 6] = ["json", "jsonl", "ndjson", "csv", "tsv", "parquet"];

/// One row.
pub(crate) struct Row {
    /// Its fields.
    pub fields: Map<String, Value>,
    /// Its line from 1; in a Parquet file its number from 1.
    pub line: u64,
    /// Folder of its file, from which names of other files in it go on.
    pub folder: Arc<Path>,
}

/// What a file gives at a time: a line, and a row or what is wrong with it.
type Given = Option<(u64, Result<Map<String, Value>, String>)>;

/// A file of rows.
trait RowFile: Send {
    /// The next row.
    ///
    /// # Errors
    /// [`WorkloadError`] when the rest of the file cannot be read.
    fn next(&mut self) -> Result<Given, WorkloadError>;

    /// Its columns, where a header names them.
    fn header(&self) -> Option<&[String]>;
}

/// The rows of several files, in order.
pub(crate) struct Rows {
    left: vec::IntoIter<PathBuf>,
    file: Option<Box<dyn RowFile>>,
    name: String,
    folder: Arc<Path>,
    columns: Columns,
    on_bad_row: OnBadRow,
    counts: RowCounts,
}

impl Rows {
    /// Opens nothing yet; files are opened when their turn comes.
    pub(crate) fn new(files: Vec<PathBuf>, columns: Columns, on_bad_row: OnBadRow) -> Self {
        let name = files.first().map(|path| file_name(path)).unwrap_or_default();
        let counts = RowCounts::default();
        let folder = Arc::from(Path::new(""));
        Self { left: files.into_iter(), file: None, name, folder, columns, on_bad_row, counts }
    }

    /// The next row that is well formed.
    ///
    /// # Errors
    /// [`WorkloadError::Read`], [`WorkloadError::File`], and
    /// [`WorkloadError::BadRow`] where bad rows stop.
    pub(crate) fn next(&mut self) -> Result<Option<Row>, WorkloadError> {
        loop {
            let given = match &mut self.file {
                Some(file) => file.next()?,
                None => None,
            };
            match given {
                Some((line, Ok(fields))) => {
                    self.counts.read += 1;
                    return Ok(Some(Row { fields, line, folder: self.folder.clone() }));
                }
                Some((line, Err(reason))) => {
                    self.counts.read += 1;
                    self.bad(line, &reason)?;
                }
                None => match self.left.next() {
                    Some(path) => self.open(&path)?,
                    None => {
                        self.counts.whole = true;
                        return Ok(None);
                    }
                },
            }
        }
    }

    fn open(&mut self, path: &Path) -> Result<(), WorkloadError> {
        self.name = file_name(path);
        self.folder = Arc::from(path.parent().unwrap_or(Path::new("")));
        let file = open_file(path, &self.columns)?;
        if let Some(header) = file.header() {
            self.columns.check_header(&self.name, header)?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// Name of the file that the last row came from.
    pub(crate) fn file(&self) -> &str {
        &self.name
    }

    /// Which columns mean what.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Counts a row as malformed.
    ///
    /// # Errors
    /// [`WorkloadError::BadRow`] where bad rows stop.
    pub(crate) fn bad(&mut self, line: u64, reason: &str) -> Result<(), WorkloadError> {
        match self.on_bad_row {
            OnBadRow::Skip => {
                self.counts.tell_bad(&self.name, line, reason);
                Ok(())
            }
            OnBadRow::Stop => Err(WorkloadError::BadRow {
                file: self.name.clone(),
                line,
                reason: reason.to_owned(),
            }),
        }
    }

    /// Counts a row that a rule leaves out.
    pub(crate) fn drop_row(&mut self, reason: DropReason) {
        self.counts.drop_row(reason);
    }

    /// What became of the rows so far.
    pub(crate) fn counts(&mut self) -> &mut RowCounts {
        &mut self.counts
    }

    /// What became of the rows.
    pub(crate) fn into_counts(self) -> RowCounts {
        self.counts
    }
}

fn open_file(path: &Path, columns: &Columns) -> Result<Box<dyn RowFile>, WorkloadError> {
    let name = file_name(path);
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let read = || {
        open_regular(path).map_err(|source| WorkloadError::Read { path: path.to_owned(), source })
    };
    match ending.as_str() {
        "csv" => Ok(Box::new(csv::CsvRows::open(name, read()?, b',')?)),
        "tsv" => Ok(Box::new(csv::CsvRows::open(name, read()?, b'\t')?)),
        "parquet" => Ok(Box::new(parquet::ParquetRows::open(name, read()?, columns)?)),
        "gz" | "zst" | "zip" | "xz" | "bz2" => {
            let reason = format!("is compressed ({ending}); unpack it first");
            Err(WorkloadError::File { file: name, reason })
        }
        _ => Ok(Box::new(json::JsonRows::open(name, path, read()?, columns.is_whole())?)),
    }
}

/// The files that a path stands for: itself, or all files of rows in a folder, by name.
///
/// # Errors
/// [`WorkloadError::Read`], and [`WorkloadError::File`] for a folder without such files.
pub(crate) fn files_at(path: &Path) -> Result<Vec<PathBuf>, WorkloadError> {
    let read_error = |source| WorkloadError::Read { path: path.to_owned(), source };
    let metadata = std::fs::metadata(path).map_err(read_error)?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(read_error)? {
        let file = entry.map_err(read_error)?.path();
        let ending = file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if ENDINGS.contains(&ending.as_str()) && file.is_file() {
            files.push(file);
        }
        if files.len() > FILES_MAX {
            return Err(WorkloadError::File {
                file: file_name(path),
                reason: format!("holds more than {FILES_MAX} files; name one of them"),
            });
        }
    }
    files.sort();
    if files.is_empty() {
        let endings = ENDINGS.join(", ");
        return Err(WorkloadError::File {
            file: file_name(path),
            reason: format!("is a folder without a file of rows ({endings})"),
        });
    }
    Ok(files)
}

/// Whether a path is that of a file of rows, by its ending.
pub(crate) fn is_of_rows(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    ENDINGS.contains(&ending.as_str())
}

/// Name, size and SHA-256 of files.
///
/// # Errors
/// [`WorkloadError::Read`].
pub(crate) fn describe(files: &[PathBuf]) -> Result<Vec<SourceFile>, WorkloadError> {
    files.iter().map(|path| describe_file(path)).collect()
}

fn describe_file(path: &Path) -> Result<SourceFile, WorkloadError> {
    /// Bytes that are read at a time.
    const PIECE_BYTES: usize = 1 << 18;
    let read_error = |source| WorkloadError::Read { path: path.to_owned(), source };
    let mut file = open_regular(path).map_err(read_error)?;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut piece).map_err(read_error)?;
        if read == 0 {
            break;
        }
        hasher.update(piece.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
    Ok(SourceFile { name: file_name(path), bytes, sha256: hex(&hasher.finalize()) })
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
