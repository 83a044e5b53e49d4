//! What a model is, for records and reports.

use crate::{decoder::Decoder, load::Prepared, shape::ModelShape, weights::matrices};

/// What a model is, for records and reports.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    /// A name for requests: the preset's, the file's or the folder's.
    pub name: String,
    /// The family, such as `llama`.
    pub architecture: String,
    /// Number of parameters, a tied head counted once.
    pub parameters: u64,
    /// The dimensions, with the context that was asked for.
    pub shape: ModelShape,
    /// The variant in words, such as `w8a8 (int8 x int8, dynamic per token)`, or the
    /// name of the format where it says all.
    pub variant: String,
    /// How most weights are stored, such as `q8_0`.
    pub stored_dtype: String,
    /// Bytes of all matrices as they are stored, scales included; a tied head once.
    pub stored_bytes: u64,
    /// Bytes of those matrices that every step reads whole.
    pub step_bytes: u64,
    /// `stored_bytes` in bits, over the number of weights in those matrices.
    pub bits_per_weight: f64,
    /// What products compute with, such as `int8 x int8`.
    pub compute_dtype: String,
    /// How keys and values are stored.
    pub kv_dtype: String,
    /// The instructions that products use.
    pub instruction_set: String,
    /// Threads that compute.
    pub threads: usize,
    /// The seed, when the weights are random and the text therefore noise.
    pub random_seed: Option<u64>,
    /// Tokens that end an answer.
    pub eos_ids: Vec<u32>,
    /// The token put before a prompt, if the model requires one.
    pub bos_id: Option<u32>,
    /// Whether a prompt's prefix can be answered from memory. Never: every prompt is
    /// computed, so equal prompts take equal time.
    pub prefix_cache: bool,
    /// Time from the start of reading weights until the first pass was done, nanoseconds.
    pub load_ns: u64,
}

/// What the decoder and its source know.
pub(crate) fn describe(
    decoder: &Decoder,
    source: &Prepared,
    (stored_bytes, step_bytes): (u64, u64),
    load_ns: u64,
) -> ModelInfo {
    let shape = decoder.shape().clone();
    let (format, computed) = decoder.computed();
    let weights: usize = matrices(&shape).iter().map(|(_, rows, columns)| rows * columns).sum();
    let stored_dtype = format.name().to_owned();
    let variant = if source.variant.is_empty() { &stored_dtype } else { &source.variant };
    ModelInfo {
        name: source.name.clone(),
        architecture: source.architecture.clone(),
        parameters: shape.parameters(),
        variant: variant.clone(),
        stored_dtype,
        stored_bytes,
        step_bytes,
        bits_per_weight: stored_bytes as f64 * 8.0 / weights as f64,
        compute_dtype: computed.to_owned(),
        kv_dtype: shape.kv.to_string(),
        instruction_set: decoder.isa().to_string(),
        threads: decoder.threads(),
        random_seed: source.random_seed,
        eos_ids: source.eos_ids.clone(),
        bos_id: source.bos_id,
        prefix_cache: false,
        load_ns,
        shape,
    }
}
