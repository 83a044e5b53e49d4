//! Reading and writing the head of a run.
//!
//! The head is one JSON document, replaced as a whole. It is read before anything else of a run,
//! and it carries the CRC-32 of each other file in the field [`SUMS_FIELD`], so that a damaged
//! file is known before it is decoded.

use crate::disk::{FileMaker, read_file, replace_file};
use crate::error::StoreError;
use crate::{MANIFEST_FILE, REQUESTS_FILE};
use ifm_core::Manifest;
use ifm_core::manifest::{RunState, SCHEMA_VERSION};
use serde_json::Value;
use std::path::Path;

/// Field of the manifest with the CRC-32 of each file, eight hexadecimal digits by file name.
pub(crate) const SUMS_FIELD: &str = "file_crc32";

/// Largest manifest that is read, bytes. An hour of clock pairs takes about 100 KB.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// Reads the manifest of a run folder.
pub(crate) fn read_manifest(folder: &Path) -> Result<Manifest, StoreError> {
    let path = folder.join(MANIFEST_FILE);
    parse_manifest(&read_file(&path, MANIFEST_BYTES_MAX)?, &path)
}

/// The version is looked at first: another major version may lack fields of this one.
pub(crate) fn parse_manifest(content: &[u8], path: &Path) -> Result<Manifest, StoreError> {
    let document: Value = serde_json::from_slice(content)
        .map_err(|error| StoreError::damaged(path, format!("not JSON: {error}")))?;
    let Some(version) = document.get("schema_version").and_then(Value::as_str) else {
        return Err(StoreError::damaged(path, "no field schema_version"));
    };
    if major(version) != major(SCHEMA_VERSION) {
        return Err(StoreError::Version {
            path: path.to_path_buf(),
            found: version.chars().take(40).collect(),
            supported: format!("{}.x", major(SCHEMA_VERSION)),
        });
    }
    serde_json::from_value(document)
        .map_err(|error| StoreError::damaged(path, format!("not a manifest: {error}")))
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}

/// Writes the manifest of a run folder, replacing the previous one.
///
/// A manifest that would not read back (a number that is not finite becomes `null` in JSON) is
/// refused, and the previous one stays.
pub(crate) fn write_manifest<M: FileMaker>(
    files: &mut M,
    folder: &Path,
    manifest: &Manifest,
) -> Result<(), StoreError> {
    let path = folder.join(MANIFEST_FILE);
    let unstorable =
        |detail: String| StoreError::UnstorableManifest { id: manifest.run_id.clone(), detail };
    let mut content =
        serde_json::to_vec_pretty(manifest).map_err(|error| unstorable(error.to_string()))?;
    content.push(b'\n');
    serde_json::from_slice::<Manifest>(&content).map_err(|error| unstorable(error.to_string()))?;
    replace_file(files, &path, &content, "the previous manifest is kept: free space and retry")
}

/// Whether a manifest says that the run's rows are in their final files.
pub(crate) fn is_sealed(manifest: &Manifest) -> bool {
    manifest.state != RunState::Open && manifest.files.iter().any(|file| file.name == REQUESTS_FILE)
}

/// The CRC-32 of a file, as recorded in the manifest.
pub(crate) fn told_sum(manifest: &Manifest, name: &str) -> Option<u32> {
    let digits = manifest.extra.get(SUMS_FIELD)?.get(name)?.as_str()?;
    u32::from_str_radix(digits, 16).ok()
}

/// Puts the CRC-32 of files into the manifest, in the place of any that are there.
pub(crate) fn tell_sums(manifest: &mut Manifest, sums: &[(&str, u32)]) {
    let sums = sums
        .iter()
        .map(|(name, sum)| ((*name).to_string(), Value::String(format!("{sum:08x}"))))
        .collect();
    manifest.extra.insert(SUMS_FIELD.to_string(), Value::Object(sums));
}
