//! Random words: prompts of exact length that no server has seen.
//!
//! Not here: making text of a length (`prompt`), files.

use ifm_core::Prompt;
use ifm_tokenizer::Tokenizer;

use super::{Dataset, DatasetKind, WorkItem};
use crate::{
    error::WorkloadError,
    lengths::LengthRange,
    prompt::PromptMaker,
    rng::{Rng, Stream},
    scale::LengthScale,
    shape::Shape,
};

/// The data set's entry in the registry.
pub const KIND: DatasetKind = DatasetKind {
    name: "random",
    usage: "random:PROMPT/OUTPUT",
    summary: "random words of exact token length, made from a seed",
};

/// What random prompts are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomSpec {
    /// Tokens of each prompt, shared prefix included.
    pub prompt_tokens: LengthRange,
    /// Tokens to ask for in each request.
    pub output_tokens: LengthRange,
    /// Tokens at the start of every prompt that are the same in all. 0 for prompts
    /// that a prefix cache cannot help with.
    pub shared_prefix_tokens: u32,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Who counts these lengths: the tokenizer itself unless said otherwise.
    pub scale: LengthScale,
}

impl RandomSpec {
    /// The lengths of a shape, no shared prefix.
    pub fn from_shape(shape: &Shape, seed: u64) -> Self {
        Self {
            prompt_tokens: shape.prompt_tokens(),
            output_tokens: shape.output_tokens(),
            shared_prefix_tokens: 0,
            seed,
            scale: LengthScale::EXACT,
        }
    }

    /// Fixed lengths, no shared prefix.
    ///
    /// # Errors
    /// [`WorkloadError::Length`] when a length is 0 or too large.
    pub fn fixed(prompt_tokens: u32, output_tokens: u32, seed: u64) -> Result<Self, WorkloadError> {
        Ok(Self {
            prompt_tokens: LengthRange::fixed(prompt_tokens)?,
            output_tokens: LengthRange::fixed(output_tokens)?,
            shared_prefix_tokens: 0,
            seed,
            scale: LengthScale::EXACT,
        })
    }
}

/// The data set.
pub struct RandomPrompts {
    spec: RandomSpec,
    prompts: PromptMaker,
    prompt_lengths: Stream,
    output_lengths: Stream,
}

impl RandomPrompts {
    /// Prepares the words; takes a few milliseconds.
    ///
    /// # Errors
    /// [`WorkloadError::Prefix`], and [`WorkloadError::Unreachable`] when the
    /// tokenizer has no text as long as the shared prefix.
    pub fn new(spec: &RandomSpec, tokenizer: &Tokenizer) -> Result<Self, WorkloadError> {
        let prompt_tokens_min = spec.prompt_tokens.min();
        if spec.shared_prefix_tokens > prompt_tokens_min {
            return Err(WorkloadError::Prefix {
                shared_prefix_tokens: spec.shared_prefix_tokens,
                prompt_tokens_min,
            });
        }
        let rng = Rng::new(spec.seed);
        Ok(Self {
            spec: *spec,
            prompts: PromptMaker::new(tokenizer, &rng, spec.shared_prefix_tokens, spec.scale)?,
            prompt_lengths: rng.stream("prompt_length"),
            output_lengths: rng.stream("output_length"),
        })
    }

    /// Whether lengths are known from the words alone; otherwise each prompt is
    /// encoded and mended until it fits, which is slower and as exact.
    pub fn counts_words(&self) -> bool {
        self.prompts.counts_words()
    }
}

impl Dataset for RandomPrompts {
    fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        let number = u64::from(id);
        let prompt_tokens = self.spec.prompt_tokens.draw(&mut self.prompt_lengths.item(number));
        let output_tokens = self.spec.output_tokens.draw(&mut self.output_lengths.item(number));
        let prompt = self.prompts.prompt(id, prompt_tokens)?;
        let prompt = Prompt::Text(prompt);
        Ok(WorkItem::single(id, prompt, Some(prompt_tokens), Some(output_tokens)))
    }

    fn distinct_items(&self) -> u64 {
        self.prompts.distinct_prompts(self.spec.prompt_tokens.min())
    }
}
