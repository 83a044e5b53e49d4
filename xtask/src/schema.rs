//! Writes the JSON Schemas of all documents again, as they follow from the types.
//!
//! They are derived in the tests of the program, so that nothing which is shipped holds the code of
//! the derivation; this runs those tests in the mode in which they write. Not here: which documents
//! there are (`crates/inferometer/src/cli/schema.rs`).

use anyhow::{Context as _, Result, ensure};
use std::process::{Command, ExitCode};

/// Runs the command.
///
/// # Errors
/// Arguments, of which it takes none; and where the tests cannot be run.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    ensure!(arguments.is_empty(), "schema takes no arguments");
    write("schemas_are", "IFM_SCHEMA")
}

/// Runs a test of the program in the mode in which it writes what it otherwise compares.
///
/// # Errors
/// The tests cannot be run.
pub fn write(test: &str, variable: &str) -> Result<ExitCode> {
    let status = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "-p", "inferometer", "--lib", test])
        .env(variable, "write")
        .status()
        .context("cargo cannot be run")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
