//! What a format of files is: data that says how it is recognised, and a function that reads it.
//!
//! Not here: the formats (`format`), and what their readers share (`field`, `collect`, `records`).

use super::{Head, ImportError, Input, Likeness, Recognised};
use ifm_core::Sheet;
use ifm_core::sheet::PartKind;

/// A format of files.
pub(crate) struct Format {
    /// Its id.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The tool that writes it, where one alone does.
    pub tool: Option<&'static str>,
    /// What it measures.
    pub kind: PartKind,
    /// How it is recognised.
    pub like: Like,
    /// Fields that mark it, for telling what came closest.
    pub marks: &'static [&'static str],
    /// Reads the whole file.
    pub read: Read,
}

/// Reads a whole file. Fails with [`ImportError::Broken`], with line or field; a damaged part of a
/// file is a remark.
pub(crate) type Read = fn(&Format, Input<'_>) -> Result<Sheet, ImportError>;

/// How a format is recognised.
pub(crate) enum Like {
    /// JSON that has all fields of one of these lists in its outer levels: only this format has.
    Json(&'static [&'static [&'static str]]),
    /// Something else.
    By(fn(&Head) -> Likeness),
}

impl Format {
    /// Its id and name.
    pub fn about(&self) -> Recognised {
        Recognised { id: self.id, title: self.title }
    }

    /// Whether a file is of it.
    pub fn likeness(&self, head: &Head) -> Likeness {
        match self.like {
            Like::Json(lists) => {
                sure(head.is_json() && lists.iter().any(|fields| head.has_keys(fields)))
            }
            Like::By(likeness) => likeness(head),
        }
    }
}

/// What is all or nothing.
pub(crate) fn sure(is: bool) -> Likeness {
    if is { Likeness::Sure } else { Likeness::No }
}
