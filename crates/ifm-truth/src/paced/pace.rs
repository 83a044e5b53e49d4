//! How a stream is paced, and how a request can ask for another pace than the server's own.

use thiserror::Error;

/// When the tokens of a stream are due, and how they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Pace {
    /// From the request's arrival to the first token, nanoseconds.
    pub ttft_ns: u64,
    /// From one token to the next, nanoseconds. 0: as fast as the kernel takes them.
    pub itl_ns: u64,
    /// Whether tokens that are due at the same time share sends of up to 16 KB. Otherwise each
    /// event is a send of its own.
    pub coalesce: bool,
    /// Sends to one connection before the next one has its turn, when several are due. With 1
    /// (at least) the server goes round from event to event; the more, the more events a reader
    /// finds in one read.
    pub burst: u32,
    /// Whether an event with usage precedes the end mark.
    pub usage: bool,
}

/// Why a pace cannot be understood.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PaceError {
    /// A setting that does not exist.
    #[error("unknown pace setting: {name}; there are ttft_ms, itl_ms, coalesce, burst and usage")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// A setting without a value that it could have.
    #[error(
        "bad value of {name}: {value}; times are milliseconds up to 3600000, switches are true or false"
    )]
    BadValue {
        /// The setting.
        name: String,
        /// The value.
        value: String,
    },
}

/// Longest time that can be asked for, milliseconds: an hour.
const MS_MAX: f64 = 3_600_000.0;

impl Pace {
    /// Changes settings by text, as written in a URL: `ttft_ms=200,itl_ms=20,coalesce=true`.
    /// Settings are separated by `,` or `&`; those that are not named stay.
    ///
    /// # Errors
    /// See [`PaceError`].
    pub fn changed_by(mut self, text: &str) -> Result<Pace, PaceError> {
        for setting in text.split([',', '&']).filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, "true"));
            let bad = || PaceError::BadValue { name: name.to_owned(), value: value.to_owned() };
            match name {
                "ttft_ms" => self.ttft_ns = nanoseconds(value).ok_or_else(bad)?,
                "itl_ms" => self.itl_ns = nanoseconds(value).ok_or_else(bad)?,
                "coalesce" => self.coalesce = value.parse().map_err(|_| bad())?,
                "burst" => {
                    let burst = value.parse().ok().filter(|burst| (1..=1_000).contains(burst));
                    self.burst = burst.ok_or_else(bad)?;
                }
                "usage" => self.usage = value.parse().map_err(|_| bad())?,
                _ => return Err(PaceError::Unknown { name: name.to_owned() }),
            }
        }
        Ok(self)
    }

    /// How many of `tokens` tokens are due `elapsed_ns` after the arrival.
    pub fn tokens_due(&self, elapsed_ns: u64, tokens: u32) -> u32 {
        let Some(since_first_ns) = elapsed_ns.checked_sub(self.ttft_ns) else { return 0 };
        let due = since_first_ns.checked_div(self.itl_ns).map_or(u64::MAX, |gaps| gaps + 1);
        due.min(u64::from(tokens)) as u32
    }

    /// When a token is due, from the arrival. The first token is number 0.
    pub fn due_ns(&self, token: u32) -> u64 {
        self.ttft_ns + self.itl_ns * u64::from(token)
    }
}

fn nanoseconds(ms: &str) -> Option<u64> {
    let ms: f64 = ms.parse().ok()?;
    (0.0..=MS_MAX).contains(&ms).then(|| (ms * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Pace = Pace { ttft_ns: 5, itl_ns: 0, coalesce: false, burst: 1, usage: true };

    #[test]
    fn settings_change_what_they_name() {
        let changed = BASE.changed_by("itl_ms=0.5,coalesce&usage=false,burst=9").unwrap();
        let pace = Pace { ttft_ns: 5, itl_ns: 500_000, coalesce: true, burst: 9, usage: false };
        assert_eq!(changed, pace);
        assert_eq!(BASE.changed_by(""), Ok(BASE));
        for bad in [
            "itl_ms=-1",
            "itl_ms=nan",
            "ttft_ms=1e12",
            "coalesce=2",
            "burst=0",
            "speed=1",
            "ttft_ms",
        ] {
            assert!(BASE.changed_by(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_is_due_at_its_time_and_not_before() {
        let pace = Pace { ttft_ns: 100, itl_ns: 10, ..BASE };
        for token in 0..5 {
            assert_eq!(pace.tokens_due(pace.due_ns(token) - 1, 5), token);
            assert_eq!(pace.tokens_due(pace.due_ns(token), 5), token + 1);
        }
        assert_eq!(pace.tokens_due(10_000, 5), 5);
        let unpaced = Pace { ttft_ns: 100, ..BASE };
        assert_eq!((unpaced.tokens_due(99, 5), unpaced.tokens_due(100, 5)), (0, 5));
    }
}
