//! A threshold as it is written: `itl.p99@64=50ms`, `out_tok_s@256=-3%`.
//!
//! A percentage with a sign is a change against a baseline; anything else is a value in the unit of
//! the measure. Not here: files, and what a run says.

use crate::comparison::{Measure, MeasureError, Unit};
use ifm_metrics::level::Load;
use std::fmt;

/// Longest threshold that is read, bytes.
const TEXT_MAX: usize = 200;
const NS_PER_MS: f64 = 1e6;
const GIB: f64 = 1_073_741_824.0;

/// On which side of the limit a value has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// At most the limit.
    Max,
    /// At least the limit.
    Min,
}

/// What a value is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// A value, in the unit of the measure.
    Value(f64),
    /// A change against the baseline: a share of its value, or points for a share.
    Change(f64),
    /// No worse than the runs before, by more than they differ among themselves and by more than is
    /// relevant. Needs a history as the baseline.
    Band,
}

/// The limit that is the band of the runs before, as it is written.
pub const BAND: &str = "band";

/// One threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// What is compared with the limit.
    pub measure: Measure,
    /// At which load; at every one if absent.
    pub load: Option<Load>,
    /// Which side is inside.
    pub bound: Bound,
    /// The limit.
    pub limit: Limit,
}

/// Errors in a threshold as written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ThresholdError {
    /// Longer than any sensible threshold.
    #[error("a threshold is longer than {TEXT_MAX} bytes")]
    TooLong,
    /// No limit follows.
    #[error("{text} has no limit, write for example: itl.p99@64=50ms")]
    NoLimit {
        /// The threshold as written.
        text: String,
    },
    /// Its sign bounds the other side.
    #[error("{text} is written with {}", match bound {
        Bound::Max => "> (at least): pass it to --min, or write <",
        Bound::Min => "< (at most): pass it to --max, or write >",
    })]
    Side {
        /// The threshold as written.
        text: String,
        /// The side that was asked.
        bound: Bound,
    },
    /// The measure cannot be read.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The load cannot be read.
    #[error("{text} names no load after the @, write a number of users, or a rate such as 2.5/s")]
    Load {
        /// The threshold as written.
        text: String,
    },
    /// The limit cannot be read.
    #[error("cannot read the limit {limit} of {name}: {hint}")]
    Limit {
        /// The limit as written.
        limit: String,
        /// Measure and load.
        name: String,
        /// What may be written.
        hint: &'static str,
    },
}

impl Threshold {
    /// Reads `itl.p99@64=50ms`.
    ///
    /// # Errors
    /// [`ThresholdError`] with the part that cannot be read.
    pub fn parse(text: &str, bound: Bound) -> Result<Threshold, ThresholdError> {
        let no_limit = || ThresholdError::NoLimit { text: text.trim().to_owned() };
        if text.len() > TEXT_MAX {
            return Err(ThresholdError::TooLong);
        }
        // Latency targets are written with `<` and `>`: `ttft:p95<1s`.
        let plain = text.replace("<=", "<").replace(">=", ">").replace('≤', "<").replace('≥', ">");
        let (name, limit) = plain.split_once(['=', '<', '>']).ok_or_else(no_limit)?;
        let side = plain.get(name.len()..=name.len());
        match (side, bound) {
            (Some("<"), Bound::Min) | (Some(">"), Bound::Max) => {
                Err(ThresholdError::Side { text: text.trim().to_owned(), bound })
            }
            _ => Threshold::of(name, limit, bound),
        }
    }

    /// Reads a name, `itl.p99@64`, and a limit, `50ms`.
    ///
    /// # Errors
    /// [`ThresholdError`] with the part that cannot be read.
    pub fn of(name: &str, limit: &str, bound: Bound) -> Result<Threshold, ThresholdError> {
        if name.len() + limit.len() > TEXT_MAX {
            return Err(ThresholdError::TooLong);
        }
        let (word, load) = match name.split_once('@') {
            Some((word, load)) => {
                let unread = || ThresholdError::Load { text: name.trim().to_owned() };
                (word, Some(parse_load(load).ok_or_else(unread)?))
            }
            None => (name, None),
        };
        let measure = Measure::parse(word)?;
        let limit = parse_limit(limit, measure).map_err(|hint| ThresholdError::Limit {
            limit: limit.trim().to_owned(),
            name: name.trim().to_owned(),
            hint,
        })?;
        Ok(Threshold { measure, load, bound, limit })
    }
}

/// Reads a load: `64` or `64 users`, `2.5/s` or `2.5 req/s`.
pub fn parse_load(text: &str) -> Option<Load> {
    let text = text.trim();
    if let Some(rate) = text.strip_suffix("/s") {
        let rate = rate.trim_end_matches("req").trim().parse::<f64>().ok()?;
        return (rate > 0.0 && rate.is_finite()).then_some(Load::ReqPerS(rate));
    }
    let users = text.trim_end_matches("users").trim().parse::<u32>().ok()?;
    (users > 0).then_some(Load::Users(users))
}

