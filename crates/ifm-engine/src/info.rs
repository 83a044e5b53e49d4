//! What a model is, for records and reports.

use crate::{
    decoder::Decoder, parallel::threads_in_effect, quantization::dtype_name, shape::ModelShape,
    simd::instruction_set,
};

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
    /// How most weights are stored in the source, such as `q8_0`.
    pub stored_dtype: String,
    /// What products compute in, such as `int8 x q8_0` or `f32`.
    pub compute_dtype: String,
    /// How keys and values are stored.
    pub kv_dtype: String,
    /// The instruction set of this crate's own loops; candle's kernels choose for
    /// themselves, by the same processor.
    pub instruction_set: String,
    /// Threads that compute.
    pub threads: usize,
    /// The seed, when the weights are random and the text therefore noise.
    pub random_seed: Option<u64>,
    /// Tokens that end an answer.
    pub eos_ids: Vec<u32>,
    /// The token put before a prompt, if the model wants one.
    pub bos_id: Option<u32>,
    /// Whether a prompt's prefix can be answered from memory. Never: every prompt is
    /// computed, so equal prompts take equal time.
    pub prefix_cache: bool,
    /// Time from the start of loading until the first pass was done, nanoseconds.
    pub load_ns: u64,
}

/// What the decoder itself knows.
pub(crate) fn describe(decoder: &Decoder, name: &str, architecture: &str) -> ModelInfo {
    let shape = decoder.shape().clone();
    let (stored, blocks) = decoder.dtypes();
    ModelInfo {
        name: name.to_owned(),
        architecture: architecture.to_owned(),
        parameters: shape.parameters(),
        shape,
        stored_dtype: dtype_name(stored).to_owned(),
        compute_dtype: if blocks {
            format!("int8 activations x {} weights", dtype_name(stored))
        } else {
            "f32".to_owned()
        },
        kv_dtype: "f32".to_owned(),
        instruction_set: instruction_set(decoder.arch()).to_owned(),
        threads: threads_in_effect(),
        random_seed: None,
        eos_ids: Vec::new(),
        bos_id: None,
        prefix_cache: false,
        load_ns: 0,
    }
}
