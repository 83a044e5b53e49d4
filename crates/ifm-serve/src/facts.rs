//! What a backend is, and what it counts.
//!
//! Not here: the pages that tell it (`router`, `metrics`).

use ifm_engine::EngineStats;
use serde_json::Value;

/// What a backend is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    /// The model's own name.
    pub(crate) name: String,
    /// Most tokens of a prompt and its answer.
    pub(crate) context: usize,
    /// The token that starts a text, if the model wants one.
    pub(crate) bos_id: Option<u32>,
    /// Whether time and tokens are made up.
    pub(crate) is_simulated: bool,
    /// What the list of models tells beside that.
    pub(crate) meta: Value,
    /// How keys and values are kept: labels of `vllm:cache_config_info`.
    pub(crate) cache: Vec<(&'static str, String)>,
}

/// A reading of a backend's counters. Totals only grow; what a backend cannot have is
/// absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Counters {
    pub(crate) engine: EngineStats,
    /// Requests that were put off after they had started.
    pub(crate) preemptions_total: u64,
    /// Tokens of prompts looked up in the prefix cache, and those found.
    pub(crate) prefix_queries_total: u64,
    pub(crate) prefix_hits_total: u64,
    /// Tokens that a second model guessed.
    pub(crate) drafts: Option<Drafts>,
}

/// What became of guessed tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Drafts {
    /// Guesses of several tokens each.
    pub(crate) drafts_total: u64,
    /// Tokens guessed.
    pub(crate) tokens_total: u64,
    /// Tokens taken.
    pub(crate) accepted_total: u64,
    /// Tokens taken, by their place in the guess.
    pub(crate) accepted_by_position: Vec<u64>,
}
