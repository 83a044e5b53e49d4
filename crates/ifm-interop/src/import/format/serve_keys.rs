//! Names of statistics that vLLM's and SGLang's serving benchmarks share: `p99_ttft_ms`.

use ifm_core::sheet::{Definition, Figure, Quantity, Statistic, StdKind, Unit};

/// The figure of a field such as `mean_itl_ms`, if its name is of that kind.
pub(crate) fn latency(key: &str, value: f64) -> Option<Figure> {
    let (statistic, rest) = key.strip_suffix("_ms")?.split_once('_')?;
    let statistic = statistic_of(statistic)?;
    let (quantity, definition) = quantity_of(rest)?;
    Some(Figure::new(quantity, statistic, value, Unit::Ms).defined(definition))
}

/// Both tools use numpy, whose deviation is that of a population.
fn statistic_of(word: &str) -> Option<Statistic> {
    Some(match word {
        "mean" => Statistic::Mean,
        "median" => Statistic::Median,
        "std" => Statistic::Std(StdKind::Population),
        "max" => Statistic::Max,
        _ => Statistic::percentile(word.strip_prefix('p')?.parse().ok()?),
    })
}

fn quantity_of(word: &str) -> Option<(Quantity, Definition)> {
    Some(match word {
        "ttft" => (Quantity::Ttft, Definition::Same),
        "tpot" => (Quantity::Tpot, Definition::Same),
        "itl" => (
            Quantity::Itl,
            Definition::Different("gaps between pieces, however many tokens they bring".to_owned()),
        ),
        "e2el" | "e2e_latency" => (Quantity::E2e, Definition::Same),
        "client_queue_time" => (Quantity::ClientQueue, Definition::Same),
        "e2el_including_client_queue" => (
            Quantity::E2e,
            Definition::Different("from the due time, with the client's own queue".to_owned()),
        ),
        _ => return None,
    })
}

/// The figure of a field that is a count, a rate or a time of the whole run.
pub(crate) fn whole(key: &str, value: f64) -> Option<Figure> {
    let (quantity, unit) = match key {
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
        "accept_length" => (Quantity::AcceptLength, Unit::Count),
        "slo_attainment" => (Quantity::Attainment, Unit::One),
        _ => return None,
    };
    let definition = match quantity {
        Quantity::PeakInFlight => Definition::Different(
            "requests of which any part lies in the busiest second, not at one moment".to_owned(),
        ),
        Quantity::PeakOutputRate => {
            Definition::Different("pieces of answers in the busiest second".to_owned())
        }
        _ => Definition::Same,
    };
    Some(Figure::new(quantity, Statistic::Value, value, unit).defined(definition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let p99 = latency("p99.9_ttft_ms", 3.0).unwrap();
        assert_eq!((p99.quantity, p99.statistic), (Quantity::Ttft, Statistic::Percentile(99.9)));
        assert_eq!(latency("p50_e2el_ms", 3.0).unwrap().statistic, Statistic::Median);
        assert_eq!(
            latency("std_itl_ms", 1.0).unwrap().statistic,
            Statistic::Std(StdKind::Population)
        );
        assert!(latency("mean_ttft", 1.0).is_none() && latency("mean_other_ms", 1.0).is_none());
    }
}
