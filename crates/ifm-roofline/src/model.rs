//! Models: the shape of a decoder, and the counts that follow from it.
//!
//! Counts are exact: every matrix, norm and bias of the language model, so that the total equals the
//! count that is published with the weights. What a step reads and computes follows from the same
//! shape (`work`).
//!
//! Not here: the table of models and how one is found (`models`), bits (`format`), time (`bound`).

use crate::machine::Confidence;
use serde::Serialize;

/// How a layer attends to earlier tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Attention {
    /// Heads that share keys and values in groups (all alike when `kv_heads` is `heads`).
    Grouped {
        /// Heads of queries.
        heads: u64,
        /// Heads of keys and values.
        kv_heads: u64,
        /// Width of a head.
        head_dim: u64,
        /// Whether queries come with a gate of their size.
        has_query_gate: bool,
        /// How many tokens it looks back at most.
        window: Option<u64>,
    },
    /// Multi-head latent attention: one small vector per token represents all keys and values.
    Latent {
        /// Heads.
        heads: u64,
        /// Rank of the queries' matrix; one full matrix where absent.
        query_rank: Option<u64>,
        /// Width of the latent vector.
        kv_rank: u64,
        /// Width of the part with positions, shared by all heads.
        rope_dim: u64,
        /// Width of a head's part without positions.
        nope_dim: u64,
        /// Width of a head's values.
        value_dim: u64,
    },
    /// A gated delta rule: a state of constant size instead of keys and values.
    Delta {
        /// Heads of keys and queries.
        key_heads: u64,
        /// Heads of values.
        value_heads: u64,
        /// Width of a key.
        key_dim: u64,
        /// Width of a value.
        value_dim: u64,
        /// Length of the convolution before it.
        convolution: u64,
    },
}

/// What a layer does with each token alone. All matrices come in threes: gate, up, down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FeedForward {
    /// One network.
    Dense {
        /// Its width.
        width: u64,
        /// Whether its matrices have biases.
        has_bias: bool,
    },
    /// A mixture of experts.
    Experts {
        /// How many there are.
        experts: u64,
        /// How many a token takes.
        active: u64,
        /// Width of one.
        width: u64,
        /// Width of the experts that every token takes, together.
        shared_width: u64,
        /// Whether these have a gate.
        has_shared_gate: bool,
        /// Whether an expert's matrices have biases.
        has_bias: bool,
    },
}

/// Layers of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Block {
    /// How many layers.
    pub layers: u64,
    /// Their attention.
    pub attention: Attention,
    /// Their feed-forward part.
    pub feed_forward: FeedForward,
    /// Elements of norms and biases in one layer.
    pub vectors: u64,
}

/// A decoder-only language model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Model {
    /// Short name, unique in the table.
    pub id: String,
    /// Name in full.
    pub name: String,
    /// Width of a token's vector.
    pub hidden: u64,
    /// Entries of the vocabulary.
    pub vocabulary: u64,
    /// Most tokens of a prompt and its answer, if the configuration states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Whether the output matrix is the embedding.
    pub is_tied: bool,
    /// Layers by kind, not in the order of the model.
    pub blocks: Vec<Block>,
    /// Elements of the last norm.
    pub final_vectors: u64,
    /// The number format that it is published in.
    pub native_format: Option<String>,
    /// The count that is published.
    pub published_parameters: Option<u64>,
    /// How well the row is founded.
    pub confidence: Confidence,
    /// Where it comes from.
    pub source: String,
}

/// Numbers of one layer's matrices, in elements.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct LayerMatrices {
    /// Attention except values: read by every step.
    pub attention: f64,
    /// Matrix of values, which some formats store wider.
    pub value: f64,
    /// Feed-forward parts that every token takes: gate and up.
    pub gate_up: f64,
    /// Their down matrix, which some formats store wider.
    pub down: f64,
    /// Router.
    pub router: f64,
    /// One expert's gate and up (and biases).
    pub expert_gate_up: f64,
    /// One expert's down.
    pub expert_down: f64,
    /// Experts there are.
    pub experts: f64,
    /// Experts that a token takes.
    pub active: f64,
}

