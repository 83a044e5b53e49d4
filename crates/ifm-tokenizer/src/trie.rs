//! Which of many byte strings begin here: a tree over their bytes.
//!
//! Built level by level from the sorted strings, so that the edge with index `e`
//! leads to node `e + 1` and no targets need to be kept.
//!
//! Not here: what the values mean.

use std::collections::VecDeque;

/// Marks a node at which no string ends.
const NOTHING: u32 = u32::MAX;

/// A set of byte strings, each with a value.
#[derive(Debug, Default)]
pub(crate) struct Trie {
    /// Where the edges of each node start; they end where the next node's start.
    edges: Vec<u32>,
    /// The byte of each edge, ascending within a node.
    labels: Vec<u8>,
    /// The value of the string that ends at each node.
    values: Vec<u32>,
}

impl Trie {
    /// A tree over the strings; of equal ones the first counts, empty ones do not.
    pub(crate) fn new<'keys>(keys: impl IntoIterator<Item = (&'keys [u8], u32)>) -> Self {
        let mut keys = keys.into_iter().filter(|(key, _)| !key.is_empty()).collect::<Vec<_>>();
        if keys.is_empty() {
            return Self::default();
        }
        keys.sort_by_key(|&(key, _)| key);
        keys.dedup_by_key(|&mut (key, _)| key);
        let mut trie = Self::default();
        // Ranges of strings that share their first `depth` bytes.
        let mut queue = VecDeque::from([(0, keys.len(), 0)]);
        while let Some((mut start, end, depth)) = queue.pop_front() {
            trie.edges.push(trie.labels.len() as u32);
            let ends_here = keys.get(start).filter(|(key, _)| key.len() == depth);
            trie.values.push(ends_here.map_or(NOTHING, |&(_, value)| value));
            start += usize::from(ends_here.is_some());
            while start < end {
                let range = keys.get(start..end).unwrap_or(&[]);
                let byte_of = |key: &[u8]| key.get(depth).copied().unwrap_or(0);
                let label = range.first().map_or(0, |(key, _)| byte_of(key));
                let count = range.partition_point(|(key, _)| byte_of(key) <= label);
                trie.labels.push(label);
                queue.push_back((start, start + count, depth + 1));
                start += count;
            }
        }
        trie.edges.push(trie.labels.len() as u32);
        trie
    }

    /// Lengths and values of all strings that the bytes begin with, shortest first.
    pub(crate) fn prefixes<'bytes>(
        &'bytes self,
        bytes: &'bytes [u8],
    ) -> impl Iterator<Item = (usize, u32)> + 'bytes {
        let mut node = 0;
        let nodes = bytes.iter().map_while(move |&byte| {
            node = self.child(node, byte)?;
            Some(node)
        });
        nodes.enumerate().filter_map(|(index, node)| {
            let value = self.values.get(node).copied().filter(|&value| value != NOTHING)?;
            Some((index + 1, value))
        })
    }

    /// Length and value of the longest string that the bytes begin with.
    pub(crate) fn longest_prefix(&self, bytes: &[u8]) -> Option<(usize, u32)> {
        self.prefixes(bytes).last()
    }

    fn child(&self, node: usize, byte: u8) -> Option<usize> {
        let start = *self.edges.get(node)? as usize;
        let end = *self.edges.get(node + 1)? as usize;
        let at = self.labels.get(start..end)?.binary_search(&byte).ok()?;
        Some(start + at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_is_found_and_nothing_else() {
        let words = ["a", "ab", "abc", "b", "bcd", "", "ab"];
        let trie = Trie::new(words.iter().zip(0..).map(|(word, value)| (word.as_bytes(), value)));
        let found = |text: &str| trie.prefixes(text.as_bytes()).collect::<Vec<_>>();
        assert_eq!(found("abcd"), [(1, 0), (2, 1), (3, 2)]);
        assert_eq!(found("abx"), [(1, 0), (2, 1)]);
        assert_eq!(found("bc"), [(1, 3)]);
        assert_eq!(found("bcd"), [(1, 3), (3, 4)]);
        assert_eq!(found("c"), []);
        assert_eq!(found(""), []);
        assert_eq!(trie.longest_prefix(b"abz"), Some((2, 1)));
        assert_eq!(Trie::default().longest_prefix(b"abz"), None);
    }

    #[test]
    fn it_agrees_with_looking_at_every_string() {
        let words = (0_u32..600).map(|index| {
            let length = (index % 5 + 1) as usize;
            let bytes = index.wrapping_mul(2_654_435_761).to_le_bytes();
            bytes.iter().cycle().take(length).map(|byte| byte & 3).collect::<Vec<u8>>()
        });
        let words = words.collect::<Vec<_>>();
        let trie = Trie::new(words.iter().map(|word| (word.as_slice(), word.len() as u32)));
        for text in &words {
            let mut expected = words
                .iter()
                .filter(|word| text.starts_with(word))
                .map(|word| (word.len(), word.len() as u32))
                .collect::<Vec<_>>();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(trie.prefixes(text).collect::<Vec<_>>(), expected);
        }
    }
}
