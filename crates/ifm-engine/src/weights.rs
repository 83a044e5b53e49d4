//! Where the tensors of a decoder come from, and their names.
//!
//! A [`WeightSource`] hands out tensors by what they are for; the decoder does not
//! know whether they are random, from a GGUF file or from a Hugging Face folder.
//!
//! Not here: the readers of files (`load`), the decoder (`model`).

use std::{borrow::Cow, fmt};

use candle_core::{
    Device,
    quantized::{GgmlDType, QStorage, QTensor},
};

use ifm_kernels::{Activations, Stored};

use crate::{
    load_error::LoadError,
    quantization::Quantization,
    random::{RandomStream, random_tensor},
    shape::ModelShape,
};

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
}

/// Random weights of a preset.
pub(crate) struct RandomWeights {
    seed: u64,
    quantization: Quantization,
    tied_head: bool,
}

impl RandomWeights {
    pub(crate) fn new(shape: &ModelShape, quantization: Quantization, seed: u64) -> Self {
        Self { seed, quantization, tied_head: shape.tied_head }
    }

    /// The standard deviation that keeps the variance of what goes through.
    fn deviation(&self, name: TensorName, columns: usize) -> f32 {
        /// Widens the spread of the logits to about that of a trained model, whose
        /// most likely tokens stand out.
        const HEAD_GAIN: f32 = 4.0;
        let width = (columns as f32).sqrt();
        match name {
            TensorName::Embedding if self.tied_head => HEAD_GAIN / width,
            TensorName::Embedding => 1.0,
            TensorName::Head => HEAD_GAIN / width,
            _ => 1.0 / width,
        }
    }
}

impl WeightSource for RandomWeights {
    fn matrix(
        &mut self,
        name: TensorName,
        rows: usize,
        columns: usize,
    ) -> Result<QTensor, LoadError> {
        let dtype = self.quantization.dtype_for(columns);
        let mut stream = RandomStream::new(self.seed, &name.hugging_face());
        let deviation = self.deviation(name, columns);
        let bytes = random_tensor(&mut stream, dtype, rows * columns, deviation)
            .ok_or_else(|| LoadError::Unsupported { what: format!("random {dtype:?} weights") })?;
        tensor_from_bytes(bytes, dtype, rows, columns)
    }

    fn vector(&mut self, name: TensorName, length: usize) -> Result<Option<Vec<f32>>, LoadError> {
        Ok(match name {
            TensorName::FinalNorm
            | TensorName::Layer(_, LayerTensor::AttentionNorm | LayerTensor::FeedForwardNorm) => {
                Some(vec![1.0; length])
            }
            _ => None,
        })
    }
}

/// A matrix from the bytes of its blocks, row by row.
pub(crate) fn tensor_from_bytes(
    bytes: Vec<u8>,
    dtype: GgmlDType,
    rows: usize,
    columns: usize,
) -> Result<QTensor, LoadError> {
    let storage = QStorage::from_data(Cow::Owned(bytes), &Device::Cpu, dtype)?;
    Ok(QTensor::new(storage, (rows, columns))?)
}
