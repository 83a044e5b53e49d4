//! The folder of a plan: its text as it was run, the journals of the processes that run it, and logs.
//!
//! It is hidden in the store, below `.plans`, so that one folder holds an experiment and all its
//! runs. Each process writes its own journal under an exclusive lock; readers merge the lines of all
//! journals by time. What a line means is not known here.

use crate::disk::{
    LockOutcome, RealFiles, lock_exclusive, private_folder, read_file, replace_file, sync_parent,
};
use crate::error::StoreError;
use crate::run_id::check_run_id;
use crate::store::Store;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Folder of all plans, within the store.
const PLANS_FOLDER: &str = ".plans";
/// Name of the plan's text.
const TEXT_FILE: &str = "plan.toml";
/// Begin and end of a journal's name.
const JOURNAL_NAME: (&str, &str) = ("journal", ".jsonl");
/// Largest text or journal that is read, bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The folder of a plan. It need not exist until something is kept.
#[derive(Debug, Clone)]
pub struct PlanFolder {
    path: PathBuf,
}

/// A journal that this process writes.
#[derive(Debug)]
pub struct PlanJournal {
    file: File,
    path: PathBuf,
}

impl Store {
    /// The folder of a plan of this name.
    pub fn plan(&self, name: &str) -> PlanFolder {
        PlanFolder { path: self.root().join(PLANS_FOLDER).join(name) }
    }

    /// Names of the plans that were run, in alphabetical order.
    ///
    /// # Errors
    /// The disk's.
    pub fn plans(&self) -> Result<Vec<String>, StoreError> {
        let path = self.root().join(PLANS_FOLDER);
        let mut names = list(&path)?;
        names.retain(|name| path.join(name).join(TEXT_FILE).is_file());
        Ok(names)
    }
}

impl Store {
    /// Brings a run or an import from another store; false where this one has it already.
    ///
    /// # Errors
    /// [`StoreError::BadRunId`], or the disk's: a partial copy is removed.
    pub fn copy_from(&self, other: &Store, id: &str) -> Result<bool, StoreError> {
        check_run_id(id)?;
        let (from, to) = (other.root().join(id), self.root().join(id));
        if to.exists() {
            return Ok(false);
        }
        // Out of sight until it is whole.
        let hidden = self.root().join(format!(".{id}.{}.copied", std::process::id()));
        let copied = (|| {
            fs::create_dir_all(&hidden)?;
            for entry in fs::read_dir(&from)? {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    fs::copy(entry.path(), hidden.join(entry.file_name()))?;
                }
            }
            fs::rename(&hidden, &to)
        })();
        if copied.is_err() {
            // Nothing to lose: it is whole where it came from.
            let _ = fs::remove_dir_all(&hidden);
        }
        copied.map_err(|source| StoreError::io("copy", &from, source))?;
        sync_parent(&to)?;
        Ok(true)
    }
}

