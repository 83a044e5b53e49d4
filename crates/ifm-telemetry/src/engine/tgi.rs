//! Text Generation Inference. Names after the metrics page of its documentation (3.x) and
//! `router/src/server.rs`: tokens are the sums of histograms.

use super::{Engine, metric, rule};
use ifm_core::series::Quantity;

pub(super) const ENGINE: Engine = Engine {
    name: "TGI",
    mark: "tgi_",
    path: "/metrics",
    rules: &[
        rule(Quantity::ServerRequests, &[metric("tgi_request_generated_tokens_count")]),
        rule(Quantity::ServerPromptTokens, &[metric("tgi_request_input_length_sum")]),
        rule(Quantity::ServerOutputTokens, &[metric("tgi_request_generated_tokens_sum")]),
        rule(Quantity::ServerRunning, &[metric("tgi_batch_current_size")]),
        rule(Quantity::ServerWaiting, &[metric("tgi_queue_size")]),
    ],
};
