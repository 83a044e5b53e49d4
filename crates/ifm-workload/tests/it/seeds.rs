//! The seeds and findings of the fuzz targets that read workloads.

use crate::fuzzed;
use ifm_made::seeds::replay;
use std::path::Path;

fn check(target: &str, read: impl Fn(&Path, &[u8]) -> Result<(), String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = replay(target, |bytes| read(folder.path(), bytes));
    assert!(outcome.read > 0 && outcome.refused > 0, "{target}: {outcome:?}");
}

#[test]
fn seeds_of_parquet_are_rows_or_refused_in_a_sentence() {
    check("workload_parquet", fuzzed::parquet);
}

#[test]
fn seeds_of_media_are_shown_or_refused_in_a_sentence() {
    check("media", fuzzed::media);
}

#[test]
fn seeds_of_traces_are_items_or_refused_in_a_sentence() {
    check("otlp", fuzzed::otlp);
}
