//! The file with the tags of a run or an import.
//!
//! Tags are in `tags.json` next to the document, replaced as a whole: they can be added to a run that
//! is still being written. Tags of the form `NAME=VALUE` count like the tags that a run was measured
//! with: a run or an import is read with both, and a later value replaces an earlier one.

use crate::disk::{RealFiles, read_file, replace_file};
use crate::error::StoreError;
use crate::manifest_file::read_manifest;
use ifm_core::{Manifest, parse_tag};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Name of the file with the tags of a run or import.
pub const TAGS_FILE: &str = "tags.json";
/// Longest tag, characters.
pub const TAG_LENGTH_MAX: usize = 40;
/// Tags of one run.
pub const TAGS_MAX: usize = 20;

/// Largest file of tags that is read, bytes.
const TAGS_BYTES_MAX: u64 = 64 << 10;
/// Version of that file.
const TAGS_VERSION: u32 = 1;

/// The file of tags.
#[derive(Debug, Serialize, Deserialize)]
struct Tags {
    version: u32,
    tags: Vec<String>,
}

/// Tags as they would be stored: trimmed, each once, and of several values of one name the last.
///
/// # Errors
/// [`StoreError::BadTag`] for what cannot be a tag, and for too many.
pub fn check_tags(tags: &[String]) -> Result<Vec<String>, StoreError> {
    let mut checked: Vec<String> = Vec::new();
    for tag in tags.iter().map(|tag| tag.trim()) {
        let length = tag.chars().count();
        let shown = || tag.chars().filter(|c| !c.is_control()).take(TAG_LENGTH_MAX).collect();
        let bad = |detail: String| Err(StoreError::BadTag { tag: shown(), detail });
        if tag.is_empty() {
            return bad("it is empty".to_owned());
        }
        if length > TAG_LENGTH_MAX {
            return bad(format!("it has {length} characters, {TAG_LENGTH_MAX} are allowed"));
        }
        if tag.contains(|c: char| c.is_control() || c == ',') {
            return bad("a comma or a control character cannot be part of it".to_owned());
        }
        if let Ok((name, _)) = parse_tag(tag) {
            checked.retain(|known| {
                known == tag || parse_tag(known).map_or(true, |(other, _)| other != name)
            });
        }
        if !checked.iter().any(|known| known == tag) {
            checked.push(tag.to_owned());
        }
        if checked.len() > TAGS_MAX {
            return bad(format!("there would be more than {TAGS_MAX} tags"));
        }
    }
    Ok(checked)
}

pub(crate) fn write_tags(folder: &Path, tags: &[String]) -> Result<Vec<String>, StoreError> {
    let tags = Tags { version: TAGS_VERSION, tags: check_tags(tags)? };
    let path = folder.join(TAGS_FILE);
    let content =
        serde_json::to_vec(&tags).map_err(|error| StoreError::damaged(&path, error.to_string()))?;
    replace_file(
        &mut RealFiles::default(),
        &path,
        &content,
        "the previous tags are kept: free space and retry",
    )?;
    Ok(tags.tags)
}

/// Names and values of the tags that were put on later. Tags that cannot be read do not keep a run from
/// being read: the list of tags has the error.
pub(crate) fn later_values(folder: &Path) -> Vec<(String, String)> {
    let tags = read_tags(folder).unwrap_or_default();
    tags.iter().filter_map(|tag| parse_tag(tag).ok()).collect()
}

/// The manifest of the run in a folder, with the tags that were put on later.
///
/// # Errors
/// As [`read_manifest`].
pub(crate) fn read_tagged_manifest(folder: &Path) -> Result<Manifest, StoreError> {
    let mut manifest = read_manifest(folder)?;
    manifest.tags.extend(later_values(folder));
    Ok(manifest)
}

pub(crate) fn read_tags(folder: &Path) -> Result<Vec<String>, StoreError> {
    let path = folder.join(TAGS_FILE);
    let content = match read_file(&path, TAGS_BYTES_MAX) {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        content => content?,
    };
    let found: Tags = serde_json::from_slice(&content)
        .map_err(|error| StoreError::damaged(&path, format!("not a list of tags: {error}")))?;
    if found.version != TAGS_VERSION {
        let (found, supported) = (found.version.to_string(), TAGS_VERSION.to_string());
        return Err(StoreError::Version { path, found, supported });
    }
    Ok(found.tags)
}
