//! The measures that compare two runs: a metric, and how it is taken over many requests.
//!
//! Written as `ttft.p99`, `itl.mean`, `out_tok_s`, `error_rate`. Not here: the metrics
//! themselves ([`ifm_core::metric`]), and how a measure is computed, see `sample`.

use ifm_core::metric::{Direction, Metric, MetricUnit as Unit};
use ifm_core::sheet::Statistic;
use ifm_core::spec::SloTerm;
use ifm_core::words::nearest;
use ifm_metrics::level::Load;
use ifm_metrics::slo::SPEED;
use ifm_metrics::stat::Scale;
use std::fmt;

/// How many values become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Over {
    /// The arithmetic mean.
    Mean,
    /// A percentile, above 0 and at most 100.
    Percentile(f64),
    /// The one number that there is.
    Value,
}

impl Over {
    /// A statistic of a document or a report.
    pub fn of(statistic: Statistic) -> Over {
        match statistic {
            Statistic::Median => Over::Percentile(50.0),
            Statistic::Percentile(p) => Over::Percentile(p),
            Statistic::Mean => Over::Mean,
            _ => Over::Value,
        }
    }
}

/// A metric of a level, as one number: of a latency a percentile or the mean, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// The metric.
    pub metric: Metric,
    /// How its values become one.
    pub over: Over,
}

/// Errors in a measure as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// No such quantity.
    #[error("unknown metric: {text}{}; known are, {}", perhaps(.text), Measure::known())]
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

/// The metric that was perhaps meant, as a clause.
fn perhaps(text: &str) -> String {
    let word = text.split(['.', ':']).next().unwrap_or(text).to_ascii_lowercase();
    let near = nearest(&word, Metric::all().map(Metric::word));
    near.map_or_else(String::new, |near| format!(", perhaps {near}"))
}

const NS_PER_MS: f64 = 1e6;
const PER_MEGA: f64 = 1e6;

