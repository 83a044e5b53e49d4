//! The inputs of commands: runs and documents, by ID, name or path.
//!
//! One way from the user's word to what it names, for reports, audits, comparisons, gates and
//! exports alike. Not here: their use.

pub mod author_notes;
pub mod copies;
pub mod documents;
pub mod stored;
pub mod timeline;

use crate::exit::Failure;
use crate::terminal;
use copies::{Copied, Originals, keep};
use ifm_core::{RunData, Sheet};
use ifm_interop::{ImportError, settle_together};
use ifm_report::ReportModel;
use ifm_results::{Given, Results};
use ifm_store::{RunEntry, Store};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use stored::{Meant, find_either, load_beside};

/// Runs and documents, each in the order in which they were named.
#[derive(Debug, Default)]
pub struct Subjects {
    /// Runs of inferometer.
    pub runs: Vec<ReportModel>,
    /// Documents of other tools.
    pub sheets: Vec<Sheet>,
    /// The user's names of the runs, then of the documents, by position.
    pub given: [Vec<Given>; 2],
    /// What was named and omitted, since it is a copy of something else that was named.
    pub copies: Vec<Copied>,
}

impl Subjects {
    /// All points, with the sides distinguished.
    pub fn results(&self) -> Results {
        let mut results = Results::default();
        for run in &self.runs {
            results.extend(Results::of_run(&run.manifest, &run.summary));
        }
        results.extend(Results::of_sheets(&self.sheets));
        results.with_sides(&self.given.concat())
    }

    /// Omits copies, reports that, and records what was omitted. A stored run, which has all of its
    /// requests, takes precedence over a document. `from_files` has an entry for each document.
    fn leave_out_copies(&mut self, from_files: &mut Vec<bool>) {
        let mut originals = Originals::default();
        let mut copies = Vec::new();
        let mut is_first = |content: String, name: &str| {
            let copied = originals.add(content, name);
            copies.extend(copied.clone());
            copied.is_none()
        };
        // Nothing has to be computed from one result alone.
        if self.runs.len() + self.sheets.len() < 2 {
            return;
        }
        let of_run = |run: &ReportModel| {
            let head = &run.manifest;
            (head.run_id.clone(), head.name.clone().unwrap_or_else(|| head.run_id.clone()))
        };
        let runs: Vec<(String, String)> = self.runs.iter().map(of_run).collect();
        let runs: Vec<bool> = runs.into_iter().map(|(id, name)| is_first(id, &name)).collect();
        let each = self.sheets.iter();
        let sheets: Vec<bool> =
            each.map(|sheet| is_first(sheet.content_id(), &sheet.source.name)).collect();
        let [of_runs, of_sheets] = &mut self.given;
        keep(&mut self.runs, &runs);
        keep(of_runs, &runs);
        keep(&mut self.sheets, &sheets);
        keep(of_sheets, &sheets);
        keep(from_files, &sheets);
        copies.iter().for_each(|copied| terminal::warn(&copied.to_string()));
        self.copies = copies;
    }

    fn push_run(&mut self, run: ReportModel, given: Given) {
        let [of_runs, _] = &mut self.given;
        of_runs.push(given);
        self.runs.push(run);
    }

    fn push_sheet(&mut self, sheet: Sheet, given: Given) {
        let [_, of_sheets] = &mut self.given;
        of_sheets.push(given);
        self.sheets.push(sheet);
    }
}

/// What a word names.
#[derive(Debug)]
pub enum Subject {
    /// A run of inferometer.
    Run(Box<RunEntry>),
    /// A run of inferometer as one file.
    RunFile(Box<RunData>),
    /// Documents of other tools, with the name of the import that contains them.
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

/// What an argument names: one result, or a list with commas, whose results are repeats of one
/// configuration.
#[derive(Debug)]
pub struct Argument {
    /// The results, each with its own word.
    pub results: Vec<(PathBuf, Subject)>,
    /// Whether it is a list.
    pub is_list: bool,
    /// For each name that repeats share, which runs it selects.
    pub shared_names: Vec<String>,
}

/// Finds what an argument names: a result, the repeats of a name, or a list with commas.
///
/// # Errors
/// As [`find`].
pub fn find_argument(store: &Store, word: &Path) -> Result<Argument, Failure> {
    let text = word.to_string_lossy();
    let failure = match find_or_repeats(store, word) {
        Ok(found) => return Ok(found),
        Err(failure) => failure,
    };
    // A name may contain a comma; only an argument that is not a result itself is a list.
    if !text.contains(',') || word.exists() {
        return Err(failure);
    }
    let mut list = Argument { results: Vec::new(), is_list: true, shared_names: Vec::new() };
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let found = find_or_repeats(store, Path::new(word))?;
        list.results.extend(found.results);
        list.shared_names.extend(found.shared_names);
    }
    Ok(list)
}

/// What one word names: a result, or all repeats of one measurement that share the name.
fn find_or_repeats(store: &Store, word: &Path) -> Result<Argument, Failure> {
    let failure = match find(store, word) {
        Ok(found) => {
            let results = vec![(word.to_owned(), found)];
            return Ok(Argument { results, is_list: false, shared_names: Vec::new() });
        }
        Err(failure) => failure,
    };
    let name = word.to_string_lossy();
    let repeats = stored::repeats_of(store, &name).ok_or(failure)?;
    let ids: Vec<&str> = repeats.iter().map(|run| run.id.as_str()).collect();
    let sentence = format!(
        "{name}: the {} runs of this name are used as repeats: {}",
        ids.len(),
        ids.join(", ")
    );
    let results = repeats.into_iter();
    let results = results.map(|run| (PathBuf::from(&run.id), Subject::Run(Box::new(run))));
    Ok(Argument { results: results.collect(), is_list: true, shared_names: vec![sentence] })
}

