//! The settings of this call of the program, and where each was set: for the record of a run.
//!
//! Not here: how they are determined (`cli::project`).

use ifm_core::Setting;
use std::sync::{Mutex, PoisonError};

static SETTINGS: Mutex<Vec<Setting>> = Mutex::new(Vec::new());

/// Stores the settings. A line of another tool comes after the words that it was pasted behind.
pub fn keep(settings: Vec<Setting>) {
    *SETTINGS.lock().unwrap_or_else(PoisonError::into_inner) = settings;
}

/// The settings, in the order of the help.
pub fn of_this_call() -> Vec<Setting> {
    SETTINGS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
