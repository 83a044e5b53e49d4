//! Why a model could not be loaded, from the file to the first pass.

use crate::NOT_BUILT;
use std::path::PathBuf;

/// Why a model could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The program has no engine.
    #[error("{NOT_BUILT}")]
    NotBuilt,
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is damaged, cut short, or not what its name says.
    #[error("cannot understand {}: {reason}", path.display())]
    Damaged {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A model that this engine cannot run.
    #[error("not supported: {what}")]
    Unsupported {
        /// What is not supported, and what is.
        what: String,
    },
    /// A tensor that the architecture needs is not there.
    #[error("tensor {tensor} is missing; hint: the download may be incomplete")]
    MissingTensor {
        /// Its name.
        tensor: String,
    },
    /// A tensor has other dimensions than the configuration says.
    #[error("tensor {tensor} has the dimensions {got:?} instead of {expected:?}")]
    TensorShape {
        /// Its name.
        tensor: String,
        /// What the file has.
        got: Vec<usize>,
        /// What the configuration asks for.
        expected: Vec<usize>,
    },
    /// The dimensions of the configuration make no sense.
    #[error("impossible dimensions: {reason}")]
    Dimensions {
        /// What is wrong with them.
        reason: String,
    },
    /// The bytes of a tensor are not a matrix of its format and size.
    #[error("cannot make a tensor: {0}")]
    Tensor(#[from] ifm_kernels::StoredError),
    /// A matrix cannot be arranged for this processor.
    #[error("cannot prepare a tensor: {0}")]
    Pack(#[from] ifm_kernels::PackError),
    /// The machine has too little memory left for the model.
    #[error(
        "the model needs {} for its weights and {} for keys and values, and {} are left; hint: \
         take a variant of fewer bits, or a smaller context",
        size(*weights_bytes), size(*kv_bytes), size(*available_bytes)
    )]
    Memory {
        /// Bytes of the weights as they are stored in memory.
        weights_bytes: u64,
        /// Bytes of the keys and values that are asked for, or of one context.
        kv_bytes: u64,
        /// Bytes that are left.
        available_bytes: u64,
    },
    /// The tokenizer cannot be read.
    #[error(transparent)]
    Tokenizer(#[from] ifm_tokenizer::TokenizerError),
    /// The first pass through the model failed.
    #[error("the model was read, but its first pass failed: {reason}")]
    FirstPass {
        /// What failed.
        reason: String,
    },
}

fn size(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 1000.0 {
        return format!("{megabytes:.1} MB");
    }
    format!("{:.1} GB", megabytes / 1000.0)
}
