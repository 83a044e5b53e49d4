//! What people put on runs and imports: names and tags, and where removed ones wait.
//!
//! A name is part of the document itself, so that there is one truth. What is removed for now lies in a
//! hidden folder of the store and can be brought back.
//!
//! Not here: the file of tags (`tags`).

use crate::disk::sync_parent;
use crate::error::StoreError;
use crate::imports::{read_import, write_import};
use crate::run_entry::RunEntry;
use crate::store::{Store, is_import};
use crate::tags::{read_tags, write_tags};
use ifm_core::order::Order as _;
use ifm_core::tag::check_name;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of the store where removed runs and imports wait.
const REMOVED_FOLDER: &str = ".removed";

impl RunEntry {
    /// The tags, in the order in which they were put on; none where there never was one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Version`], or the disk's.
    pub fn tags(&self) -> Result<Vec<String>, StoreError> {
        read_tags(&self.path)
    }

    /// Size of all files of the folder, bytes; absent where it cannot be read.
    pub fn bytes(&self) -> Option<u64> {
        folder_bytes(&self.path)
    }
}

impl Store {
    /// The run of exactly this id, looked up among the folders of the store: an id is never made
    /// part of a path.
    ///
    /// # Errors
    /// Where the store's own folder cannot be read.
    pub fn entry(&self, id: &str) -> Result<Option<RunEntry>, StoreError> {
        let folders = self.folders()?.into_iter();
        let mut found = folders.filter(|folder| has_name(folder, id) && !is_import(folder));
        Ok(found.next().map(RunEntry::at))
    }

    /// Gives a sealed run another name, or none.
    ///
    /// # Errors
    /// [`StoreError::BadName`], or as [`Store::change_manifest`].
    pub fn rename(&self, run: &RunEntry, name: Option<&str>) -> Result<(), StoreError> {
        let name = name.map(checked_name).transpose()?;
        self.change_manifest(run, |manifest| manifest.name = name).map(drop)
    }

    /// Gives an import another name, or none.
    ///
    /// # Errors
    /// [`StoreError::BadName`], [`StoreError::NotThere`], or as [`Store::import`].
    pub fn rename_import(&self, id: &str, name: Option<&str>) -> Result<(), StoreError> {
        let name = name.map(checked_name).transpose()?;
        let folder = self.import_folder(id)?;
        let mut import = read_import(&folder)?;
        import.name = name;
        write_import(&folder, &import)
    }

    /// Puts these tags on a run, in the place of those that it has. Gives them as stored: trimmed,
    /// each once.
    ///
    /// # Errors
    /// [`StoreError::BadTag`], or the disk's: the previous tags then stay.
    pub fn tag(&self, run: &RunEntry, tags: &[String]) -> Result<Vec<String>, StoreError> {
        write_tags(&run.path, tags)
    }

    /// The tags of an import.
    ///
    /// # Errors
    /// [`StoreError::NotThere`], or as [`RunEntry::tags`].
    pub fn import_tags(&self, id: &str) -> Result<Vec<String>, StoreError> {
        read_tags(&self.import_folder(id)?)
    }

    /// Puts these tags on an import; see [`Store::tag`].
    ///
    /// # Errors
    /// [`StoreError::NotThere`], or as [`Store::tag`].
    pub fn tag_import(&self, id: &str, tags: &[String]) -> Result<Vec<String>, StoreError> {
        write_tags(&self.import_folder(id)?, tags)
    }

    /// Size of an import on the disk, bytes; absent where it cannot be read.
    pub fn import_bytes(&self, id: &str) -> Option<u64> {
        folder_bytes(&self.import_folder(id).ok()?)
    }

    /// Takes a run or an import out of sight; [`Store::restore`] brings it back.
    ///
    /// # Errors
    /// [`StoreError::NotThere`], [`StoreError::Live`] while a process writes it, or the disk's.
    pub fn set_aside(&self, id: &str) -> Result<(), StoreError> {
        let folder = self.folder_of(&self.folders()?, id)?;
        if !is_import(&folder) && RunEntry::at(folder.clone()).is_live()? {
            return Err(StoreError::Live { id: id.to_owned() });
        }
        let aside = self.root().join(REMOVED_FOLDER);
        fs::create_dir_all(&aside).map_err(|source| StoreError::io("make", &aside, source))?;
        move_folder(&folder, &aside.join(folder.file_name().unwrap_or_default()))
    }

    /// Ids of what was taken out of sight, newest first.
    ///
    /// # Errors
    /// Where its folder cannot be read.
    pub fn set_aside_ids(&self) -> Result<Vec<String>, StoreError> {
        let name = |folder: &PathBuf| Some(folder.file_name()?.to_string_lossy().into_owned());
        let mut ids: Vec<String> = self.aside()?.iter().filter_map(name).collect();
        ids.order_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// Brings back what [`Store::set_aside`] took away.
    ///
    /// # Errors
    /// [`StoreError::NotThere`], [`StoreError::RunExists`], or the disk's.
    pub fn restore(&self, id: &str) -> Result<(), StoreError> {
        let folder = self.folder_of(&self.aside()?, id)?;
        let target = self.root().join(folder.file_name().unwrap_or_default());
        move_folder(&folder, &target)
    }

    /// Removes for good what was taken out of sight.
    ///
    /// # Errors
    /// [`StoreError::NotThere`], or the disk's.
    pub fn erase(&self, id: &str) -> Result<(), StoreError> {
        let folder = self.folder_of(&self.aside()?, id)?;
        fs::remove_dir_all(&folder).map_err(|source| StoreError::io("remove", &folder, source))
    }

    fn aside(&self) -> Result<Vec<PathBuf>, StoreError> {
        Store::at(self.root().join(REMOVED_FOLDER)).folders()
    }

    fn import_folder(&self, id: &str) -> Result<PathBuf, StoreError> {
        let mut folders = self.folders()?;
        folders.retain(|folder| is_import(folder));
        self.folder_of(&folders, id)
    }

    fn folder_of(&self, among: &[PathBuf], id: &str) -> Result<PathBuf, StoreError> {
        let found = among.iter().find(|folder| has_name(folder, id));
        found.cloned().ok_or_else(|| StoreError::NotThere { id: id.chars().take(100).collect() })
    }
}

fn has_name(folder: &Path, id: &str) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes() == id.as_bytes())
}

fn move_folder(from: &Path, to: &Path) -> Result<(), StoreError> {
    if to.exists() {
        let id = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(StoreError::RunExists { id });
    }
    fs::rename(from, to).map_err(|source| StoreError::io("move", from, source))?;
    sync_parent(from)?;
    sync_parent(to)
}

/// Total size of the files in a folder, without its subfolders.
fn folder_bytes(folder: &Path) -> Option<u64> {
    let entries = fs::read_dir(folder).ok()?;
    let sizes = entries.filter_map(|entry| entry.ok()?.metadata().ok());
    Some(sizes.filter(fs::Metadata::is_file).map(|file| file.len()).sum())
}

/// A name without blanks around it, if it can be one.
fn checked_name(name: &str) -> Result<String, StoreError> {
    check_name(name).map_err(|detail| StoreError::BadName { detail })
}
