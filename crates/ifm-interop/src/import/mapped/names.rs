//! Names that a column can be mapped to.
//!
//! A figure is named by its quantity and unit, with the statistic before or behind: `ttft_ms`,
//! `p99_ttft_ms`, `ttft_ms_p99`, `mean_itl_us`. Without one it is the one value there is.

use super::super::measure::{Meaning, meaning};
use super::super::statistic::statistic;
use ifm_core::Metric;
use ifm_core::sheet::{Statistic, StdKind, Unit, key};

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A measured number.
    Figure(Metric, Statistic, Unit),
    /// Something that was set.
    Factor(String),
    /// The row's name.
    Label,
}

/// Times; their unit, `ns`, `us`, `ms` or `s`, is a suffix.
const TIMES: &[(&str, &str, Metric)] = &[
    ("ttft", "ttft_ms", Metric::Ttft),
    ("ttfot", "ttfot_ms", Metric::Ttfat),
    ("itl", "itl_ms", Metric::Itl),
    ("tpot", "tpot_ms", Metric::Tpot),
    ("e2e", "e2e_ms", Metric::E2e),
    ("client_queue", "client_queue_ms", Metric::ClientQueue),
    ("prefill_time", "prefill_time_ms", Metric::Prefill),
    ("kernel_time", "kernel_time_ms", Metric::Kernel),
    ("duration", "duration_s", Metric::Duration),
    ("audio_length", "audio_length_s", Metric::AudioLength),
    ("ttfa", "ttfa_ms", Metric::Ttfa),
    ("silence", "silence_ms", Metric::Silence),
];

/// Other figures.
const FIGURES: &[(&str, Metric, Unit)] = &[
    ("requests_per_s", Metric::RequestRate, Unit::PerS),
    ("goodput_requests_per_s", Metric::Goodput, Unit::PerS),
    ("input_tokens_per_s", Metric::InputRate, Unit::PerS),
    ("output_tokens_per_s", Metric::OutputRate, Unit::PerS),
    ("total_tokens_per_s", Metric::TotalRate, Unit::PerS),
    ("user_tokens_per_s", Metric::UserSpeed, Unit::PerS),
    ("prefill_tokens_per_s", Metric::PrefillRate, Unit::PerS),
    ("decode_tokens_per_s", Metric::DecodeRate, Unit::PerS),
    ("images_per_s", Metric::ImageRate, Unit::PerS),
    ("megapixels_per_s", Metric::PixelRate, Unit::Million),
    ("level_rtfx", Metric::LevelRtfx, Unit::One),
    ("rtfx", Metric::Rtfx, Unit::One),
    ("rtf", Metric::Rtf, Unit::One),
    ("images_total", Metric::Images, Unit::Count),
    ("pixels_total", Metric::Pixels, Unit::Count),
    ("text_tokens_total", Metric::TextTokens, Unit::Count),
    ("image_tokens_total", Metric::ImageTokens, Unit::Count),
    ("audio_tokens_total", Metric::AudioTokens, Unit::Count),
    ("video_tokens_total", Metric::VideoTokens, Unit::Count),
    ("in_flight", Metric::InFlight, Unit::Count),
    ("requests_sent", Metric::Requests, Unit::Count),
    ("requests_ok", Metric::RequestsOk, Unit::Count),
    ("requests_failed", Metric::RequestsFailed, Unit::Count),
    ("input_tokens_total", Metric::InputTokens, Unit::Count),
    ("output_tokens_total", Metric::OutputTokens, Unit::Count),
    ("error_rate", Metric::ErrorRate, Unit::One),
    ("error_percent", Metric::ErrorRate, Unit::Percent),
    ("power_w", Metric::Power, Unit::W),
    ("energy_j", Metric::Energy, Unit::J),
    ("memory_gib", Metric::Memory, Unit::GiB),
    ("cost_usd_per_million", Metric::CostPerMillion, Unit::Usd),
];

/// Factors, by the name in a map.
const FACTORS: &[(&str, &str)] = &[
    ("model", key::MODEL),
    ("gpu", key::GPU),
    ("quantization", key::QUANTIZATION),
    ("users", key::CONCURRENCY),
    ("concurrency", key::CONCURRENCY),
    ("rate", key::RATE),
    ("strategy", key::STRATEGY),
    ("requests", key::REQUESTS),
    ("input_tokens", key::INPUT_TOKENS),
    ("output_tokens", key::OUTPUT_TOKENS),
    ("batch_size", key::BATCH_SIZE),
    ("depth_tokens", key::DEPTH_TOKENS),
    ("workload", key::WORKLOAD),
    ("power_limit_w", key::POWER_LIMIT_W),
    ("condition", key::CONDITION),
    ("tensor_parallel", key::TENSOR_PARALLEL),
    ("engine", key::ENGINE),
    ("test", key::TEST),
    ("repeat", key::REPEAT),
];

/// The row's name.
const LABEL: &str = "label";

/// Every name, without the statistics that can precede or follow the names of figures.
pub fn names() -> impl Iterator<Item = &'static str> {
    let times = TIMES.iter().map(|(_, name, _)| *name);
    let figures = FIGURES.iter().map(|(name, ..)| *name);
    let factors = FACTORS.iter().map(|(name, _)| *name);
    times.chain(figures).chain(factors).chain([LABEL])
}