/// Opens all named results. Copies are omitted.
///
/// # Errors
/// A name of nothing, a run that cannot be read, a named file that no importer knows.
pub fn open(store: &Store, names: &[PathBuf]) -> Result<Subjects, Failure> {
    let mut subjects = Subjects::default();
    let mut from_files = Vec::new();
    let mut runs: Vec<(Subject, Given)> = Vec::new();
    for (number, word) in names.iter().enumerate() {
        let Argument { results, is_list, shared_names } = find_argument(store, word)?;
        shared_names.iter().for_each(|sentence| terminal::say(sentence));
        let list = is_list.then(|| list_name(&results));
        for (name, found) in results {
            let given = |name: Option<String>| Given {
                name: list.clone().or(name),
                argument: number,
                is_list,
            };
            match found {
                Subject::Documents(import, sheets) => {
                    let is_alone = sheets.len() == 1;
                    for sheet in sheets {
                        subjects.push_sheet(sheet, given(import.clone().filter(|_| is_alone)));
                    }
                }
                run => runs.push((run, given(None))),
            }
            // Imports were settled when they were stored; imports of other days belong to other
            // runs.
            from_files.resize(subjects.sheets.len(), is_document(&name));
        }
    }
    // Documents are read first, since runs are compared with them by their tools' definitions.
    let tools = tools_of(&subjects.sheets);
    for (run, given) in runs {
        let model = match run {
            Subject::Run(entry) => load_beside(store, &entry, &tools)?,
            Subject::RunFile(run) => {
                ReportModel::beside_documents(&run, ifm_metrics::summarize(&run), &tools)
            }
            Subject::Documents(..) => continue,
        };
        subjects.push_run(model, given);
    }
    subjects.leave_out_copies(&mut from_files);
    let files = subjects.sheets.iter_mut().zip(from_files);
    settle_together(files.filter_map(|(sheet, is_file)| is_file.then_some(sheet)));
    Ok(subjects)
}

/// The tools of the documents, each once.
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

/// The name of a list: the names of its results, for files without their folders.
fn list_name(results: &[(PathBuf, Subject)]) -> String {
    let name = |(word, found): &(PathBuf, Subject)| match found {
        Subject::Run(entry) => {
            let name = entry.manifest.as_ref().ok().and_then(|manifest| manifest.name.clone());
            name.unwrap_or_else(|| word.display().to_string())
        }
        _ => word.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
    };
    let mut names: Vec<String> = results.iter().map(name).collect();
    names.dedup();
    names.join(",")
}

/// Whether a word names a document rather than a run: the folder of a run is a run.
pub fn is_document(subject: &Path) -> bool {
    let is_run = subject.join(ifm_store::MANIFEST_FILE).is_file();
    subject.as_os_str() == "-" || (subject.exists() && !is_run)
}

/// The error for a word that is neither: a word with a file extension or a folder was meant as a
/// file.
pub fn or_no_file(subject: &Path, error: Failure) -> Failure {
    let is_file_name = subject.extension().is_some() || subject.components().count() > 1;
    match is_file_name && !subject.exists() {
        true => Failure::usage(format!("{}: no such file", subject.display())),
        false => error,
    }
}

/// What can be read, for an error that nothing was found.
pub const READABLE: &str = "inferometer import --list-formats names what can be read; rows of any other table \
    come in by import --map NAME=COLUMN";

/// Everything readable below a name. Unreadable files are reported; nothing at all is a failure.
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

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::{Part, PartKind, Place, Row, RowRole, Source};

    fn sheet(name: &str, line: u32) -> Sheet {
        let rows = vec![Row::new(RowRole::Measured, Place::line(line))];
        let part = Part { rows, ..Part::new(PartKind::Serving, Place::default()) };
        let source = Source { name: name.to_owned(), ..Source::default() };
        Sheet { source, parts: vec![part], remarks: Vec::new() }
    }

    #[test]
    fn copies_of_a_document_count_once() {
        let mut exported = sheet("b.parquet", 3);
        exported.source.run_id = Some("20261127-100000-1f2a".to_owned());
        let other_form = Sheet { source: exported.source.clone(), ..sheet("", 4) };
        let mut subjects = Subjects {
            sheets: vec![sheet("a", 1), sheet("b", 2), sheet("c", 1), exported, other_form],
            given: [Vec::new(), vec![Default::default(); 5]],
            ..Subjects::default()
        };
        let mut from_files = vec![true; 5];
        subjects.leave_out_copies(&mut from_files);
        let names: Vec<&str> = subjects.sheets.iter().map(|it| it.source.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "b.parquet"]);
        assert_eq!((subjects.given[1].len(), from_files.len()), (3, 3));
        let told: Vec<String> = subjects.copies.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "c contains the same measurement as a: it counts once",
                "b.parquet is named more than once and counts once"
            ]
        );
    }
}
