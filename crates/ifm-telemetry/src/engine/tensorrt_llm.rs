//! TensorRT-LLM's own server. Names after `tensorrt_llm/metrics/collector.py` (1.2). Its page is at
//! `/prometheus/metrics`; `/metrics` answers with JSON.
//!
//! Its cache counts in blocks. With speculative decoding it counts tokens of drafts (1.3), not the
//! drafts themselves; its acceptance length is a gauge of the last iteration, which says nothing of a
//! level.

use super::{Engine, Rule, fullest, metric, rule};
use ifm_core::series::Quantity;

pub(super) const ENGINE: Engine = Engine {
    name: "TensorRT-LLM",
    mark: "trtllm_",
    path: "/prometheus/metrics",
    rules: &[
        rule(Quantity::ServerRequests, &[metric("trtllm_request_success_total")]),
        rule(Quantity::ServerPromptTokens, &[metric("trtllm_prompt_tokens_total")]),
        rule(Quantity::ServerOutputTokens, &[metric("trtllm_generation_tokens_total")]),
        Rule {
            quantity: Quantity::ServerCacheQueries,
            unit: Some("blocks"),
            apart_by: None,
            sum_of: &[
                metric("trtllm_kv_cache_reused_blocks_total"),
                metric("trtllm_kv_cache_missed_blocks_total"),
            ],
        },
        Rule {
            quantity: Quantity::ServerCacheHits,
            unit: Some("blocks"),
            apart_by: None,
            sum_of: &[metric("trtllm_kv_cache_reused_blocks_total")],
        },
        rule(Quantity::ServerRunning, &[metric("trtllm_num_requests_running")]),
        rule(Quantity::ServerWaiting, &[metric("trtllm_num_requests_waiting")]),
        rule(Quantity::ServerKvShare, &[fullest("trtllm_kv_cache_utilization")]),
        rule(Quantity::ServerDraftTokens, &[metric("trtllm_spec_decode_num_draft_tokens_total")]),
        rule(
            Quantity::ServerAcceptedTokens,
            &[metric("trtllm_spec_decode_num_accepted_tokens_total")],
        ),
    ],
};
