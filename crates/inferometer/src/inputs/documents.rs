//! Opens and reads documents of other tools: files, folders, standard input, stored imports.
//!
//! Not here: their content (`ifm-interop`), and their use (`cli`).

use crate::exit::Failure;
use ifm_core::order::Order as _;
use ifm_core::{RunData, Sheet};
use ifm_interop::{ImportError, Input, Recognised};
use ifm_metrics::definitions::{self, Definitions};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum number of files of a folder.
const FILES_MAX: usize = 10_000;
/// The word for standard input.
const STANDARD_INPUT: &str = "-";

/// What `export --as parquet` writes.
pub const PARQUET: Recognised =
    Recognised { id: "parquet", title: "inferometer export --as parquet, Parquet" };

/// An inspected file.
#[derive(Debug)]
pub struct Document {
    /// Whether the user named it, rather than a folder that it is in.
    pub is_named: bool,
    /// Its content.
    pub sheet: Result<Sheet, ImportError>,
}

/// Reads every named file, and every file of every named folder, in the order of names.
///
/// # Errors
/// A name of nothing, or a folder that cannot be listed. Files that cannot be read are documents
/// with an error.
pub fn open(paths: &[PathBuf]) -> Result<Vec<Document>, Failure> {
    let mut documents = Vec::new();
    for path in paths {
        if path.as_os_str() == STANDARD_INPUT {
            let input = Input::new("standard input", std::io::stdin().lock());
            documents.push(Document { is_named: true, sheet: ifm_interop::read(input) });
        } else if path.is_dir() {
            let mut files = Vec::new();
            gather(path, &mut files)?;
            documents.extend(files.iter().map(|file| document(file, false)));
        } else if path.exists() {
            documents.push(document(path, true));
        } else {
            return Err(Failure::usage(format!("{}: no such file or folder", path.display())));
        }
    }
    let sheets = documents.iter_mut().filter_map(|document| document.sheet.as_mut().ok());
    ifm_interop::settle_together(sheets);
    Ok(documents)
}

/// Opens a named file, or standard input.
///
/// # Errors
/// It cannot be opened.
pub fn input(path: &Path) -> Result<Input<'static>, Failure> {
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(Input::new("standard input", std::io::stdin()));
    }
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) if !path.is_dir() => Ok(Input::new(name, file)),
        Ok(_) => Err(Failure::usage(format!("{name} is a folder: name its files"))),
        Err(error) => Err(Failure::usage(format!("{name}: {error}"))),
    }
}

fn document(path: &Path, is_named: bool) -> Document {
    let name = path.display().to_string();
    let sheet = match run_in(path) {
        Ok(Some(run)) => Ok(as_sheet(path, &run, Definitions::Ours)),
        Ok(None) => match sheet_in(path).transpose() {
            Some(kept) => {
                kept.map_err(|reason| ImportError::Broken { name, title: PARQUET.title, reason })
            }
            None => match File::open(path) {
                Ok(file) => ifm_interop::read(Input::new(name, file)),
                Err(error) => Err(ImportError::Unreadable { name, error }),
            },
        },
        Err(reason) => Err(ImportError::Broken { name, title: PARQUET.title, reason }),
    };
    Document { is_named, sheet }
}

/// The run in a Parquet file; absent for any other file.
///
/// # Errors
/// Why a file that should contain one cannot be read.
pub fn run_in(path: &Path) -> Result<Option<RunData>, String> {
    if !is_parquet(path) {
        return Ok(None);
    }
    ifm_store::read_single_file(path).map_err(|error| error.to_string())
}

/// The document in a Parquet file, as it was imported; absent for any other file.
///
/// # Errors
/// Why a file that should contain one cannot be read.
fn sheet_in(path: &Path) -> Result<Option<Sheet>, String> {
    if !is_parquet(path) {
        return Ok(None);
    }
    ifm_store::read_sheet_file(path).map_err(|error| error.to_string())
}

fn is_parquet(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4).read_to_end(&mut head));
    read.is_ok() && ifm_store::is_parquet(&head)
}

/// The run in a file as a document, computed from its events.
pub fn as_sheet(path: &Path, run: &RunData, by: Definitions) -> Sheet {
    let mut sheet = definitions::sheet(run, by);
    sheet.source.name = path.display().to_string();
    sheet.source.format = PARQUET.id.to_owned();
    sheet.source.bytes = path.metadata().map_or(0, |metadata| metadata.len());
    sheet
}

/// All files below a folder, except hidden ones. Links to folders are not followed.
fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let refused = |error: std::io::Error| {
        Failure::files(format!("cannot list {}: {error}", folder.display()))
    };
    let mut entries = std::fs::read_dir(folder)
        .map_err(refused)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(refused)?;
    entries.order_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let kind = entry.file_type().map_err(refused)?;
        if kind.is_dir() {
            gather(&entry.path(), files)?;
        } else if entry.path().is_file() {
            files.push(entry.path());
        }
        if files.len() > FILES_MAX {
            return Err(Failure::usage(format!(
                "more than {FILES_MAX} files below {}",
                folder.display()
            ))
            .hint("name the folders that directly contain the results"));
        }
    }
    Ok(())
}
