//! What reports are made of: runs and documents, by id, name or path.
//!
//! Not here: what is done with them.

use crate::documents;
use crate::exit::Failure;
use crate::stored::{Meant, find_either, load};
use crate::terminal;
use ifm_core::Sheet;
use ifm_interop::ImportError;
use ifm_report::ReportModel;
use ifm_store::Store;
use std::path::{Path, PathBuf};

/// Runs and documents, each in the order in which they were named.
#[derive(Debug, Default)]
pub struct Subjects {
    /// Runs of ours.
    pub runs: Vec<ReportModel>,
    /// Documents of other tools.
    pub sheets: Vec<Sheet>,
}

/// Opens everything that is named.
///
/// # Errors
/// A name of nothing, a run that cannot be read, a named file that no importer knows.
pub fn open(store: &Store, names: &[PathBuf]) -> Result<Subjects, Failure> {
    let mut subjects = Subjects::default();
    for name in names {
        if is_document(name) {
            subjects.sheets.extend(read(name)?);
            continue;
        }
        match find_either(store, &name.to_string_lossy())
            .map_err(|error| or_no_file(name, error))?
        {
            Meant::Import(import) => subjects.sheets.extend(import.sheets),
            Meant::Run(entry) => subjects.runs.push(load(store, &entry)?),
        }
    }
    Ok(subjects)
}

/// Whether a word names a document rather than a run: the folder of a run is a run.
pub fn is_document(subject: &Path) -> bool {
    let is_run = subject.join(ifm_store::MANIFEST_FILE).is_file();
    subject.as_os_str() == "-" || (subject.exists() && !is_run)
}

/// What is wrong with a word that is neither: a word with an ending or a folder in it was meant as a
/// file.
pub fn or_no_file(subject: &Path, error: Failure) -> Failure {
    let is_file_name = subject.extension().is_some() || subject.components().count() > 1;
    match is_file_name && !subject.exists() {
        true => Failure::usage(format!("{}: no such file", subject.display())),
        false => error,
    }
}

/// Everything that can be read below a name. What cannot is told; nothing at all is a failure.
///
/// # Errors
/// Nothing there can be read.
pub fn read(subject: &Path) -> Result<Vec<Sheet>, Failure> {
    let mut sheets = Vec::new();
    for document in documents::open(&[subject.to_owned()])? {
        match document.sheet {
            Ok(sheet) => sheets.push(sheet),
            Err(error) if document.is_named => return Err(Failure::usage(error.to_string())),
            Err(ImportError::NotKnown { .. }) => {}
            Err(error) => terminal::warn(&error.to_string()),
        }
    }
    match sheets.is_empty() {
        true => Err(Failure::usage(format!("{}: no known results below it", subject.display()))),
        false => Ok(sheets),
    }
}
