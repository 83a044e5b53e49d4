//! What the metrics of AIPerf and of its forerunner genai-perf mean, against ours.
//!
//! Both count output tokens with a tokenizer of their own unless they are set to trust the server.
//! The server's own counts are in separate fields, `usage_…`.

use super::super::super::statistic::different;
use super::super::super::words;
use ifm_core::sheet::{Definition, Quantity, Statistic, meaning};

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
        "inverse_real_time_factor_rtfx" | "inverse_real_time_factor" => "rtfx".to_owned(),
        "number_of_images" => "num_images".to_owned(),
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
        "num_images" => Quantity::Images,
        "audio_duration" => Quantity::AudioLength,
        "rtfx" => Quantity::Rtfx,
        "usage_prompt_audio_tokens" => Quantity::AudioTokens,
        "total_usage_prompt_audio_tokens" => {
            return (Quantity::AudioTokens, Some(Statistic::Sum));
        }
        "total_isl" => return (Quantity::InputTokens, Some(Statistic::Sum)),
        "total_osl" => return (Quantity::OutputTokens, Some(Statistic::Sum)),
        other => Quantity::Other(other.to_owned()),
    };
    // A single number of these quantities is still a mean over the requests.
    let per_request = [
        Quantity::InputTokens,
        Quantity::OutputTokens,
        Quantity::ReasoningTokens,
        Quantity::Images,
        Quantity::AudioLength,
        Quantity::Rtfx,
        Quantity::AudioTokens,
    ];
    let of_images = [meaning::IMAGES_OF_A_REQUEST, meaning::TIME_OF_AN_IMAGE];
    let whole = whole && !per_request.contains(&quantity) && !of_images.contains(&tag);
    (quantity, whole.then_some(Statistic::Value))
}

/// What a metric means against ours of the same name.
pub(crate) fn definition(quantity: &Quantity) -> Definition {
    match quantity {
        Quantity::Ttft | Quantity::Ttfot | Quantity::E2e => different(words::CONNECTS),
        Quantity::Itl => different(meaning::ITL_PER_REQUEST),
        Quantity::UserRate => Definition::Derivable("1000 / its inter-token latency".to_owned()),
        Quantity::InputTokens | Quantity::OutputTokens => different(words::CLIENT_COUNTS),
        Quantity::InputRate | Quantity::OutputRate | Quantity::TotalRate => {
            different(words::WHOLE_RUN_CLIENT_COUNTS)
        }
        Quantity::RequestRate => different(words::WHOLE_RUN),
        Quantity::Other(tag) if tag == "inter_chunk_latency" => {
            Definition::Derivable("gaps between pieces: what is called ITL here".to_owned())
        }
        Quantity::Rtfx => different(words::RTFX_CONNECTS),
        Quantity::Other(tag) if tag == meaning::IMAGES_OF_A_REQUEST => different(
            "images of one request over its end-to-end time: no rate of the run, which is higher by \
             the number of requests in flight",
        ),
        Quantity::Other(tag) if tag == meaning::TIME_OF_AN_IMAGE => {
            different("end-to-end time of a request, its answer too, over its images")
        }
        Quantity::Other(_) => Definition::Unstated,
        _ => Definition::Same,
    }
}
