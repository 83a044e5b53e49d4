//! What two runs are compared by: a quantity, and how it is taken over many requests.
//!
//! Written as `ttft.p99`, `itl.mean`, `out_tok_s`, `error_rate`. What is not here: how it is
//! computed, see `sample`.

use crate::level::Load;
use ifm_core::sheet::{Quantity, Statistic};
use std::fmt;

/// A latency of requests, or of gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// Time to first token.
    Ttft,
    /// The same from the due time.
    TtftDue,
    /// Time to the first token of the answer proper.
    Ttfat,
    /// Gap between token-bearing events, pooled over requests.
    Itl,
    /// Time per output token after the first; estimated where no request's tokens were counted.
    Tpot,
    /// Start to last token.
    E2e,
    /// The same from the due time.
    E2eDue,
    /// Time of the whole prompt in an engine.
    Prefill,
    /// Time of one call of a kernel.
    Kernel,
}

/// How many values become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Over {
    /// The arithmetic mean.
    Mean,
    /// A percentile, above 0 and at most 100.
    Percentile(f64),
    /// The one number that a document has, without saying which of many values it is.
    Value,
}

/// A quantity of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// A latency, nanoseconds.
    Latency(Latency, Over),
    /// Speed that one user sees, tokens per second: 1 / TPOT.
    UserSpeed(Over),
    /// Output tokens per second, over the headline window.
    OutputRate,
    /// Complete answers per second, over the headline window.
    RequestRate,
    /// Failed requests over all that were sent, 0 to 1.
    ErrorRate,
    /// Complete answers over requests that ended by themselves, 0 to 1.
    Success,
    /// Prompt and output tokens per second, as a document tells it.
    TotalRate,
    /// Prompt tokens per second, as a document tells it.
    InputRate,
    /// Prompt tokens per second of an engine.
    PrefillRate,
    /// Generated tokens per second of an engine.
    DecodeRate,
    /// Requests per second inside the latency target, as a document tells it.
    Goodput,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A smaller value is better.
    Lower,
    /// A larger value is better.
    Higher,
}

/// What a value is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Tokens per second.
    TokPerS,
    /// Requests per second.
    ReqPerS,
    /// A share, 0 to 1.
    Share,
}

/// What is wrong with a measure as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// No such quantity.
    #[error(
        "unknown metric: {text}, known are: ttft, ttfat, itl, tpot, e2e, ttft_due, e2e_due and \
         tok_s_user with .p50, .p99 or .mean; out_tok_s, req_s, error_rate, success; of files of \
         other tools also prefill and kernel, total_tok_s, in_tok_s, prefill_tok_s, decode_tok_s, \
         goodput"
    )]
    Unknown {
        /// The measure as written.
        text: String,
    },
    /// A latency without a percentile, or one that cannot be read.
    #[error("{text} needs a percentile above 0 and at most 100, or mean: {name}.p99, {name}.mean")]
    Percentile {
        /// The measure as written.
        text: String,
        /// The quantity.
        name: String,
    },
    /// A rate or share with a percentile.
    #[error("{text} is one number, leave out what follows {name}")]
    NoPercentile {
        /// The measure as written.
        text: String,
        /// The quantity.
        name: String,
    },
}

const NS_PER_MS: f64 = 1e6;

/// Latencies and their words.
const LATENCIES: [(&str, Latency); 9] = [
    ("ttft", Latency::Ttft),
    ("ttft_due", Latency::TtftDue),
    ("ttfat", Latency::Ttfat),
    ("itl", Latency::Itl),
    ("tpot", Latency::Tpot),
    ("e2e", Latency::E2e),
    ("e2e_due", Latency::E2eDue),
    ("prefill", Latency::Prefill),
    ("kernel", Latency::Kernel),
];

/// Single numbers and their words.
const SINGLE: [(&str, Measure); 9] = [
    ("out_tok_s", Measure::OutputRate),
    ("req_s", Measure::RequestRate),
    ("error_rate", Measure::ErrorRate),
    ("success", Measure::Success),
    ("total_tok_s", Measure::TotalRate),
    ("in_tok_s", Measure::InputRate),
    ("prefill_tok_s", Measure::PrefillRate),
    ("decode_tok_s", Measure::DecodeRate),
    ("goodput", Measure::Goodput),
];

const USER_SPEED: &str = "tok_s_user";

/// How values of a document become one, the most telling first.
const OVERS: [Over; 6] = [
    Over::Percentile(50.0),
    Over::Percentile(99.0),
    Over::Mean,
    Over::Percentile(90.0),
    Over::Percentile(95.0),
    Over::Value,
];

impl Latency {
    /// The quantity of a document that it is. One from the due time is none: other tools count from
    /// the sending.
    pub(crate) fn quantity(self) -> Option<Quantity> {
        Some(match self {
            Latency::Ttft => Quantity::Ttft,
            Latency::Ttfat => Quantity::Ttfot,
            Latency::Itl => Quantity::Itl,
            Latency::Tpot => Quantity::Tpot,
            Latency::E2e => Quantity::E2e,
            Latency::Prefill => Quantity::PrefillTime,
            Latency::Kernel => Quantity::KernelTime,
            Latency::TtftDue | Latency::E2eDue => return None,
        })
    }

