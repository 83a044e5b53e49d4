//! What the metrics of AIPerf and of its forerunner genai-perf mean, against ours.
//!
//! Both count output tokens with a tokenizer of their own unless they are set to trust the server.
//! The server's own counts are in separate fields, `usage_…`.

use super::super::super::statistic::different;
use super::super::super::words;
use ifm_core::Metric;
use ifm_core::sheet::{Definition, Statistic, meaning};

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
pub(crate) fn quantity(tag: &str, whole: bool) -> (Metric, Option<Statistic>) {
    let quantity = match tag {
        "time_to_first_token" => Metric::Ttft,
        "time_to_first_output_token" => Metric::Ttfat,
        "inter_token_latency" => Metric::Itl,
        "request_latency" => Metric::E2e,
        "credit_to_start_latency" => Metric::ClientQueue,
        "benchmark_duration" => Metric::Duration,
        "request_throughput" => Metric::RequestRate,
        "goodput" => Metric::Goodput,
        "input_token_throughput" => Metric::InputRate,
        "output_token_throughput" => Metric::OutputRate,
        "total_token_throughput" => Metric::TotalRate,
        "output_token_throughput_per_user" => Metric::UserSpeed,
        "effective_concurrency" => Metric::InFlight,
        "request_count" => Metric::RequestsOk,
        "error_request_count" => Metric::RequestsFailed,
        "completed_request_count" => Metric::Requests,
        "request_error_rate" => Metric::ErrorRate,
        "input_sequence_length" => Metric::InputTokens,
        "output_sequence_length" => Metric::OutputTokens,
        "reasoning_token_count" => Metric::ReasoningTokens,
        "num_images" => Metric::Images,
        "audio_duration" => Metric::AudioLength,
        "rtfx" => Metric::Rtfx,
        "usage_prompt_audio_tokens" => Metric::AudioTokens,
        "total_usage_prompt_audio_tokens" => {
            return (Metric::AudioTokens, Some(Statistic::Sum));
        }
        "total_isl" => return (Metric::InputTokens, Some(Statistic::Sum)),
        "total_osl" => return (Metric::OutputTokens, Some(Statistic::Sum)),
        other => Metric::other(other),
    };
    // A single number of these quantities is still a mean over the requests.
    let per_request = [
        Metric::InputTokens,
        Metric::OutputTokens,
        Metric::ReasoningTokens,
        Metric::Images,
        Metric::AudioLength,
        Metric::Rtfx,
        Metric::AudioTokens,
    ];
    let of_images = [meaning::IMAGES_OF_A_REQUEST, meaning::TIME_OF_AN_IMAGE];
    let whole = whole && !per_request.contains(&quantity) && !of_images.contains(&tag);
    (quantity, whole.then_some(Statistic::Value))
}

/// What a metric means against ours of the same name.
pub(crate) fn definition(quantity: Metric) -> Definition {
    match quantity {
        Metric::Ttft | Metric::Ttfat | Metric::E2e => different(words::CONNECTS),
        Metric::Itl => different(meaning::ITL_PER_REQUEST),
        Metric::UserSpeed => Definition::Derivable("1000 / its inter-token latency".to_owned()),
        Metric::InputTokens | Metric::OutputTokens => different(words::CLIENT_COUNTS),
        Metric::InputRate | Metric::OutputRate | Metric::TotalRate => {
            different(words::WHOLE_RUN_CLIENT_COUNTS)
        }
        Metric::RequestRate => different(words::WHOLE_RUN),
        Metric::Other(tag) if tag.as_str() == "inter_chunk_latency" => {
            Definition::Derivable("gaps between pieces: what is called ITL here".to_owned())
        }
        Metric::Rtfx => different(words::RTFX_CONNECTS),
        Metric::Other(tag) if tag.as_str() == meaning::IMAGES_OF_A_REQUEST => different(
            "images of one request over its end-to-end time: no rate of the run, which is higher by \
             the number of requests in flight",
        ),
        Metric::Other(tag) if tag.as_str() == meaning::TIME_OF_AN_IMAGE => {
            different("end-to-end time of a request, its answer too, over its images")
        }
        Metric::Other(_) => Definition::Unstated,
        _ => Definition::Same,
    }
}
