//! Where the tensors of a decoder come from, and their names.
//!
//! A [`WeightSource`] hands out tensors by what they are for; the decoder does not
//! know whether they are random, from a GGUF file or from a Hugging Face folder.
//!
//! Not here: the sources themselves (`random`, `load`), the decoder (`decoder`).

use std::{collections::HashMap, fmt};

use ifm_kernels::{Activations, Format, Stored};

use crate::{load_error::LoadError, shape::ModelShape};

/// A tensor of the decoder, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TensorName {
    Embedding,
    FinalNorm,
    Head,
    Layer(usize, LayerTensor),
}

/// A tensor of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LayerTensor {
    AttentionNorm,
    Query,
    Key,
    Value,
    AttentionOutput,
    QueryBias,
    KeyBias,
    ValueBias,
    QueryNorm,
    KeyNorm,
    FeedForwardNorm,
    Gate,
    Up,
    Down,
}

impl TensorName {
    /// The name in a GGUF file of the llama family.
    pub(crate) fn gguf(self) -> String {
        match self {
            Self::Embedding => "token_embd.weight".to_owned(),
            Self::FinalNorm => "output_norm.weight".to_owned(),
            Self::Head => "output.weight".to_owned(),
            Self::Layer(layer, tensor) => {
                let tensor = match tensor {
                    LayerTensor::AttentionNorm => "attn_norm.weight",
                    LayerTensor::Query => "attn_q.weight",
                    LayerTensor::Key => "attn_k.weight",
                    LayerTensor::Value => "attn_v.weight",
                    LayerTensor::AttentionOutput => "attn_output.weight",
                    LayerTensor::QueryBias => "attn_q.bias",
                    LayerTensor::KeyBias => "attn_k.bias",
                    LayerTensor::ValueBias => "attn_v.bias",
                    LayerTensor::QueryNorm => "attn_q_norm.weight",
                    LayerTensor::KeyNorm => "attn_k_norm.weight",
                    LayerTensor::FeedForwardNorm => "ffn_norm.weight",
                    LayerTensor::Gate => "ffn_gate.weight",
                    LayerTensor::Up => "ffn_up.weight",
                    LayerTensor::Down => "ffn_down.weight",
                };
                format!("blk.{layer}.{tensor}")
            }
        }
    }

    /// The name in a Hugging Face checkpoint of the llama family.
    pub(crate) fn hugging_face(self) -> String {
        match self {
            Self::Embedding => "model.embed_tokens.weight".to_owned(),
            Self::FinalNorm => "model.norm.weight".to_owned(),
            Self::Head => "lm_head.weight".to_owned(),
            Self::Layer(layer, tensor) => {
                let tensor = match tensor {
                    LayerTensor::AttentionNorm => "input_layernorm.weight",
                    LayerTensor::Query => "self_attn.q_proj.weight",
                    LayerTensor::Key => "self_attn.k_proj.weight",
                    LayerTensor::Value => "self_attn.v_proj.weight",
                    LayerTensor::AttentionOutput => "self_attn.o_proj.weight",
                    LayerTensor::QueryBias => "self_attn.q_proj.bias",
                    LayerTensor::KeyBias => "self_attn.k_proj.bias",
                    LayerTensor::ValueBias => "self_attn.v_proj.bias",
                    LayerTensor::QueryNorm => "self_attn.q_norm.weight",
                    LayerTensor::KeyNorm => "self_attn.k_norm.weight",
                    LayerTensor::FeedForwardNorm => "post_attention_layernorm.weight",
                    LayerTensor::Gate => "mlp.gate_proj.weight",
                    LayerTensor::Up => "mlp.up_proj.weight",
                    LayerTensor::Down => "mlp.down_proj.weight",
                };
                format!("model.layers.{layer}.{tensor}")
            }
        }
    }
}

impl fmt::Display for TensorName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hugging_face())
    }
}

/// A matrix, and how the other operand of its products is taken.
#[derive(Debug, Clone)]
pub(crate) struct Weight {
    pub(crate) stored: Stored,
    pub(crate) activations: Activations,
}

impl From<Stored> for Weight {
    fn from(stored: Stored) -> Self {
        let activations = Activations::usual(stored.format());
        Self { stored, activations }
    }
}

/// Hands out the tensors of one model.
pub(crate) trait WeightSource {
    /// The format that [`WeightSource::matrix`] will have, without reading it.
    fn format(&self, name: TensorName, rows: usize, columns: usize) -> Result<Format, LoadError>;

    /// A matrix of `rows` outputs by `columns` inputs.
    fn matrix(
        &mut self,
        name: TensorName,
        rows: usize,
        columns: usize,
    ) -> Result<Weight, LoadError>;

    /// A vector, or `None` when the model has none of that name.
    fn vector(&mut self, name: TensorName, length: usize) -> Result<Option<Vec<f32>>, LoadError>;

    /// A vector that the architecture cannot do without.
    fn required_vector(&mut self, name: TensorName, length: usize) -> Result<Vec<f32>, LoadError> {
        self.vector(name, length)?
            .ok_or_else(|| LoadError::MissingTensor { tensor: name.to_string() })
    }

    /// Whether the largest sizes of what goes into products must be observed before the
    /// matrices are what they are to be.
    fn needs_peaks(&self) -> bool {
        false
    }

    /// Takes what was observed, by the matrix that it went into.
    fn set_peaks(&mut self, _peaks: HashMap<TensorName, f32>) {}
}

/// The matrices of a model with their rows and columns; a tied head is not listed.
pub(crate) fn matrices(shape: &ModelShape) -> Vec<(TensorName, usize, usize)> {
    let width = shape.embedding;
    let (queries, keys) = (shape.heads * shape.head_width, shape.kv_heads * shape.head_width);
    let mut names = vec![(TensorName::Embedding, shape.vocabulary, width)];
    for layer in 0..shape.layers {
        let tensors = [
            (LayerTensor::Query, queries, width),
            (LayerTensor::Key, keys, width),
            (LayerTensor::Value, keys, width),
            (LayerTensor::AttentionOutput, width, queries),
            (LayerTensor::Gate, shape.feed_forward, width),
            (LayerTensor::Up, shape.feed_forward, width),
            (LayerTensor::Down, width, shape.feed_forward),
        ];
        names.extend(
            tensors
                .map(|(tensor, rows, columns)| (TensorName::Layer(layer, tensor), rows, columns)),
        );
    }
    if !shape.tied_head {
        names.push((TensorName::Head, shape.vocabulary, width));
    }
    names
}
