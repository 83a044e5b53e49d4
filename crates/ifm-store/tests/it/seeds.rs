//! The seeds and findings of the fuzz target that reads a run.

use crate::fuzzed;
use ifm_made::seeds::replay;

#[test]
fn seeds_of_runs_are_read_or_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = replay("run_parquet", |bytes| fuzzed::run_parquet(folder.path(), bytes));
    assert!(outcome.read > 0 && outcome.refused > 0, "{outcome:?}");
}
