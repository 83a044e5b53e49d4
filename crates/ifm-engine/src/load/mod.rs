//! From a preset, a GGUF file or a Hugging Face folder to a decoder in memory.
//!
//! [`prepare`] looks at a model without reading its weights, so that what cannot be run
//! or does not fit is refused before anything large happens; [`Prepared::load`] does the
//! rest.
//!
//! Not here: the names of tensors (`weights`), the decoder itself.

mod checkpoint;
mod gguf;
mod gguf_file;
mod hugging_face;
mod integers;
mod preset;
mod rope_scaling;
mod safetensors;
mod scheme;
#[cfg(test)]
mod tests;

use ifm_tokenizer::Tokenizer;

use crate::{
    decoder::Decoder,
    info::{ModelInfo, describe},
    load_error::LoadError,
    model::ModelSource,
    shape::ModelShape,
    weights::{WeightSource, stored_bytes},
};

/// The context when none is asked for, tokens, if the model is made for more: tables
/// for the million tokens that some models are made for would take longer than
/// loading them, and no CPU computes such a prompt in a useful time.
const CONTEXT_DEFAULT: usize = 32_768;

/// The context to prepare for.
fn choose_context(asked: Option<usize>, trained: usize) -> usize {
    asked.unwrap_or(CONTEXT_DEFAULT).min(trained)
}

/// A model of which all but the weights has been read.
pub(crate) struct Prepared {
    pub(crate) name: String,
    pub(crate) architecture: String,
    pub(crate) shape: ModelShape,
    /// What slows pairs of the rotation down; empty for nothing.
    pub(crate) rope_divisors: Vec<f32>,
    pub(crate) source: Box<dyn WeightSource>,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) eos_ids: Vec<u32>,
    pub(crate) bos_id: Option<u32>,
    pub(crate) random_seed: Option<u64>,
}
