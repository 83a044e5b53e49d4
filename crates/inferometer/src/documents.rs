//! Documents of other tools, opened and read: files, folders, standard input, kept imports.
//!
//! Not here: what is in them (`ifm-interop`), what is done with them (`cli`).

use crate::exit::Failure;
use ifm_core::Sheet;
use ifm_interop::{ImportError, Input};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files of a folder that are looked at, at most.
const FILES_MAX: usize = 10_000;
/// The word for standard input.
const STANDARD_INPUT: &str = "-";

/// A file that was looked at.
#[derive(Debug)]
pub struct Document {
    /// Whether the user named it, rather than a folder that it is in.
    pub is_named: bool,
    /// What it holds.
    pub sheet: Result<Sheet, ImportError>,
}

/// Reads every file that is named, and every file of every folder that is named, in the order of
/// names.
///
/// # Errors
/// A name of nothing, or a folder that cannot be listed. Files that cannot be read are documents
/// with an error.
pub fn open(paths: &[PathBuf]) -> Result<Vec<Document>, Failure> {
    let mut documents = Vec::new();
    for path in paths {
        if path.as_os_str() == STANDARD_INPUT {
            let input = Input::new("standard input", std::io::stdin().lock());
            documents.push(Document { is_named: true, sheet: ifm_interop::read(input) });
        } else if path.is_dir() {
            let mut files = Vec::new();
            gather(path, &mut files)?;
            documents.extend(files.iter().map(|file| document(file, false)));
        } else if path.exists() {
            documents.push(document(path, true));
        } else {
            return Err(Failure::usage(format!("{}: no such file or folder", path.display())));
        }
    }
    Ok(documents)
}

/// A named file, or standard input, to be read.
///
/// # Errors
/// It cannot be opened.
pub fn input(path: &Path) -> Result<Input<'static>, Failure> {
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(Input::new("standard input", std::io::stdin()));
    }
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) if !path.is_dir() => Ok(Input::new(name, file)),
        Ok(_) => Err(Failure::usage(format!("{name} is a folder: name its files"))),
        Err(error) => Err(Failure::usage(format!("{name}: {error}"))),
    }
}

fn document(path: &Path, is_named: bool) -> Document {
    let name = path.display().to_string();
    let sheet = match File::open(path) {
        Ok(file) => ifm_interop::read(Input::new(name.clone(), file)),
        Err(error) => Err(ImportError::Unreadable { name: name.clone(), error }),
    };
    Document { is_named, sheet }
}

/// All files below a folder, hidden ones left out. Links to folders are not followed.
fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let refused = |error: std::io::Error| {
        Failure::files(format!("cannot list {}: {error}", folder.display()))
    };
    let mut entries = std::fs::read_dir(folder)
        .map_err(refused)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(refused)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let kind = entry.file_type().map_err(refused)?;
        if kind.is_dir() {
            gather(&entry.path(), files)?;
        } else if entry.path().is_file() {
            files.push(entry.path());
        }
        if files.len() > FILES_MAX {
            return Err(Failure::usage(format!(
                "more than {FILES_MAX} files below {}",
                folder.display()
            ))
            .hint("name the folders of the results themselves"));
        }
    }
    Ok(())
}
