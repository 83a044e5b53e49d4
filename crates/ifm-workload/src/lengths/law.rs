//! The law that lengths follow: fixed, uniform, normal, lognormal, or a histogram.
//!
//! A length is drawn from one item's own draws, so item `k` has the same length
//! whichever items were made before.
//!
//! Not here: pairs of prompt and output (`pair`), other tools' exact draws
//! (`crate::compat`).

use ifm_core::regular::open_regular;
use ifm_made::Draws;
use std::{
    collections::BTreeMap, f64::consts::TAU, fmt, io::Read as _, path::Path, str::FromStr,
    sync::Arc,
};

use super::{LengthRange, TOKENS_MAX};
use crate::error::{WorkloadError, file_name};

/// The longest file of a histogram, bytes.
const HISTOGRAM_BYTES_MAX: u64 = 64 << 20;
/// Different lengths of a histogram at most.
const BINS_MAX: usize = 1 << 20;
/// Bins that are written out; a larger histogram is told by its size.
const BINS_WRITTEN: usize = 16;
/// The bounds of a normal law lie this many standard deviations from its mean,
/// where none are given: GuideLLM's rule.
const BOUND_STDEVS: f64 = 5.0;
/// How to write a law.
const USAGE: &str = "write 256, 200-300, normal(MEAN,STDEV), normal(MEAN,STDEV,MIN,MAX), \
     lognormal(MEAN,STDEV), histogram(100:5,200:3) or histogram(FILE)";

/// The law that a number of tokens follows.
///
/// Written as `256`, `200-300`, `normal(1000,100)`, `lognormal(1000,300)` or
/// `histogram(100:5,200:3)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Lengths {
    law: Law,
    range: LengthRange,
}

#[derive(Debug, Clone, PartialEq)]
enum Law {
    /// Each length of the range as often as any other.
    Uniform,
    Normal {
        mean: f64,
        stdev: f64,
        /// Cut off what follows the point instead of rounding.
        cut: bool,
    },
    /// A normal law of the logarithm; mean and deviation are those of the length.
    LogNormal {
        mean: f64,
        stdev: f64,
    },
    /// A real number drawn uniformly and cut off, then brought up to the range.
    UniformCut {
        min: f64,
        max: f64,
    },
    Histogram(Arc<Histogram>),
}

/// Lengths with their weights, summed up.
#[derive(Debug, PartialEq)]
struct Histogram {
    /// Each length with the weight of it and of all before; ascending, and
    /// never empty.
    sums: Vec<(u32, u64)>,
    total: u64,
    mean: f64,
}

impl From<LengthRange> for Lengths {
    fn from(range: LengthRange) -> Self {
        Self { law: Law::Uniform, range }
    }
}

impl Lengths {
    /// Always the same number of tokens.
    ///
    /// # Errors
    /// As [`LengthRange::fixed`].
    pub fn fixed(tokens: u32) -> Result<Self, WorkloadError> {
        LengthRange::fixed(tokens).map(Self::from)
    }

    /// A normal law, rounded and brought into the bounds. Bounds that are not given
    /// are five standard deviations away from the mean, and at least 1.
    ///
    /// # Errors
    /// [`WorkloadError::Length`] for bounds that are not possible, and
    /// [`WorkloadError::Shape`] for a mean or deviation that is not a positive number.
    pub fn normal(
        mean: f64,
        stdev: f64,
        min: Option<u32>,
        max: Option<u32>,
    ) -> Result<Self, WorkloadError> {
        check_moments(mean, stdev)?;
        let bound = |stdevs: f64| tokens(mean + stdevs * stdev);
        let min = min.unwrap_or_else(|| bound(-BOUND_STDEVS));
        let max = max.unwrap_or_else(|| bound(BOUND_STDEVS));
        let law = Law::Normal { mean, stdev, cut: false };
        Ok(Self { law, range: LengthRange::new(min, max)? })
    }

