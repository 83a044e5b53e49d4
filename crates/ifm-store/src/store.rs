//! The folder of all runs: making, listing, finding, opening, sealing and removing them.

use crate::disk::{LockOutcome, RealFiles, discard, lock_exclusive, sync_parent};
use crate::error::{FindError, StoreError};
use crate::load::{LoadedRun, RequestBatches, load_run, open_batches};
use crate::manifest_file::{is_sealed, read_manifest, write_manifest};
use crate::run_entry::RunEntry;
use crate::run_id::matches_run_id;
use crate::run_writer::RunWriter;
use crate::seal::{SealedRun, seal_folder};
use crate::{IMPORT_FILE, JOURNAL_FILE, MANIFEST_FILE};
use ifm_core::Manifest;
use ifm_core::manifest::RunState;
use ifm_core::order::Order as _;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Word that finds the newest run.
const NEWEST: &str = "last";
/// Why an abandoned run is partial.
const ABANDONED: &str = "the process that wrote the run ended without sealing it";

/// A folder of runs. It need not exist until a run is made.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// Whether a folder of the store is an import and no run.
pub(crate) fn is_import(folder: &Path) -> bool {
    folder.join(IMPORT_FILE).is_file()
}

impl Store {
    /// The store in `root`.
    pub fn at(root: impl Into<PathBuf>) -> Store {
        Store { root: root.into() }
    }

    /// Where the store is by default: `.inferometer/runs` below `folder`.
    pub fn default_root(folder: &Path) -> PathBuf {
        folder.join(".inferometer").join("runs")
    }

    /// The folder of runs.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Free space on the disk of the folder, or of the nearest existing parent, bytes; absent if unknown.
    pub fn room_bytes(&self) -> Option<u64> {
        let absolute = std::path::absolute(&self.root).ok()?;
        let there = absolute.ancestors().find(|folder| folder.exists())?;
        crate::disk::room_bytes(there)
    }

    /// Begins a run. `manifest.run_id` names its folder; see [`crate::new_run_id`].
    ///
    /// # Errors
    /// [`StoreError::BadRunId`], [`StoreError::RunExists`] (another id is needed), or the disk's.
    pub fn create(&self, manifest: &Manifest) -> Result<RunWriter, StoreError> {
        RunWriter::create(&self.root, manifest)
    }

    /// All runs, newest first. A broken folder is in the list with the reason; a store that does
    /// not exist is empty.
    ///
    /// # Errors
    /// Only where the store's own folder cannot be read.
    pub fn list(&self) -> Result<Vec<RunEntry>, StoreError> {
        let mut runs: Vec<RunEntry> = self.run_folders()?.into_iter().map(RunEntry::at).collect();
        runs.order_by(|a, b| b.id.cmp(&a.id));
        Ok(runs)
    }

