//! What the parser knows, for people: help, manual pages, completions, suggestions after a mistake.

pub mod command_groups;
pub mod completions;
pub mod long_help;
pub mod manual;
pub mod mistakes;
pub mod short_help;
pub mod version;
