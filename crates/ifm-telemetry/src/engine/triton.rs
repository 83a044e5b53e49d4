//! Triton with the TensorRT-LLM backend, whose page is on a port of its own (8002: give
//! `--metrics-url`). Names after the metrics page of the backend (Triton 25.03).
//!
//! The counts of Triton itself are by model, and an ensemble counts each request several times:
//! they are not taken.

use super::{Engine, Metric, Over, metric, rule};
use ifm_core::series::Signal;

pub(super) const ENGINE: Engine = Engine {
    name: "Triton",
    mark: "nv_trt_llm_",
    path: "/metrics",
    rules: &[
        rule(Signal::ServerPromptTokens, &[metric("nv_llm_input_token_len_sum")]),
        rule(Signal::ServerOutputTokens, &[metric("nv_llm_output_token_len_sum")]),
        rule(
            Signal::ServerRunning,
            &[labelled("nv_trt_llm_request_metrics", ("request_type", "scheduled"), Over::Sum)],
        ),
        rule(
            Signal::ServerWaiting,
            &[labelled("nv_trt_llm_request_metrics", ("request_type", "waiting"), Over::Sum)],
        ),
        rule(
            Signal::ServerKvShare,
            &[labelled(
                "nv_trt_llm_kv_cache_block_metrics",
                ("kv_cache_block_type", "fraction"),
                Over::Max,
            )],
        ),
    ],
};

const fn labelled(name: &'static str, label: (&'static str, &'static str), over: Over) -> Metric {
    Metric { name, label: Some(label), over }
}