/// Names in a folder, in alphabetical order; none where it does not exist.
fn list(path: &Path) -> Result<Vec<String>, StoreError> {
    let unreadable = |source| StoreError::io("read", path, source);
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(unreadable(source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

impl PlanFolder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plan as it was run last; absent where it never was.
    ///
    /// # Errors
    /// The disk's, or a file that is not text.
    pub fn text(&self) -> Result<Option<String>, StoreError> {
        let path = self.path.join(TEXT_FILE);
        if path.is_file() { read(&path).map(Some) } else { Ok(None) }
    }

    /// Keeps the plan as it is run now.
    ///
    /// # Errors
    /// The disk's: the previous text then stays.
    pub fn keep_text(&self, text: &str) -> Result<(), StoreError> {
        private_folder(&self.path)?;
        let path = self.path.join(TEXT_FILE);
        replace_file(&mut RealFiles::private(), &path, text.as_bytes(), "free space and retry")
    }

    /// The lines of all journals, in the order of their beginnings, which are times.
    ///
    /// # Errors
    /// The disk's, or a file that is not text.
    pub fn lines(&self) -> Result<String, StoreError> {
        let mut lines = Vec::new();
        for name in list(&self.path)? {
            if name.starts_with(JOURNAL_NAME.0) && name.ends_with(JOURNAL_NAME.1) {
                lines.extend(read(&self.path.join(name))?.lines().map(str::to_owned));
            }
        }
        lines.sort();
        Ok(lines.join("\n"))
    }

    /// Opens a journal to write to: that of a task of a cluster, or the plan's own.
    ///
    /// # Errors
    /// [`StoreError::Live`] while another process writes it, or the disk's.
    pub fn journal(&self, task: Option<usize>) -> Result<PlanJournal, StoreError> {
        private_folder(&self.path)?;
        let part = task.map_or_else(String::new, |task| format!("-{task}"));
        let path = self.path.join(format!("{}{part}{}", JOURNAL_NAME.0, JOURNAL_NAME.1));
        let mut options = RealFiles::private().options();
        let opened = options.create(true).append(true).read(true).open(&path);
        let mut file = opened.map_err(|source| StoreError::io("open", &path, source))?;
        let id = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A file system without locks cannot show it; then the user has to take care.
        if lock_exclusive(&file, &path)? == LockOutcome::Busy {
            return Err(StoreError::Live { id });
        }
        sync_parent(&path)?;
        // A line that was cut off must not swallow the next one.
        if read(&path)?.chars().next_back().is_some_and(|last| last != '\n') {
            file.write_all(b"\n").map_err(|source| StoreError::io("write", &path, source))?;
        }
        Ok(PlanJournal { file, path })
    }
}

/// A whole text; bytes that are no UTF-8, as of a line that was cut off, are replaced.
fn read(path: &Path) -> Result<String, StoreError> {
    let bytes = read_file(path, FILE_BYTES_MAX)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl PlanJournal {
    /// Adds a line and waits until it is on the disk.
    ///
    /// # Errors
    /// The disk's.
    pub fn add(&mut self, line: &str) -> Result<(), StoreError> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written
            .and_then(|()| self.file.sync_data())
            .map_err(|source| StoreError::io("write", &self.path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_kept_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let plan = Store::at(folder.path()).plan("secret");
        plan.keep_text("env = { API_KEY = 'k' }").unwrap();
        plan.journal(None).unwrap().add("{}").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(plan.path()), 0o700);
        assert_eq!(mode(&plan.path().join(TEXT_FILE)), 0o600);
        assert_eq!(mode(&plan.path().join("journal.jsonl")), 0o600);
    }

    #[test]
    fn journals_are_read_together_and_written_by_one_process_each() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        assert_eq!(store.plans().unwrap(), Vec::<String>::new());
        let plan = store.plan("p");
        assert_eq!((plan.text().unwrap(), plan.lines().unwrap()), (None, String::new()));
        plan.keep_text("a").unwrap();
        plan.keep_text("b").unwrap();
        assert_eq!(plan.text().unwrap().as_deref(), Some("b"));
        let mut own = plan.journal(None).unwrap();
        assert!(matches!(plan.journal(None), Err(StoreError::Live { .. })));
        own.add("2 of its own").unwrap();
        plan.journal(Some(3)).unwrap().add("1 of task 3").unwrap();
        assert_eq!(plan.lines().unwrap(), "1 of task 3\n2 of its own");
        assert_eq!(store.plans().unwrap(), ["p"]);
        assert_eq!(store.list().unwrap().len(), 0, "a plan is no run");
    }

    #[test]
    fn a_line_that_was_cut_off_stays_alone() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Store::at(folder.path()).plan("p");
        plan.keep_text("").unwrap();
        fs::write(plan.path().join("journal.jsonl"), b"1 whole\n2 cut\xff").unwrap();
        plan.journal(None).unwrap().add("3 next").unwrap();
        let lines = plan.lines().unwrap();
        assert_eq!(lines.lines().count(), 3);
        assert!(lines.ends_with("3 next"));
    }
}
