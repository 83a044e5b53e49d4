//! Imports in the store: sheets of other tools' results, stored next to the runs.
//!
//! An import is a folder `<store>/<id>/` with one file, written as a whole.

use crate::IMPORT_FILE;
use crate::disk::{RealFiles, read_file, replace_file};
use crate::error::{FindError, StoreError};
use crate::run_id::{check_run_id, matches_run_id};
use crate::store::{Store, is_import};
use crate::tags::later_values;
use ifm_core::order::Order as _;
use ifm_core::sheet::SHEET_VERSION;
use ifm_core::{PlanCell, Sheet};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Largest import that is read, bytes.
const IMPORT_BYTES_MAX: u64 = 1 << 30;

/// Documents that were imported together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Import {
    /// Version of the format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SHEET_VERSION)))]
    pub sheet_version: u32,
    /// Identity: UTC time of the import and a random part, as that of a run.
    pub id: String,
    /// Name that the user gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Version of inferometer that read the documents.
    pub tool_version: String,
    /// The cell of a plan that it is the result of; absent outside plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanCell>,
    /// The documents.
    pub sheets: Vec<Sheet>,
}

/// Writes the one file of an import in the place of any that is there.
pub(crate) fn write_import(folder: &Path, import: &Import) -> Result<(), StoreError> {
    let path = folder.join(IMPORT_FILE);
    let content = serde_json::to_vec(import)
        .map_err(|error| StoreError::damaged(&path, error.to_string()))?;
    replace_file(
        &mut RealFiles::default(),
        &path,
        &content,
        "the files that were read are untouched",
    )
}

/// The import in a folder, as it was written.
pub(crate) fn read_import(folder: &Path) -> Result<Import, StoreError> {
    let path = folder.join(IMPORT_FILE);
    let content = read_file(&path, IMPORT_BYTES_MAX)?;
    let import: Import = serde_json::from_slice(&content)
        .map_err(|error| StoreError::damaged(&path, format!("not an import: {error}")))?;
    if import.sheet_version != SHEET_VERSION {
        return Err(StoreError::Version {
            path,
            found: import.sheet_version.to_string(),
            supported: SHEET_VERSION.to_string(),
        });
    }
    Ok(import)
}

impl Store {
    /// Keeps an import. The sheets' version is set.
    ///
    /// # Errors
    /// [`StoreError::BadRunId`], [`StoreError::RunExists`], or the disk's.
    pub fn keep_import(&self, import: &Import) -> Result<(), StoreError> {
        check_run_id(&import.id)?;
        let folder = self.root().join(&import.id);
        fs::create_dir_all(self.root())
            .map_err(|source| StoreError::io("make", self.root(), source))?;
        fs::create_dir(&folder).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => StoreError::RunExists { id: import.id.clone() },
            _ => StoreError::io("make", &folder, source),
        })?;
        let kept = write_import(&folder, import);
        if kept.is_err() {
            // An empty folder would be listed as a broken run.
            let _ = fs::remove_dir_all(&folder);
        }
        kept
    }

    /// Writes an import in the place of the one that is there by its id: results that grow.
    ///
    /// # Errors
    /// [`StoreError::BadRunId`], or the disk's; what was there is then kept.
    pub fn replace_import(&self, import: &Import) -> Result<(), StoreError> {
        check_run_id(&import.id)?;
        write_import(&self.root().join(&import.id), import)
    }

    /// Ids of all imports, newest first.
    ///
    /// # Errors
    /// Where the store's own folder cannot be read.
    pub fn import_ids(&self) -> Result<Vec<String>, StoreError> {
        let folders = self.folders()?;
        let imports = folders.into_iter().filter(|folder| is_import(folder));
        let mut ids: Vec<String> = imports
            .filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()))
            .collect();
        ids.order_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// Reads an import by its id, with the tags that were put on it later.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Version`], or the disk's.
    pub fn import(&self, id: &str) -> Result<Import, StoreError> {
        let folder = self.root().join(id);
        let mut import = read_import(&folder)?;
        for (name, value) in later_values(&folder) {
            import.sheets.iter_mut().for_each(|sheet| sheet.set_factor(&name, &value));
        }
        Ok(import)
    }

    /// The import with exactly this id or name; absent if not found.
    ///
    /// # Errors
    /// The store or the import cannot be read.
    pub fn named_import(&self, key: &str) -> Result<Option<Import>, StoreError> {
        let ids = self.import_ids()?;
        if ids.iter().any(|id| id == key) {
            return self.import(key).map(Some);
        }
        // One that cannot be read has no name to be found by.
        let mut imports = ids.iter().filter_map(|id| self.import(id).ok());
        Ok(imports.find(|import| import.name.as_deref() == Some(key)))
    }

    /// The one import that `key` means: a whole id, a name, or the start of an id or of its last
    /// part.
    ///
    /// # Errors
    /// [`FindError`] when none or several are meant, or one cannot be read.
    pub fn find_import(&self, key: &str) -> Result<Import, FindError> {
        if let Some(import) = self.named_import(key)? {
            return Ok(import);
        }
        let ids = self.import_ids()?;
        let not_found =
            || FindError::NotFound { key: key.to_owned(), root: self.root().to_owned() };
        let mut matching = ids.into_iter().filter(|id| matches_run_id(id, key));
        let first = matching.next().ok_or_else(not_found)?;
        let others: Vec<String> = matching.collect();
        if others.is_empty() {
            return Ok(self.import(&first)?);
        }
        let candidates = std::iter::once(first).chain(others).collect();
        Err(FindError::Ambiguous { key: key.to_owned(), candidates })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(id: &str, name: Option<&str>) -> Import {
        Import {
            sheet_version: SHEET_VERSION,
            id: id.to_owned(),
            name: name.map(str::to_owned),
            tool_version: "0".to_owned(),
            plan: None,
            sheets: vec![Sheet::default()],
        }
    }

    #[test]
    fn imports_are_kept_next_to_runs_and_are_not_listed_as_runs() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("runs"));
        assert_eq!(store.import_ids().unwrap(), Vec::<String>::new());
        let first = import("20261120-121427-7f3a", Some("base"));
        store.keep_import(&first).unwrap();
        store.keep_import(&import("20261120-121428-0b11", None)).unwrap();
        assert!(matches!(store.keep_import(&first), Err(StoreError::RunExists { .. })));
        assert_eq!(store.import_ids().unwrap(), ["20261120-121428-0b11", "20261120-121427-7f3a"]);
        assert_eq!(store.find_import("base").unwrap(), first);
        assert_eq!(store.find_import("7f3a").unwrap(), first);
        assert!(matches!(store.find_import("2026"), Err(FindError::Ambiguous { .. })));
        assert!(matches!(store.find_import("none"), Err(FindError::NotFound { .. })));
        assert!(store.list().unwrap().is_empty());
    }

    #[test]
    fn another_version_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let newer = Import { sheet_version: SHEET_VERSION + 1, ..import("a", None) };
        store.keep_import(&newer).unwrap();
        assert!(matches!(store.import("a"), Err(StoreError::Version { .. })));
    }
}