    /// A lognormal law with the mean and the standard deviation of the lengths
    /// themselves (not of their logarithms), rounded, at most 20 times the mean
    /// where no bound is given.
    ///
    /// # Errors
    /// As [`Lengths::normal`].
    pub fn lognormal(
        mean: f64,
        stdev: f64,
        min: Option<u32>,
        max: Option<u32>,
    ) -> Result<Self, WorkloadError> {
        /// Bounds what one draw in many millions could ask for.
        const MEANS_MAX: f64 = 20.0;
        check_moments(mean, stdev)?;
        let max = max.unwrap_or_else(|| tokens(mean * MEANS_MAX));
        let range = LengthRange::new(min.unwrap_or(1), max)?;
        Ok(Self { law: Law::LogNormal { mean, stdev }, range })
    }

    /// Lengths as often as they occurred, by pairs of length and weight.
    ///
    /// # Errors
    /// [`WorkloadError::Shape`] without a weight above 0, [`WorkloadError::Length`]
    /// for a length that is not possible.
    pub fn histogram(bins: impl IntoIterator<Item = (u32, u64)>) -> Result<Self, WorkloadError> {
        let mut weights = BTreeMap::new();
        for (tokens, weight) in bins.into_iter().filter(|&(_, weight)| weight > 0) {
            let sum = weights.entry(tokens).or_insert(0_u64);
            *sum = sum.saturating_add(weight);
            if weights.len() > BINS_MAX {
                let text = format!("a histogram of more than {BINS_MAX} lengths");
                return Err(shape(&text, "put lengths into bins"));
            }
        }
        let (Some(&min), Some(&max)) = (weights.keys().next(), weights.keys().next_back()) else {
            return Err(shape("histogram()", "it needs a length with a weight, as in 100:5"));
        };
        let range = LengthRange::new(min, max)?;
        let (mut total, mut tokens) = (0_u64, 0.0);
        let mut sums = Vec::with_capacity(weights.len());
        for (length, weight) in weights {
            total = total.saturating_add(weight);
            tokens += f64::from(length) * weight as f64;
            sums.push((length, total));
        }
        let histogram = Histogram { sums, total, mean: tokens / total as f64 };
        Ok(Self { law: Law::Histogram(Arc::new(histogram)), range })
    }

