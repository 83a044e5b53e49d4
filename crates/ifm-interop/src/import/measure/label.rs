//! A label, whole: the head of a column, the key of a value.

use super::mark;
use super::name;
use super::unit::{Dimension, natural, unit};
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, StdKind, Unit};

/// What a label says of the numbers under it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    pub quantity: Metric,
    /// Which number of a population, where the label says it.
    pub statistic: Option<Statistic>,
    /// The unit, where the label says it.
    pub unit: Option<Unit>,
}

impl Named {
    /// The unit of a number that has none of its own.
    pub fn unit_or_natural(&self) -> Unit {
        self.unit.clone().unwrap_or_else(|| natural(self.quantity))
    }
}

/// What a label means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    /// Numbers that were measured.
    Figure(Named),
    /// Something that was set, by the name of its factor.
    Setting(&'static str),
}

/// Longest label that is looked at, bytes.
const LABEL_BYTES_MAX: usize = 120;

/// What a label means, if all of it is understood.
pub(crate) fn meaning(label: &str) -> Option<Meaning> {
    if label.len() > LABEL_BYTES_MAX {
        return None;
    }
    let label = mark::label(label);
    // `max concurrency` is what was set, and no maximum of anything.
    let whole = label.trim_end_matches(':').to_lowercase().replace('_', " ");
    if whole.starts_with("max ")
        && let Some(factor) = name::setting(&whole)
    {
        return Some(Meaning::Setting(factor));
    }
    let Parts { words, statistic, unit } = parts(label.trim_end_matches(':'));
    let dimension = unit.as_ref().map(|unit| unit.1);
    let mut phrase = words.join(" ");
    // The unit says whose speed it is: `P90 tok/s/user`, `interactivity (tok/s/user)`.
    let is_of_user = label.contains("/user") && dimension == Some(Dimension::TokenRate);
    if is_of_user && matches!(phrase.as_str(), "" | "speed" | "throughput" | "interactivity") {
        phrase = "user".to_owned();
    }
    let settable = dimension.is_none_or(|d| matches!(d, Dimension::Count | Dimension::Power));
    if let Some(factor) = name::setting(&phrase).filter(|_| settable && statistic.is_none()) {
        return Some(Meaning::Setting(factor));
    }
    let per_second = matches!(dimension, Some(Dimension::RequestRate | Dimension::Rate));
    let asked = matches!(phrase.as_str(), "request rate" | "rate" | "target rate");
    if statistic.is_none() && per_second && asked {
        return Some(Meaning::Setting(ifm_core::sheet::key::RATE));
    }
    let quantity = quantity(&phrase, unit.as_ref())?;
    let unit = unit.map(|unit| unit.0);
    Some(Meaning::Figure(Named { quantity, statistic, unit }))
}

fn quantity(phrase: &str, unit: Option<&(Unit, Dimension)>) -> Option<Metric> {
    let dimension = unit.map(|unit| unit.1);
    let fits = |quantity: &Metric| dimension.is_none_or(|dimension| dimension.fits(*quantity));
    if let Some(quantity) = name::quantity(phrase).filter(fits) {
        return Some(quantity);
    }
    let quantity = match (dimension?, phrase) {
        (Dimension::TokenRate, "output" | "generation" | "out" | "gen") => Metric::OutputRate,
        (Dimension::TokenRate, "input" | "prompt" | "in") => Metric::InputRate,
        (Dimension::TokenRate, "total" | "overall") => Metric::TotalRate,
        (Dimension::TokenRate, "peak" | "peak output") => Metric::PeakOutputRate,
        (Dimension::TokenRate, "per user" | "user") => Metric::UserSpeed,
        (Dimension::TokenRate, "prefill" | "pp") => Metric::PrefillRate,
        (Dimension::TokenRate, "decode" | "tg") => Metric::DecodeRate,
        (Dimension::RequestRate, "" | "throughput" | "request") => Metric::RequestRate,
        (Dimension::ImageRate, "" | "throughput" | "image throughput") => Metric::ImageRate,
        (Dimension::PixelRate, "" | "throughput") => Metric::PixelRate,
        (Dimension::FlopRate, _) if phrase.len() < 20 => Metric::FlopRate,
        (Dimension::Size, "" | "vram" | "used" | "peak") => Metric::Memory,
        (Dimension::TokenRate, "" | "throughput" | "token throughput" | "speed") => {
            Metric::other("token throughput")
        }
        _ => return None,
    };
    Some(quantity)
}

struct Parts {
    words: Vec<String>,
    statistic: Option<Statistic>,
    unit: Option<(Unit, Dimension)>,
}

