//! How often each length occurred.
//!
//! Not here: drawing lengths (`law`).

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// How often each length occurred.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LengthCounts {
    counts: BTreeMap<u32, u64>,
}

/// A list of pairs: length in tokens, how often it occurred.
impl Serialize for LengthCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl LengthCounts {
    pub(crate) fn add(&mut self, tokens: u32) {
        *self.counts.entry(tokens).or_default() += 1;
    }

    /// Lengths in tokens, ascending, each with how often it occurred.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.counts.iter().map(|(&tokens, &count)| (tokens, count))
    }

    /// How many lengths were counted.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Sum of all lengths in tokens.
    pub fn total_tokens(&self) -> u64 {
        self.iter().map(|(tokens, count)| u64::from(tokens) * count).sum()
    }

    /// Mean length in tokens; none before the first.
    pub fn mean_tokens(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.total_tokens() as f64 / count as f64)
    }

    /// Shortest length in tokens; none before the first.
    pub fn min_tokens(&self) -> Option<u32> {
        self.counts.keys().next().copied()
    }

    /// Longest length in tokens; none before the first.
    pub fn max_tokens(&self) -> Option<u32> {
        self.counts.keys().next_back().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let mut counts = LengthCounts::default();
        assert_eq!((counts.count(), counts.mean_tokens(), counts.min_tokens()), (0, None, None));
        for tokens in [10, 20, 20, 30] {
            counts.add(tokens);
        }
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(10, 1), (20, 2), (30, 1)]);
        assert_eq!((counts.count(), counts.total_tokens()), (4, 80));
        assert_eq!(counts.mean_tokens(), Some(20.0));
        assert_eq!((counts.min_tokens(), counts.max_tokens()), (Some(10), Some(30)));
    }
}
