//! Meanings that rules distinguish, in the words in which readers write them into a
//! [`Definition`](super::Definition).
//!
//! Names of figures for which inferometer has no metric are here too, where readers and definitions
//! share them. Not here: the meanings of single tools, which are next to their readers.

use crate::metric::Metric;

/// Of a time per output token: the time to the first token is in it.
pub const TPOT_WITH_FIRST: &str =
    "end-to-end time by output tokens: the time to the first token is in it";

/// Of a time per output token: the time to the first token is not in it, but the first token is
/// counted. Older versions of GuideLLM compute it so.
pub const TPOT_BY_ALL: &str =
    "from first to last token, by all output tokens, the first among them";

/// Of an inter-token latency: one number per request, which others call time per output token.
pub const ITL_PER_REQUEST: &str = "one mean per request, from its first content to its last, by \
    the tokens behind the first: what is called TPOT here";

/// At the end of the definition of a time: it is of all requests, whatever their outcome.
pub const WITH_FAILED: &str = "requests that failed are in it";

/// Of prompt tokens: media tokens are counted twice.
pub const MEDIA_TWICE: &str = "prompt tokens with those of images, audio and videos counted twice: once in \
    what the server counts, once as it tells them apart";

/// Name of AIPerf's figure of the images of one request over its end-to-end time: no rate of a run.
pub const IMAGES_OF_A_REQUEST: &str = "image_throughput";

/// Name of its inverse.
pub const TIME_OF_AN_IMAGE: &str = "image_latency";

/// Name of AIPerf's time from one chunk to the next.
pub const CHUNK_GAP: &str = "inter_chunk_latency";

/// Name of AIPerf's time from the first chunk of a request to its second.
pub const TIME_TO_SECOND_CHUNK: &str = "time_to_second_token";

/// Name of AIPerf's time from the first content of a request to the last.
pub const DECODE_DURATION: &str = "decode_duration";

/// Name of AIPerf's prompt tokens of a request over its time to the first token.
pub const PREFILL_RATE_OF_A_REQUEST: &str = "prefill_throughput_per_user";

/// Name of AIPerf's output tokens of a request over its latency.
pub const OUTPUT_RATE_OF_A_REQUEST: &str = "e2e_output_token_throughput";

/// Name of genai-bench's time from the first token of a request to the end of its stream.
pub const OUTPUT_LATENCY: &str = "output_latency of a request";

/// Name of its tokens after the first over that time: no rate of a run.
pub const OUTPUT_OF_A_REQUEST: &str = "output_throughput of a request";

/// Name of its prompt tokens over the time to the first token: no rate of a run.
pub const INPUT_OF_A_REQUEST: &str = "input_throughput of a request";

/// Name of SGLang's number of output tokens after it has tokenized the texts of the answers again.
pub const RETOKENIZED: &str = "total_output_tokens_retokenized";

/// Name of the share of prompt tokens that a server's prefix cache held, in its log.
pub const PREFIX_HIT_RATE: &str = "prefix cache hit rate";

/// A figure that a document states about a metric without having measured it: `limit of Itl`,
/// `reference of Ttft`, `supposed Efficiency`.
pub fn about(how: &str, metric: Metric) -> Metric {
    let of = metric.stored().split('_').map(|part| {
        let (first, rest) = part.split_at(part.chars().next().map_or(0, char::len_utf8));
        first.to_uppercase() + rest
    });
    Metric::other(format!("{how} {}", of.collect::<String>()))
}

/// What [`about`] put together: how, and the metric.
pub fn behind(metric: Metric) -> Option<(&'static str, Metric)> {
    let (how, name) = metric.other_name()?.rsplit_once(' ')?;
    let known = Metric::known().find(|known| {
        known
            .stored()
            .split('_')
            .flat_map(str::chars)
            .map(|it| it.to_ascii_lowercase())
            .eq(name.chars().map(|it| it.to_ascii_lowercase()))
    })?;
    (about(how, known) == metric).then_some((how, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_about_a_metric_reads_back() {
        for (how, metric, name) in [
            ("limit of", Metric::Itl, "limit of Itl"),
            ("reference of", Metric::UserSpeed, "reference of UserRate"),
            ("supposed", Metric::Efficiency, "supposed Efficiency"),
        ] {
            assert_eq!(about(how, metric), Metric::other(name));
            assert_eq!(behind(Metric::other(name)), Some((how, metric)));
        }
        for name in ["use cases", "limit of itl", "loss", ""] {
            assert_eq!(behind(Metric::other(name)), None, "{name}");
        }
    }
}
