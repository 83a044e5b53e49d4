//! What can go wrong before a prompt is sent.

use std::path::{Path, PathBuf};

use ifm_tokenizer::TokenizerError;

/// The longest prompt and the longest output, in tokens: bounds the memory of an
/// item to some twenty megabytes.
pub const TOKENS_MAX: u32 = 1 << 22;

/// Why a workload cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The name of a workload is not understood.
    #[error("cannot understand the workload '{text}': {reason}")]
    Shape {
        /// What was given.
        text: String,
        /// What is wrong with it, and what to write instead.
        reason: String,
    },
    /// A length is zero, too large, or a range is upside down.
    #[error(
        "a length of {min} to {max} tokens is not possible; give 1 to {TOKENS_MAX}, the smaller first"
    )]
    Length {
        /// Lower bound in tokens.
        min: u32,
        /// Upper bound in tokens.
        max: u32,
    },
    /// The shared prefix does not fit into the shortest prompt.
    #[error(
        "a shared prefix of {shared_prefix_tokens} tokens does not fit into prompts of \
         {prompt_tokens_min} tokens; the prefix counts as part of the prompt"
    )]
    Prefix {
        /// The prefix asked for.
        shared_prefix_tokens: u32,
        /// The shortest prompt asked for.
        prompt_tokens_min: u32,
    },
    /// No text with this number of tokens was found.
    #[error(
        "found no text of exactly {prompt_tokens} tokens with the tokenizer '{tokenizer}' in \
         {attempts} attempts; choose another length"
    )]
    Unreachable {
        /// The length asked for.
        prompt_tokens: u32,
        /// Name of the tokenizer.
        tokenizer: String,
        /// How many texts were tried.
        attempts: u32,
    },
    /// All items are used up.
    #[error(
        "the workload is exhausted after {items} items; allow it to begin again, or send fewer \
         requests"
    )]
    Exhausted {
        /// Items that there are.
        items: u64,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file as a whole is not what it should be.
    #[error("{file}: {reason}")]
    File {
        /// Its name.
        file: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A row of a data set is malformed, and bad rows stop the run.
    #[error("{file}:{line}: {reason}; fix the row, or skip such rows with bad_rows=skip")]
    BadRow {
        /// Name of the file.
        file: String,
        /// Line from 1; in a Parquet file the row from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// No row was left.
    #[error("{file}: none of {read} rows can be sent: {reasons}")]
    NoRows {
        /// Name of the file.
        file: String,
        /// Rows that were read.
        read: u64,
        /// Why rows were left out, how many for each reason, and the first bad rows.
        reasons: String,
    },
    /// The data set is not here, and cannot be fetched.
    #[error("the data set {repository} is not on this machine: {reason}. {instead}")]
    Hub {
        /// Name of the repository, with the file where it is known.
        repository: String,
        /// Why it was not fetched.
        reason: String,
        /// Which file to fetch, and where to put it.
        instead: String,
    },
    /// A preset is wrong.
    #[error("the preset in {file} cannot be used: {reason}")]
    Preset {
        /// Name of its file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The tokenizer failed.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// A file's name without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
