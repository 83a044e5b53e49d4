//! How many tokens: what is asked for and what came out.
//!
//! Not here: making text of a length (`prompt`), lengths drawn from a trace.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::{error::WorkloadError, rng::Draws};

/// The longest prompt and the longest output, in tokens: bounds the memory of an
/// item to some twenty megabytes.
pub const TOKENS_MAX: u32 = 1 << 22;

/// A number of tokens, drawn uniformly from both bounds and all between.
///
/// Written `256`, or `200-300` for a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LengthRange {
    min: u32,
    max: u32,
}

impl LengthRange {
    /// From `min` to `max` tokens, both included.
    ///
    /// # Errors
    /// [`WorkloadError::Length`] unless `1 <= min <= max <= TOKENS_MAX`.
    pub fn new(min: u32, max: u32) -> Result<Self, WorkloadError> {
        if min == 0 || min > max || max > TOKENS_MAX {
            return Err(WorkloadError::Length { min, max });
        }
        Ok(Self { min, max })
    }

    /// Always the same number of tokens.
    ///
    /// # Errors
    /// [`WorkloadError::Length`] unless `1 <= tokens <= TOKENS_MAX`.
    pub fn fixed(tokens: u32) -> Result<Self, WorkloadError> {
        Self::new(tokens, tokens)
    }

    /// Lower bound in tokens.
    pub fn min(&self) -> u32 {
        self.min
    }

    /// Upper bound in tokens.
    pub fn max(&self) -> u32 {
        self.max
    }

    pub(crate) fn draw(&self, draws: &mut Draws) -> u32 {
        draws.within(self.min, self.max)
    }
}

impl fmt::Display for LengthRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max {
            write!(formatter, "{}", self.min)
        } else {
            write!(formatter, "{}-{}", self.min, self.max)
        }
    }
}

impl FromStr for LengthRange {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let number = |part: &str| {
            part.trim().parse::<u32>().map_err(|_| WorkloadError::Shape {
                text: text.to_owned(),
                reason: format!(
                    "'{part}' is not a number of tokens; write 256, or 200-300 for a range"
                ),
            })
        };
        match text.split_once('-') {
            Some((min, max)) => Self::new(number(min)?, number(max)?),
            None => Self::fixed(number(text)?),
        }
    }
}

/// How often each length occurred.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LengthCounts {
    counts: BTreeMap<u32, u64>,
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
    fn ranges_are_read_and_written() {
        for text in ["1", "256", "200-300", "4194304"] {
            assert_eq!(text.parse::<LengthRange>().unwrap().to_string(), text);
        }
        assert_eq!("7-7".parse::<LengthRange>().unwrap().to_string(), "7");
        for text in ["", "0", "-1", "3-", "300-200", "0-5", "4194305", "1e3", "1.5", "5000000000"] {
            assert!(text.parse::<LengthRange>().is_err(), "{text}");
        }
    }

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
