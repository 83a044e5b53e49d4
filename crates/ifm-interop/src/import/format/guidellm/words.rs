//! What GuideLLM's metrics mean, against ours.
//!
//! Its stamps are of the wall clock, from the moment the request's head is sent; its percentiles
//! are taken by nearest rank; its rates are functions of time whose median is that of moments, not
//! of requests.

use super::super::super::statistic::different;
use super::super::super::{uncounted, words};
use ifm_core::Metric;
use ifm_core::sheet::{
    Definition, Factors, Remark, RemarkKind, Row, Statistic, Unit, key, meaning,
};

/// Its metrics: their names in JSON, and the group and name of their columns in CSV.
const METRICS: &[(&str, &str, &str, Metric, Unit)] = &[
    ("request_latency", "Request Latency", "Sec", Metric::E2e, Unit::S),
    ("time_to_first_token_ms", "Time to First Token", "ms", Metric::Ttft, Unit::Ms),
    ("time_to_first_output_token_ms", "Time to First Output Token", "ms", Metric::Ttfat, Unit::Ms),
    ("time_per_output_token_ms", "Time per Output Token", "ms", Metric::Tpot, Unit::Ms),
    ("inter_token_latency_ms", "Inter Token Latency", "ms", Metric::Itl, Unit::Ms),
    ("request_dispatch_delay", "", "", Metric::ClientQueue, Unit::S),
    ("requests_per_second", "Server Throughput", "Requests/Sec", Metric::RequestRate, Unit::PerS),
    ("request_concurrency", "Server Throughput", "Concurrency", Metric::InFlight, Unit::Count),
    ("prompt_token_count", "Token Metrics", "Input Tokens", Metric::InputTokens, Unit::Count),
    ("output_token_count", "Token Metrics", "Output Tokens", Metric::OutputTokens, Unit::Count),
    ("total_token_count", "Token Metrics", "Total Tokens", Metric::TotalTokens, Unit::Count),
    (
        "prompt_tokens_per_second",
        "Token Throughput",
        "Input Tokens/Sec",
        Metric::InputRate,
        Unit::PerS,
    ),
    (
        "output_tokens_per_second",
        "Token Throughput",
        "Output Tokens/Sec",
        Metric::OutputRate,
        Unit::PerS,
    ),
    ("tokens_per_second", "Token Throughput", "Total Tokens/Sec", Metric::TotalRate, Unit::PerS),
    ("request_goodput", "", "", Metric::Goodput, Unit::PerS),
    ("slo_attainment", "", "", Metric::Attainment, Unit::One),
    // In JSON these are not among the metrics.
    ("", "Timings", "Duration", Metric::Duration, Unit::S),
    ("", "Request Counts", "Successful", Metric::RequestsOk, Unit::Count),
    ("", "Request Counts", "Incomplete", Metric::RequestsIncomplete, Unit::Count),
    ("", "Request Counts", "Errored", Metric::RequestsFailed, Unit::Count),
    ("", "Request Counts", "Total", Metric::Requests, Unit::Count),
];

/// Media in prompts, as the tool counts them.
pub(crate) struct Carried {
    /// The kind of media, in JSON the name of the object.
    pub kind: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What a request carries.
    pub each: (Metric, Unit),
    /// What all requests carry per second, where that is a rate that we have a name for.
    pub rate: Option<(Metric, Unit)>,
}

/// Pixels apply to images only. Token counts are the server's counts per kind of media; for
/// transcriptions they are all prompt tokens.
pub(crate) const CARRIED: [Carried; 6] = [
    Carried { kind: "image", name: "tokens", each: (Metric::ImageTokens, Unit::Count), rate: None },
    Carried {
        kind: "image",
        name: "images",
        each: (Metric::Images, Unit::Count),
        rate: Some((Metric::ImageRate, Unit::PerS)),
    },
    Carried {
        kind: "image",
        name: "pixels",
        each: (Metric::Pixels, Unit::Count),
        rate: Some((Metric::PixelRate, Unit::PerS)),
    },
    Carried { kind: "video", name: "tokens", each: (Metric::VideoTokens, Unit::Count), rate: None },
    Carried { kind: "audio", name: "tokens", each: (Metric::AudioTokens, Unit::Count), rate: None },
    Carried {
        kind: "audio",
        name: "seconds",
        each: (Metric::AudioLength, Unit::S),
        rate: Some((Metric::LevelRtfx, Unit::One)),
    },
];

