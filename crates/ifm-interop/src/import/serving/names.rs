//! Names of fields and printed labels, and what they measure.

use super::super::field::{OWN, named};
use super::super::statistic::statistic;
use ifm_core::Metric;
use ifm_core::sheet::{Figure, Statistic, StdKind, Unit, key, meaning};

/// Fields that set something, and the factor that they are.
pub(crate) const SETTINGS: &[(&str, &str)] = &[
    ("model_id", key::MODEL),
    ("max_concurrency", key::CONCURRENCY),
    ("request_rate", key::RATE),
    ("num_prompts", key::REQUESTS),
    ("backend", key::ENGINE),
    ("dataset_name", key::WORKLOAD),
    ("random_input_len", key::INPUT_TOKENS),
    ("random_output_len", key::OUTPUT_TOKENS),
    ("tensor_parallel_size", key::TENSOR_PARALLEL),
];

/// Printed labels that set something.
const SETTING_LABELS: &[(&str, &str)] = &[
    ("Maximum request concurrency", key::CONCURRENCY),
    ("Max request concurrency", key::CONCURRENCY),
    ("Request rate configured (RPS)", key::RATE),
    ("Traffic request rate", key::RATE),
    ("Backend", key::ENGINE),
];

/// The factor of a field.
pub(crate) fn setting(field: &str) -> Option<&'static str> {
    SETTINGS.iter().find(|(name, _)| *name == field).map(|(_, factor)| *factor)
}

/// The factor of a printed label.
pub(crate) fn setting_label(label: &str) -> Option<&'static str> {
    SETTING_LABELS.iter().find(|(name, _)| *name == label).map(|(_, factor)| *factor)
}

/// Times of requests: their names in `p99_ttft_ms` and in `P99 TTFT (ms)`.
const TIMES: &[(&[&str], &[&str], Metric)] = &[
    (&["ttft"], &["TTFT"], Metric::Ttft),
    (&["tpot"], &["TPOT"], Metric::Tpot),
    (&["itl"], &["ITL"], Metric::Itl),
    (&["e2el", "e2e_latency"], &["E2EL", "E2E Latency"], Metric::E2e),
    (&["client_queue_time"], &["Client Queue Time"], Metric::ClientQueue),
    (&["e2el_including_client_queue"], &["E2EL incl. Client Queue"], OWN),
];

/// Counts, rates and times of the whole run: their fields, and their printed labels in small
/// letters, which changed over the years.
const WHOLE: &[(&[&str], &[&str], Metric, Unit)] = &[
    (&["duration"], &["benchmark duration (s)"], Metric::Duration, Unit::S),
    (&[], &["total requests"], Metric::Requests, Unit::Count),
    (&["completed"], &["successful requests"], Metric::RequestsOk, Unit::Count),
    (&["failed", "failed_requests"], &["failed requests"], Metric::RequestsFailed, Unit::Count),
    (&["total_input_tokens"], &["total input tokens"], Metric::InputTokens, Unit::Count),
    (&["total_output_tokens"], &["total generated tokens"], Metric::OutputTokens, Unit::Count),
    (&[meaning::RETOKENIZED], &["total generated tokens (retokenized)"], OWN, Unit::Count),
    (&[], &["total cached tokens"], Metric::CachedTokens, Unit::Count),
    (&["total_input_text_tokens"], &["total input text tokens"], Metric::TextTokens, Unit::Count),
    (
        &["total_input_vision_tokens"],
        &["total input vision tokens"],
        Metric::ImageTokens,
        Unit::Count,
    ),
    (&["rtfx"], &["rtfx (inverse real-time factor)"], Metric::LevelRtfx, Unit::One),
    (&["request_throughput"], &["request throughput (req/s)"], Metric::RequestRate, Unit::PerS),
    (
        // Older files have the colon of the printed label in the name.
        &["request_goodput", "request_goodput:"],
        &["request goodput (req/s)"],
        Metric::Goodput,
        Unit::PerS,
    ),
    (&["input_throughput"], &["input token throughput (tok/s)"], Metric::InputRate, Unit::PerS),
    (&["output_throughput"], &["output token throughput (tok/s)"], Metric::OutputRate, Unit::PerS),
    (
        &["total_token_throughput", "total_throughput"],
        &["total token throughput (tok/s)"],
        Metric::TotalRate,
        Unit::PerS,
    ),
    (
        &["max_output_tokens_per_s"],
        &["peak output token throughput (tok/s)"],
        Metric::PeakOutputRate,
        Unit::PerS,
    ),
    (&["user_throughput"], &["user throughput (tok/s)"], Metric::UserSpeed, Unit::PerS),
    (
        &["max_concurrent_requests"],
        &["peak concurrent requests"],
        Metric::PeakInFlight,
        Unit::Count,
    ),
    (&["concurrency"], &["concurrency"], Metric::InFlight, Unit::Count),
    (
        &["accept_length", "spec_decode_acceptance_length"],
        &["accept length", "acceptance length"],
        Metric::AcceptanceLength,
        Unit::Count,
    ),
    (&["slo_attainment"], &[], Metric::Attainment, Unit::One),
    (&[], &["slo attainment (%)"], Metric::Attainment, Unit::Percent),
    (&[], &["total energy (j)"], Metric::Energy, Unit::J),
    (&[], &["total gpu power (w)"], Metric::Power, Unit::W),
];

