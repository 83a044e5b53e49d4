//! From a preset, a GGUF file or a Hugging Face folder to a decoder in memory.
//!
//! Not here: the names of tensors (`weights`), the decoder itself.

pub(crate) mod gguf;
pub(crate) mod hugging_face;
mod rope_scaling;
mod safetensors;
#[cfg(test)]
mod tests;

use ifm_tokenizer::Tokenizer;

use crate::{decoder::Decoder, info::ModelInfo, load_error::LoadError};

/// The context when none is asked for, tokens, if the model is made for more: tables
/// for the million tokens that some models are made for would take longer than
/// loading them, and no CPU computes such a prompt in a useful time.
const CONTEXT_DEFAULT: usize = 32_768;

/// The context to prepare for.
pub(crate) fn choose_context(asked: Option<usize>, trained: usize) -> usize {
    asked.unwrap_or(CONTEXT_DEFAULT).min(trained)
}

/// What every source of models yields.
pub(crate) struct LoadedParts {
    pub(crate) info: ModelInfo,
    pub(crate) decoder: Decoder,
    pub(crate) tokenizer: Tokenizer,
}
