//! What the fuzz target does with the `requests.parquet` of a run folder from someone else. Its manifest confirms the
//! length and the checksum, because whoever makes the file writes those too.

use ifm_store::{MANIFEST_FILE, REQUESTS_FILE, Store};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The manifest of a run that was sealed with an earlier format; each input replaces its sums.
const MANIFEST: &str = include_str!("../golden/v1.3/manifest.json");

/// Reads the bytes as the requests of the only run in the store, in each way that the program has.
pub fn run_parquet(folder: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut manifest: Value = serde_json::from_str(MANIFEST).expect("a manifest");
    let run = folder.join(manifest["run_id"].as_str().expect("an id"));
    fs::create_dir_all(&run).expect("a folder");
    let files = manifest["files"].as_array_mut().expect("files");
    files.retain(|file| file["name"] == REQUESTS_FILE);
    manifest["files"][0]["bytes"] = bytes.len().into();
    let sum = format!("{:08x}", crc32fast::hash(bytes));
    manifest["file_crc32"] = serde_json::json!({ REQUESTS_FILE: sum });
    fs::write(run.join(REQUESTS_FILE), bytes).expect("written");
    fs::write(run.join(MANIFEST_FILE), manifest.to_string()).expect("written");

    let store = Store::at(folder);
    let runs = store.list().expect("a list");
    let entry = runs.first().expect("the run is listed");
    let whole = store.open(entry);
    let in_batches = store.read_requests(entry).and_then(|(_, batches)| {
        batches.map(|batch| batch.map(|batch| batch.len())).sum::<Result<usize, _>>()
    });
    // As a single file the same bytes hold no manifest, or one without a right sum.
    let _ = ifm_store::read_single_file(&run.join(REQUESTS_FILE));
    let _ = ifm_store::read_sheet_file(&run.join(REQUESTS_FILE));
    match (whole, in_batches) {
        (Ok(whole), Ok(count)) => assert_eq!(whole.data.requests.len(), count, "two ways to read"),
        (Ok(_), Err(error)) => panic!("read whole, but not in batches: {error}"),
        (Err(error), _) => return Err(error.to_string()),
    }
    Ok(())
}
