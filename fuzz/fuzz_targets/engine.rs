//! How a model from a file is loaded: within bounds of memory that a hostile file must not exceed.

use ifm_engine::{Compute, Model, ModelSource};

/// Context that is asked for, tokens.
const CONTEXT: usize = 64;
/// Memory limit of the model, bytes.
const AVAILABLE_BYTES: u64 = 256 << 20;

/// Loads the model, if it can be loaded.
pub fn load(source: &ModelSource) {
    let compute = Compute::default();
    if let Ok(model) = Model::load_within(source, Some(CONTEXT), compute, (CONTEXT, AVAILABLE_BYTES)) {
        assert!(model.info().parameters > 0, "{:?}", model.info());
    }
}
