//! Files that the fuzzer found or began with, read again by the tests of the crate that reads them.
//!
//! Not here: how a file is read. Each crate has that in a file `fuzzed.rs`, which its fuzz targets include.

use std::fs;
use std::path::PathBuf;

/// What became of the seeds of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Seeds that were read.
    pub read: usize,
    /// Seeds that were refused.
    pub refused: usize,
}

/// Reads every seed of a fuzz target; each is a value or an error of one sentence.
///
/// # Panics
/// Where the folder of the seeds cannot be read, or an error says nothing.
#[expect(clippy::print_stdout, reason = "the last line of a test that fails names its seed")]
pub fn replay(target: &str, mut read: impl FnMut(&[u8]) -> Result<(), String>) -> Outcome {
    let folder =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds")).join(target);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut outcome = Outcome { read: 0, refused: 0 };
    for path in paths {
        println!("{}", path.display());
        let bytes = fs::read(&path).expect("a seed");
        match read(&bytes) {
            Ok(()) => outcome.read += 1,
            Err(error) => {
                let is_sentence = error.contains(' ') && error.chars().count() < 4_000;
                assert!(is_sentence, "{error:?}");
                outcome.refused += 1;
            }
        }
    }
    println!("{target}: {outcome:?}");
    outcome
}
