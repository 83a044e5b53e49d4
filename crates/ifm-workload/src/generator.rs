//! Hands items out in order and keeps the record of what they were.
//!
//! Not here: making items (`dataset`), sending them.

use ifm_tokenizer::Tokenizer;
use sha2::{Digest as _, Sha256};

use crate::{
    dataset::random::{RandomPrompts, RandomSpec},
    error::WorkloadError,
    item::{Dataset, WorkItem},
    lengths::LengthCounts,
};

/// An endless stream of items, made one at a time: memory is that of one item.
pub struct Generator {
    dataset: Box<dyn Dataset>,
    next_id: u32,
    hasher: Sha256,
    prompt_lengths: LengthCounts,
    output_lengths: LengthCounts,
}

impl Generator {
    /// Hands out the items of a data set from number 0 on.
    pub fn new(dataset: Box<dyn Dataset>) -> Self {
        Self {
            dataset,
            next_id: 0,
            hasher: Sha256::new(),
            prompt_lengths: LengthCounts::default(),
            output_lengths: LengthCounts::default(),
        }
    }

    /// Random prompts of exact length.
    ///
    /// # Errors
    /// As [`RandomPrompts::new`].
    pub fn random(spec: &RandomSpec, tokenizer: &Tokenizer) -> Result<Self, WorkloadError> {
        Ok(Self::new(Box::new(RandomPrompts::new(spec, tokenizer)?)))
    }

    /// Makes the next item and counts it.
    ///
    /// # Errors
    /// [`WorkloadError::Exhausted`] after 2^32 - 1 items, and what the data set
    /// says; a failed item is not counted and would be tried again.
    pub fn next_item(&mut self) -> Result<WorkItem, WorkloadError> {
        let following = self.next_id.checked_add(1);
        let following =
            following.ok_or(WorkloadError::Exhausted { items: u64::from(self.next_id) })?;
        let item = self.dataset.item(self.next_id)?;
        self.next_id = following;
        for turn in &item.turns {
            let prompt = turn.prompt.canonical_bytes();
            self.hasher.update((prompt.len() as u64).to_le_bytes());
            self.hasher.update(prompt);
            turn.prompt_tokens.into_iter().for_each(|tokens| self.prompt_lengths.add(tokens));
            turn.output_tokens.into_iter().for_each(|tokens| self.output_lengths.add(tokens));
        }
        Ok(item)
    }

    /// Makes the item with a number, without counting it: the same that
    /// [`Generator::next_item`] gives at its turn.
    ///
    /// # Errors
    /// What the data set says.
    pub fn item(&self, id: u32) -> Result<WorkItem, WorkloadError> {
        self.dataset.item(id)
    }

    /// How many items there are before one begins like an earlier one: see
    /// [`Dataset::distinct_items`].
    pub fn distinct_items(&self) -> u64 {
        self.dataset.distinct_items()
    }

    /// Whether items have several turns.
    pub fn has_conversations(&self) -> bool {
        self.dataset.has_conversations()
    }

    /// SHA-256 over the prompts handed out so far, in order, in hexadecimal. Each
    /// goes in as its length in bytes (64 bits, little-endian) and its bytes.
    pub fn prompts_sha256(&self) -> String {
        use std::fmt::Write as _;
        self.hasher.clone().finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Prompt lengths handed out so far.
    pub fn prompt_lengths(&self) -> &LengthCounts {
        &self.prompt_lengths
    }

    /// Output lengths asked for so far.
    pub fn output_lengths(&self) -> &LengthCounts {
        &self.output_lengths
    }
}