/// How values of a document become one, the most telling first.
const OVERS: [Over; 6] = [
    Over::Percentile(50.0),
    Over::Percentile(99.0),
    Over::Mean,
    Over::Percentile(90.0),
    Over::Percentile(95.0),
    Over::Value,
];

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
    /// What a comparison shows by default.
    pub const DEFAULT: [Measure; 19] = [
        Measure::percentile_of(Metric::Ttft, 50.0),
        Measure::percentile_of(Metric::Ttft, 99.0),
        Measure::percentile_of(Metric::Itl, 50.0),
        Measure::percentile_of(Metric::Itl, 99.0),
        Measure::percentile_of(Metric::Tpot, 50.0),
        Measure::percentile_of(Metric::E2e, 50.0),
        Measure::value_of(Metric::OutputRate),
        Measure::value_of(Metric::RequestRate),
        Measure::value_of(Metric::ErrorRate),
        Measure::value_of(Metric::Valid),
        Measure::value_of(Metric::ImageRate),
        Measure::value_of(Metric::PixelRate),
        Measure::value_of(Metric::LevelRtfx),
        Measure::value_of(Metric::AcceptanceLength),
        Measure::value_of(Metric::AcceptanceRate),
        Measure::percentile_of(Metric::Session, 50.0),
        Measure::value_of(Metric::SessionRate),
        Measure::value_of(Metric::SessionOk),
        Measure::percentile_of(Metric::SessionCached, 50.0),
    ];

    /// The metrics that there are, and how each is written.
    pub fn known() -> String {
        let [many, one] = Metric::listed();
        format!("with .p50, .p99 (any percentile) or .mean: {many}. As they are: {one}")
    }

    /// A percentile of a metric that has many values.
    pub const fn percentile_of(metric: Metric, p: f64) -> Measure {
        Measure { metric, over: Over::Percentile(p) }
    }

    /// The one number of a metric.
    pub const fn value_of(metric: Metric) -> Measure {
        Measure { metric, over: Over::Value }
    }

    /// What a term of a latency target bounds.
    pub(crate) fn of_term(term: &SloTerm) -> Measure {
        let over = match term.percentile {
            Some(p) => Over::Percentile(p),
            None if term.metric.has_many_values() => Over::Mean,
            None => Over::Value,
        };
        Measure { metric: term.metric, over }
    }

    /// What a comparison with documents looks for: whatever both sides have of it is shown.
    pub fn of_documents() -> Vec<Measure> {
        let in_documents = Metric::all().filter(|metric| metric.is_stated());
        let measures = |metric: Metric| {
            let overs: &[Over] = if metric.has_many_values() { &OVERS } else { &[Over::Value] };
            overs.iter().map(move |over| Measure { metric, over: *over })
        };
        in_documents.flat_map(measures).collect()
    }

    /// A metric by the statistic of a document or a report.
    pub fn of_statistic(metric: Metric, statistic: Statistic) -> Measure {
        let over = if metric.has_many_values() { Over::of(statistic) } else { Over::Value };
        Measure { metric, over }
    }

    /// Factor from a figure in the canonical unit of its quantity to this unit.
    pub(crate) fn scale(&self) -> f64 {
        match self.unit() {
            Unit::Ns => NS_PER_MS,
            Unit::MegapixelPerS => 1.0 / PER_MEGA,
            _ => 1.0,
        }
    }

    /// The quantity by its usual name.
    pub(crate) fn quantity_words(&self) -> &'static str {
        self.metric.prose()
    }

    /// The figure of a document that it is, in the canonical unit of the quantity; times are in
    /// milliseconds there and in nanoseconds here. Absent for shares, which are counted.
    pub(crate) fn figure(&self) -> Option<(Metric, Statistic)> {
        let statistic = match self.over {
            Over::Mean => Statistic::Mean,
            Over::Percentile(p) => Statistic::percentile(p),
            Over::Value => Statistic::Value,
        };
        let is_stated = self.metric.is_stated() && self.unit() != Unit::Share;
        is_stated.then_some((self.metric, statistic))
    }

    /// Reads `ttft.p99`, `itl.mean`, `out_tok_s`; a colon is accepted instead of the point, as in
    /// latency targets.
    ///
    /// # Errors
    /// [`MeasureError`] with what was written.
    pub fn parse(text: &str) -> Result<Measure, MeasureError> {
        let lower = text.trim().to_ascii_lowercase();
        let (word, over) = match lower.split_once(['.', ':']) {
            Some((word, over)) => (word, Some(over)),
            None => (lower.as_str(), None),
        };
        let (text, name) = (text.trim().to_owned(), word.to_owned());
        // As latency targets call it.
        let own = if word == SPEED { Metric::UserSpeed.word() } else { word };
        let Some(metric) = Metric::from_word(own) else {
            return Err(MeasureError::Unknown { text });
        };
        let over = match (metric.has_many_values(), over) {
            (false, None) => Over::Value,
            (false, Some(_)) => return Err(MeasureError::NoPercentile { text, name }),
            (true, over) => {
                over.and_then(Over::parse).ok_or(MeasureError::Percentile { text, name })?
            }
        };
        Ok(Measure { metric, over })
    }

    /// Which way is better.
    pub fn direction(&self) -> Direction {
        self.metric.direction()
    }

    /// What its values are counted in.
    pub fn unit(&self) -> Unit {
        self.metric.unit()
    }

    /// Whether it is a share of requests or sessions, whose change is reported in percentage points
    /// and not as a ratio. A percentile of shares (one per request) is a value like any other.
    pub fn is_share(&self) -> bool {
        self.unit() == Unit::Share && !self.metric.has_many_values()
    }

    /// On which scale its repeats are taken together.
    pub(crate) fn repeat_scale(&self) -> Scale {
        if self.is_share() { Scale::Share } else { Scale::Ratio }
    }

    /// The percentile that it is, if it is one.
    pub fn percentile(&self) -> Option<f64> {
        match self.over {
            Over::Percentile(p) => Some(p),
            Over::Mean | Over::Value => None,
        }
    }

    /// The same where requests have a due time of their own: a server that falls behind cannot
    /// hide the waiting.
    pub fn at_load(self, load: Load) -> Measure {
        match load {
            Load::ReqPerS(_) => Measure { metric: self.metric.from_due(), ..self },
            Load::Users(_) => self,
        }
    }
}

/// The words that [`Measure::parse`] reads.
impl fmt::Display for Measure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.metric.has_many_values() {
            true => write!(formatter, "{}.{}", self.metric.word(), self.over),
            false => write!(formatter, "{}", self.metric.word()),
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
        check("sped", "known are");
        check("speed", "speed.p99");
        check("rtfxx.p50", "perhaps rtfx;");
        check("image_s", "perhaps images_s;");
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
