//! Our own server, which speaks in vLLM's names (`ifm-serve`). It has no prefix cache and says so
//! with counters that stay 0.

use super::{Engine, vllm};

pub(super) const ENGINE: Engine =
    Engine { name: "inferometer", mark: "inferometer:", path: "/metrics", rules: &vllm::RULES };
