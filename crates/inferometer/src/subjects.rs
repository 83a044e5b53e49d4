//! What commands work on: runs and documents, by id, name or path.
//!
//! One way from a word of the user to what it names, for reports, audits, comparisons, gates and
//! exports alike. Not here: what is done with them.

use crate::documents;
use crate::exit::Failure;
use crate::stored::{self, Meant, find_either, load_beside};
use crate::terminal;
use ifm_core::{RunData, Sheet};
use ifm_interop::{ImportError, settle_together};
use ifm_report::ReportModel;
use ifm_store::{RunEntry, Store};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Runs and documents, each in the order in which they were named.
#[derive(Debug, Default)]
pub struct Subjects {
    /// Runs of ours.
    pub runs: Vec<ReportModel>,
    /// Documents of other tools.
    pub sheets: Vec<Sheet>,
}

/// What a word names.
#[derive(Debug)]
pub enum Subject {
    /// A run of ours.
    Run(Box<RunEntry>),
    /// A run of ours as one file.
    RunFile(Box<RunData>),
    /// Documents of other tools, with the name of the import that keeps them.
    Documents(Option<String>, Vec<Sheet>),
}

/// Finds what a word names: a file, a folder, `-`, a run or an import.
///
/// # Errors
/// A name of nothing, a named file that no importer knows, a folder without a known one.
pub fn find(store: &Store, name: &Path) -> Result<Subject, Failure> {
    if is_document(name) {
        return Ok(match documents::run_in(name).map_err(Failure::usage)? {
            Some(run) => Subject::RunFile(Box::new(run)),
            None => Subject::Documents(None, read(name)?),
        });
    }
    let meant = find_either(store, &name.to_string_lossy());
    Ok(match meant.map_err(|error| or_no_file(name, error))? {
        Meant::Import(import) => Subject::Documents(import.name, import.sheets),
        Meant::Run(entry) => Subject::Run(entry),
    })
}

/// Opens everything that is named.
///
/// # Errors
/// A name of nothing, a run that cannot be read, a named file that no importer knows.
pub fn open(store: &Store, names: &[PathBuf]) -> Result<Subjects, Failure> {
    let mut subjects = Subjects::default();
    let mut from_files = Vec::new();
    let mut runs = Vec::new();
    for name in names {
        match find(store, name)? {
            Subject::Documents(_, sheets) => subjects.sheets.extend(sheets),
            run => runs.push(run),
        }
        // Imports were settled when they were kept; those of other days are of other runs.
        from_files.resize(subjects.sheets.len(), is_document(name));
    }
    // Documents are read first: by their tools' definitions runs are compared with them.
    let tools = tools_of(&subjects.sheets);
    for run in runs {
        subjects.runs.push(match run {
            Subject::Run(entry) => load_beside(store, &entry, &tools)?,
            Subject::RunFile(run) => {
                ReportModel::beside_documents(&run, ifm_analysis::summarize(&run), &tools)
            }
            Subject::Documents(..) => continue,
        });
    }
    let files = subjects.sheets.iter_mut().zip(from_files);
    settle_together(files.filter_map(|(sheet, is_file)| is_file.then_some(sheet)));
    Ok(subjects)
}

/// The tools that documents are of, each once.
pub fn tools_of<'a>(sheets: impl IntoIterator<Item = &'a Sheet>) -> Vec<String> {
    let tools = sheets.into_iter().flat_map(|sheet| {
        sheet.parts.iter().filter_map(|part| part.tool.clone()).chain(sheet.source.tool.clone())
    });
    tools.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The data of a run, by id, name or path, as a folder or as one file.
///
/// # Errors
/// A name of nothing or of a document, a run that cannot be read.
pub fn open_run(store: &Store, name: &Path) -> Result<RunData, Failure> {
    match find(store, name)? {
        Subject::Run(entry) => stored::open(store, &entry),
        Subject::RunFile(run) => Ok(*run),
        Subject::Documents(..) => Err(Failure::usage(format!(
            "{} is a result of another tool, not a run",
            name.display()
        ))
        .hint("inferometer runs list shows the runs")),
    }
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

/// What can be read, where nothing of it was found.
pub const READABLE: &str = "inferometer import --list-formats names what can be read; rows of any other table \
    come in by import --map NAME=COLUMN";

/// Everything that can be read below a name. What cannot is told; nothing at all is a failure.
///
/// # Errors
/// Nothing there can be read.
pub fn read(subject: &Path) -> Result<Vec<Sheet>, Failure> {
    let mut sheets = Vec::new();
    for document in documents::open(&[subject.to_owned()])? {
        match document.sheet {
            Ok(sheet) => sheets.push(sheet),
            Err(error) if document.is_named => {
                let is_unknown = matches!(error, ImportError::NotKnown { .. });
                let failure = Failure::usage(error.to_string());
                return Err(if is_unknown { failure.hint(READABLE) } else { failure });
            }
            Err(ImportError::NotKnown { .. }) => {}
            Err(error) => terminal::warn(&error.to_string()),
        }
    }
    match sheets.is_empty() {
        true => Err(Failure::usage(format!("{}: no known results below it", subject.display()))),
        false => Ok(sheets),
    }
}
