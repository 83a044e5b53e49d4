//! Names of fields and printed labels, and what they measure.

use ifm_core::sheet::{Figure, Quantity, Statistic, StdKind, Unit, key};

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

/// The figure of a field, if its name is that of one.
pub(crate) fn figure(field: &str, value: f64) -> Option<Figure> {
    let (quantity, statistic, unit) = latency(field).or_else(|| whole(field))?;
    Some(Figure::new(quantity, statistic, value, unit))
}

/// What a printed label measures.
pub(crate) fn label(label: &str) -> Option<(Quantity, Statistic, Unit)> {
    printed_latency(label).or_else(|| {
        let (quantity, unit) = printed_whole(&label.to_ascii_lowercase())?;
        Some((quantity, Statistic::Value, unit))
    })
}

/// `p99_ttft_ms`.
fn latency(field: &str) -> Option<(Quantity, Statistic, Unit)> {
    let (statistic, rest) = field.strip_suffix("_ms")?.split_once('_')?;
    let quantity = match rest {
        "ttft" => Quantity::Ttft,
        "tpot" => Quantity::Tpot,
        "itl" => Quantity::Itl,
        "e2el" | "e2e_latency" => Quantity::E2e,
        "client_queue_time" => Quantity::ClientQueue,
        "e2el_including_client_queue" => Quantity::Other(rest.to_owned()),
        _ => return None,
    };
    Some((quantity, statistic_of(statistic)?, Unit::Ms))
}

/// `P99 TTFT (ms)`.
fn printed_latency(label: &str) -> Option<(Quantity, Statistic, Unit)> {
    let (statistic, rest) = label.strip_suffix(" (ms)")?.split_once(' ')?;
    let quantity = match rest.strip_prefix("Dev ").unwrap_or(rest) {
        "TTFT" => Quantity::Ttft,
        "TPOT" => Quantity::Tpot,
        "ITL" => Quantity::Itl,
        "E2EL" | "E2E Latency" => Quantity::E2e,
        "Client Queue Time" => Quantity::ClientQueue,
        "E2EL incl. Client Queue" => Quantity::Other("e2el_including_client_queue".to_owned()),
        _ => return None,
    };
    Some((quantity, statistic_of(&statistic.to_ascii_lowercase())?, Unit::Ms))
}

/// All of these tools use numpy, whose deviation is that of a population.
fn statistic_of(word: &str) -> Option<Statistic> {
    Some(match word {
        "mean" => Statistic::Mean,
        "median" => Statistic::Median,
        "std" => Statistic::Std(StdKind::Population),
        "min" => Statistic::Min,
        "max" => Statistic::Max,
        _ => {
            let percent: f64 = word.strip_prefix('p')?.parse().ok()?;
            return (0.0..=100.0).contains(&percent).then(|| Statistic::percentile(percent));
        }
    })
}

/// A count, a rate or a time of the whole run.
fn whole(field: &str) -> Option<(Quantity, Statistic, Unit)> {
    let (quantity, unit) = match field {
        "duration" => (Quantity::Duration, Unit::S),
        "completed" => (Quantity::RequestsOk, Unit::Count),
        "failed" | "failed_requests" => (Quantity::RequestsFailed, Unit::Count),
        "total_input_tokens" => (Quantity::InputTokens, Unit::Count),
        "total_output_tokens" => (Quantity::OutputTokens, Unit::Count),
        "request_throughput" => (Quantity::RequestRate, Unit::PerS),
        // Older files have the colon of the printed label in the name.
        "request_goodput" | "request_goodput:" => (Quantity::Goodput, Unit::PerS),
        "input_throughput" => (Quantity::InputRate, Unit::PerS),
        "output_throughput" => (Quantity::OutputRate, Unit::PerS),
        "total_token_throughput" | "total_throughput" => (Quantity::TotalRate, Unit::PerS),
        "max_output_tokens_per_s" => (Quantity::PeakOutputRate, Unit::PerS),
        "max_concurrent_requests" => (Quantity::PeakInFlight, Unit::Count),
        "concurrency" => (Quantity::InFlight, Unit::Count),
        "accept_length" | "spec_decode_acceptance_length" => (Quantity::AcceptLength, Unit::Count),
        "slo_attainment" => (Quantity::Attainment, Unit::One),
        "user_throughput" => (Quantity::UserRate, Unit::PerS),
        _ => return None,
    };
    Some((quantity, Statistic::Value, unit))
}

/// A printed count, rate or time of the whole run, in small letters: they changed over the years.
fn printed_whole(label: &str) -> Option<(Quantity, Unit)> {
    Some(match label {
        "total requests" => (Quantity::Requests, Unit::Count),
        "successful requests" => (Quantity::RequestsOk, Unit::Count),
        "failed requests" => (Quantity::RequestsFailed, Unit::Count),
        "benchmark duration (s)" => (Quantity::Duration, Unit::S),
        "total input tokens" => (Quantity::InputTokens, Unit::Count),
        "total generated tokens" => (Quantity::OutputTokens, Unit::Count),
        "request throughput (req/s)" => (Quantity::RequestRate, Unit::PerS),
        "request goodput (req/s)" => (Quantity::Goodput, Unit::PerS),
        "slo attainment (%)" => (Quantity::Attainment, Unit::Percent),
        "input token throughput (tok/s)" => (Quantity::InputRate, Unit::PerS),
        "output token throughput (tok/s)" => (Quantity::OutputRate, Unit::PerS),
        "total token throughput (tok/s)" => (Quantity::TotalRate, Unit::PerS),
        "user throughput (tok/s)" => (Quantity::UserRate, Unit::PerS),
        "peak output token throughput (tok/s)" => (Quantity::PeakOutputRate, Unit::PerS),
        "peak concurrent requests" => (Quantity::PeakInFlight, Unit::Count),
        "concurrency" => (Quantity::InFlight, Unit::Count),
        "accept length" | "acceptance length" => (Quantity::AcceptLength, Unit::Count),
        "total cached tokens" => (Quantity::CachedTokens, Unit::Count),
        "total energy (j)" => (Quantity::Energy, Unit::J),
        "total gpu power (w)" => (Quantity::Power, Unit::W),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let p99 = figure("p99.9_ttft_ms", 3.0).unwrap();
        assert_eq!((p99.quantity, p99.statistic), (Quantity::Ttft, Statistic::Percentile(99.9)));
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
        ] {
            let figure = figure(field, 1.0).unwrap();
            assert_eq!(label(printed), Some((figure.quantity, figure.statistic, figure.unit)));
        }
        assert_eq!(label("Median probe E2EL (ms)"), None);
        assert_eq!(label("Total generated tokens (retokenized)"), None);
    }
}
