//! What was set for a run, and by whom: on the command line, by a variable, in a project's file.
//!
//! Not here: what it means, which the spec of the run says with every default filled in.

use serde::{Deserialize, Serialize};

crate::vocabulary! {
    /// Who set it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum SetBy {
        /// A word of the command line.
        Flag = "flag",
        /// A variable of the environment.
        Environment = "environment",
        /// The file `inferometer.toml`.
        Project = "project",
    }
}

/// A value that is not a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The flag without its hyphens, or the name of a word without a flag, such as `url`.
    pub name: String,
    /// The value as it was written, secrets masked; `true` for a flag without one.
    pub value: String,
    /// Who set it.
    pub by: SetBy,
    /// Where: the variable, or file and line as `inferometer.toml:3`; absent for the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}
