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
    /// One choice.
    pub fn one(facts: ChoiceFacts<'input>) -> Choices<'input> {
        let mut choices = Choices::default();
        choices.push(facts);
        choices
    }

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
    /// An empty text without a role, which may represent a token. If the choice ends with it, it
    /// may represent the end-of-text token.
    pub has_empty_text: bool,
    /// Bytes of its generated text in UTF-8: answer, reasoning, names and arguments of tool calls.
    /// 0 too where the API repeats the text so far in each event.
    pub text_bytes: u32,
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
    /// Of what kinds the prompt's tokens are.
    pub prompt_kinds: PromptKinds,
    /// Accepted draft tokens.
    pub accepted_draft_tokens: Option<u32>,
    /// Rejected draft tokens.
    pub rejected_draft_tokens: Option<u32>,
    /// Steps in which a draft was made.
    pub draft_steps: Option<u32>,
    /// What the server measured itself.
    pub times: ServerTimes,
}

/// Tokens of a prompt by kind. Each number is absent if the server did not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptKinds {
    /// Text.
    pub text: Option<u32>,
    /// Images.
    pub image: Option<u32>,
    /// Recordings.
    pub audio: Option<u32>,
    /// Videos.
    pub video: Option<u32>,
}

impl PromptKinds {
    /// These, and where they are absent the others.
    pub fn or(self, other: PromptKinds) -> PromptKinds {
        PromptKinds {
            text: self.text.or(other.text),
            image: self.image.or(other.image),
            audio: self.audio.or(other.audio),
            video: self.video.or(other.video),
        }
    }
}

/// Times of a request that its server measured, nanoseconds. Each is absent where it said nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerTimes {
    /// From its arrival until it was scheduled.
    pub queue_ns: Option<u64>,
    /// From then to its first token.
    pub first_token_ns: Option<u64>,
    /// From its first token to the last one.
    pub decode_ns: Option<u64>,
}

impl ServerTimes {
    /// These, and where they are absent the others.
    pub fn or(self, other: ServerTimes) -> ServerTimes {
        ServerTimes {
            queue_ns: self.queue_ns.or(other.queue_ns),
            first_token_ns: self.first_token_ns.or(other.first_token_ns),
            decode_ns: self.decode_ns.or(other.decode_ns),
        }
    }
}

impl Usage {
    /// The counts of this one and of another sequence of the same prompt: what was generated adds
    /// up, the prompt is the same.
    pub fn and_also(&self, other: &Usage) -> Usage {
        let sum = |one: Option<u32>, other: Option<u32>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Usage {
            prompt_tokens: self.prompt_tokens.or(other.prompt_tokens),
            completion_tokens: sum(self.completion_tokens, other.completion_tokens),
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
            cached_tokens: self.cached_tokens.or(other.cached_tokens),
            prompt_kinds: self.prompt_kinds.or(other.prompt_kinds),
            accepted_draft_tokens: sum(self.accepted_draft_tokens, other.accepted_draft_tokens),
            rejected_draft_tokens: sum(self.rejected_draft_tokens, other.rejected_draft_tokens),
            draft_steps: sum(self.draft_steps, other.draft_steps),
            // Times of several sequences do not apply to any single one.
            times: ServerTimes::default(),
        }
    }
}

/// What one event, or one whole answer, says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChunkFacts<'input> {
    /// What it says about each choice that it mentions.
    pub choices: Choices<'input>,
    /// What the server counted, if it said so here.
    pub usage: Option<Usage>,
    /// Sound that it brings, in base64.
    pub sound: Option<Cow<'input, str>>,
    /// How many results it holds, for an API that answers with a list of them.
    pub results: Option<u32>,
    /// Whether the answer ends here: nothing behind belongs to it.
    pub is_end: bool,
    /// The error that it reports, in one bounded sentence.
    pub error: Option<String>,
}

impl ChunkFacts<'_> {
    /// Whether the API finds nothing in it: no choice, count, sound, result, end or error.
    pub fn is_blank(&self) -> bool {
        self.choices.is_empty()
            && self.usage.is_none_or(|usage| usage == Usage::default())
            && self.sound.is_none()
            && self.results.unwrap_or(0) == 0
            && !self.is_end
            && self.error.is_none()
    }
}

/// Maximum number of sequences tracked per stream. Without it, a hostile index could allocate 64 Ki
/// useless entries.
const SEQUENCES_MAX: usize = 1024;

/// What a dialect remembers from event to event of one stream.
#[derive(Debug, Default)]
pub struct Memory {
    sequences: Vec<Sequence>,
}

/// What has come of one choice (sequence).
#[derive(Debug, Default)]
pub struct Sequence {
    /// Tokens that the server has counted.
    pub tokens: u32,
    /// Its text, where events repeat it and it is to be kept.
    pub text: String,
    /// Bytes of its text as last written by the server, escapes included.
    pub text_bytes: usize,
    /// Whether it ended.
    pub has_ended: bool,
}

impl Memory {
    /// Forgets the stream; buffers are kept.
    pub fn reset(&mut self) {
        self.sequences.clear();
    }

    /// What has come of the choice of this index.
    pub fn sequence(&mut self, index: u16) -> &mut Sequence {
        let place = usize::from(index).min(SEQUENCES_MAX - 1);
        if place >= self.sequences.len() {
            self.sequences.resize_with(place + 1, Sequence::default);
        }
        &mut self.sequences[place]
    }

    /// Bytes of the texts that are kept.
    pub fn held_bytes(&self) -> usize {
        self.sequences.iter().map(|sequence| sequence.text.len()).sum()
    }

    /// Whether every choice that was seen has ended.
    pub fn has_ended(&self) -> bool {
        self.sequences.iter().all(|sequence| sequence.has_ended)
    }
}
