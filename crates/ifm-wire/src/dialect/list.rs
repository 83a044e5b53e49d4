//! Lists in the JSON of a server, of which a bounded number of entries is kept.
//!
//! An entry takes two bytes of JSON and up to some hundred bytes of memory once it is read, so a
//! list as long as an event may be would take gigabytes.

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// Entries kept of a list of choices, calls or parts: far more than any answer has.
pub(super) const ENTRIES_MAX: usize = 1024;
/// Results counted of a list of results, such as embeddings: far more than any request asks for.
pub(super) const RESULTS_MAX: usize = 1 << 20;

/// The first entries of a list; those after `MAX` are checked to be JSON and left out.
#[derive(Debug)]
pub(super) struct List<T, const MAX: usize = ENTRIES_MAX>(pub(super) Vec<T>);

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<T, const MAX: usize> Deref for List<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MAX: usize> IntoIterator for List<T, MAX> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'list, T, const MAX: usize> IntoIterator for &'list List<T, MAX> {
    type Item = &'list T;
    type IntoIter = std::slice::Iter<'list, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T, const MAX: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Entries<T, MAX> {
            type Value = List<T, MAX>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a sequence")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while entries.len() < MAX {
                    let Some(entry) = seq.next_element()? else { return Ok(List(entries)) };
                    entries.push(entry);
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(List(entries))
            }
        }
        deserializer.deserialize_seq(Entries::<T, MAX>(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_first_entries_and_checks_the_rest() {
        let read = |json: &str| serde_json::from_str::<List<u8, 2>>(json).map(|list| list.0).ok();
        assert_eq!(read("[]"), Some(vec![]));
        assert_eq!(read("[1]"), Some(vec![1]));
        assert_eq!(read("[1,2,{\"a\":[3]},4]"), Some(vec![1, 2]));
        assert_eq!(read("[1,2,{\"a\":[3},4]"), None);
        assert_eq!(read("{}"), None);
    }
}