/// What a metric of the JSON file measures.
pub(super) fn metric(name: &str) -> Option<(Metric, Unit)> {
    measured(|(json, ..)| !name.is_empty() && *json == name)
}

/// What a column of the CSV file measures.
pub(super) fn column(group: &str, metric: &str) -> Option<(Metric, Unit)> {
    let metric = metric.strip_prefix("Successful ").unwrap_or(metric);
    let words = group.to_ascii_lowercase();
    let carried = words.split_once(' ').filter(|_| metric == "Input");
    if let Some((kind, name)) = carried {
        let own = CARRIED.iter().find(|carried| (carried.kind, carried.name) == (kind, name));
        return own.map(|carried| carried.each.clone());
    }
    measured(|(_, own, name, ..)| !group.is_empty() && (*own, *name) == (group, metric))
}

fn measured(
    is_meant: impl Fn(&&(&str, &str, &str, Metric, Unit)) -> bool,
) -> Option<(Metric, Unit)> {
    METRICS.iter().find(is_meant).map(|(.., quantity, unit)| (*quantity, unit.clone()))
}

/// Figures where zero means that there was nothing to measure, or that nothing was counted.
const ZERO_IS_MISSING: [(Metric, &str); 9] = [
    (Metric::Ttft, UNSTREAMED),
    (Metric::Ttfat, UNSTREAMED),
    (Metric::Itl, UNSTREAMED),
    (Metric::Tpot, UNSTREAMED),
    (Metric::ImageTokens, UNTOLD),
    (Metric::AudioTokens, UNTOLD),
    (Metric::VideoTokens, UNTOLD),
    (Metric::OutputTokens, UNTOLD),
    (Metric::TotalTokens, UNTOLD),
];
/// Rates of tokens, unknown where the numbers of tokens are. `uncounted` handles prompt tokens, for
/// all tools.
const RATES: [(Metric, Metric); 2] =
    [(Metric::OutputTokens, Metric::OutputRate), (Metric::TotalTokens, Metric::TotalRate)];
const UNSTREAMED: &str = "not measured, as without streaming";
const UNTOLD: &str = "the server did not tell them";

/// Removes the value of latencies and numbers of tokens that are 0.0 throughout, and returns
/// remarks.
pub(crate) fn without_zeros(row: &mut Row) -> Vec<Remark> {
    let remarks = [UNSTREAMED, UNTOLD].map(|why| without_zeros_of(row, why));
    remarks.into_iter().flatten().collect()
}

fn without_zeros_of(row: &mut Row, why: &str) -> Option<Remark> {
    let mut missing = Vec::new();
    for (quantity, _) in ZERO_IS_MISSING.into_iter().filter(|(_, of)| *of == why) {
        if !uncounted::take(row, quantity, "0.0") {
            continue;
        }
        let rate = RATES.into_iter().find(|(tokens, _)| *tokens == quantity).map(|(_, rate)| rate);
        missing.push(quantity);
        missing.extend(rate.filter(|rate| uncounted::take(row, *rate, "0.0")));
    }
    (!missing.is_empty()).then(|| {
        let names: Vec<String> = missing.iter().map(|quantity| format!("{quantity:?}")).collect();
        Remark {
            kind: RemarkKind::Missing,
            place: row.place.clone(),
            text: format!("0.0 for {}: {why}", names.join(", ")),
        }
    })
}

/// Sets what a printed strategy says: `synchronous`, `concurrent@4`, `constant@5.00`.
pub(crate) fn strategy(printed: &str, factors: &mut Factors) {
    let (name, level) = match printed.split_once('@') {
        Some((name, level)) => (name.trim(), Some(level.trim())),
        None => (printed.trim(), None),
    };
    factors.set(key::STRATEGY, name);
    let level = level.filter(|level| level.parse::<f64>().is_ok());
    let factor = match name {
        "concurrent" | "throughput" => key::CONCURRENCY,
        "constant" | "poisson" | "async" => key::RATE,
        _ => return,
    };
    if let Some(level) = level {
        factors.set(factor, whole(level));
    }
}

