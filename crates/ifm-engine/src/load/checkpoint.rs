//! The weights of a Hugging Face checkpoint: floats as they are stored, a variant made of
//! them, or integers.
//!
//! Not here: where tensors lie (`safetensors`), how integers are packed (`integers`).

use std::collections::HashMap;

use ifm_kernels::{Format, Stored};

use super::{LoadError, integers, safetensors::Checkpoint, scheme::Scheme};
use crate::{
    quantization::{Quantization, Variant},
    weights::{TensorName, Weight, WeightSource},
};

/// The tensors of a checkpoint.
pub(super) struct CheckpointWeights {
    checkpoint: Checkpoint,
    /// What is made of floats; `None` keeps them.
    variant: Option<Variant>,
    /// How matrices are quantised already.
    scheme: Option<Scheme>,
}

impl CheckpointWeights {
    pub(super) fn new(
        checkpoint: Checkpoint,
        quantization: Option<Quantization>,
        scheme: Option<Scheme>,
    ) -> Self {
        Self { checkpoint, variant: quantization.map(Variant::new), scheme }
    }

    /// The scheme of a matrix; `None` where it is stored in floats.
    fn scheme_of(&self, name: TensorName) -> Option<&Scheme> {
        self.scheme.as_ref().filter(|scheme| scheme.covers(name))
    }
}

impl WeightSource for CheckpointWeights {
    fn format(&self, name: TensorName, rows: usize, columns: usize) -> Result<Format, LoadError> {
        if let Some(scheme) = self.scheme_of(name) {
            return integers::format(scheme, columns);
        }
        let tensor = name.hugging_face();
        self.checkpoint.check_shape(&tensor, &[rows, columns])?;
        match &self.variant {
            Some(variant) => Ok(variant.quantization.format_for(name, columns)),
            None => self.checkpoint.float_format(&tensor),
        }
    }

    fn matrix(
        &mut self,
        name: TensorName,
        rows: usize,
        columns: usize,
    ) -> Result<Weight, LoadError> {
        if let Some(scheme) = self.scheme_of(name) {
            return integers::read(&self.checkpoint, scheme, name, rows, columns);
        }
        let tensor = name.hugging_face();
        self.checkpoint.check_shape(&tensor, &[rows, columns])?;
        let stored: Stored = self.checkpoint.read_stored(&tensor, rows, columns)?;
        let Some(variant) = &self.variant else { return Ok(stored.into()) };
        let mut floats = vec![0.0; rows * columns];
        for (row, floats) in floats.chunks_exact_mut(columns).enumerate() {
            stored.decode_row(row, floats);
        }
        variant.weight(name, rows, columns, &floats)
    }

    fn vector(&mut self, name: TensorName, length: usize) -> Result<Option<Vec<f32>>, LoadError> {
        let tensor = name.hugging_face();
        if !self.checkpoint.contains(&tensor) {
            return Ok(None);
        }
        self.checkpoint.check_shape(&tensor, &[length])?;
        self.checkpoint.read_floats(&tensor).map(Some)
    }

    fn needs_peaks(&self) -> bool {
        self.variant.as_ref().is_some_and(Variant::needs_peaks)
    }

    fn set_peaks(&mut self, peaks: HashMap<TensorName, f32>) {
        if let Some(variant) = &mut self.variant {
            variant.set_peaks(peaks);
        }
    }
}
