//! vLLM. Names after its design page on metrics (0.12 to 0.32) and `vllm/v1/metrics/loggers.py`.
//!
//! A page reports queries and hits of the prefix cache in tokens. Names of the first engine (V0),
//! which are still in use, come after today's. Drafts are counted where there are any
//! (`vllm/v1/spec_decode/metrics.py`).

use super::{Engine, Rule, fullest, metric, rule};
use ifm_core::series::Signal;

pub(super) const ENGINE: Engine =
    Engine { name: "vLLM", mark: "vllm:", path: "/metrics", rules: &RULES };

pub(super) const RULES: [Rule; 16] = [
    rule(Signal::ServerRequests, &[metric("vllm:request_success_total")]),
    rule(Signal::ServerPromptTokens, &[metric("vllm:prompt_tokens_total")]),
    rule(Signal::ServerOutputTokens, &[metric("vllm:generation_tokens_total")]),
    rule(Signal::ServerCacheQueries, &[metric("vllm:prefix_cache_queries_total")]),
    rule(Signal::ServerCacheQueries, &[metric("vllm:gpu_prefix_cache_queries_total")]),
    rule(Signal::ServerCacheHits, &[metric("vllm:prefix_cache_hits_total")]),
    rule(Signal::ServerCacheHits, &[metric("vllm:gpu_prefix_cache_hits_total")]),
    rule(Signal::ServerPreemptions, &[metric("vllm:num_preemptions_total")]),
    rule(Signal::ServerRunning, &[metric("vllm:num_requests_running")]),
    rule(Signal::ServerWaiting, &[metric("vllm:num_requests_waiting")]),
    rule(Signal::ServerKvShare, &[fullest("vllm:kv_cache_usage_perc")]),
    rule(Signal::ServerKvShare, &[fullest("vllm:gpu_cache_usage_perc")]),
    rule(Signal::ServerDrafts, &[metric("vllm:spec_decode_num_drafts_total")]),
    rule(Signal::ServerDraftTokens, &[metric("vllm:spec_decode_num_draft_tokens_total")]),
    rule(Signal::ServerAcceptedTokens, &[metric("vllm:spec_decode_num_accepted_tokens_total")]),
    Rule {
        apart_by: Some("position"),
        ..rule(
            Signal::ServerAcceptedAt,
            &[metric("vllm:spec_decode_num_accepted_tokens_per_pos_total")],
        )
    },
];