    /// The word that it is written by.
    pub fn word(self) -> &'static str {
        LATENCIES.iter().find(|(_, latency)| *latency == self).map_or("", |(word, _)| word)
    }
}

impl Over {
    fn parse(text: &str) -> Option<Over> {
        if text == "mean" {
            return Some(Over::Mean);
        }
        if text == "value" {
            return Some(Over::Value);
        }
        let p = text.strip_prefix('p')?.parse::<f64>().ok()?;
        (p > 0.0 && p <= 100.0).then_some(Over::Percentile(p))
    }
}

impl fmt::Display for Over {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Over::Mean => formatter.write_str("mean"),
            Over::Value => formatter.write_str("value"),
            Over::Percentile(p) => write!(formatter, "p{p}"),
        }
    }
}

impl Measure {
    /// What a comparison shows unless told otherwise.
    pub const DEFAULT: [Measure; 9] = [
        Measure::Latency(Latency::Ttft, Over::Percentile(50.0)),
        Measure::Latency(Latency::Ttft, Over::Percentile(99.0)),
        Measure::Latency(Latency::Itl, Over::Percentile(50.0)),
        Measure::Latency(Latency::Itl, Over::Percentile(99.0)),
        Measure::Latency(Latency::Tpot, Over::Percentile(50.0)),
        Measure::Latency(Latency::E2e, Over::Percentile(50.0)),
        Measure::OutputRate,
        Measure::RequestRate,
        Measure::ErrorRate,
    ];

    /// What a comparison with documents looks for: whatever both sides have of it is shown.
    pub fn of_documents() -> Vec<Measure> {
        use Latency::{E2e, Itl, Kernel, Prefill, Tpot, Ttfat, Ttft};
        let overs = OVERS.into_iter();
        let latencies = [Ttft, Ttfat, Itl, Tpot, E2e, Prefill, Kernel].into_iter();
        let mut all: Vec<Measure> = latencies
            .flat_map(|latency| overs.clone().map(move |over| Measure::Latency(latency, over)))
            .collect();
        all.extend(overs.map(Measure::UserSpeed));
        all.extend(SINGLE.iter().map(|(_, measure)| *measure));
        all.retain(|measure| *measure != Measure::Success);
        all
    }

    /// What a figure in the canonical unit of its quantity is multiplied by to be in this unit.
    pub(crate) fn scale(&self) -> f64 {
        if self.unit() == Unit::Ns { NS_PER_MS } else { 1.0 }
    }

    /// The quantity by its usual name.
    pub(crate) fn quantity_words(&self) -> String {
        match self.figure() {
            Some((quantity, _)) => quantity.to_string(),
            None => self.to_string(),
        }
    }

    /// The same quantity, however its values become one.
    pub(crate) fn is_alike(&self, other: &Measure) -> bool {
        match (self, other) {
            (Measure::Latency(a, _), Measure::Latency(b, _)) => a == b,
            (Measure::UserSpeed(_), Measure::UserSpeed(_)) => true,
            (a, b) => a == b,
        }
    }

    /// How values become one; absent for what is one number.
    pub(crate) fn over(&self) -> Option<Over> {
        match self {
            Measure::Latency(_, over) | Measure::UserSpeed(over) => Some(*over),
            _ => None,
        }
    }

    /// The figure of a document that it is, in the canonical unit of the quantity; times are in
    /// milliseconds there and in nanoseconds here. Absent for shares, which are counted.
    pub(crate) fn figure(&self) -> Option<(Quantity, Statistic)> {
        let over = |over: &Over| match over {
            Over::Mean => Statistic::Mean,
            Over::Percentile(p) => Statistic::percentile(*p),
            Over::Value => Statistic::Value,
        };
        Some(match self {
            Measure::Latency(latency, of) => (latency.quantity()?, over(of)),
            Measure::UserSpeed(of) => (Quantity::UserRate, over(of)),
            Measure::OutputRate => (Quantity::OutputRate, Statistic::Value),
            Measure::RequestRate => (Quantity::RequestRate, Statistic::Value),
            Measure::TotalRate => (Quantity::TotalRate, Statistic::Value),
            Measure::InputRate => (Quantity::InputRate, Statistic::Value),
            Measure::PrefillRate => (Quantity::PrefillRate, Statistic::Value),
            Measure::DecodeRate => (Quantity::DecodeRate, Statistic::Value),
            Measure::Goodput => (Quantity::Goodput, Statistic::Value),
            Measure::ErrorRate | Measure::Success => return None,
        })
    }

