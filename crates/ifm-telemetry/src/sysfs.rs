//! Small files of the kernel's trees.

use std::fs;
use std::path::{Path, PathBuf};

/// Longest file that is read, bytes: these hold one word.
const BYTES_MAX: usize = 4096;

/// The text of a file without its line break; absent where it cannot be read.
pub(crate) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    (text.len() <= BYTES_MAX).then(|| text.trim().to_owned())
}

/// The number in a file; absent if it contains none.
pub(crate) fn number(path: &Path) -> Option<f64> {
    text(path)?.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Entries of a folder whose names are wanted, in the order of their names.
pub(crate) fn entries(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = list
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_wanted))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}
