//! What can go wrong before a prompt is sent.

use ifm_tokenizer::TokenizerError;

use crate::lengths::TOKENS_MAX;

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
    /// All numbers of items are used up.
    #[error("the workload is exhausted after {items} items")]
    Exhausted {
        /// Items that were handed out.
        items: u64,
    },
    /// The tokenizer failed.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}
