//! `inferometer guard`: the process that undoes what another set up, should that one die. Started by
//! ourselves alone, so it stands in no help.

use crate::exit::{Code, Failure};

/// Runs the command.
pub fn run() -> Result<Code, Failure> {
    crate::guard::guard()
}
