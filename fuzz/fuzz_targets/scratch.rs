//! A folder for readers that take a path. It is in memory where the system has `/dev/shm`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of this process, empty at first.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = tempfile::Builder::new().prefix("ifm-fuzz-").tempdir_in(parent);
        // The fuzzer ends without running destructors; the next run removes nothing, so the folder stays small.
        folder.expect("a folder").keep()
    })
}
