//! Writes the JSON Schemas that follow from the types of `ifm-core` again.
//!
//! They are derived in the tests of that crate, so that nothing which is shipped holds the code of
//! the derivation; this runs those tests in the mode in which they write. Not here: schemas of
//! documents that are put together by hand, which are written by hand.

use anyhow::{Context as _, Result, ensure};
use std::process::{Command, ExitCode};

/// Runs the command.
///
/// # Errors
/// Arguments, of which it takes none; and where the tests cannot be run.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    ensure!(arguments.is_empty(), "schema takes no arguments");
    let status = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "-p", "ifm-core", "--lib", "schema"])
        .env("IFM_SCHEMA", "write")
        .status()
        .context("cargo cannot be run")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
