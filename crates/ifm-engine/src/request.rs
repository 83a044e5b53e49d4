//! What is asked of the engine, and what it answers.
//!
//! Not here: HTTP, JSON, chat templates (`ifm-serve`).

use crate::sample::Sampling;

/// A prompt and how it is to be continued.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateRequest {
    /// The prompt, at least one token. Nothing is added to it.
    pub prompt: Vec<u32>,
    /// Most tokens of the answer, at least 1. The token that ends it counts.
    pub max_tokens: usize,
    /// Tokens before which neither an end token nor a stop string ends the answer; end
    /// tokens are not even chosen.
    pub min_tokens: usize,
    /// End tokens are like any other.
    pub ignore_eos: bool,
    /// Texts that end the answer. They are not part of it.
    pub stop: Vec<String>,
    /// How tokens are chosen.
    pub sampling: Sampling,
}

impl GenerateRequest {
    /// Whether a server with this vocabulary and context, in tokens, can accept it.
    ///
    /// # Errors
    /// [`SubmitError::EmptyPrompt`], [`SubmitError::NoTokens`], [`SubmitError::UnknownToken`] and
    /// [`SubmitError::TooLong`].
    pub fn check(&self, vocabulary: usize, context: usize) -> Result<(), SubmitError> {
        if self.prompt.is_empty() {
            return Err(SubmitError::EmptyPrompt);
        }
        if self.max_tokens == 0 {
            return Err(SubmitError::NoTokens);
        }
        if let Some(&token) = self.prompt.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(SubmitError::UnknownToken { token, vocabulary });
        }
        let (prompt_tokens, max_tokens) = (self.prompt.len(), self.max_tokens);
        if prompt_tokens.saturating_add(max_tokens) > context {
            return Err(SubmitError::TooLong { prompt_tokens, max_tokens, context });
        }
        Ok(())
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// At an end token or a stop string.
    Stop,
    /// At `max_tokens`.
    Length,
}

impl FinishReason {
    /// OpenAI's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
        }
    }
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish {
    /// Why it ended.
    pub reason: FinishReason,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the answer, the last one included.
    pub completion_tokens: usize,
}

/// One generated token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// The text that it completes. Empty while a character is incomplete, while the
    /// text could be the start of a stop string, and for special tokens.
    pub text: String,
    /// Set on the last token.
    pub finish: Option<Finish>,
}

/// The output of a request: one event per token, the last one with `finish`.
///
/// A channel that closes before means that the engine is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The next token.
    Token(Token),
    /// The request cannot be completed; nothing follows.
    Failed(String),
}

/// Why a request was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// As many requests as allowed are waiting. Try again later.
    #[error("{waiting} requests are waiting already; hint: try again later")]
    Overloaded {
        /// How many.
        waiting: usize,
    },
    /// The prompt and the answer do not fit into the context.
    #[error("{prompt_tokens} tokens and {max_tokens} more exceed the context of {context}")]
    TooLong {
        /// Tokens of the prompt.
        prompt_tokens: usize,
        /// Tokens that the answer may have.
        max_tokens: usize,
        /// Tokens that a request may have here: the context, or the whole memory for
        /// keys and values if that is less.
        context: usize,
    },
    /// The prompt has no token.
    #[error("the prompt has no token")]
    EmptyPrompt,
    /// The answer may have no token.
    #[error("max_tokens is 0; hint: ask for at least one token")]
    NoTokens,
    /// A token of the prompt is not in the vocabulary.
    #[error("token {token} is outside the vocabulary of {vocabulary}")]
    UnknownToken {
        /// The token.
        token: u32,
        /// Tokens that the model knows.
        vocabulary: usize,
    },
    /// The engine has been shut down, or its thread has died.
    #[error("the engine is not running")]
    Stopped,
}