fn parse_limit(text: &str, measure: Measure) -> Result<Limit, &'static str> {
    let lower = text.trim().to_ascii_lowercase();
    if lower == BAND {
        return Ok(Limit::Band);
    }
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    if lower.starts_with(['+', '-']) {
        let hint = "a change against the baseline is a percentage, such as +5% or -3%";
        let change = lower.strip_suffix('%').and_then(number).ok_or(hint)?;
        return Ok(Limit::Change(change / 100.0));
    }
    if lower.ends_with('%') && measure.unit() != Unit::Share {
        return Err("a percentage of the baseline needs its sign, such as +5% or -3%");
    }
    // A number with one of these units, or without any.
    let scaled = |units: &[(&str, f64)], none: f64| {
        let found = units.iter().find_map(|(unit, one)| Some((lower.strip_suffix(unit)?, *one)));
        let (digits, one) = found.unwrap_or((lower.as_str(), none));
        number(digits).map(|value| value * one)
    };
    let (value, hint) = match measure.unit() {
        Unit::Ns => {
            let units = [("ms", NS_PER_MS), ("us", NS_PER_MS / 1e3), ("s", NS_PER_MS * 1e3)];
            (scaled(&units, NS_PER_MS), "write a time such as 50ms or 0.5s, or +5%")
        }
        Unit::Share => {
            let share = match lower.strip_suffix('%') {
                Some(percent) => number(percent).map(|value| value / 100.0),
                None => number(&lower),
            };
            let share = share.filter(|share| *share <= 1.0);
            (share, "write a share such as 1%, or a change in points such as +0.5%")
        }
        Unit::TokPerS
        | Unit::ReqPerS
        | Unit::StepPerS
        | Unit::SessionPerHour
        | Unit::ImagePerS
        | Unit::MegapixelPerS
        | Unit::W
        | Unit::BytesPerS
        | Unit::FlopPerS
        | Unit::Usd
        | Unit::Plain => (scaled(&[("k", 1e3)], 1.0), "write a number such as 1200, or -3%"),
        Unit::Bytes => (
            scaled(&[("gib", GIB), ("mib", GIB / 1024.0), ("gb", 1e9), ("mb", 1e6)], 1.0),
            "write a size such as 80GB or 512MiB, or +5%",
        ),
        Unit::J => (
            scaled(&[("kwh", 3.6e6), ("wh", 3.6e3), ("kj", 1e3), ("mj", 1e6), ("j", 1.0)], 1.0),
            "write an energy such as 500kJ or 2kWh, or +5%",
        ),
    };
    value.filter(|value| *value >= 0.0).map(Limit::Value).ok_or(hint)
}

/// The name that [`Threshold::of`] reads.
impl fmt::Display for Threshold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.measure)?;
        match self.load {
            None => Ok(()),
            Some(Load::Users(users)) => write!(formatter, "@{users}"),
            Some(Load::ReqPerS(rate)) => write!(formatter, "@{rate}/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let check = |text: &str, name: &str, limit: Limit| {
            let found = Threshold::parse(text, Bound::Max).expect(text);
            assert_eq!((found.to_string().as_str(), found.limit), (name, limit), "{text}");
        };
        check("itl.p99@64=50ms", "itl.p99@64", Limit::Value(50e6));
        check(" ITL:p99 @ 64 users = 0.05 s ", "itl.p99@64", Limit::Value(50e6));
        check("ttft.p50=250", "ttft.p50", Limit::Value(250e6));
        check("tpot.mean@2.5/s=900us", "tpot.mean@2.5/s", Limit::Value(900e3));
        check("out_tok_s@256=-3%", "out_tok_s@256", Limit::Change(-0.03));
        check("ttft.p50@8=+5%", "ttft.p50@8", Limit::Change(0.05));
        check("out_tok_s@8=1.2k", "out_tok_s@8", Limit::Value(1200.0));
        check("error_rate=1%", "error_rate", Limit::Value(0.01));
        check("memory=80GB", "memory", Limit::Value(80e9));
        check("energy=2kWh", "energy", Limit::Value(7.2e6));
        check("time=90s", "time", Limit::Value(90e9));
        check("success=0.99", "success", Limit::Value(0.99));
        check("error_rate=+0.5%", "error_rate", Limit::Change(0.005));
        check("ttft:p95@8<1s", "ttft.p95@8", Limit::Value(1e9));
        check("ttft.p95<=1s", "ttft.p95", Limit::Value(1e9));
        let least =
            Threshold::parse("speed:p5>20", Bound::Min).map(|it| (it.to_string(), it.limit));
        assert_eq!(least, Ok(("tok_s_user.p5".to_owned(), Limit::Value(20.0))));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let check = |text: &str, word: &str| {
            let error = Threshold::parse(text, Bound::Min).expect_err(text).to_string();
            assert!(error.contains(word), "{text}: {error}");
        };
        check("itl.p99@64", "has no limit");
        check("sped@64=5", "unknown metric");
        check("speed@64=5", "speed.p99");
        check("ttft.p95<1s", "pass it to --max");
        check("itl.p99@many=5ms", "names no load");
        check("itl.p99@0=5ms", "names no load");
        check("itl.p99@64=soon", "such as 50ms");
        check("out_tok_s@64=3%", "needs its sign");
        check("out_tok_s@64=-3", "is a percentage");
        check("error_rate=120%", "a share");
        check("out_tok_s@64=nan", "such as 1200");
        check(&"x".repeat(300), "longer");
    }
}
