//! Real files of other tools, read and held against what is known of them.

mod serving;

use ifm_core::Sheet;
use ifm_interop::{ImportError, Input};
use std::path::PathBuf;

/// A file of the test data.
fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Reads a file of the test data.
fn import(name: &str) -> Result<Sheet, ImportError> {
    ifm_interop::read(Input::new(name, std::fs::File::open(data(name)).expect("test data")))
}
