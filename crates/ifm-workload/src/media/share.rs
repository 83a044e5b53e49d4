//! A law of several values, each with its share: `720p:0.7,1080p:0.3`.
//!
//! Written as a histogram of lengths is, with shares that need not be whole. A value alone has all.
//!
//! Not here: laws of whole numbers (`lengths`).

use std::fmt;

use crate::error::WorkloadError;
use ifm_made::Draws;

/// Different values of a law at most.
const VALUES_MAX: usize = 64;

/// Why a value is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is not written as a value is.
    Unknown,
    /// It is written so, and cannot be: why, and what can.
    Refused(String),
}

/// Values with their shares.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shares<T> {
    /// Each value, and the sum of its share and of all before: 1 at the last.
    values: Vec<(T, f64)>,
    text: String,
}

impl<T> Shares<T> {
    /// Reads a law whose values `read` understands, or says of what is wrong with one, where that is not
    /// how it is written; `usage` is the sentence that says how one is.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`].
    pub(crate) fn read(
        text: &str,
        usage: &str,
        read: impl Fn(&str) -> Result<T, Unread>,
    ) -> Result<Self, WorkloadError> {
        let wrong =
            |part: &str| WorkloadError::Shape { text: part.to_owned(), reason: usage.to_owned() };
        let mut values = Vec::new();
        let mut sum = 0.0;
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > VALUES_MAX {
            return Err(wrong(text));
        }
        for part in &parts {
            let (value, share) = match part.rsplit_once(':') {
                Some((value, share)) => (value, share.trim().parse::<f64>().ok()),
                None => (*part, (parts.len() == 1).then_some(1.0)),
            };
            let share = share.filter(|share| share.is_finite() && *share >= 0.0);
            let value = match read(value.trim()) {
                Ok(value) => value,
                Err(Unread::Unknown) => return Err(wrong(part)),
                Err(Unread::Refused(reason)) => {
                    return Err(WorkloadError::Shape { text: (*part).to_owned(), reason });
                }
            };
            let share = share.ok_or_else(|| wrong(part))?;
            if share > 0.0 {
                sum += share;
                values.push((value, sum));
            }
        }
        if values.is_empty() {
            return Err(wrong(text));
        }
        values.iter_mut().for_each(|(_, below)| *below /= sum);
        Ok(Self { values, text: parts.join(",") })
    }

    /// One of the values.
    pub(crate) fn draw(&self, draws: &mut Draws) -> Option<&T> {
        let drawn = draws.unit();
        let place = self.values.iter().position(|(_, below)| drawn < *below);
        // The last bound may be a hair below 1.
        self.values.get(place.unwrap_or(self.values.len().saturating_sub(1))).map(|it| &it.0)
    }
}

impl<T> fmt::Display for Shares<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_made::Rng;

    fn read(text: &str) -> Result<Shares<u32>, WorkloadError> {
        Shares::read(text, "a number", |text| text.parse().map_err(|_| Unread::Unknown))
    }

    #[test]
    fn values_come_by_their_shares() {
        let law = read("1:0.7, 2:0.2,3:0.1,4:0").unwrap();
        assert_eq!(law.to_string(), "1:0.7,2:0.2,3:0.1,4:0");
        let mut draws = Rng::new(1).stream("shares").item(0);
        let drawn: Vec<u32> = (0..10_000).map(|_| *law.draw(&mut draws).unwrap()).collect();
        let count = |value| drawn.iter().filter(|it| **it == value).count();
        assert!((6800..7200).contains(&count(1)), "{}", count(1));
        assert!((1850..2150).contains(&count(2)), "{}", count(2));
        assert_eq!(count(4), 0);
        assert_eq!(read("7").unwrap().draw(&mut draws), Some(&7));
    }

    #[test]
    fn what_is_no_law_is_refused() {
        for text in ["", "x", "1:x", "1,2", "1:0", "1:-1", "1:nan", "1:1,", &"1:1,".repeat(99)] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
