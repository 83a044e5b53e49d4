//! The largest sizes of what goes into products, looked at while a model runs: static
//! scales of activations are found so.
//!
//! Not here: what is run for it (`load`), what is made of it (`quantization`).

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::weights::{LayerTensor, TensorName};

/// Largest sizes by the matrix that they went into.
#[derive(Debug, Default)]
pub(crate) struct Peaks {
    seen: Mutex<HashMap<TensorName, f32>>,
}

impl Peaks {
    /// Looks at the input of matrices of a layer.
    pub(crate) fn see(&self, layer: usize, tensors: &[LayerTensor], input: &[f32]) {
        let peak = input.iter().fold(0.0_f32, |peak, value| peak.max(value.abs()));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for tensor in tensors {
            let before = seen.entry(TensorName::Layer(layer, *tensor)).or_default();
            *before = before.max(peak);
        }
    }

    pub(crate) fn into_inner(self) -> HashMap<TensorName, f32> {
        self.seen.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
