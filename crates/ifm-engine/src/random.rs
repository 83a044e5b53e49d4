//! Random weights: the same bits for the same seed on every machine, in
//! milliseconds.
//!
//! Only integers are drawn, so nothing depends on a machine's floating point. The scale
//! is chosen so that every layer keeps the variance of its input: random models then
//! compute with ordinary numbers, and with ordinary speed. All variants of a model are
//! made of the same floats.
//!
//! Not here: what the tensors are for (`weights`), what is made of the floats
//! (`quantization`).

use std::collections::HashMap;

use ifm_kernels::{Format, RandomStream};

use crate::{
    load_error::LoadError,
    quantization::{Quantization, Variant},
    shape::ModelShape,
    weights::{LayerTensor, TensorName, Weight, WeightSource},
};

/// Random weights with the given standard deviation and mean zero: uniform.
pub(crate) fn random_weights(
    stream: &mut RandomStream,
    elements: usize,
    deviation: f32,
) -> Vec<f32> {
    // Uniform over [-1, 1) has the deviation 1 / sqrt(3).
    let scale = deviation * 3_f32.sqrt() / (1_u32 << 23) as f32;
    let weight = |half: u32| ((half >> 8) as i32 - (1 << 23)) as f32 * scale;
    let mut weights = vec![0.0; elements];
    for pair in weights.chunks_mut(2) {
        let word = stream.next_word();
        pair[0] = weight(word as u32);
        if let Some(second) = pair.get_mut(1) {
            *second = weight((word >> 32) as u32);
        }
    }
    weights
}

/// Random weights of a preset.
pub(crate) struct RandomWeights {
    seed: u64,
    variant: Variant,
    tied_head: bool,
}

impl RandomWeights {
    pub(crate) fn new(shape: &ModelShape, quantization: Quantization, seed: u64) -> Self {
        Self { seed, variant: Variant::new(quantization), tied_head: shape.tied_head }
    }

    /// The standard deviation that keeps the variance of what goes through.
    fn deviation(&self, name: TensorName, columns: usize) -> f32 {
        /// Widens the spread of the logits to about that of a trained model, whose
        /// most likely tokens are prominent.
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
    fn format(&self, name: TensorName, _rows: usize, columns: usize) -> Result<Format, LoadError> {
        Ok(self.variant.quantization.format_for(name, columns))
    }

    fn matrix(
        &mut self,
        name: TensorName,
        rows: usize,
        columns: usize,
    ) -> Result<Weight, LoadError> {
        let mut stream = RandomStream::new(self.seed, &name.hugging_face());
        let deviation = self.deviation(name, columns);
        let floats = random_weights(&mut stream, rows * columns, deviation);
        self.variant.weight(name, rows, columns, &floats)
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

    fn needs_peaks(&self) -> bool {
        self.variant.needs_peaks()
    }

    fn set_peaks(&mut self, peaks: HashMap<TensorName, f32>) {
        self.variant.set_peaks(peaks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_mean_zero_and_the_asked_deviation() {
        let weights = random_weights(&mut RandomStream::new(7, "test"), 1 << 16, 0.05);
        let mean = weights.iter().sum::<f32>() / weights.len() as f32;
        let square = weights.iter().map(|value| value * value).sum::<f32>();
        let deviation = (square / weights.len() as f32).sqrt();
        assert!(mean.abs() < 1e-3, "mean {mean}");
        assert!((deviation - 0.05).abs() < 1e-3, "deviation {deviation}");
    }

    #[test]
    fn the_bits_are_fixed_by_seed_and_name() {
        let first = RandomStream::new(1, "a").next_word();
        assert_eq!(first, 0xFA97_E7E4_D21D_A1E2, "a change here changes every random model");
        assert_ne!(first, RandomStream::new(1, "b").next_word());
        assert_ne!(first, RandomStream::new(2, "a").next_word());
    }
}
