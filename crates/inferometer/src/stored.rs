//! Stored runs and imports by the names that users type.
//!
//! Not here: files that were never stored (`subjects`).

use crate::exit::Failure;
use crate::terminal;
use ifm_core::RunData;
use ifm_report::ReportModel;
use ifm_store::{FindError, Import, RunEntry, Store};

/// Finds a run by what the user typed.
///
/// # Errors
/// No run or several runs match.
pub fn find(store: &Store, key: &str) -> Result<RunEntry, Failure> {
    store.find(key).map_err(|error| {
        if let Some(failure) = shared_name(&error) {
            return failure;
        }
        let is_empty = store.list().is_ok_and(|runs| runs.is_empty());
        match key == "last" && is_empty {
            true => Failure::usage(format!("there is no run in {} yet", store.root().display()))
                .hint(
                    "measure one: inferometer run http://127.0.0.1:8000; reports and audits also \
                     take files of other tools: inferometer report results.json",
                ),
            false => {
                let newest = match &error {
                    FindError::Ambiguous { candidates, .. } => candidates.first(),
                    _ => None,
                };
                let newest = newest.map(|id| format!("the newest is {id}; ")).unwrap_or_default();
                let list = "inferometer runs list shows what there is";
                let is_path = matches!(error, FindError::NotFound { .. }) && key.contains('/');
                let sentence = match is_path {
                    true => format!("there is no file or folder {key}, and no run of this name"),
                    false => error.to_string(),
                };
                Failure::usage(sentence).hint(format!("{newest}{list}"))
            }
        }
    })
}

/// The message that several runs have one name; absent for any other error.
fn shared_name(error: &FindError) -> Option<Failure> {
    let FindError::Ambiguous { key, candidates } = error else { return None };
    let [newest, .., oldest] = candidates.as_slice() else { return None };
    if candidates.iter().any(|id| id.contains(key.as_str())) {
        return None;
    }
    let sentence =
        format!("{} runs are named \"{key}\": {}", candidates.len(), candidates.join(", "));
    Some(Failure::usage(sentence).hint(format!(
        "name one by its id, join repeats with commas ({oldest},{newest}), or rename one: \
         inferometer runs rename {newest} NAME"
    )))
}

/// What the user's word refers to.
#[derive(Debug)]
pub enum Meant {
    /// A run of inferometer.
    Run(Box<RunEntry>),
    /// Documents of other tools.
    Import(Import),
}

/// Finds a run or an import by what the user typed: a whole ID or a name takes precedence over a
/// part of one, and a run over an import.
///
/// # Errors
/// No result or several results match.
pub fn find_either(store: &Store, key: &str) -> Result<Meant, Failure> {
    let kept = store.named_import(key).map_err(|error| Failure::files(error.to_string()))?;
    if let Some(import) = kept {
        return Ok(Meant::Import(import));
    }
    match find(store, key) {
        Ok(run) => Ok(Meant::Run(Box::new(run))),
        Err(failure) => store.find_import(key).map(Meant::Import).map_err(|_| failure),
    }
}

/// Loads a run, sealed or not, and computes what its reports show.
///
/// # Errors
/// It cannot be read.
pub fn load(store: &Store, entry: &RunEntry) -> Result<ReportModel, Failure> {
    load_beside(store, entry, &[])
}

/// The same if documents of these tools are also reported.
///
/// # Errors
/// The run cannot be read.
pub fn load_beside(
    store: &Store,
    entry: &RunEntry,
    tools: &[String],
) -> Result<ReportModel, Failure> {
    let run = open(store, entry)?;
    let summary = ifm_analysis::summarize(&run);
    Ok(ReportModel::beside_documents(&run, summary, tools))
}

/// Reads a run, and warns about losses in its journal.
///
/// # Errors
/// The run cannot be read.
pub fn open(store: &Store, entry: &RunEntry) -> Result<RunData, Failure> {
    let loaded = store.open(entry).map_err(|error| Failure::files(error.to_string()))?;
    if let Some(loss) = &loaded.loss {
        terminal::warn(&format!(
            "the journal of {} ends with {} bytes that contain no whole request",
            entry.id, loss.bytes_dropped
        ));
    }
    Ok(loaded.data)
}
