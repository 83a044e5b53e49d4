//! Stored runs and imports by the names that users type.
//!
//! Not here: files that were never stored (`inputs`).

use crate::exit::Failure;
use crate::terminal;
use ifm_core::words::counted;
use ifm_core::{Manifest, RunData};
use ifm_report::ReportModel;
use ifm_results::{are_repeats, setup_differences};
use ifm_store::{FindError, Import, NAME_LENGTH_MAX, RunEntry, Store};

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

/// The runs of a name that several have, oldest first, if all of them are repeats of one measurement.
pub fn repeats_of(store: &Store, name: &str) -> Option<Vec<RunEntry>> {
    let mut runs = runs_named(store, name);
    runs.reverse();
    let heads: Vec<_> = runs.iter().filter_map(|run| run.manifest.as_ref().ok()).collect();
    let (first, others) = heads.split_first()?;
    let is_one = others.iter().all(|other| are_repeats(first, other));
    (is_one && !others.is_empty()).then_some(runs)
}

/// The runs of a name, newest first.
fn runs_named(store: &Store, name: &str) -> Vec<RunEntry> {
    let mut runs = store.list().unwrap_or_default();
    runs.retain(|run| run.manifest.as_ref().is_ok_and(|head| head.name.as_deref() == Some(name)));
    runs
}

/// The name of a run that is about to begin. Runs of one name are repeats of one measurement, so a run
/// of another server or setup gets a number after the name.
pub fn free_name(store: &Store, name: &str, manifest: &Manifest) -> String {
    let runs = store.list().unwrap_or_default();
    let heads: Vec<&Manifest> = runs.iter().filter_map(|run| run.manifest.as_ref().ok()).collect();
    let of = |name: &str| {
        let named = heads.iter().filter(|head| head.name.as_deref() == Some(name));
        named.copied().collect::<Vec<_>>()
    };
    let taken = |name: &str| {
        of(name).into_iter().find_map(|head| {
            let what = setup_differences(manifest, head).into_iter().next()?;
            Some((head.run_id.clone(), what))
        })
    };
    let Some((id, what)) = taken(name) else {
        if let repeats @ 1.. = of(name).len() as u64 {
            let are = if repeats == 1 { "is" } else { "are" };
            let earlier = counted(repeats, "earlier run");
            terminal::say(&format!(
                "{earlier} {are} also named {name}: runs of one name and setup are repeats"
            ));
        }
        return name.to_owned();
    };
    let numbered = (2..).map(|number| {
        let ending = format!("-{number}");
        let kept = NAME_LENGTH_MAX.saturating_sub(ending.chars().count());
        name.chars().take(kept).collect::<String>() + &ending
    });
    let free = numbered.into_iter().find(|name| taken(name).is_none()).unwrap_or_default();
    terminal::warn(&format!(
        "the name \"{name}\" belongs to {id}, which differs in: {what}; this run is named \"{free}\""
    ));
    free
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
    let summary = ifm_metrics::summarize(&run);
    let model = ReportModel::beside_documents(&run, summary, tools);
    Ok(ReportModel { is_live: entry.is_live().ok(), ..model })
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
