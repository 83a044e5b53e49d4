//! A model in a precision on machines.
//!
//! Not here: the questions that can be asked of it (`question`).

use crate::error::RooflineError;
use crate::format::{Arithmetic, Precision};
use crate::machine::Machine;
use crate::model::Model;
use crate::weights::WeightBytes;

/// Most GPUs of one copy of a model.
const GPUS_MAX: u32 = 4096;

/// A model in a precision on one or several GPUs that share each layer.
#[derive(Debug, Clone)]
pub struct Setup {
    machine: Machine,
    model: Model,
    precision: Precision,
    gpus: u32,
    pub(crate) weights: WeightBytes,
}

impl Setup {
    /// A model on `gpus` GPUs (tensor parallelism).
    ///
    /// # Errors
    /// [`RooflineError::Setup`] for a number of GPUs that cannot be.
    pub fn new(
        machine: Machine,
        model: Model,
        precision: Precision,
        gpus: u32,
    ) -> Result<Setup, RooflineError> {
        if gpus == 0 || gpus > GPUS_MAX {
            let reason = format!("{gpus} GPUs cannot share a model; give 1 to {GPUS_MAX}");
            return Err(RooflineError::Setup { reason });
        }
        let weights = WeightBytes::of(&model, &precision);
        Ok(Setup { machine, model, precision, gpus, weights })
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The precision.
    pub fn precision(&self) -> &Precision {
        &self.precision
    }

    /// GPUs that share the model.
    pub fn gpus(&self) -> f64 {
        f64::from(self.gpus)
    }

    /// Bytes of all weights, on all GPUs together.
    pub fn weight_bytes(&self) -> f64 {
        self.weights.total
    }

    /// Bytes that the cache grows by with each token once all windows are full, on all GPUs
    /// together.
    pub fn kv_bytes_per_token(&self) -> f64 {
        self.model.kv_elements_per_token() * self.precision.kv.bits / 8.0
    }

    /// Arithmetic of what the weights' format leaves at 16 bits.
    pub(crate) fn wide_arithmetic(&self) -> Arithmetic {
        match self.precision.weights.arithmetic {
            Arithmetic::Bf16 => Arithmetic::Bf16,
            _ => Arithmetic::Fp16,
        }
    }

    /// Arithmetic of the layers' dense parts, of experts, of the output matrix, of attention and of
    /// states.
    pub(crate) fn arithmetics(&self) -> Arithmetics {
        let format = &self.precision.weights;
        Arithmetics {
            dense: match format.unquantized_bits {
                Some(_) if self.model.has_experts() => Arithmetic::Bf16,
                _ => format.arithmetic,
            },
            experts: format.arithmetic,
            head: if format.head_bits < 16.0 { format.arithmetic } else { self.wide_arithmetic() },
            attention: if self.precision.kv.bits < 16.0 {
                self.precision.kv.arithmetic
            } else {
                self.wide_arithmetic()
            },
            states: Arithmetic::Bf16,
        }
    }
}

/// What each part of a step computes in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arithmetics {
    pub dense: Arithmetic,
    pub experts: Arithmetic,
    pub head: Arithmetic,
    pub attention: Arithmetic,
    pub states: Arithmetic,
}
