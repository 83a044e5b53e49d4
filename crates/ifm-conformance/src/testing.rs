//! Helpers for the tests of this module and of its output.

use super::Trial;
use std::path::PathBuf;
use std::time::Duration;

/// A trial of a command with the usual settings.
pub fn trial(command: &str) -> Trial {
    Trial {
        command: command.to_owned(),
        completions_command: None,
        is_for_all_cases: false,
        runs: 1,
        start_limit: Duration::from_secs(60),
        time_limit: Duration::from_secs(60),
        tolerance_ms: 10.0,
        jobs: 1,
        folder: PathBuf::from("folder"),
        read: |_| Ok(Vec::new()),
    }
}