    /// Reads a histogram from a file: a line for each length, alone or with its
    /// weight after a comma, a colon or a space. A first line without numbers and
    /// lines that begin with `#` are passed over.
    ///
    /// # Errors
    /// [`WorkloadError::Read`], and [`WorkloadError::BadRow`] that names the line.
    pub fn histogram_file(path: &Path) -> Result<Self, WorkloadError> {
        let name = file_name(path);
        let mut text = String::new();
        open_regular(path)
            .and_then(|file| file.take(HISTOGRAM_BYTES_MAX + 1).read_to_string(&mut text))
            .map_err(|source| WorkloadError::Read { path: path.to_owned(), source })?;
        if text.len() as u64 > HISTOGRAM_BYTES_MAX {
            let reason = format!("is larger than {} MiB", HISTOGRAM_BYTES_MAX >> 20);
            return Err(WorkloadError::File { file: name, reason });
        }
        let mut bins = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match bin(text) {
                Some(bin) => bins.push(bin),
                None if line == 1 => {}
                None => {
                    return Err(WorkloadError::BadRow {
                        file: name,
                        line,
                        reason: format!("'{text}' is not a length with its count, as in 100,5"),
                    });
                }
            }
        }
        Self::histogram(bins)
    }

    /// A whole number drawn as genai-bench does: a uniform real number from `min` to
    /// `max`, cut off, and brought up to `floor`.
    pub(crate) fn uniform_cut(min: u32, max: u32, floor: u32) -> Result<Self, WorkloadError> {
        let (low, high) = (min.min(max), max.max(min));
        let last = if high > low { high - 1 } else { high };
        let range = LengthRange::new(low.max(floor), last.max(floor))?;
        Ok(Self { law: Law::UniformCut { min: f64::from(low), max: f64::from(high) }, range })
    }

    /// A normal number drawn as genai-bench does: cut off, and brought up to `floor`.
    pub(crate) fn normal_cut(mean: u32, stdev: u32, floor: u32) -> Result<Self, WorkloadError> {
        let (mean, stdev) = (f64::from(mean), f64::from(stdev));
        let max = tokens(mean + BOUND_STDEVS * stdev).max(floor);
        let range = LengthRange::new(floor, max)?;
        Ok(Self { law: Law::Normal { mean, stdev, cut: true }, range })
    }

    /// The shortest length in tokens.
    pub fn min(&self) -> u32 {
        self.range.min()
    }

    /// The longest length in tokens.
    pub fn max(&self) -> u32 {
        self.range.max()
    }

    /// The mean of the law in tokens, before bounds cut anything off.
    pub fn mean(&self) -> f64 {
        match &self.law {
            Law::Uniform => f64::midpoint(self.min().into(), self.max().into()),
            Law::Normal { mean, .. } | Law::LogNormal { mean, .. } => *mean,
            Law::UniformCut { min, max } => f64::midpoint(*min, *max),
            Law::Histogram(histogram) => histogram.mean,
        }
    }

    pub(crate) fn draw(&self, draws: &mut Draws) -> u32 {
        match &self.law {
            Law::Uniform => self.range.draw(draws),
            Law::Normal { mean, stdev, cut } => {
                let drawn = mean + stdev * normal(draws);
                self.bring_in(if *cut { drawn.trunc() } else { drawn.round_ties_even() })
            }
            Law::LogNormal { mean, stdev } => {
                // Moments of the logarithm from those of the length.
                let variance = libm::log(1.0 + (stdev / mean).powi(2));
                let location = libm::log(*mean) - variance / 2.0;
                let drawn = libm::exp(location + variance.sqrt() * normal(draws));
                self.bring_in(drawn.round_ties_even())
            }
            Law::UniformCut { min, max } => {
                self.bring_in((min + (max - min) * draws.unit()).trunc())
            }
            Law::Histogram(histogram) => {
                let place = draws.below_u64(histogram.total);
                let bin = histogram.sums.partition_point(|&(_, sum)| sum <= place);
                histogram.sums.get(bin).map_or(self.max(), |&(length, _)| length)
            }
        }
    }

    fn bring_in(&self, tokens: f64) -> u32 {
        tokens.clamp(f64::from(self.min()), f64::from(self.max())) as u32
    }
}

/// A draw of the normal law with mean 0 and deviation 1 (G. Box and M. Muller, "A
/// Note on the Generation of Random Normal Deviates", 1958).
fn normal(draws: &mut Draws) -> f64 {
    let angle = draws.unit() * TAU;
    let radius = (-2.0 * libm::log(1.0 - draws.unit())).sqrt();
    libm::cos(angle) * radius
}

/// A number as a length that is possible.
fn tokens(number: f64) -> u32 {
    number.round().clamp(1.0, f64::from(TOKENS_MAX)) as u32
}

fn shape(text: &str, reason: &str) -> WorkloadError {
    WorkloadError::Shape { text: text.to_owned(), reason: reason.to_owned() }
}

fn check_moments(mean: f64, stdev: f64) -> Result<(), WorkloadError> {
    let possible = mean.is_finite() && mean > 0.0 && stdev.is_finite() && stdev >= 0.0;
    let reason = "the mean must be a number above 0, the standard deviation not below 0";
    possible.then_some(()).ok_or_else(|| shape(&format!("mean {mean}, deviation {stdev}"), reason))
}

/// `100`, `100:5`, `100,5` or `100 5`.
fn bin(text: &str) -> Option<(u32, u64)> {
    let mut parts = text.split([',', ':', ' ', '\t', ';']).filter(|part| !part.is_empty());
    let length = parts.next()?.parse().ok()?;
    let weight = parts.next().map_or(Some(1), |part| part.parse().ok())?;
    parts.next().is_none().then_some((length, weight))
}

