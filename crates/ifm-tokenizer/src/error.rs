//! What can go wrong between text and token ids.

use std::path::PathBuf;

/// Why a tokenizer could not be read or used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file cannot be opened or read.
    #[error("cannot read the tokenizer file {}: {source}", path.display())]
    Read {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is larger than any tokenizer ought to be.
    #[error("the tokenizer file {} is larger than {limit_bytes} bytes; name a tokenizer.json", path.display())]
    TooLarge {
        /// The file asked for.
        path: PathBuf,
        /// The largest size that is read, in bytes.
        limit_bytes: u64,
    },
    /// The bytes are not a `tokenizer.json`.
    #[error(
        "cannot understand the tokenizer '{name}': {reason}; a Hugging Face tokenizer.json is wanted"
    )]
    Parse {
        /// The tokenizer's name.
        name: String,
        /// What the parser said.
        reason: String,
    },
    /// The tokenizer refused a text.
    #[error("cannot encode the text: {reason}")]
    Encode {
        /// What the tokenizer said.
        reason: String,
    },
    /// The tokenizer refused a sequence of ids.
    #[error("cannot decode the token ids: {reason}")]
    Decode {
        /// What the tokenizer said.
        reason: String,
    },
    /// The tokenizer cannot be written as `tokenizer.json`.
    #[error("cannot write the tokenizer as json: {reason}")]
    Write {
        /// What the serialiser said.
        reason: String,
    },
}
