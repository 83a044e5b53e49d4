//! What the metrics of AIPerf and of its forerunner genai-perf mean, against ours.
//!
//! Both count output tokens with a tokenizer of their own unless they are told to trust the
//! server; what the server says stands beside it as `usage_…`.

use super::super::super::statistic::different;
use ifm_core::sheet::{Definition, Quantity, Statistic};

/// The name of a metric as it is printed, as its tag: `Time to First Token` as
/// `time_to_first_token`.
pub(crate) fn tag(label: &str) -> String {
    let words = label.to_ascii_lowercase();
    let words: Vec<&str> =
        words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    match words.join("_").as_str() {
        "total_input_sequence_length" => "total_isl".to_owned(),
        "total_output_sequence_length" => "total_osl".to_owned(),
        "completed_requests_success_error" => "completed_request_count".to_owned(),
        // genai-perf prints the unit without a tag of its own.
        "request_throughput_per_sec" => "request_throughput".to_owned(),
        "output_token_throughput_per_sec" => "output_token_throughput".to_owned(),
        other => other.to_owned(),
    }
}

/// What a metric measures. `whole` says that it is one number of the run.
pub(crate) fn quantity(tag: &str, whole: bool) -> (Quantity, Option<Statistic>) {
    let quantity = match tag {
        "time_to_first_token" => Quantity::Ttft,
        "time_to_first_output_token" => Quantity::Ttfot,
        "inter_token_latency" => Quantity::Itl,
        "request_latency" => Quantity::E2e,
        "credit_to_start_latency" => Quantity::ClientQueue,
        "benchmark_duration" => Quantity::Duration,
        "request_throughput" => Quantity::RequestRate,
        "goodput" => Quantity::Goodput,
        "input_token_throughput" => Quantity::InputRate,
        "output_token_throughput" => Quantity::OutputRate,
        "total_token_throughput" => Quantity::TotalRate,
        "output_token_throughput_per_user" => Quantity::UserRate,
        "effective_concurrency" => Quantity::InFlight,
        "request_count" => Quantity::RequestsOk,
        "error_request_count" => Quantity::RequestsFailed,
        "completed_request_count" => Quantity::Requests,
        "request_error_rate" => Quantity::ErrorRate,
        "input_sequence_length" => Quantity::InputTokens,
        "output_sequence_length" => Quantity::OutputTokens,
        "reasoning_token_count" => Quantity::ReasoningTokens,
        "total_isl" => return (Quantity::InputTokens, Some(Statistic::Sum)),
        "total_osl" => return (Quantity::OutputTokens, Some(Statistic::Sum)),
        other => Quantity::Other(other.to_owned()),
    };
    (quantity, whole.then_some(Statistic::Value))
}

/// What a metric means against ours of the same name.
pub(crate) fn definition(quantity: &Quantity) -> Definition {
    match quantity {
        Quantity::Ttft | Quantity::Ttfot => {
            different("from before the request is sent: connection set-up is in it")
        }
        Quantity::E2e => different("to the last content; connection set-up is in it"),
        Quantity::Itl => different(
            "one mean per request, from its first content to its last, by the tokens behind the \
             first: what is called TPOT here",
        ),
        Quantity::UserRate => Definition::Derivable("1000 / its inter-token latency".to_owned()),
        Quantity::InputTokens | Quantity::OutputTokens => {
            different("counted by the client's tokenizer, unless told to take the server's count")
        }
        Quantity::InputRate | Quantity::OutputRate | Quantity::TotalRate => different(
            "over the time from the first request's start to the last one's end; tokens by the \
             client's tokenizer",
        ),
        Quantity::RequestRate => {
            different("over the time from the first request's start to the last one's end")
        }
        Quantity::Other(tag) if tag == "inter_chunk_latency" => {
            Definition::Derivable("gaps between pieces: what is called ITL here".to_owned())
        }
        Quantity::Other(_) => Definition::Unstated,
        _ => Definition::Same,
    }
}