impl Target {
    /// The target that a name selects.
    pub fn of(name: &str) -> Option<Target> {
        if name == LABEL {
            return Some(Target::Label);
        }
        if let Some((_, factor)) = FACTORS.iter().find(|(own, _)| *own == name) {
            return Some(Target::Factor((*factor).to_owned()));
        }
        let plain = figure(name).map(|(quantity, unit)| (quantity, Statistic::Value, unit));
        let word = |word: &str, rest: &str| {
            let statistic = statistic(word, StdKind::Unknown)?;
            figure(rest).map(|(quantity, unit)| (quantity, statistic, unit))
        };
        let before = || name.split_once('_').and_then(|(first, rest)| word(first, rest));
        let behind = || name.rsplit_once('_').and_then(|(rest, last)| word(last, rest));
        let (quantity, statistic, unit) = plain.or_else(before).or_else(behind)?;
        Some(Target::Figure(quantity, statistic, unit))
    }
}

fn figure(name: &str) -> Option<(Metric, Unit)> {
    if let Some((_, quantity, unit)) = FIGURES.iter().find(|(own, ..)| *own == name) {
        return Some((*quantity, unit.clone()));
    }
    let (time, unit) = name.rsplit_once('_')?;
    let unit = match unit {
        "ns" => Unit::Ns,
        "us" => Unit::Us,
        "ms" => Unit::Ms,
        "s" => Unit::S,
        _ => return None,
    };
    let (.., quantity) = TIMES.iter().find(|(own, ..)| *own == time)?;
    Some((*quantity, unit))
}

/// Pairs that an example names at most.
const PAIRS_MAX: usize = 3;

/// A map that fits some columns, as an example: those whose names are known words, with the name that
/// a map has for them.
pub(in super::super) fn example(columns: &[String]) -> String {
    let known: Vec<String> = columns
        .iter()
        .filter(|column| !column.contains(','))
        .filter_map(|column| Some(format!("{}={column}", name_of(column)?)))
        .take(PAIRS_MAX)
        .collect();
    let first = || columns.first().map_or("COLUMN", String::as_str);
    match known.as_slice() {
        [] => format!("NAME={}", first()),
        known if known.len() < columns.len() => format!("{},…", known.join(",")),
        known => known.join(","),
    }
}

/// The name that a map has for a column whose own name is a known word.
fn name_of(column: &str) -> Option<String> {
    let (quantity, statistic, unit) = match meaning(column)? {
        Meaning::Setting(factor) => {
            let (name, _) = FACTORS.iter().find(|(_, own)| *own == factor)?;
            return Some((*name).to_owned());
        }
        Meaning::Figure(named) => (named.quantity, named.statistic, named.unit),
    };
    let time = TIMES.iter().find(|(.., own)| *own == quantity).map(|(stem, usual, _)| {
        let unit = match unit {
            Some(Unit::Ns) => "ns",
            Some(Unit::Us) => "us",
            Some(Unit::Ms) => "ms",
            Some(Unit::S) => "s",
            _ => return (*usual).to_owned(),
        };
        format!("{stem}_{unit}")
    });
    let other =
        || FIGURES.iter().find(|(_, own, _)| *own == quantity).map(|(name, ..)| (*name).to_owned());
    let name = time.or_else(other)?;
    Some(match statistic {
        Some(Statistic::Mean) => format!("mean_{name}"),
        Some(Statistic::Median) => format!("p50_{name}"),
        Some(Statistic::Percentile(p)) => format!("p{p}_{name}"),
        Some(Statistic::Min) => format!("min_{name}"),
        Some(Statistic::Max) => format!("max_{name}"),
        _ => name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_known() {
        for name in names() {
            assert!(Target::of(name).is_some(), "{name}");
        }
    }

    #[test]
    fn examples_fit_their_columns() {
        let of = |columns: &[&str]| {
            let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
            example(&columns)
        };
        assert_eq!(
            of(&["Concurrency", "TTFT p99 (ms)", "Latency (s)", "Output tok/s"]),
            "users=Concurrency,p99_ttft_ms=TTFT p99 (ms),e2e_s=Latency (s),…"
        );
        assert_eq!(of(&["Concurrency", "x"]), "users=Concurrency,…");
        assert_eq!(of(&["a", "b"]), "NAME=a");
        for column in ["Concurrency", "TTFT p99 (ms)", "Output tok/s", "Median ITL"] {
            let name = name_of(column).expect("a name");
            assert!(Target::of(&name).is_some(), "{name}");
        }
    }

    #[test]
    fn statistics_stand_before_or_behind() {
        let p99 = Some(Target::Figure(Metric::Ttft, Statistic::Percentile(99.0), Unit::S));
        assert_eq!(Target::of("p99_ttft_s"), p99);
        assert_eq!(Target::of("ttft_s_p99"), p99);
        let mean = Target::Figure(Metric::OutputRate, Statistic::Mean, Unit::PerS);
        assert_eq!(Target::of("mean_output_tokens_per_s"), Some(mean));
        assert_eq!(Target::of("users"), Some(Target::Factor(key::CONCURRENCY.to_owned())));
        assert_eq!(Target::of("ttft"), None);
    }
}
