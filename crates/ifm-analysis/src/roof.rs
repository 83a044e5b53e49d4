//! Which machine, model and precision a measurement ran on, from its factors or from the user.
//!
//! Not here: the arithmetic of limits (`ifm-roofline`), and what is held against them.

use ifm_core::sheet::{Factors, key};
use ifm_roofline::{Machine, Model, Precision, Setup, WeightFormat};

/// What runs.
pub(crate) struct Known {
    /// Machine, model and precision.
    pub setup: Setup,
    /// Whether the number format and the number of GPUs are given and not assumed.
    pub is_certain: bool,
}

impl Known {
    /// In words: model, format, machine.
    pub fn words(&self) -> String {
        format!(
            "{} in {} on {} x {}",
            self.setup.model().name,
            self.setup.precision().weights.id,
            self.setup.gpus(),
            self.setup.machine().name
        )
    }
}

/// From the machine and model that the user names, else from the factors; `parameters` and
/// `weight_bytes` where a document prints them. Absent where one of them is not known.
pub(crate) fn setup(
    (gpu, model_name): (Option<&str>, Option<&str>),
    factors: &Factors,
    parameters: Option<f64>,
    weight_bytes: Option<f64>,
) -> Option<Known> {
    let machine = match gpu {
        Some(gpu) => Machine::parse(gpu).ok()?,
        None => Machine::find(factors.get(key::GPU)?).ok()?,
    };
    let named = factors.get(key::MODEL).unwrap_or_default();
    let model = match (model_name, parameters) {
        (Some(model), _) => Model::find(model).ok()?,
        (None, Some(count)) => Model::find_with_parameters(named, count).ok()?,
        (None, None) => Model::find(named).ok()?,
    };
    let stated = factors.get(key::QUANTIZATION);
    let format = stated
        .and_then(|name| WeightFormat::find(name).ok())
        .or_else(|| WeightFormat::named_in(stated?))
        .or_else(|| WeightFormat::named_in(named))
        .or_else(|| WeightFormat::named_in(model_name?));
    let gpus = factors.number(key::TENSOR_PARALLEL);
    let is_certain = format.is_some() && (gpus.is_some() || gpu.is_some());
    let mut precision = match format {
        Some(format) => Precision::new(format),
        None => Precision::find("bf16").ok()?,
    };
    precision.weight_bytes = weight_bytes;
    let setup = Setup::new(machine, model, precision, gpus.unwrap_or(1.0) as u32).ok()?;
    Some(Known { setup, is_certain })
}