impl fmt::Display for Lengths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (self.min(), self.max());
        match &self.law {
            Law::Uniform => self.range.fmt(formatter),
            Law::Normal { mean, stdev, cut: false } => {
                write!(formatter, "normal({mean},{stdev},{min},{max})")
            }
            Law::LogNormal { mean, stdev } => {
                write!(formatter, "lognormal({mean},{stdev},{min},{max})")
            }
            Law::Normal { mean, stdev, cut: true } => write!(formatter, "N({mean},{stdev})"),
            Law::UniformCut { min, max } => write!(formatter, "U({min},{max})"),
            Law::Histogram(histogram) if histogram.sums.len() > BINS_WRITTEN => {
                write!(formatter, "histogram of {} lengths, {min}-{max}", histogram.sums.len())
            }
            Law::Histogram(histogram) => {
                let mut before = 0;
                let bins = histogram.sums.iter().map(|(length, sum)| {
                    let weight = sum - std::mem::replace(&mut before, *sum);
                    format!("{length}:{weight}")
                });
                let bins = bins.collect::<Vec<_>>().join(",");
                write!(formatter, "histogram({bins})")
            }
        }
    }
}

impl FromStr for Lengths {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let text = text.trim();
        if let Some((name, arguments)) = call(text) {
            let numbers = || arguments.split(',').map(|part| part.trim().parse::<f64>().ok());
            let numbers = || numbers().collect::<Option<Vec<_>>>();
            let bound = |number: Option<&f64>| number.map(|&number| tokens(number));
            return match (name, numbers().as_deref()) {
                ("normal", Some([mean, stdev, bounds @ ..])) if bounds.len() <= 2 => {
                    Self::normal(*mean, *stdev, bound(bounds.first()), bound(bounds.get(1)))
                }
                ("lognormal", Some([mean, stdev, bounds @ ..])) if bounds.len() <= 2 => {
                    Self::lognormal(*mean, *stdev, bound(bounds.first()), bound(bounds.get(1)))
                }
                ("histogram", _) => read_histogram(arguments),
                _ => Err(shape(text, USAGE)),
            };
        }
        match text.contains(':') {
            true => read_histogram(text),
            false => text.parse::<LengthRange>().map(Self::from),
        }
    }
}

/// `name(arguments)`.
fn call(text: &str) -> Option<(&str, &str)> {
    let (name, arguments) = text.strip_suffix(')')?.split_once('(')?;
    Some((name.trim(), arguments.trim()))
}

