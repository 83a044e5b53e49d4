//! Pauses between the turns of a conversation.
//!
//! Not here: waiting (whoever sends).

use std::str::FromStr;

use crate::error::WorkloadError;
use ifm_made::Draws;

/// The longest pause in nanoseconds: a day.
const PAUSE_NS_MAX: u64 = 86_400_000_000_000;

/// How long a user, or a tool, takes: `2s`, `500ms`, `1s-3s` or `exp(2s)`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Think {
    #[default]
    None,
    /// Uniform between both, in nanoseconds.
    Range(u64, u64),
    /// Exponential with this mean, in nanoseconds.
    Exponential(u64),
}

impl Think {
    /// A time such as `10s`, in nanoseconds.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`].
    pub(crate) fn fixed_ns(text: &str) -> Result<u64, WorkloadError> {
        duration_ns(text).ok_or_else(|| WorkloadError::Shape {
            text: text.to_owned(),
            reason: "write a time as 10s or 500ms, at most a day".to_owned(),
        })
    }

    /// The next pause in nanoseconds.
    pub(crate) fn draw(&self, draws: &mut Draws) -> u64 {
        match *self {
            Self::None => 0,
            Self::Range(min, max) => min + draws.below_u64(max - min + 1),
            Self::Exponential(mean) => {
                let pause = -libm::log(1.0 - draws.unit()) * mean as f64;
                (pause as u64).min(PAUSE_NS_MAX)
            }
        }
    }
}

impl FromStr for Think {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let usage = || WorkloadError::Shape {
            text: text.to_owned(),
            reason: "write a pause as 2s, 500ms, 1s-3s or exp(2s), at most a day".to_owned(),
        };
        if let Some(mean) = text.strip_prefix("exp(").and_then(|text| text.strip_suffix(')')) {
            return duration_ns(mean).map(Self::Exponential).ok_or_else(usage);
        }
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        match (duration_ns(min), duration_ns(max)) {
            (Some(0), Some(0)) => Ok(Self::None),
            (Some(min), Some(max)) if min <= max => Ok(Self::Range(min, max)),
            _ => Err(usage()),
        }
    }
}

/// `2s`, `500ms`, `1.5m` in nanoseconds.
fn duration_ns(text: &str) -> Option<u64> {
    let text = text.trim();
    let units = [("ms", 1e6), ("us", 1e3), ("s", 1e9), ("m", 6e10), ("", 1e9)];
    let (number, unit) =
        units.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
    let ns = number.trim().parse::<f64>().ok()? * unit;
    (ns >= 0.0 && ns <= PAUSE_NS_MAX as f64).then_some(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_made::Rng;

    #[test]
    fn pauses_are_read_and_drawn() {
        let mut draws = Rng::new(1).stream("think").item(0);
        assert_eq!("0s".parse::<Think>().unwrap().draw(&mut draws), 0);
        assert_eq!("2s".parse::<Think>().unwrap().draw(&mut draws), 2_000_000_000);
        assert_eq!("500ms".parse::<Think>().unwrap(), Think::Range(500_000_000, 500_000_000));
        assert_eq!(
            "1s-1.5m".parse::<Think>().unwrap(),
            Think::Range(1_000_000_000, 90_000_000_000)
        );
        let law = "exp(2s)".parse::<Think>().unwrap();
        let mean = (0..10_000).map(|_| law.draw(&mut draws) as f64).sum::<f64>() / 1e13;
        assert!((mean - 2.0).abs() < 0.06, "{mean}");
        for text in ["", "x", "-1s", "3s-1s", "exp(x)", "100000000s", "nan"] {
            assert!(text.parse::<Think>().is_err(), "{text}");
        }
    }
}