/// A number without the zeros behind its point.
pub(crate) fn whole(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// Notes on prompt tokens that they include media tokens twice: the tool's text tokens are all
/// tokens that the server counted, and the tool adds the tokens of images, audio and videos that
/// the server reports separately. `text` is the mean of the text tokens.
pub(super) fn doubled(row: &mut Row, text: Option<f64>) {
    let mean = |quantity: Metric| row.value(quantity, Statistic::Mean);
    let kinds = [Metric::ImageTokens, Metric::AudioTokens, Metric::VideoTokens];
    let media: f64 = kinds.into_iter().filter_map(mean).sum();
    if media <= 0.0 || text.is_none_or(|text| text <= 0.0) {
        return;
    }
    const OF: [Metric; 4] =
        [Metric::InputTokens, Metric::TotalTokens, Metric::InputRate, Metric::TotalRate];
    for figure in row.figures.iter_mut().filter(|figure| OF.contains(&figure.quantity)) {
        figure.definition = different(meaning::MEDIA_TWICE);
    }
}

/// What a version of GuideLLM means by its time per output token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TpotMeaning {
    /// Start to last token by the output tokens: 0.4 and later.
    WithFirst,
    /// First to last token by the output tokens: 0.2 and 0.3.
    ByAll,
}

impl TpotMeaning {
    /// The meaning of a version such as `0.8.1`. The field itself is younger than 0.4.0.
    pub fn of_version(version: &str) -> Option<TpotMeaning> {
        let mut parts = version.trim().trim_start_matches('v').split('.');
        let major: u32 = parts.next()?.parse().ok()?;
        let minor = parts.next().unwrap_or("0");
        let digits = minor.len() - minor.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let minor: u32 = minor.get(..digits)?.parse().ok()?;
        Some(if (major, minor) < (0, 4) { TpotMeaning::ByAll } else { TpotMeaning::WithFirst })
    }

    /// The definition of a figure that has this meaning.
    pub fn definition(self) -> Definition {
        different(match self {
            TpotMeaning::WithFirst => meaning::TPOT_WITH_FIRST,
            TpotMeaning::ByAll => meaning::TPOT_BY_ALL,
        })
    }
}

/// Defines the times per output token of a row. Without a meaning their definition is unstated.
pub(crate) fn define_tpot(row: &mut Row, meant: Option<TpotMeaning>) {
    let definition = meant.map_or(Definition::Unstated, TpotMeaning::definition);
    for figure in row.figures.iter_mut().filter(|figure| figure.quantity == Metric::Tpot) {
        figure.definition = definition.clone();
    }
}

/// What GuideLLM means by a number, from version 0.4 on. See [`define_tpot`] for older files.
pub(crate) fn definition(quantity: Metric, statistic: Statistic) -> Definition {
    let nearest = matches!(statistic, Statistic::Percentile(_) | Statistic::Median);
    match quantity {
        Metric::Ttft | Metric::Ttfat | Metric::ClientQueue if nearest => {
            different("percentile by nearest rank; stamps of the wall clock")
        }
        Metric::Ttft | Metric::Ttfat => Definition::Same,
        Metric::Itl => different(words::ITL_WEIGHTED),
        Metric::Tpot => TpotMeaning::WithFirst.definition(),
        Metric::E2e => different(words::TO_THE_END),
        Metric::RequestRate
        | Metric::InputRate
        | Metric::OutputRate
        | Metric::TotalRate
        | Metric::InFlight
            if nearest =>
        {
            different("percentile of a rate over time, by how long it held")
        }
        Metric::ImageRate | Metric::PixelRate | Metric::LevelRtfx if nearest => {
            different("percentile of a rate over time, by how long it held")
        }
        Metric::ImageRate | Metric::PixelRate | Metric::LevelRtfx => {
            different("over the measured window; a request counts when it ends")
        }
        Metric::AudioTokens => {
            different("as the server tells them apart; of a transcription all prompt tokens")
        }
        Metric::InputRate | Metric::OutputRate | Metric::TotalRate => different(
            "over the measured window; tokens are spread evenly between first and last of a \
             request",
        ),
        _ if nearest => different("percentile by nearest rank"),
        _ => Definition::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::TpotMeaning::{self, ByAll, WithFirst};

    #[test]
    fn version_decides_what_tpot_means() {
        for (version, meant) in [
            ("0.2.0", Some(ByAll)),
            ("0.3.1", Some(ByAll)),
            ("v0.3.0", Some(ByAll)),
            ("0.4.0", Some(WithFirst)),
            ("0.4.0a12", Some(WithFirst)),
            ("0.10.0.dev3", Some(WithFirst)),
            ("1", Some(WithFirst)),
            ("unknown", None),
        ] {
            assert_eq!(TpotMeaning::of_version(version), meant, "{version}");
        }
    }
}
