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
use ifm_core::series::Signal;

pub(super) const ENGINE: Engine = Engine {
    name: "SGLang",
    mark: "sglang:",
    path: "/metrics",
    rules: &[
        rule(Signal::ServerRequests, &[metric("sglang:num_requests_total")]),
        rule(Signal::ServerPromptTokens, &[metric("sglang:prompt_tokens_total")]),
        rule(Signal::ServerOutputTokens, &[metric("sglang:generation_tokens_total")]),
        rule(Signal::ServerCacheQueries, &[metric("sglang:prompt_tokens_total")]),
        rule(Signal::ServerCacheHits, &[metric("sglang:cached_tokens_total")]),
        rule(Signal::ServerPreemptions, &[metric("sglang:num_retracted_requests_total")]),
        rule(Signal::ServerRunning, &[metric("sglang:num_running_reqs")]),
        rule(Signal::ServerWaiting, &[metric("sglang:num_queue_reqs")]),
        rule(Signal::ServerKvShare, &[fullest("sglang:token_usage")]),
        rule(Signal::ServerDrafts, &[metric("sglang:spec_verify_calls_total")]),
    ],
};
