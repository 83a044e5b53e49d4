//! SGLang, started with `--enable-metrics`. Names after its page on production metrics and
//! `python/sglang/srt/metrics/collector.py`.
//!
//! Prompt tokens include those from the cache, so they are what was looked up. Cached tokens have a
//! label for where they were found, which adds up.
//!
//! Of speculative decoding it counts verifications, when a request ends, as it counts the output
//! tokens (`observe_one_finished_request`). Accepted tokens have no counter: `spec_accept_length` and
//! `spec_accept_rate` are gauges of the last interval, which say nothing of a level.

use super::{Engine, fullest, metric, rule};
use ifm_core::series::Quantity;

pub(super) const ENGINE: Engine = Engine {
    name: "SGLang",
    mark: "sglang:",
    path: "/metrics",
    rules: &[
        rule(Quantity::ServerRequests, &[metric("sglang:num_requests_total")]),
        rule(Quantity::ServerPromptTokens, &[metric("sglang:prompt_tokens_total")]),
        rule(Quantity::ServerOutputTokens, &[metric("sglang:generation_tokens_total")]),
        rule(Quantity::ServerCacheQueries, &[metric("sglang:prompt_tokens_total")]),
        rule(Quantity::ServerCacheHits, &[metric("sglang:cached_tokens_total")]),
        rule(Quantity::ServerPreemptions, &[metric("sglang:num_retracted_requests_total")]),
        rule(Quantity::ServerRunning, &[metric("sglang:num_running_reqs")]),
        rule(Quantity::ServerWaiting, &[metric("sglang:num_queue_reqs")]),
        rule(Quantity::ServerKvShare, &[fullest("sglang:token_usage")]),
        rule(Quantity::ServerDrafts, &[metric("sglang:spec_verify_calls_total")]),
    ],
};
