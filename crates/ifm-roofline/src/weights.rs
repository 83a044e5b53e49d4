//! Bytes of weights: what is stored, and what one step reads of it.
//!
//! Not here: which bits a format has (`format`), how long reading takes (`operator`).

use crate::format::Precision;
use crate::model::{Block, Model};

/// Bytes of an element of a norm or a bias, at least.
const VECTOR_BYTES: f64 = 2.0;

/// Bytes of one layer of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerBytes {
    /// What every token reads.
    pub dense: f64,
    /// One expert.
    pub expert: f64,
}

/// Bytes of a model's weights in one precision.
#[derive(Debug, Clone)]
pub(crate) struct WeightBytes {
    /// One layer, for each block of the model.
    pub layers: Vec<LayerBytes>,
    /// The output matrix.
    pub head: f64,
    /// All weights as stored.
    pub total: f64,
}

impl WeightBytes {
    pub fn of(model: &Model, precision: &Precision) -> WeightBytes {
        let format = &precision.weights;
        let mut layers: Vec<LayerBytes> =
            model.blocks.iter().map(|block| layer_bytes(block, model, precision)).collect();
        let mut head = model.embedding() * format.head_bits / 8.0;
        let embedding =
            if model.is_tied { 0.0 } else { model.embedding() * format.embedding_bits / 8.0 };
        let stored: f64 = model
            .blocks
            .iter()
            .zip(&layers)
            .map(|(block, bytes)| {
                let experts = block.matrices(model.hidden).experts;
                block.layers as f64 * (bytes.dense + experts * bytes.expert)
            })
            .sum();
        let mut total = stored + head + embedding + model.final_vectors as f64 * VECTOR_BYTES;
        if let Some(given) = precision.weight_bytes.filter(|given| *given > 0.0 && total > 0.0) {
            let scale = given / total;
            for bytes in &mut layers {
                bytes.dense *= scale;
                bytes.expert *= scale;
            }
            head *= scale;
            total = given;
        }
        WeightBytes { layers, head, total }
    }
}

fn layer_bytes(block: &Block, model: &Model, precision: &Precision) -> LayerBytes {
    let format = &precision.weights;
    let matrices = block.matrices(model.hidden);
    let dense_bits = match format.unquantized_bits {
        Some(bits) if model.has_experts() => bits,
        _ => format.bits,
    };
    let widened = |bits: f64| match format.wider {
        Some(wider) => bits + (wider.bits - bits) * wider.layers.share(model.layers()),
        None => bits,
    };
    LayerBytes {
        dense: (matrices.attention + matrices.gate_up) * dense_bits / 8.0
            + (matrices.value + matrices.down) * widened(dense_bits) / 8.0
            + matrices.router * format.router_bits / 8.0
            + block.vectors as f64 * VECTOR_BYTES,
        expert: matrices.expert_gate_up * format.bits / 8.0
            + matrices.expert_down * widened(format.bits) / 8.0,
    }
}
