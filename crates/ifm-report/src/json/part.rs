//! A part of a level's requests as an object: a turn, a class of traffic, a form of answers.

use super::load::{Distribution, seconds};
use super::objects;
use ifm_metrics::level;

objects! {
    /// Some of the requests of a level.
    Part of part: &level::PartSummary {
        /// Requests.
        sent: u64 = part.sent,
        /// Complete answers.
        ok: u64 = part.ok,
        /// Prompt tokens, mean.
        prompt_mean: Option<f64> = part.prompt_mean,
        /// Output tokens, mean.
        output_mean: Option<f64> = part.output_mean,
        /// Share of the prompt from a cache.
        cached_share: Option<f64> = part.cached_share,
        /// Share of the prompt that a cache which forgets nothing would know.
        ideal_cached_share: Option<f64> = part.ideal_share,
        /// Time to first token, seconds.
        ttft_s: Option<Distribution> = seconds(&part.ttft_ns),
        /// Gaps between events, seconds.
        gap_s: Option<Distribution> = seconds(&part.gap_ns),
        /// Start to last token, seconds.
        e2e_s: Option<Distribution> = seconds(&part.e2e_ns),
    }
}
