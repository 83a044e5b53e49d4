//! Copies of one measurement: the same run as a folder, a Parquet file and JSON, or the same bytes in
//! two files. A measurement counts once, however often it is named.
//!
//! Not here: how copies are handled, and forms of one measurement in the files of one folder
//! (`ifm-interop`).

use std::collections::BTreeMap;
use std::fmt;

/// A named result that is a copy of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Name of the copy.
    pub copy: String,
    /// Name of the result that counts.
    pub of: String,
}

impl fmt::Display for Copied {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Copied { copy, of } = self;
        match copy == of {
            true => write!(formatter, "{copy} is named more than once and counts once"),
            false => {
                write!(formatter, "{copy} contains the same measurement as {of}: it counts once")
            }
        }
    }
}

/// The measurements so far, by the identity of their content, with their names.
#[derive(Debug, Default)]
pub struct Originals(BTreeMap<String, String>);

impl Originals {
    /// Adds a measurement; returns the original if it is a copy.
    pub fn add(&mut self, content: String, name: &str) -> Option<Copied> {
        if let Some(of) = self.0.get(&content) {
            return Some(Copied { copy: name.to_owned(), of: of.clone() });
        }
        self.0.insert(content, name.to_owned());
        None
    }
}

/// Keeps the marked items.
pub fn keep<T>(items: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    items.retain(|_| marks.next().is_none_or(|mark| *mark));
}
