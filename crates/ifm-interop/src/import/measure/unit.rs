//! Units as they are written.

use ifm_core::Metric;
use ifm_core::sheet::Unit;

/// What a unit measures, for telling whether it fits a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    Time,
    TokenRate,
    RequestRate,
    ImageRate,
    PixelRate,
    /// Something per second that the unit does not name.
    Rate,
    Share,
    Count,
    Power,
    Energy,
    Size,
    Bandwidth,
    FlopRate,
    Money,
}

/// A unit by its letters, such as `ms`, `tok/s` or `GiB`.
pub(crate) fn unit(text: &str) -> Option<(Unit, Dimension)> {
    use Dimension::{
        Bandwidth, Count, Energy, FlopRate, ImageRate, Money, PixelRate, Power, Rate, RequestRate,
        Share, Size, Time, TokenRate,
    };
    let text = text.trim().trim_end_matches('.');
    if text.len() > 24 {
        return None;
    }
    let other = |text: &str| Unit::Other(text.to_owned());
    Some(match text {
        "W" | "watt" | "watts" | "Watts" => (Unit::W, Power),
        "J" | "joule" | "joules" => (Unit::J, Energy),
        "s" | "sec" | "secs" | "Sec" | "second" | "seconds" | "Seconds" => (Unit::S, Time),
        "ms" | "msec" | "millisecond" | "milliseconds" | "MS" => (Unit::Ms, Time),
        "us" | "µs" | "μs" | "usec" | "microseconds" => (Unit::Us, Time),
        "ns" | "nanoseconds" => (Unit::Ns, Time),
        "min" | "mins" | "minutes" => (Unit::Min, Time),
        "h" | "hr" | "hrs" | "hour" | "hours" => (Unit::H, Time),
        "%" | "percent" | "pct" => (Unit::Percent, Share),
        "x" | "×" | "X" => (Unit::One, Share),
        "B" | "bytes" => (Unit::Bytes, Size),
        "MiB" => (Unit::MiB, Size),
        "GiB" => (Unit::GiB, Size),
        "GB" => (Unit::Gb, Size),
        "MB" | "KB" | "TB" | "kB" | "KiB" | "TiB" => (other(text), Size),
        "GB/s" | "GBps" => (Unit::GbPerS, Bandwidth),
        "TB/s" | "GiB/s" | "MB/s" => (other(text), Bandwidth),
        "TF/s" | "TFLOPS" | "TFLOP/s" | "TFLOPs" | "TFLOPs/s" | "TFlops" | "tflops" => {
            (Unit::TflopPerS, FlopRate)
        }
        "GFLOPS" | "PFLOPS" => (other(text), FlopRate),
        "$" | "USD" => (Unit::Usd, Money),
        _ => match text.to_ascii_lowercase().replace(' ', "").as_str() {
            "tok/s" | "toks/s" | "token/s" | "tokens/s" | "t/s" | "tps" | "tok/sec"
            | "tokens/sec" | "tokens/second" | "tokenspersecond" | "tok/second"
            | "tokenspersec" => (Unit::PerS, TokenRate),
            "tok/s/user" | "tokens/s/user" | "tokens/sec/user" | "tps/user" => {
                (Unit::PerS, TokenRate)
            }
            "tok/min" | "tokens/min" => (Unit::PerMin, TokenRate),
            "tok/h" | "tokens/h" | "tokens/hour" => (Unit::PerH, TokenRate),
            "req/s" | "reqs/s" | "request/s" | "requests/s" | "req/sec" | "requests/sec"
            | "rps" | "qps" | "requestspersecond" | "requests/second" | "r/s" => {
                (Unit::PerS, RequestRate)
            }
            "req/min" | "requests/min" | "rpm" => (Unit::PerMin, RequestRate),
            "images/s" | "images/sec" | "images/second" | "image/s" | "img/s" | "imgs/s" => {
                (Unit::PerS, ImageRate)
            }
            "pixels/s" | "px/s" => (Unit::PerS, PixelRate),
            "megapixels/s" | "mpixels/s" | "mpx/s" => (Unit::Million, PixelRate),
            "1/s" | "/s" | "it/s" | "persec" | "persecond" => (Unit::PerS, Rate),
            "tok" | "toks" | "token" | "tokens" | "req" | "reqs" | "requests" => {
                (Unit::Count, Count)
            }
            _ => return None,
        },
    })
}

