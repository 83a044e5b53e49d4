//! What an event, or a whole answer, says: the common tongue of all dialects.

use std::borrow::Cow;

/// Choices kept without allocating. More than these in one event go to the heap.
const INLINE_CHOICES: usize = 2;

/// The choices that one event mentions, in its order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Choices<'input> {
    inline: [ChoiceFacts<'input>; INLINE_CHOICES],
    inline_count: usize,
    more: Vec<ChoiceFacts<'input>>,
}

impl<'input> Choices<'input> {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &ChoiceFacts<'input>> {
        self.inline[..self.inline_count].iter().chain(&self.more)
    }

    /// Number of choices mentioned.
    pub fn len(&self) -> usize {
        self.inline_count + self.more.len()
    }

    /// Whether none is mentioned.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds what the event says about one more choice.
    pub fn push(&mut self, facts: ChoiceFacts<'input>) {
        if self.inline_count < INLINE_CHOICES {
            self.inline[self.inline_count] = facts;
            self.inline_count += 1;
        } else {
            self.more.push(facts);
        }
    }
}

/// What an event says about one choice (sequence).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChoiceFacts<'input> {
    /// Index of the choice.
    pub index: u16,
    /// Non-empty answer text, a tool call, a function call, or a refusal.
    pub has_answer: bool,
    /// Non-empty reasoning text.
    pub has_reasoning: bool,
    /// An empty text that may stand for a token: no role, no finish reason beside it.
    pub has_empty_text: bool,
    /// The model refused.
    pub has_refusal: bool,
    /// The reason why the choice ended, if it did.
    pub finish_reason: Option<Cow<'input, str>>,
}

/// What the server counted. Each number is absent where it said nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Tokens generated so far, of all choices that the object speaks for.
    pub completion_tokens: Option<u32>,
    /// Reasoning tokens among them.
    pub reasoning_tokens: Option<u32>,
    /// Prompt tokens from a cache.
    pub cached_tokens: Option<u32>,
    /// Accepted draft tokens.
    pub accepted_draft_tokens: Option<u32>,
    /// Rejected draft tokens.
    pub rejected_draft_tokens: Option<u32>,
}

/// What one event, or one whole answer, says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChunkFacts<'input> {
    /// What it says about each choice that it mentions.
    pub choices: Choices<'input>,
    /// What the server counted, if it said so here.
    pub usage: Option<Usage>,
    /// Whether the answer ends here: nothing behind belongs to it.
    pub is_end: bool,
    /// The error that it reports, in one bounded sentence.
    pub error: Option<String>,
}

/// What a dialect remembers from event to event of one stream.
#[derive(Debug, Default)]
pub struct Memory {}

impl Memory {
    /// Forgets the stream; buffers are kept.
    pub fn reset(&mut self) {}
}
