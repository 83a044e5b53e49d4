//! Where points come from: a run, or a document of another tool.

use crate::identity::RunIdentity;

/// A run or a document that results were made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Name of the file, or id of the run.
    pub name: String,
    /// Name of the side that it is a part of: see [`Results::with_sides`](crate::Results::with_sides).
    pub side: String,
    /// The tool that measured; absent where the document does not say.
    pub tool: Option<String>,
    /// Its version.
    pub tool_version: Option<String>,
    /// Whether it is a run of this program.
    pub is_own: bool,
    /// By what its repeats are recognized; absent for documents.
    pub(crate) identity: Option<RunIdentity>,
}

impl Source {
    /// A document of this name, which is its own side.
    pub fn of_document(name: &str) -> Source {
        Source {
            name: name.to_owned(),
            side: name.to_owned(),
            tool: None,
            tool_version: None,
            is_own: false,
            identity: None,
        }
    }
}
