//! Names of metrics that no table has, kept once for the life of the program.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A name that a file gives to one of its metrics. It is stored once per program, so that a copy
/// costs nothing; the memory of all names is never freed, and is at most that of the files read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(&'static str);

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Name {
    /// The name of this text.
    pub fn new(text: &str) -> Name {
        // A set of texts is whole whatever happened to the thread that held it.
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(text) {
            return Name(known);
        }
        let kept: &'static str = Box::leak(text.into());
        names.insert(kept);
        Name(kept)
    }

    /// A name that is written in the program.
    pub const fn of(text: &'static str) -> Name {
        Name(text)
    }

    /// The text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

/// The text in quotation marks, as that of a string.
impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_is_kept_once() {
        let (one, other) = (Name::new("a name"), Name::new(&String::from("a name")));
        assert!(std::ptr::eq(one.as_str(), other.as_str()));
        assert_eq!(one, Name::of("a name"));
        assert!(Name::new("a") < Name::new("b"));
    }
}
