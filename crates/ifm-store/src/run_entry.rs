//! One run of a store by its head: what a list of runs shows, and whether it is still written.
//!
//! Not here: finding it (`store`), and its rows (`load`).

use crate::JOURNAL_FILE;
use crate::disk::{LockOutcome, lock_shared, open_file};
use crate::error::StoreError;
use crate::manifest_file::is_sealed;
use crate::tags::read_tagged_manifest;
use ifm_core::Manifest;
use std::io;
use std::path::PathBuf;

/// One run of a store, as far as its manifest describes it.
#[derive(Debug)]
pub struct RunEntry {
    /// Name of the folder, which is the run's id.
    pub id: String,
    /// The folder.
    pub path: PathBuf,
    /// The manifest with the tags that were put on later, or why it cannot be read.
    pub manifest: Result<Manifest, StoreError>,
    /// Whether the rows are in their final files. False also where the manifest cannot be read.
    pub sealed: bool,
}

impl RunEntry {
    /// Reads the head of the run in a folder, one of [`Store::run_folders`](crate::Store::run_folders).
    pub fn at(path: PathBuf) -> RunEntry {
        let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = read_tagged_manifest(&path);
        let sealed = manifest.as_ref().is_ok_and(is_sealed);
        RunEntry { id, path, manifest, sealed }
    }

    /// Whether a process is writing the run at this moment.
    ///
    /// # Errors
    /// [`StoreError::LocksUnsupported`] where the file system has no locks, or the disk's.
    pub fn is_live(&self) -> Result<bool, StoreError> {
        let path = self.path.join(JOURNAL_FILE);
        let file = match open_file(&path) {
            Ok(file) => file,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(StoreError::io("open", &path, source)),
        };
        match lock_shared(&file, &path)? {
            LockOutcome::Held => Ok(false),
            LockOutcome::Busy => Ok(true),
            LockOutcome::Unsupported => Err(StoreError::LocksUnsupported { path }),
        }
    }
}
