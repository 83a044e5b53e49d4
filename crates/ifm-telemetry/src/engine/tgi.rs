//! Text Generation Inference. Names after the metrics page of its documentation (3.x) and
//! `router/src/server.rs`: tokens are the sums of histograms.

use super::{Engine, metric, rule};
use ifm_core::series::Signal;

pub(super) const ENGINE: Engine = Engine {
    name: "TGI",
    mark: "tgi_",
    path: "/metrics",
    rules: &[
        rule(Signal::ServerRequests, &[metric("tgi_request_generated_tokens_count")]),
        rule(Signal::ServerPromptTokens, &[metric("tgi_request_input_length_sum")]),
        rule(Signal::ServerOutputTokens, &[metric("tgi_request_generated_tokens_sum")]),
        rule(Signal::ServerRunning, &[metric("tgi_batch_current_size")]),
        rule(Signal::ServerWaiting, &[metric("tgi_queue_size")]),
    ],
};
