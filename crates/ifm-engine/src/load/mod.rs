//! From a preset, a GGUF file or a Hugging Face folder to a decoder in memory.
//!
//! A [`Prepared`] model has been looked at without reading its weights, so that what
//! cannot be run or does not fit is refused before anything large happens;
//! [`Prepared::load`] does the rest.
//!
//! Not here: the names of tensors (`weights`), the decoder itself.

mod checkpoint;
#[cfg(test)]
mod damage_tests;
mod gguf;
mod gguf_file;
#[cfg(test)]
mod gguf_file_tests;
mod hugging_face;
mod integers;
#[cfg(test)]
mod quantised_tests;
mod rope_scaling;
mod safetensors;
mod scheme;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, io::Read as _, path::Path};

use ifm_core::{contained::contained, regular::open_regular};
use ifm_kernels::RandomStream;
use ifm_tokenizer::Tokenizer;

use crate::{
    decoder::{Decoder, Row},
    kv::{KvCache, KvPool, TILE_TOKENS},
    load_error::LoadError,
    parallel::Compute,
    quantization::Quantization,
    random::RandomWeights,
    shape::{ModelShape, Preset},
    weights::{TensorName, WeightSource, matrices},
};

/// The context when none is asked for, tokens, if the model is made for more: tables
/// for the million tokens that some models are made for would take longer than
/// loading them, and no CPU computes such a prompt in a useful time.
const CONTEXT_DEFAULT: usize = 32_768;

/// The context to prepare for.
fn choose_context(asked: Option<usize>, trained: usize) -> usize {
    asked.unwrap_or(CONTEXT_DEFAULT).min(trained)
}

/// Runs a reader of a model; its panic means that the file is damaged.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, LoadError>) -> Result<T, LoadError> {
    contained(read).unwrap_or_else(|panicked| {
        Err(LoadError::Damaged { path: path.to_owned(), reason: panicked.to_string() })
    })
}

/// The content of a regular file of at most `limit_bytes`.
fn read_bounded(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, LoadError> {
    let mut content = Vec::new();
    open_regular(path)
        .and_then(|file| file.take(limit_bytes + 1).read_to_end(&mut content))
        .map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    if content.len() as u64 > limit_bytes {
        let reason = format!("it is larger than {} MiB", limit_bytes >> 20);
        return Err(LoadError::Damaged { path: path.to_owned(), reason });
    }
    Ok(content)
}

/// A model that has been read, except for its weights.
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
    /// The variant in words, for tables; empty for the name of the format of most weights.
    pub(crate) variant: String,
}

impl Prepared {
    /// A model with random weights, the same for the same seed.
    pub(crate) fn preset(
        preset: Preset,
        quantization: Quantization,
        seed: u64,
        context: Option<usize>,
    ) -> Result<Self, LoadError> {
        let mut shape = preset.shape();
        // Nothing was trained: a longer context than usual only takes more memory.
        shape.context_max = context.unwrap_or(shape.context_max);
        let tokenizer = Tokenizer::embedded()?;
        Ok(Self {
            name: preset.name().to_owned(),
            architecture: "llama".to_owned(),
            source: Box::new(RandomWeights::new(&shape, quantization, seed)),
            shape,
            rope_divisors: Vec::new(),
            eos_ids: tokenizer.eos_id().into_iter().collect(),
            bos_id: None,
            random_seed: Some(seed),
            variant: quantization.label(),
            tokenizer,
        })
    }

    /// A GGUF file.
    pub(crate) fn gguf(path: &Path, context: Option<usize>) -> Result<Self, LoadError> {
        guarded(path, || gguf::prepare(path, context))
    }

    /// A folder as published on Hugging Face.
    pub(crate) fn hugging_face(
        folder: &Path,
        quantization: Option<Quantization>,
        context: Option<usize>,
    ) -> Result<Self, LoadError> {
        guarded(folder, || hugging_face::prepare(folder, quantization, context))
    }

    /// Bytes of all matrices as they will be stored in memory, scales included, a tied
    /// head counted once; and of those that every step reads whole, which the embedding
    /// is not unless it is the head, too.
    pub(crate) fn stored_bytes(&self) -> Result<(u64, u64), LoadError> {
        self.shape.check().map_err(|reason| LoadError::Dimensions { reason })?;
        let (mut all, mut step) = (0, 0);
        for (name, rows, columns) in matrices(&self.shape) {
            let bytes = self.source.format(name, rows, columns)?.bytes(rows, columns) as u64;
            all += bytes;
            if name != TensorName::Embedding || self.shape.tied_head {
                step += bytes;
            }
        }
        Ok((all, step))
    }

    /// Whether the weights plus `kv_bytes` of keys and values fit into the available memory.
    pub(crate) fn check_memory(
        &self,
        kv_bytes: u64,
        available_bytes: u64,
    ) -> Result<(), LoadError> {
        let (weights_bytes, _) = self.stored_bytes()?;
        match weights_bytes.saturating_add(kv_bytes) > available_bytes {
            true => Err(LoadError::Memory { weights_bytes, kv_bytes, available_bytes }),
            false => Ok(()),
        }
    }

    /// Reads the weights.
    pub(crate) fn load(&mut self, compute: Compute) -> Result<Decoder, LoadError> {
        let load = |source: &mut dyn WeightSource| {
            guarded(Path::new(&self.name), || {
                Decoder::load(self.shape.clone(), &self.rope_divisors, source, compute)
            })
        };
        if self.source.needs_peaks() {
            let peaks = observe(load(self.source.as_mut())?)?;
            self.source.set_peaks(peaks);
        }
        load(self.source.as_mut())
    }
}

/// Finds the largest sizes of what goes into the products of a model, on random tokens.
fn observe(mut decoder: Decoder) -> Result<HashMap<TensorName, f32>, LoadError> {
    /// Texts that run side by side, and their tokens: every token goes through all layers
    /// only where its logits are wanted, so they go one after another.
    const TEXTS: usize = 16;
    const TOKENS: usize = 8;
    let failed = |reason: String| LoadError::FirstPass { reason };
    decoder.start_observing();
    let shape = decoder.shape();
    let mut stream = RandomStream::new(0, "calibration");
    let mut pool = KvPool::new(shape, TEXTS * TILE_TOKENS);
    let mut caches: Vec<KvCache> = (0..TEXTS).map(|_| KvCache::default()).collect();
    for _ in 0..TOKENS.min(shape.context_max) {
        let tokens: Vec<u32> =
            (0..TEXTS).map(|_| (stream.next_word() % shape.vocabulary as u64) as u32).collect();
        let mut rows = Vec::with_capacity(TEXTS);
        for (cache, tokens) in caches.iter_mut().zip(tokens.chunks(1)) {
            pool.extend(cache, 1).map_err(|error| failed(error.to_string()))?;
            rows.push(Row { cache, tokens, wants_logits: true });
        }
        decoder.step(&mut rows).map_err(|error| failed(error.to_string()))?;
    }
    Ok(decoder.peaks())
}