/// Bins in the text, or a file's name.
fn read_histogram(text: &str) -> Result<Lengths, WorkloadError> {
    let bins = text.split(',').map(|part| {
        let (length, weight) = part.trim().split_once(':')?;
        Some((length.trim().parse::<u32>().ok()?, weight.trim().parse::<u64>().ok()?))
    });
    match bins.collect::<Option<Vec<_>>>() {
        Some(bins) => Lengths::histogram(bins),
        // What is neither bins nor a file was more likely meant as bins, unless it looks like a path.
        None if text.contains(':') && !text.contains(['/', '\\']) && !Path::new(text).exists() => {
            Err(shape(text, USAGE))
        }
        None => Lengths::histogram_file(Path::new(text)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ifm_made::Rng;

    fn mean_and_deviation(text: &str) -> (f64, f64) {
        let lengths = text.parse::<Lengths>().unwrap();
        let stream = Rng::new(1).stream("lengths");
        let drawn = (0..20_000).map(|item| f64::from(lengths.draw(&mut stream.item(item))));
        let drawn = drawn.collect::<Vec<_>>();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|length| (length - mean).powi(2)).sum::<f64>();
        (mean, (variance / drawn.len() as f64).sqrt())
    }

    #[test]
    fn laws_have_their_mean_and_deviation() {
        for (text, mean, deviation) in [
            ("256", 256.0, 0.0),
            ("200-300", 250.0, 29.15),
            ("normal(1000,100)", 1000.0, 100.0),
            ("lognormal(1000,300)", 1000.0, 300.0),
            ("histogram(100:5,200:3)", 137.5, 48.4),
            ("100:5,200:3", 137.5, 48.4),
        ] {
            let (drawn_mean, drawn_deviation) = mean_and_deviation(text);
            assert!((drawn_mean - mean).abs() < 0.03 * deviation + 1e-9, "{text}: {drawn_mean}");
            assert!((drawn_deviation - deviation).abs() <= 0.04 * deviation, "{drawn_deviation}");
            assert!((text.parse::<Lengths>().unwrap().mean() - mean).abs() < 1e-9);
        }
    }

    #[test]
    fn draws_never_change() {
        let draw = |text: &str| {
            let stream = Rng::new(7).stream("lengths");
            let lengths = text.parse::<Lengths>().unwrap();
            [0, 1, 2].map(|item| lengths.draw(&mut stream.item(item)))
        };
        assert_eq!(draw("normal(1000,100)"), [1006, 1117, 1022]);
        assert_eq!(draw("lognormal(1000,300)"), [973, 1352, 1023]);
        assert_eq!(draw("100:5,200:3"), [100, 100, 200]);
    }

    #[test]
    fn laws_are_written_as_they_are_read() {
        for (text, written) in [
            ("256", "256"),
            ("200-300", "200-300"),
            ("normal(1000, 100)", "normal(1000,100,500,1500)"),
            ("normal(10,5,4,12)", "normal(10,5,4,12)"),
            ("lognormal(100,50)", "lognormal(100,50,1,2000)"),
            ("200:3,100:5,200:1", "histogram(100:5,200:4)"),
        ] {
            let lengths = text.parse::<Lengths>().unwrap();
            assert_eq!(lengths.to_string(), written);
            assert_eq!(written.parse::<Lengths>().unwrap(), lengths);
        }
    }

    proptest! {
        /// Drawn lengths stay within the bounds, and a law is read as it was written.
        #[test]
        fn lengths_stay_within_their_bounds(
            mean in 1_u32..100_000, stdev in 0_u32..50_000, min in 1_u32..1000, item: u64,
        ) {
            let max = min + mean;
            let mut draws = Rng::new(2).stream("lengths").item(item);
            for text in [
                format!("normal({mean},{stdev},{min},{max})"),
                format!("lognormal({mean},{stdev},{min},{max})"),
                format!("{min}-{max}"),
                format!("histogram({min}:{mean},{max}:{max})"),
            ] {
                let lengths = text.parse::<Lengths>().unwrap();
                prop_assert_eq!(lengths.to_string(), text);
                for _ in 0..20 {
                    let drawn = lengths.draw(&mut draws);
                    prop_assert!((min..=max).contains(&drawn), "{} of {}", drawn, lengths);
                }
            }
        }
    }

    #[test]
    fn what_is_no_law_is_refused() {
        for text in [
            "normal(1000)",
            "normal(x,1)",
            "normal(0,1)",
            "normal(10,-1)",
            "normal(1,2,3,4,5)",
            "cauchy(1,2)",
            "histogram()",
            "100:0",
            "0:5",
            "normal(10,1,9,3)",
        ] {
            assert!(text.parse::<Lengths>().is_err(), "{text}");
        }
    }

    #[test]
    fn bins_with_a_slip_are_not_taken_for_a_file() {
        let error = |text: &str| text.parse::<Lengths>().unwrap_err().to_string();
        for text in ["100:5,x:3", "histogram(100:5,200)", "100:five"] {
            assert!(error(text).contains("histogram(100:5,200:3)"), "{}", error(text));
        }
        assert!(error("histogram(no.csv)").contains("cannot read no.csv"));
        assert!(error("histogram(C:\\no.csv)").contains("cannot read"));
    }
}