    /// The folders of all runs, in no order. Nothing in them is read, so that a caller that knows
    /// most of them already reads only the others.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn run_folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut folders = self.folders()?;
        folders.retain(|folder| !is_import(folder));
        Ok(folders)
    }

    /// Folders of the store; none where it does not exist.
    pub(crate) fn folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        let unreadable = |source| StoreError::io("read", &self.root, source);
        let folder = match fs::read_dir(&self.root) {
            Ok(folder) => folder,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(unreadable(source)),
        };
        let mut folders = Vec::new();
        for item in folder {
            let path = item.map_err(unreadable)?.path();
            let hidden =
                path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            if !hidden && path.is_dir() {
                folders.push(path);
            }
        }
        Ok(folders)
    }

    /// The one run that `key` means: `last`, the path of a run's folder or of a file in it, a whole
    /// id, a name, or the start of an id or of its last part. An earlier kind of match wins.
    ///
    /// # Errors
    /// [`FindError::NotFound`], or [`FindError::Ambiguous`] with the candidates.
    pub fn find(&self, key: &str) -> Result<RunEntry, FindError> {
        let not_found = || FindError::NotFound { key: key.to_string(), root: self.root.clone() };
        if key.contains(std::path::is_separator) {
            return run_at(Path::new(key)).ok_or_else(not_found);
        }
        let mut runs = self.list()?;
        if key == NEWEST {
            return runs.into_iter().next().ok_or_else(not_found);
        }
        let has_name = |run: &RunEntry| {
            run.manifest.as_ref().is_ok_and(|manifest| manifest.name.as_deref() == Some(key))
        };
        let kinds: [&dyn Fn(&RunEntry) -> bool; 3] =
            [&|run| run.id == key, &has_name, &|run| matches_run_id(&run.id, key)];
        for matches in kinds {
            let found: Vec<usize> =
                (0..runs.len()).filter(|index| runs.get(*index).is_some_and(matches)).collect();
            match found.as_slice() {
                [] => {}
                [one] => return Ok(runs.swap_remove(*one)),
                _ => {
                    runs.retain(matches);
                    let candidates = runs.into_iter().map(|run| run.id).collect();
                    return Err(FindError::Ambiguous { key: key.to_string(), candidates });
                }
            }
        }
        run_at(Path::new(key)).ok_or_else(not_found)
    }

    /// Loads a whole run into memory, sealed or not. Needs about 8 bytes for each token event.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] or [`StoreError::Version`] for files that cannot be trusted or
    /// understood, or the disk's.
    pub fn open(&self, run: &RunEntry) -> Result<LoadedRun, StoreError> {
        load_run(&run.path)
    }

    /// The manifest and, batch by batch, the requests of a run, sealed or not: for runs that are
    /// larger than memory.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn read_requests(&self, run: &RunEntry) -> Result<(Manifest, RequestBatches), StoreError> {
        open_batches(&run.path)
    }

    /// Seals a run whose process ended without doing so, as [`RunState::Partial`]. What its last
    /// checkpoint did not know, such as the end of its last level, stays unknown.
    ///
    /// # Errors
    /// [`StoreError::Live`] while a process writes it, [`StoreError::AlreadySealed`],
    /// [`StoreError::LocksUnsupported`], or the disk's: the journal is then left as it was.
    pub fn seal_abandoned(&self, run: &RunEntry) -> Result<SealedRun, StoreError> {
        let already = || StoreError::AlreadySealed { id: run.id.clone() };
        let path = run.path.join(JOURNAL_FILE);
        let opened = OpenOptions::new().read(true).append(true).open(&path);
        let lock = match opened {
            Err(_) if read_manifest(&run.path).is_ok_and(|manifest| is_sealed(&manifest)) => {
                return Err(already());
            }
            opened => opened.map_err(|source| StoreError::io("open", &path, source))?,
        };
        match lock_exclusive(&lock, &path)? {
            LockOutcome::Held => {}
            LockOutcome::Busy => return Err(StoreError::Live { id: run.id.clone() }),
            LockOutcome::Unsupported => return Err(StoreError::LocksUnsupported { path }),
        }
        // Only now: before we held the lock, another process may have sealed the run.
        let mut manifest = read_manifest(&run.path)?;
        if is_sealed(&manifest) {
            discard(&path);
            return Err(already());
        }
        manifest.state = RunState::Partial;
        manifest.stop_reason.get_or_insert_with(|| ABANDONED.to_string());
        let sealed = seal_folder(&mut RealFiles::of_run(&manifest), &run.path, manifest, &[]);
        drop(lock);
        sealed
    }

    /// Changes the manifest of a sealed run, its name for one. Fields that this build does not know
    /// are kept. Gives the manifest as stored.
    ///
    /// # Errors
    /// [`StoreError::NotSealed`], [`StoreError::UnstorableManifest`], or the disk's: the previous
    /// manifest then stays.
    pub fn change_manifest(
        &self,
        run: &RunEntry,
        change: impl FnOnce(&mut Manifest),
    ) -> Result<Manifest, StoreError> {
        let mut manifest = read_manifest(&run.path)?;
        if !is_sealed(&manifest) {
            return Err(StoreError::NotSealed { id: run.id.clone() });
        }
        change(&mut manifest);
        write_manifest(&mut RealFiles::of_run(&manifest), &run.path, &manifest)?;
        Ok(manifest)
    }

    /// Removes a run and all that is in its folder.
    ///
    /// # Errors
    /// [`StoreError::Live`] while a process writes it, or the disk's.
    pub fn remove(&self, run: &RunEntry) -> Result<(), StoreError> {
        if run.is_live()? {
            return Err(StoreError::Live { id: run.id.clone() });
        }
        let refused = |source| StoreError::io("remove", &run.path, source);
        let in_store = run.path.parent() == Some(self.root.as_path());
        if !in_store && !run.path.join(MANIFEST_FILE).is_file() {
            return Err(refused(io::Error::other("it is not the folder of a run")));
        }
        // Out of sight first, so that a removal that is cut short leaves no half of a run.
        let hidden = run.path.with_file_name(format!(".{}.{}.removed", run.id, std::process::id()));
        fs::rename(&run.path, &hidden).map_err(refused)?;
        sync_parent(&hidden)?;
        fs::remove_dir_all(&hidden).map_err(refused)
    }
}

/// The run whose folder, or a file of whose folder, is at `path`.
fn run_at(path: &Path) -> Option<RunEntry> {
    let folder = if path.is_file() { path.parent()? } else { path };
    // An absolute path has a last part even where the user gave `.` or `..`.
    let folder = fs::canonicalize(folder).ok()?;
    folder.join(MANIFEST_FILE).is_file().then(|| RunEntry::at(folder))
}
