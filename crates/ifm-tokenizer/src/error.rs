//! What can go wrong between text and token ids.

use std::path::PathBuf;

/// What a tokenizer can be read from, as listed in the error for anything else.
pub(crate) const WANTED: &str = "a tokenizer.json, a SentencePiece .model, a tiktoken rank file, \
                                 a GGUF file, or a folder that holds one of them";

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
    #[error("the tokenizer file {} is larger than {limit_bytes} bytes; give {WANTED}", path.display())]
    TooLarge {
        /// The file asked for.
        path: PathBuf,
        /// The largest size that is read, in bytes.
        limit_bytes: u64,
    },
    /// Neither a path nor a name that is known.
    #[error(
        "there is no file or folder '{text}', and no tokenizer has that name; give {WANTED}, or one \
         of the names {names}, or an OpenAI model such as gpt-4o"
    )]
    Unknown {
        /// What was asked for.
        text: String,
        /// The names that there are.
        names: String,
    },
    /// A folder without a tokenizer, or with several.
    #[error("the folder {}: {reason}", path.display())]
    Folder {
        /// The folder asked for.
        path: PathBuf,
        /// What is missing, or what there is too much of.
        reason: String,
    },
    /// The bytes are not a tokenizer, or a damaged one.
    #[error("cannot understand the tokenizer {name}: {reason}; give {WANTED}")]
    Parse {
        /// The file, or the tokenizer's name.
        name: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// A tokenizer that is understood, but of a kind that would not be followed exactly.
    #[error("the tokenizer {name} is not supported: {what}")]
    Unsupported {
        /// The file, or the tokenizer's name.
        name: String,
        /// What is not supported, and what to give instead.
        what: String,
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
        /// Why not.
        reason: String,
    },
}

/// What is wrong with a definition, before it is known which file it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Not of the format, cut short, or at odds with itself.
    Damaged(String),
    /// Of the format, but asking for something that is not there.
    Unsupported(String),
}

impl Problem {
    /// Damage, described by any text.
    pub(crate) fn damaged(reason: impl Into<String>) -> Self {
        Self::Damaged(reason.into())
    }

    /// Something that is not supported, described by any text.
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }

    /// The public error, with the file or the name that the definition came from.
    pub(crate) fn of(self, name: &str) -> TokenizerError {
        let name = name.to_owned();
        match self {
            Self::Damaged(reason) => TokenizerError::Parse { name, reason },
            Self::Unsupported(what) => TokenizerError::Unsupported { name, what },
        }
    }
}
