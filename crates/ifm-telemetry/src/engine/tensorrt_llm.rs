//! TensorRT-LLM's own server. Names after `tensorrt_llm/metrics/collector.py` (1.2). Its page is at
//! `/prometheus/metrics`; `/metrics` answers with JSON.
//!
//! Its cache counts in blocks. With speculative decoding it counts tokens of drafts (1.3), not the
//! drafts themselves; its acceptance length is a gauge of the last iteration, which says nothing of a
//! level.

use super::{Engine, Rule, fullest, metric, rule};
use ifm_core::series::Signal;

pub(super) const ENGINE: Engine = Engine {
    name: "TensorRT-LLM",
    mark: "trtllm_",
    path: "/prometheus/metrics",
    rules: &[
        rule(Signal::ServerRequests, &[metric("trtllm_request_success_total")]),
        rule(Signal::ServerPromptTokens, &[metric("trtllm_prompt_tokens_total")]),
        rule(Signal::ServerOutputTokens, &[metric("trtllm_generation_tokens_total")]),
        Rule {
            quantity: Signal::ServerCacheQueries,
            unit: Some("blocks"),
            apart_by: None,
            sum_of: &[
                metric("trtllm_kv_cache_reused_blocks_total"),
                metric("trtllm_kv_cache_missed_blocks_total"),
            ],
        },
        Rule {
            quantity: Signal::ServerCacheHits,
            unit: Some("blocks"),
            apart_by: None,
            sum_of: &[metric("trtllm_kv_cache_reused_blocks_total")],
        },
        rule(Signal::ServerRunning, &[metric("trtllm_num_requests_running")]),
        rule(Signal::ServerWaiting, &[metric("trtllm_num_requests_waiting")]),
        rule(Signal::ServerKvShare, &[fullest("trtllm_kv_cache_utilization")]),
        rule(Signal::ServerDraftTokens, &[metric("trtllm_spec_decode_num_draft_tokens_total")]),
        rule(
            Signal::ServerAcceptedTokens,
            &[metric("trtllm_spec_decode_num_accepted_tokens_total")],
        ),
    ],
};
