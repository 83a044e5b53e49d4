//! The writing end of one run.
//!
//! Requests are appended as they finish; [`RunWriter::tick`] carries them to the disk; the manifest
//! is replaced at each checkpoint; [`RunWriter::seal`] ends the run. A writer that is dropped
//! without sealing leaves a run that [`crate::Store::seal_abandoned`] can seal.

use crate::JOURNAL_FILE;
use crate::disk::{LockOutcome, RealFiles, lock_exclusive, sync_folder, sync_parent};
use crate::error::StoreError;
use crate::journal::JournalWriter;
use crate::manifest_file::write_manifest;
use crate::run_id::check_run_id;
use crate::seal::{SealedRun, seal_folder};
use ifm_core::manifest::RunState;
use ifm_core::{Manifest, RequestRecord, Series};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Time between two waits for the disk, nanoseconds: what a loss of power can cost.
const SYNC_SPAN_NS: u64 = 1_000_000_000;

/// Writes one run. Only one process can: the journal is locked while the writer lives.
pub struct RunWriter {
    folder: PathBuf,
    journal: JournalWriter<File>,
    synced_ns: u64,
}

impl RunWriter {
    /// Makes the folder of a new run under `root`. It appears whole, or not at all.
    pub(crate) fn create(root: &Path, manifest: &Manifest) -> Result<RunWriter, StoreError> {
        let id = manifest.run_id.as_str();
        check_run_id(id)?;
        let folder = root.join(id);
        let exists = || StoreError::RunExists { id: id.to_string() };
        if folder.exists() {
            return Err(exists());
        }
        fs::create_dir_all(root).map_err(|source| StoreError::io("make", root, source))?;
        let building = root.join(format!(".{id}.{}.tmp", std::process::id()));
        let built = build_folder(&building, &folder, manifest).and_then(|journal| {
            fs::rename(&building, &folder).map_err(|source| match source.kind() {
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => exists(),
                _ => StoreError::io("make", &folder, source),
            })?;
            sync_parent(&folder)?;
            Ok(journal)
        });
        match built {
            Ok(journal) => Ok(RunWriter { folder, journal, synced_ns: 0 }),
            Err(error) => {
                let _ = fs::remove_dir_all(&building);
                Err(error)
            }
        }
    }

    /// Folder of the run.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Requests appended so far.
    pub fn requests(&self) -> u64 {
        self.journal.requests()
    }

    /// Takes a finished request.
    ///
    /// It reaches the kernel, and so outlives this process, with this call or a later one: at
    /// 64 KiB, when a request ended 50 ms after the last write, or at the next [`RunWriter::tick`].
    /// Never waits for the disk. Allocates nothing once its buffer has grown to its working size.
    ///
    /// # Errors
    /// [`StoreError::Unstorable`] for a value without room (nothing is written). Any other error is
    /// the disk's: the request then waits in memory, and each later call tries again; after 16 MiB
    /// of waiting requests further ones are refused. The journal stays whole.
    pub fn append(&mut self, record: &RequestRecord) -> Result<(), StoreError> {
        self.journal.append(record)
    }

    /// Takes samples of a series. Samples of the same name, unit and source make one series.
    ///
    /// # Errors
    /// As [`RunWriter::append`].
    pub fn append_series(&mut self, samples: &Series) -> Result<(), StoreError> {
        self.journal.append_samples(samples)
    }

    /// Carries what was appended to the kernel, and once a second waits until it is on the disk.
    /// Call it every 50 ms or so, idle or not. `now_ns` is nanoseconds since the run's origin.
    ///
    /// # Errors
    /// The disk's; what was not written stays in memory for the next call.
    pub fn tick(&mut self, now_ns: u64) -> Result<(), StoreError> {
        if now_ns.saturating_sub(self.synced_ns) < SYNC_SPAN_NS {
            return self.journal.flush();
        }
        self.synced_ns = now_ns;
        self.journal.sync()
    }

    /// Stores the manifest as it is now, in the state [`RunState::Open`]: at the end of each level.
    ///
    /// # Errors
    /// The disk's, or [`StoreError::UnstorableManifest`]; the previous manifest stays.
    pub fn checkpoint_manifest(&mut self, manifest: &Manifest) -> Result<(), StoreError> {
        self.journal.sync()?;
        write_open_manifest(&self.folder, manifest)
    }

    /// Ends the run: the journal becomes the final files. `series` is stored in addition to those
    /// that were appended. A manifest in the state [`RunState::Open`] is stored as
    /// [`RunState::Partial`], since the run was never marked complete.
    ///
    /// # Errors
    /// The disk's. The journal is then left as it was, and [`crate::Store::seal_abandoned`] can
    /// finish the work once the cause is gone.
    pub fn seal(mut self, manifest: Manifest, series: &[Series]) -> Result<SealedRun, StoreError> {
        self.journal.flush()?;
        seal_folder(&mut RealFiles::of_run(&manifest), &self.folder, manifest, series)
    }
}

/// Makes the folder `building`, which becomes `folder`, with its first manifest and a locked
/// journal that holds no request yet.
fn build_folder(
    building: &Path,
    folder: &Path,
    manifest: &Manifest,
) -> Result<JournalWriter<File>, StoreError> {
    fs::create_dir(building).map_err(|source| StoreError::io("make", building, source))?;
    write_open_manifest(building, manifest)?;
    let path = building.join(JOURNAL_FILE);
    let mut options = RealFiles::of_run(manifest).options();
    let opened = options.append(true).create_new(true).open(&path);
    let file = opened.map_err(|source| StoreError::io("make", &path, source))?;
    if lock_exclusive(&file, &path)? == LockOutcome::Busy {
        return Err(StoreError::Live { id: manifest.run_id.clone() });
    }
    let mut journal = JournalWriter::start(file, &folder.join(JOURNAL_FILE))?;
    journal.sync()?;
    sync_folder(building)?;
    Ok(journal)
}

fn write_open_manifest(folder: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let mut manifest = manifest.clone();
    manifest.state = RunState::Open;
    manifest.files.clear();
    write_manifest(&mut RealFiles::of_run(&manifest), folder, &manifest)
}