/// The unit in a field, or between brackets, where only a unit is possible: there, words are units
/// that have a different meaning in a sentence. Units without a name here keep their letters.
pub(crate) fn unit_field(text: &str) -> Option<Unit> {
    let text = text.trim();
    if let Some((unit, _)) = unit(text) {
        return Some(unit);
    }
    Some(match text.to_ascii_lowercase().as_str() {
        "count" | "images" => Unit::Count,
        "ms/image" => Unit::Ms,
        "ratio" => Unit::One,
        "per minute" => Unit::PerMin,
        "mhz" | "ghz" | "mj" | "mw" | "c" | "°c" | "celsius" | "tokens/sec/w" => {
            Unit::Other(text.to_owned())
        }
        _ => return None,
    })
}

/// A name and the unit in the last brackets behind it: `Time to First Token (ms)`.
pub(crate) fn name_and_unit(label: &str) -> (&str, Option<Unit>) {
    let label = label.trim();
    let inner = label.strip_suffix([')', ']']).and_then(|rest| rest.rsplit_once(['(', '[']));
    match inner.and_then(|(name, word)| Some((name.trim(), unit_field(word)?))) {
        Some((name, unit)) => (name, Some(unit)),
        None => (label, None),
    }
}

impl Dimension {
    /// Whether figures of a quantity have this dimension.
    pub fn fits(self, quantity: Metric) -> bool {
        use Metric as Q;
        match quantity {
            Q::Ttft | Q::Ttfat | Q::Itl | Q::Tpot | Q::E2e | Q::E2ePerToken => {
                self == Dimension::Time
            }
            Q::ClientQueue | Q::Prefill | Q::Duration | Q::Kernel => self == Dimension::Time,
            Q::AudioLength | Q::Ttfa | Q::Silence => self == Dimension::Time,
            Q::ImageRate => matches!(self, Dimension::ImageRate | Dimension::Rate),
            Q::PixelRate => matches!(self, Dimension::PixelRate | Dimension::Rate),
            Q::LevelRtfx | Q::Rtfx | Q::Rtf => self == Dimension::Share,
            Q::RequestRate | Q::Goodput => {
                matches!(self, Dimension::RequestRate | Dimension::Rate)
            }
            Q::InputRate | Q::OutputRate | Q::TotalRate | Q::PeakOutputRate | Q::UserSpeed => {
                matches!(self, Dimension::TokenRate | Dimension::Rate)
            }
            Q::PrefillRate | Q::DecodeRate => {
                matches!(self, Dimension::TokenRate | Dimension::Rate)
            }
            Q::Efficiency | Q::ErrorRate | Q::Attainment | Q::Sparsity | Q::Ratio => {
                self == Dimension::Share
            }
            Q::Power => self == Dimension::Power,
            Q::Energy | Q::EnergyPerToken => self == Dimension::Energy,
            Q::Memory => self == Dimension::Size,
            Q::Bandwidth => self == Dimension::Bandwidth,
            Q::FlopRate => self == Dimension::FlopRate,
            Q::CostPerMillion => self == Dimension::Money,
            Q::Parameters => false,
            Q::Other(_) => true,
            _ => self == Dimension::Count,
        }
    }
}

/// The unit of a number without one, where its quantity has only one that it can be.
pub(crate) fn natural(quantity: Metric) -> Unit {
    use Metric as Q;
    match quantity {
        quantity if Dimension::Count.fits(quantity) && !matches!(quantity, Q::Other(_)) => {
            Unit::Count
        }
        Q::Ratio | Q::LevelRtfx | Q::Rtfx | Q::Rtf => Unit::One,
        Q::ImageRate | Q::PixelRate => Unit::PerS,
        Q::RequestRate | Q::Goodput | Q::InputRate | Q::OutputRate | Q::TotalRate => Unit::PerS,
        Q::PeakOutputRate | Q::UserSpeed | Q::PrefillRate | Q::DecodeRate => Unit::PerS,
        _ => Unit::Other(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_told_from_its_unit() {
        for (label, name, unit) in [
            ("Time to First Token (ms)", "Time to First Token", Some(Unit::Ms)),
            ("Effective Latency (CO-aware) (ms)", "Effective Latency (CO-aware)", Some(Unit::Ms)),
            ("Per User (tokens/sec/user)", "Per User", Some(Unit::PerS)),
            ("Request Count (count)", "Request Count", Some(Unit::Count)),
            ("Energy (mJ)", "Energy", Some(Unit::Other("mJ".to_owned()))),
            ("fwd time [us]", "fwd time", Some(Unit::Us)),
            ("Completed Requests (Success + Error)", "Completed Requests (Success + Error)", None),
        ] {
            assert_eq!(name_and_unit(label), (name, unit), "{label}");
        }
    }

    #[test]
    fn words_of_sentences_are_units_in_fields_alone() {
        for (word, in_a_field) in [("count", Unit::Count), ("ratio", Unit::One)] {
            assert_eq!(unit(word), None, "{word}");
            assert_eq!(unit_field(word), Some(in_a_field), "{word}");
        }
    }
}
