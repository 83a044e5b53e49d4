//! What comes out of a request: tokens, and its end.
//!
//! Not here: who makes them (`backend`), their bytes (`frames`).

use std::time::Instant;

use ifm_engine::FinishReason;

/// One event of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// The next tokens.
    Piece(Piece),
    /// The request cannot be completed; nothing follows.
    Failed(String),
}

/// Tokens that came at once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    /// The text that they complete; may be empty.
    pub(crate) text: String,
    /// How many, at least 1.
    pub(crate) tokens: usize,
    /// When a simulation says that a client sees it.
    pub(crate) due: Option<Instant>,
    /// Set on the last piece.
    pub(crate) finish: Option<Finish>,
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Finish {
    pub(crate) reason: FinishReason,
    pub(crate) prompt_tokens: usize,
    pub(crate) completion_tokens: usize,
    /// Tokens of the prompt that were found in the prefix cache, where that is known.
    pub(crate) cached_tokens: Option<usize>,
    /// How long things took, where the backend knows.
    pub(crate) times: Option<Times>,
}

/// How long things took for a request, nanoseconds of the clock on the wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// From its arrival until it was first part of a step.
    pub(crate) queued_ns: u64,
    /// From then to the first token.
    pub(crate) first_token_ns: u64,
    /// From the first token to the last.
    pub(crate) generation_ns: u64,
}

impl From<ifm_engine::Event> for Event {
    fn from(event: ifm_engine::Event) -> Self {
        match event {
            ifm_engine::Event::Token(token) => Self::Piece(Piece {
                text: token.text,
                tokens: 1,
                due: None,
                finish: token.finish.map(|finish| Finish {
                    reason: finish.reason,
                    prompt_tokens: finish.prompt_tokens,
                    completion_tokens: finish.completion_tokens,
                    // There is no such cache.
                    cached_tokens: Some(0),
                    times: None,
                }),
            }),
            ifm_engine::Event::Failed(reason) => Self::Failed(reason),
        }
    }
}
