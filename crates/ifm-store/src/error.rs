//! What can go wrong between a run and the disk, one sentence each, with what to do.
//!
//! Nothing here is fatal to the rows that are already on disk: see each variant.

use std::io;
use std::path::{Path, PathBuf};

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk, the quota or the largest file size is used up. `kept` says what is safe and what
    /// to do.
    #[error("no space left to write {}: {kept}", .path.display())]
    StorageFull {
        /// The file that could not be written.
        path: PathBuf,
        /// What is safe, where it is, and what to do.
        kept: String,
    },
    /// The operating system refused an operation on a file.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file does not hold what its format or its checksum promises.
    #[error("{} is damaged: {detail}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
        detail: String,
    },
    /// A file was written in a format that this build does not read.
    #[error(
        "{} has format version {found}, this build reads {supported}: \
         open it with the inferometer that wrote it, or a newer one",
        .path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: String,
        /// The version that this build reads.
        supported: String,
    },
    /// Another process is writing the run.
    #[error("run {id} is still written by a live process: wait for its end, or stop it, and retry")]
    Live {
        /// The run.
        id: String,
    },
    /// The file system has no advisory locks, so a live writer is indistinguishable from a dead
    /// one.
    #[error(
        "the file system of {} has no file locks, so a live writer cannot be distinguished from a dead one: \
         copy the run folder to a local disk and seal it there",
        .path.display()
    )]
    LocksUnsupported {
        /// The journal.
        path: PathBuf,
    },
    /// A run of this identity is in the store already.
    #[error("the store has a run {id} already: make a new run id")]
    RunExists {
        /// The run.
        id: String,
    },
    /// The identity cannot be the name of a folder.
    #[error(
        "not a run id: {id:?}: use 1 to 100 letters, digits, dots, dashes or underscores, \
         the first a letter or digit"
    )]
    BadRunId {
        /// What was given.
        id: String,
    },
    /// Nothing of this id is in the store.
    #[error("the store has no {id}: list the runs to see their ids")]
    NotThere {
        /// What was asked for.
        id: String,
    },
    /// A text that cannot be the name of a run or import.
    #[error("this cannot be a name: {detail}")]
    BadName {
        /// Why not.
        detail: String,
    },
    /// A text that cannot be a tag.
    #[error("{tag:?} cannot be a tag: {detail}")]
    BadTag {
        /// The text, shortened.
        tag: String,
        /// Why not.
        detail: String,
    },
    /// The run is not sealed, and the operation needs a sealed one.
    #[error("run {id} is not sealed: seal it first")]
    NotSealed {
        /// The run.
        id: String,
    },
    /// The run is sealed already: there is nothing to seal.
    #[error("run {id} is sealed already")]
    AlreadySealed {
        /// The run.
        id: String,
    },
    /// A record holds a value that the format has no room for. Nothing was written.
    #[error("request {seq} cannot be stored: {detail}")]
    Unstorable {
        /// Position of the request in the schedule.
        seq: u32,
        /// Which value, and the limit.
        detail: String,
    },
    /// Samples of a series hold a value that the format has no room for. Nothing was written.
    #[error("samples of the series {name} cannot be stored: {detail}")]
    UnstorableSeries {
        /// The series.
        name: String,
        /// Which value, and the limit.
        detail: String,
    },
    /// The manifest would not read back as it was written. The previous manifest is kept.
    #[error("the manifest of run {id} cannot be stored: {detail}")]
    UnstorableManifest {
        /// The run.
        id: String,
        /// What would not read back.
        detail: String,
    },
}

impl StoreError {
    /// Classifies an input or output error: full storage has a variant of its own.
    pub(crate) fn from_io(
        action: &'static str,
        path: &Path,
        source: io::Error,
        kept: impl FnOnce() -> String,
    ) -> StoreError {
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => {
                StoreError::StorageFull { path: path.to_path_buf(), kept: kept() }
            }
            _ => StoreError::Io { action, path: path.to_path_buf(), source },
        }
    }

    /// An error of an operation that uses no storage.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> StoreError {
        StoreError::Io { action, path: path.to_path_buf(), source }
    }

    /// A file that does not hold what it should.
    pub(crate) fn damaged(path: &Path, detail: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: path.to_path_buf(), detail: detail.into() }
    }

    /// Whether storage was used up: the caller can then say how to free some.
    pub fn is_storage_full(&self) -> bool {
        matches!(self, StoreError::StorageFull { .. })
    }
}

/// Why no single run was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No run has this id, name or path.
    #[error("no run matches {key:?} in {}: list the runs to see their ids and names", .root.display())]
    NotFound {
        /// What was asked for.
        key: String,
        /// The store that was searched.
        root: PathBuf,
    },
    /// Several runs match.
    #[error(
        "{key:?} matches {} runs: {}: give more of the id",
        .candidates.len(),
        shown(.candidates)
    )]
    Ambiguous {
        /// What was asked for.
        key: String,
        /// Ids of the runs that match, newest first.
        candidates: Vec<String>,
    },
    /// The store itself could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Candidates that an error message spells out.
const CANDIDATES_SHOWN: usize = 8;

fn shown(candidates: &[String]) -> String {
    let mut text = candidates.iter().take(CANDIDATES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if candidates.len() > CANDIDATES_SHOWN {
        text.push_str(", …");
    }
    text
}
