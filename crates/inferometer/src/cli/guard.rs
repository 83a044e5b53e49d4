//! `inferometer guard`: the process that undoes the setup of another process if that one dies. Only
//! inferometer starts it, so it is not in the help.

use crate::exit::{Code, Failure};

/// Runs the command.
pub fn run() -> Result<Code, Failure> {
    ifm_launch::guard::guard()
}
