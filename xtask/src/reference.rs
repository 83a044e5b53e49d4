//! Writes the reference of the command line again, as it follows from the parser.
//!
//! Not here: what a page says (`crates/inferometer/src/cli/help/manual`).

use crate::schema::write;
use anyhow::{Result, ensure};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// Arguments, of which it takes none; and where the tests cannot be run.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    ensure!(arguments.is_empty(), "reference takes no arguments");
    write("the_reference_is", "IFM_REFERENCE")
}
