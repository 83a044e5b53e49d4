//! A loaded model: where it comes from, and its tokenizer.
//!
//! Not here: what it is (`info`), requests (`engine`), the arithmetic (`decoder`).

use std::{path::PathBuf, time::Instant};

use ifm_tokenizer::Tokenizer;

use crate::{
    BUILT,
    decoder::{Decoder, Row},
    info::{ModelInfo, describe},
    kv::{KvCache, KvPool},
    kv_format::KvFormat,
    load::Prepared,
    load_error::LoadError,
    parallel::Compute,
    quantization::Quantization,
    shape::Preset,
};

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// Made in memory with random weights; needs no file.
    Preset {
        /// The dimensions.
        preset: Preset,
        /// What is made of the weights.
        quantization: Quantization,
        /// The same seed makes the same weights on every machine.
        seed: u64,
    },
    /// A GGUF file. Its tokenizer is taken from a `tokenizer.json` next to it, else
    /// from the file itself.
    Gguf {
        /// The file.
        path: PathBuf,
    },
    /// A folder with `config.json`, `*.safetensors` and `tokenizer.json` or another
    /// tokenizer.
    HuggingFace {
        /// The folder.
        path: PathBuf,
        /// What is made of floats; `None` keeps the weights as they are stored.
        quantization: Option<Quantization>,
    },
}

/// A model in memory, ready to compute.
#[derive(Debug)]
pub struct Model {
    pub(crate) decoder: Decoder,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) info: ModelInfo,
}

impl Model {
    /// As [`Model::load_on`], computing on the caller's thread alone.
    ///
    /// # Errors
    /// As [`Model::load_on`].
    pub fn load(source: &ModelSource, context: Option<usize>) -> Result<Self, LoadError> {
        Self::load_on(source, context, Compute::default())
    }

    /// Loads a model for contexts of up to `context` tokens; `None` takes what the
    /// model was made for, up to 32,768.
    ///
    /// Ends with a pass over one token and one over two, which touch all the memory:
    /// afterwards the first request is as fast as any other.
    ///
    /// # Errors
    /// [`LoadError`], which says what is missing, damaged or not supported.
    pub fn load_on(
        source: &ModelSource,
        context: Option<usize>,
        compute: Compute,
    ) -> Result<Self, LoadError> {
        Self::finish(Self::prepare(source, context, compute.kv)?, compute)
    }

    /// As [`Model::load_on`], if the weights and the keys and values of `kv_tokens` tokens fit into
    /// what is available, bytes.
    ///
    /// # Errors
    /// [`LoadError::Memory`] before any weight is read, else as [`Model::load_on`].
    pub fn load_within(
        source: &ModelSource,
        context: Option<usize>,
        compute: Compute,
        (kv_tokens, available_bytes): (usize, u64),
    ) -> Result<Self, LoadError> {
        let prepared = Self::prepare(source, context, compute.kv)?;
        let kv_bytes = kv_tokens.saturating_mul(prepared.shape.kv_bytes_per_token()) as u64;
        prepared.check_memory(kv_bytes, available_bytes)?;
        Self::finish(prepared, compute)
    }

    /// Reads everything except the weights.
    pub(crate) fn prepare(
        source: &ModelSource,
        context: Option<usize>,
        kv: KvFormat,
    ) -> Result<Prepared, LoadError> {
        if !BUILT {
            return Err(LoadError::NotBuilt);
        }
        let mut prepared = match source {
            ModelSource::Preset { preset, quantization, seed } => {
                Prepared::preset(*preset, *quantization, *seed, context)
            }
            ModelSource::Gguf { path } => Prepared::gguf(path, context),
            ModelSource::HuggingFace { path, quantization } => {
                Prepared::hugging_face(path, *quantization, context)
            }
        }?;
        prepared.shape.kv = kv;
        Ok(prepared)
    }

    /// Reads the weights.
    pub(crate) fn finish(mut prepared: Prepared, compute: Compute) -> Result<Self, LoadError> {
        if !BUILT {
            return Err(LoadError::NotBuilt);
        }
        let start = Instant::now();
        let stored_bytes = prepared.stored_bytes()?;
        let decoder = prepared.load(compute)?;
        warm_up(&decoder)?;
        let load_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let info = describe(&decoder, &prepared, stored_bytes, load_ns);
        Ok(Self { decoder, tokenizer: prepared.tokenizer, info })
    }

    /// What the model is.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }
}

/// One pass over one token and one over several: the first use of memory is slow.
fn warm_up(decoder: &Decoder) -> Result<(), LoadError> {
    let mut pool = KvPool::new(decoder.shape(), 3);
    let mut cache = KvCache::default();
    for tokens in [&[0_u32][..], &[0, 0]] {
        if decoder.shape().context_max < cache.length() + tokens.len() {
            break;
        }
        pool.extend(&mut cache, tokens.len())
            .map_err(|error| LoadError::FirstPass { reason: error.to_string() })?;
        decoder
            .step(&mut [Row { cache: &mut cache, tokens, wants_logits: true }])
            .map_err(|error| LoadError::FirstPass { reason: error.to_string() })?;
    }
    Ok(())
}