    /// Reads `ttft.p99`, `itl.mean`, `out_tok_s`; a colon may stand for the point, as in latency
    /// targets.
    ///
    /// # Errors
    /// [`MeasureError`] with what was written.
    pub fn parse(text: &str) -> Result<Measure, MeasureError> {
        let lower = text.trim().to_ascii_lowercase();
        let (name, over) = match lower.split_once(['.', ':']) {
            Some((name, over)) => (name, Some(over)),
            None => (lower.as_str(), None),
        };
        let owned = || (text.trim().to_owned(), name.to_owned());
        if let Some((_, measure)) = SINGLE.iter().find(|(word, _)| *word == name) {
            let (text, name) = owned();
            return over.map_or(Ok(*measure), |_| Err(MeasureError::NoPercentile { text, name }));
        }
        let latency = LATENCIES.iter().find(|(word, _)| *word == name).map(|(_, latency)| *latency);
        if latency.is_none() && name != USER_SPEED {
            return Err(MeasureError::Unknown { text: owned().0 });
        }
        let (text, name) = owned();
        let over = over.and_then(Over::parse).ok_or(MeasureError::Percentile { text, name })?;
        Ok(latency.map_or(Measure::UserSpeed(over), |latency| Measure::Latency(latency, over)))
    }

    /// Which way is better.
    pub fn direction(&self) -> Direction {
        match self {
            Measure::Latency(..) | Measure::ErrorRate => Direction::Lower,
            Measure::UserSpeed(_)
            | Measure::OutputRate
            | Measure::RequestRate
            | Measure::Success
            | Measure::TotalRate
            | Measure::InputRate
            | Measure::PrefillRate
            | Measure::DecodeRate
            | Measure::Goodput => Direction::Higher,
        }
    }

    /// What its values are counted in.
    pub fn unit(&self) -> Unit {
        match self {
            Measure::Latency(..) => Unit::Ns,
            Measure::UserSpeed(_)
            | Measure::OutputRate
            | Measure::TotalRate
            | Measure::InputRate
            | Measure::PrefillRate
            | Measure::DecodeRate => Unit::TokPerS,
            Measure::RequestRate | Measure::Goodput => Unit::ReqPerS,
            Measure::ErrorRate | Measure::Success => Unit::Share,
        }
    }

    /// Whether it is a share of requests, whose change is told in points and not as a ratio.
    pub fn is_share(&self) -> bool {
        self.unit() == Unit::Share
    }

    /// The percentile that it is, if it is one.
    pub fn percentile(&self) -> Option<f64> {
        match self {
            Measure::Latency(_, Over::Percentile(p)) | Measure::UserSpeed(Over::Percentile(p)) => {
                Some(*p)
            }
            _ => None,
        }
    }

    /// The same where requests have a due time of their own: a server that falls behind cannot
    /// hide the waiting.
    pub fn at_load(self, load: Load) -> Measure {
        match (self, load) {
            (Measure::Latency(Latency::Ttft, over), Load::ReqPerS(_)) => {
                Measure::Latency(Latency::TtftDue, over)
            }
            (Measure::Latency(Latency::E2e, over), Load::ReqPerS(_)) => {
                Measure::Latency(Latency::E2eDue, over)
            }
            (measure, _) => measure,
        }
    }
}

/// The words that [`Measure::parse`] reads.
impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Latency(latency, over) => write!(formatter, "{}.{over}", latency.word()),
            Measure::UserSpeed(over) => write!(formatter, "{USER_SPEED}.{over}"),
            single => formatter.write_str(
                SINGLE.iter().find(|(_, measure)| measure == single).map_or("", |(word, _)| word),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_reads_back() {
        let words =
            ["ttft.p99", "itl.mean", "tpot.p99.9", "e2e_due.p50", "tok_s_user.p5", "kernel.value"];
        for word in words.iter().chain(&["out_tok_s", "req_s", "error_rate", "success"]) {
            let measure = Measure::parse(word).expect(word);
            assert_eq!(measure.to_string(), *word);
        }
        assert_eq!(Measure::parse(" ITL:P99 "), Measure::parse("itl.p99"));
        for measure in Measure::DEFAULT {
            assert_eq!(Measure::parse(&measure.to_string()), Ok(measure));
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let check = |text: &str, word: &str| {
            let error = Measure::parse(text).expect_err(text).to_string();
            assert!(error.contains(word) && error.contains(text), "{error}");
        };
        check("speed", "known are");
        check("ttft", "ttft.p99");
        check("ttft.p0", "above 0");
        check("ttft.q50", "ttft.mean");
        check("req_s.p50", "leave out");
    }

    #[test]
    fn an_open_loop_counts_from_due() {
        let ttft = Measure::parse("ttft.p50").expect("a measure");
        assert_eq!(ttft.at_load(Load::ReqPerS(2.0)).to_string(), "ttft_due.p50");
        assert_eq!(ttft.at_load(Load::Users(2)), ttft);
        let tpot = Measure::parse("tpot.p50").expect("a measure");
        assert_eq!(tpot.at_load(Load::ReqPerS(2.0)), tpot);
    }
}
