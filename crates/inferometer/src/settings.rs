//! What was set for this call of the program, and by whom: for the record of a run.
//!
//! Not here: how it is found out (`cli::project`).

use ifm_core::Setting;
use std::sync::{Mutex, PoisonError};

static SETTINGS: Mutex<Vec<Setting>> = Mutex::new(Vec::new());

/// Keeps what was found out. A line of another tool comes after the words that it was pasted behind.
pub fn keep(settings: Vec<Setting>) {
    *SETTINGS.lock().unwrap_or_else(PoisonError::into_inner) = settings;
}

/// What was set, in the order of the help.
pub fn of_this_call() -> Vec<Setting> {
    SETTINGS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
