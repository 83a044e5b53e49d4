//! llama.cpp's server, started with `--metrics`. Names after `tools/server/server-task.cpp` of
//! llama.cpp 0c1e57098, whose page is among the tests' data.
//!
//! Its prompt tokens leave out those that came from the cache, which it counts by themselves. It
//! does not count requests.

use super::{Engine, metric, rule};
use ifm_core::series::Signal;

pub(super) const ENGINE: Engine = Engine {
    name: "llama.cpp",
    mark: "llamacpp:",
    path: "/metrics",
    rules: &[
        rule(
            Signal::ServerPromptTokens,
            &[
                metric("llamacpp:prompt_tokens_total"),
                metric("llamacpp:prompt_tokens_cached_total"),
            ],
        ),
        rule(Signal::ServerOutputTokens, &[metric("llamacpp:tokens_predicted_total")]),
        rule(
            Signal::ServerCacheQueries,
            &[
                metric("llamacpp:prompt_tokens_total"),
                metric("llamacpp:prompt_tokens_cached_total"),
            ],
        ),
        rule(Signal::ServerCacheHits, &[metric("llamacpp:prompt_tokens_cached_total")]),
        rule(Signal::ServerRunning, &[metric("llamacpp:requests_processing")]),
        rule(Signal::ServerWaiting, &[metric("llamacpp:requests_deferred")]),
        rule(Signal::ServerKvShare, &[metric("llamacpp:kv_cache_usage_ratio")]),
        rule(Signal::ServerDrafts, &[metric("llamacpp:spec_decode_num_drafts_total")]),
        rule(Signal::ServerDraftTokens, &[metric("llamacpp:spec_decode_num_draft_tokens_total")]),
        rule(
            Signal::ServerAcceptedTokens,
            &[metric("llamacpp:spec_decode_num_accepted_tokens_total")],
        ),
    ],
};