impl Block {
    pub(crate) fn matrices(&self, hidden: u64) -> LayerMatrices {
        let hidden = hidden as f64;
        let mut matrices = LayerMatrices::default();
        match self.attention {
            Attention::Grouped { heads, kv_heads, head_dim, has_query_gate, .. } => {
                let (heads, kv, dim) = (heads as f64, kv_heads as f64, head_dim as f64);
                let gates = if has_query_gate { 2.0 } else { 1.0 };
                matrices.attention = hidden * dim * (gates * heads + kv + heads);
                matrices.value = hidden * dim * kv;
            }
            Attention::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim } => {
                let (heads, rank) = (heads as f64, kv_rank as f64);
                let (rope, nope, value) = (rope_dim as f64, nope_dim as f64, value_dim as f64);
                let queries = match query_rank {
                    Some(query) => query as f64 * (hidden + heads * (nope + rope)),
                    None => hidden * heads * (nope + rope),
                };
                matrices.attention = queries
                    + hidden * (rank + rope)
                    + rank * heads * (nope + value)
                    + heads * value * hidden;
            }
            Attention::Delta { key_heads, value_heads, key_dim, value_dim, .. } => {
                let (keys, values) =
                    ((key_heads * key_dim) as f64, (value_heads * value_dim) as f64);
                // In: queries, keys, values, a gate as wide as the values, and two numbers for each
                // head of values. Out: values to the width of the model.
                let heads = value_heads as f64;
                matrices.attention =
                    hidden * (2.0 * keys + 2.0 * values + 2.0 * heads) + values * hidden;
            }
        }
        match self.feed_forward {
            FeedForward::Dense { width, .. } => {
                matrices.gate_up = 2.0 * hidden * width as f64;
                matrices.down = hidden * width as f64;
            }
            FeedForward::Experts {
                experts,
                active,
                width,
                shared_width,
                has_shared_gate,
                has_bias,
            } => {
                let (width, shared) = (width as f64, shared_width as f64);
                let bias = if has_bias { 1.0 } else { 0.0 };
                matrices.experts = experts as f64;
                matrices.active = active as f64;
                matrices.router = hidden * experts as f64;
                matrices.expert_gate_up = 2.0 * hidden * width + bias * (2.0 * width + hidden);
                matrices.expert_down = hidden * width;
                matrices.gate_up =
                    2.0 * hidden * shared + if has_shared_gate { hidden } else { 0.0 };
                matrices.down = hidden * shared;
            }
        }
        matrices
    }

    /// Elements of the cache for each token that it holds.
    pub(crate) fn cache_elements(&self) -> f64 {
        match self.attention {
            Attention::Grouped { kv_heads, head_dim, .. } => 2.0 * (kv_heads * head_dim) as f64,
            Attention::Latent { kv_rank, rope_dim, .. } => (kv_rank + rope_dim) as f64,
            Attention::Delta { .. } => 0.0,
        }
    }

    /// Tokens that it looks back at most.
    pub(crate) fn window(&self) -> Option<f64> {
        match self.attention {
            Attention::Grouped { window, .. } => window.map(|window| window as f64),
            Attention::Latent { .. } => None,
            Attention::Delta { .. } => Some(0.0),
        }
    }

    /// Elements of a state of constant size.
    pub(crate) fn state_elements(&self) -> f64 {
        match self.attention {
            Attention::Delta { value_heads, key_dim, value_dim, .. } => {
                (value_heads * key_dim) as f64 * value_dim as f64
            }
            Attention::Grouped { .. } | Attention::Latent { .. } => 0.0,
        }
    }
}

impl LayerMatrices {
    /// Matrices that every token takes.
    pub fn dense(&self) -> f64 {
        self.attention + self.value + self.gate_up + self.down + self.router
    }

    /// One expert.
    pub fn expert(&self) -> f64 {
        self.expert_gate_up + self.expert_down
    }
}

impl Model {
    /// Heads of queries of each kind of layers; none where a layer keeps a state instead of keys and values.
    pub fn query_heads(&self) -> impl Iterator<Item = u64> {
        self.blocks.iter().filter_map(|block| match block.attention {
            Attention::Grouped { heads, .. } | Attention::Latent { heads, .. } => Some(heads),
            Attention::Delta { .. } => None,
        })
    }

    /// Layers in all.
    pub fn layers(&self) -> u64 {
        self.blocks.iter().map(|block| block.layers).sum()
    }

    /// Elements of the embedding, which is as large as the output matrix.
    pub fn embedding(&self) -> f64 {
        self.vocabulary as f64 * self.hidden as f64
    }

    /// Parameters in all.
    pub fn parameters(&self) -> f64 {
        self.layer_parameters(|matrices| matrices.experts)
            + self.final_vectors as f64
            + self.embedding() * if self.is_tied { 1.0 } else { 2.0 }
    }

    /// Parameters that one token takes part in: of a mixture of experts the active ones, of the
    /// embedding its output side alone (a lookup computes nothing).
    pub fn active_parameters(&self) -> f64 {
        self.layer_parameters(|matrices| matrices.active)
            + self.final_vectors as f64
            + self.embedding()
    }

    fn layer_parameters(&self, experts: impl Fn(&LayerMatrices) -> f64) -> f64 {
        self.blocks
            .iter()
            .map(|block| {
                let matrices = block.matrices(self.hidden);
                let each = matrices.dense()
                    + experts(&matrices) * matrices.expert()
                    + block.vectors as f64;
                block.layers as f64 * each
            })
            .sum()
    }

    /// Elements that the cache grows by with each token once all windows are full.
    pub fn kv_elements_per_token(&self) -> f64 {
        self.blocks
            .iter()
            .filter(|block| block.window().is_none())
            .map(|block| block.layers as f64 * block.cache_elements())
            .sum()
    }

    /// Whether it is a mixture of experts.
    pub fn has_experts(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block.feed_forward, FeedForward::Experts { .. }))
    }

    /// Heads of keys and values that tensor parallelism can share out; 1 for latent attention.
    pub(crate) fn kv_heads(&self) -> u64 {
        self.blocks
            .iter()
            .filter_map(|block| match block.attention {
                Attention::Grouped { kv_heads, .. } => Some(kv_heads),
                Attention::Latent { .. } => Some(1),
                Attention::Delta { .. } => None,
            })
            .min()
            .unwrap_or(1)
    }
}
