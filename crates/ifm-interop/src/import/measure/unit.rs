//! Units as they are written.

use ifm_core::sheet::{Quantity, Unit};

/// What a unit measures, for telling whether it fits a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    Time,
    TokenRate,
    RequestRate,
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
        Bandwidth, Count, Energy, FlopRate, Money, Power, Rate, RequestRate, Share, Size, Time,
        TokenRate,
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
            "tok/s/user" | "tokens/s/user" | "tps/user" => (Unit::PerS, TokenRate),
            "tok/min" | "tokens/min" => (Unit::PerMin, TokenRate),
            "tok/h" | "tokens/h" | "tokens/hour" => (Unit::PerH, TokenRate),
            "req/s" | "reqs/s" | "request/s" | "requests/s" | "req/sec" | "requests/sec"
            | "rps" | "qps" | "requestspersecond" | "requests/second" | "r/s" => {
                (Unit::PerS, RequestRate)
            }
            "req/min" | "requests/min" | "rpm" => (Unit::PerMin, RequestRate),
            "1/s" | "/s" | "it/s" | "persec" | "persecond" => (Unit::PerS, Rate),
            "tok" | "toks" | "token" | "tokens" | "req" | "reqs" | "requests" => {
                (Unit::Count, Count)
            }
            _ => return None,
        },
    })
}

/// The unit between the parentheses or brackets of a label.
pub(crate) fn bracketed_unit(label: &str) -> Option<Unit> {
    let (_, rest) = label.split_once(['(', '['])?;
    let (inner, _) = rest.split_once([')', ']'])?;
    unit(inner).map(|(unit, _)| unit)
}

impl Dimension {
    /// Whether figures of a quantity have this dimension.
    pub fn fits(self, quantity: &Quantity) -> bool {
        use Quantity as Q;
        match quantity {
            Q::Ttft | Q::Ttfot | Q::Itl | Q::Tpot | Q::E2e | Q::NormalizedLatency => {
                self == Dimension::Time
            }
            Q::ClientQueue | Q::PrefillTime | Q::Duration | Q::KernelTime => {
                self == Dimension::Time
            }
            Q::RequestRate | Q::Goodput => {
                matches!(self, Dimension::RequestRate | Dimension::Rate)
            }
            Q::InputRate | Q::OutputRate | Q::TotalRate | Q::PeakOutputRate | Q::UserRate => {
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
pub(crate) fn natural(quantity: &Quantity) -> Unit {
    use Quantity as Q;
    match quantity {
        quantity if Dimension::Count.fits(quantity) && !matches!(quantity, Q::Other(_)) => {
            Unit::Count
        }
        Q::Ratio => Unit::One,
        Q::RequestRate | Q::Goodput | Q::InputRate | Q::OutputRate | Q::TotalRate => Unit::PerS,
        Q::PeakOutputRate | Q::UserRate | Q::PrefillRate | Q::DecodeRate => Unit::PerS,
        _ => Unit::Other(String::new()),
    }
}
