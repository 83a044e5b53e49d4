//! How many tokens: what is asked for and what came out.
//!
//! Not here: making text of a length (`prompt`), lengths drawn from a trace.

mod counts;
mod law;
mod pair;
mod ratio;

pub use counts::LengthCounts;
pub use law::Lengths;
pub(crate) use pair::GENAI_BENCH;
pub use pair::LengthPair;
pub use ratio::RangeRatio;

use ifm_made::Draws;
use std::{fmt, str::FromStr};

use crate::error::{TOKENS_MAX, WorkloadError};

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
}