fn parts(label: &str) -> Parts {
    let mut found = Parts { words: Vec::new(), statistic: None, unit: None };
    let mut outside = String::new();
    let mut rest = label;
    while let Some(open) = rest.find(['(', '[']) {
        outside.push_str(rest.get(..open).unwrap_or_default());
        outside.push(' ');
        let inner = rest.get(open + 1..).unwrap_or_default();
        let close = inner.find([')', ']']).unwrap_or(inner.len());
        bracket(inner.get(..close).unwrap_or_default(), &mut found, &mut outside);
        rest = inner.get(close + 1..).unwrap_or_default();
    }
    outside.push_str(rest);
    // A unit at the end: `Output tok/s`, `TTFT, ms`, `ttft_ms`, `TTFT in ms`.
    let mut trimmed = outside.trim();
    // Or before what it is of: `tok/s/user p90`.
    let is_rate = |word: &str| word.contains('/') && unit(word).is_some();
    if found.unit.is_none()
        && let Some((before, last)) = trimmed.rsplit_once(char::is_whitespace)
        && let Some(of) = statistic(&last.to_lowercase())
        && before.split_whitespace().next_back().is_some_and(is_rate)
        && found.statistic.is_none()
    {
        (found.statistic, trimmed) = (Some(of), before.trim_end());
    }
    if found.unit.is_none() {
        let cut = trimmed.rfind(|c: char| c.is_whitespace() || matches!(c, ',' | '_'));
        let (before, last) = match cut {
            Some(at) => (trimmed.get(..at).unwrap_or_default(), trimmed.get(at + 1..)),
            None => ("", Some(trimmed)),
        };
        let last = last.unwrap_or_default();
        // A word that is all there is names the thing itself, unless it is a rate.
        let unit = unit(last).filter(|unit| {
            unit.1 != Dimension::Count
                && (cut.is_some() || last.contains('/') || unit.1 == Dimension::RequestRate)
        });
        if unit.is_some() {
            found.unit = unit;
            let before = before.trim_end_matches([',', ' ']);
            outside = before.strip_suffix(" in").unwrap_or(before).to_owned();
        }
    }
    for word in
        outside.split(|c: char| c.is_whitespace() || matches!(c, '_' | '-' | '/' | ',' | '.' | ':'))
    {
        let word = word.to_lowercase();
        match word.as_str() {
            "" => {}
            word_or_statistic => match statistic(word_or_statistic) {
                Some(statistic) if found.statistic.is_none() => found.statistic = Some(statistic),
                _ => found.words.push(word),
            },
        }
    }
    found
}

fn bracket(inner: &str, found: &mut Parts, outside: &mut String) {
    for piece in inner.split([',', ';']) {
        let piece = piece.trim();
        let word = piece.to_lowercase();
        if let Some(unit) = unit(piece).filter(|_| found.unit.is_none()) {
            found.unit = Some(unit);
        } else if let Some(statistic) = statistic(&word).filter(|_| found.statistic.is_none()) {
            found.statistic = Some(statistic);
        } else {
            outside.push_str(piece);
            outside.push(' ');
        }
    }
}

/// A word for one number of a population.
pub(crate) fn statistic(word: &str) -> Option<Statistic> {
    Some(match word {
        "mean" | "avg" | "average" => Statistic::Mean,
        "median" | "mdn" => Statistic::Median,
        "min" | "minimum" => Statistic::Min,
        "max" | "maximum" => Statistic::Max,
        "std" | "stddev" | "stdev" | "sd" => Statistic::Std(StdKind::Unknown),
        _ => {
            let digits = word.strip_prefix('p').or_else(|| word.strip_suffix("th"))?;
            let percent: f64 = digits.parse().ok().filter(|_| digits.len() <= 5)?;
            // `p999` is the 99.9th.
            let percent = if percent > 100.0 { percent / 10.0 } else { percent };
            (0.0..=100.0).contains(&percent).then(|| Statistic::percentile(percent))?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_core::sheet::key;

    fn figure(label: &str) -> (Metric, Option<Statistic>, Option<Unit>) {
        match meaning(label) {
            Some(Meaning::Figure(named)) => (named.quantity, named.statistic, named.unit),
            other => panic!("{label}: {other:?}"),
        }
    }

    #[test]
    fn labels_of_figures() {
        use Metric::{E2e, Itl, OutputRate, RequestRate, TotalRate, Ttft};
        let p99 = Some(Statistic::Percentile(99.0));
        assert_eq!(figure("Latency (s)"), (E2e, None, Some(Unit::S)));
        assert_eq!(figure("Output Throughput (tok/s)"), (OutputRate, None, Some(Unit::PerS)));
        assert_eq!(figure("**Overall Throughput**:"), (TotalRate, None, None));
        assert_eq!(figure("P99 TTFT [ms]"), (Ttft, p99, Some(Unit::Ms)));
        assert_eq!(figure("ttft_p99_ms"), (Ttft, p99, Some(Unit::Ms)));
        assert_eq!(
            figure("Time to first token, ms (mean)"),
            (Ttft, Some(Statistic::Mean), Some(Unit::Ms))
        );
        assert_eq!(figure("Inter-Token Latency"), (Itl, None, None));
        assert_eq!(figure("req/s"), (RequestRate, None, Some(Unit::PerS)));
        assert_eq!(figure("images/s"), (Metric::ImageRate, None, Some(Unit::PerS)));
        assert_eq!(figure("megapixels/s"), (Metric::PixelRate, None, Some(Unit::Million)));
        let p90 = Some(Statistic::Percentile(90.0));
        assert_eq!(figure("P90 tok/s/user"), (Metric::UserSpeed, p90, Some(Unit::PerS)));
        assert_eq!(figure("tok/s/user (P90)"), (Metric::UserSpeed, p90, Some(Unit::PerS)));
        assert_eq!(figure("tok/s/user p90"), (Metric::UserSpeed, p90, Some(Unit::PerS)));
        assert_eq!(figure("Output tok/s p90"), (OutputRate, p90, Some(Unit::PerS)));
        assert_eq!(figure("Output tok/s"), (OutputRate, None, Some(Unit::PerS)));
        assert_eq!(figure("End-to-End Latency (Mean)"), (E2e, Some(Statistic::Mean), None));
    }

    #[test]
    fn labels_of_settings_and_of_nothing() {
        assert_eq!(meaning("Model"), Some(Meaning::Setting(key::MODEL)));
        assert_eq!(meaning("Batch size"), Some(Meaning::Setting(key::BATCH_SIZE)));
        assert_eq!(meaning("max_concurrency"), Some(Meaning::Setting(key::CONCURRENCY)));
        assert_eq!(meaning("Concurrent users"), Some(Meaning::Setting(key::CONCURRENCY)));
        for label in ["", "Notes", "Output Throughput of the cat", "Latency (tok/s)"] {
            assert_eq!(meaning(label), None, "{label}");
        }
    }
}