type Meaning = (Metric, Statistic, Unit);

/// The figure of a field, if its name is that of one.
pub(crate) fn figure(field: &str, value: f64) -> Option<Figure> {
    let time = || time(field.strip_suffix("_ms")?.split_once('_')?, |(fields, ..)| fields);
    let (quantity, statistic, unit) =
        time().or_else(|| whole(|(fields, ..)| fields.contains(&field)))?;
    Some(Figure::new(quantity, statistic, value, unit))
}

/// What a printed label measures.
pub(crate) fn label(label: &str) -> Option<Meaning> {
    let printed = || {
        let (word, rest) = label.strip_suffix(" (ms)")?.split_once(' ')?;
        time((word, rest.strip_prefix("Dev ").unwrap_or(rest)), |(_, labels, _)| labels)
    };
    let small = label.to_ascii_lowercase();
    printed().or_else(|| whole(|(_, labels, ..)| labels.contains(&small.as_str())))
}

/// A statistic of a time. All of these tools use numpy, whose deviation is that of a population.
fn time(
    (word, name): (&str, &str),
    names: impl Fn(&'static (&[&str], &[&str], Metric)) -> &'static [&'static str],
) -> Option<Meaning> {
    let row = TIMES.iter().find(|row| names(row).contains(&name))?;
    let own = row.0.first().copied().unwrap_or_default();
    Some((named(row.2, own), statistic(word, StdKind::Population)?, Unit::Ms))
}

fn whole(is_meant: impl Fn(&&(&[&str], &[&str], Metric, Unit)) -> bool) -> Option<Meaning> {
    let (fields, _, quantity, unit) = WHOLE.iter().find(is_meant)?;
    let own = fields.first().copied().unwrap_or_default();
    Some((named(*quantity, own), Statistic::Value, unit.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let p99 = figure("p99.9_ttft_ms", 3.0).unwrap();
        assert_eq!((p99.quantity, p99.statistic), (Metric::Ttft, Statistic::Percentile(99.9)));
        assert_eq!(figure("p50_e2el_ms", 3.0).unwrap().statistic, Statistic::Median);
        let std = figure("std_itl_ms", 1.0).unwrap();
        assert_eq!(std.statistic, Statistic::Std(StdKind::Population));
        for other in ["mean_ttft", "mean_other_ms", "probe_median_e2el_ms", "p900_ttft_ms"] {
            assert!(figure(other, 1.0).is_none(), "{other}");
        }
    }

    #[test]
    fn fields_and_labels_mean_the_same() {
        for (field, printed) in [
            ("mean_ttft_ms", "Mean TTFT (ms)"),
            ("p99_e2e_latency_ms", "P99 E2E Latency (ms)"),
            ("max_itl_ms", "Max ITL (ms)"),
            ("std_tpot_ms", "Std Dev TPOT (ms)"),
            ("median_client_queue_time_ms", "Median Client Queue Time (ms)"),
            ("mean_e2el_including_client_queue_ms", "Mean E2EL incl. Client Queue (ms)"),
            ("total_token_throughput", "Total Token throughput (tok/s)"),
            ("spec_decode_acceptance_length", "Acceptance length"),
            ("request_goodput:", "Request goodput (req/s)"),
            ("rtfx", "RTFx (Inverse Real-Time Factor)"),
            ("total_input_vision_tokens", "Total input vision tokens"),
            ("total_output_tokens_retokenized", "Total generated tokens (retokenized)"),
        ] {
            let figure = figure(field, 1.0).unwrap();
            assert_eq!(label(printed), Some((figure.quantity, figure.statistic, figure.unit)));
        }
        assert_eq!(label("Median probe E2EL (ms)"), None);
    }
}
