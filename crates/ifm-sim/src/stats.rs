//! What a simulated server counts, like a real one.
//!
//! Not here: what clients see (`simulation::Finished`).

use crate::step::{StepLoad, StepTime};

/// Counts since the start. Seconds are of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stats {
    /// Steps.
    pub steps: u64,
    /// Requests in all steps together.
    pub in_steps: f64,
    /// Times that a request was put back for want of room.
    pub preemptions: u64,
    /// Tokens of prompts that were looked for in the cache.
    pub prompt_tokens: u64,
    /// Of these, found.
    pub cached_tokens: u64,
    /// Tokens of answers.
    pub generated_tokens: u64,
    /// Checks of drafts.
    pub drafts: u64,
    /// Draft tokens that were checked.
    pub drafted_tokens: u64,
    /// Of these, accepted.
    pub accepted_tokens: u64,
    /// Most blocks that were in use.
    pub blocks_peak: u32,
    /// Seconds that waited for memory: weights, keys and values.
    pub memory_s: f64,
    /// Seconds that waited for arithmetic.
    pub compute_s: f64,
    /// Seconds that waited for the host.
    pub host_s: f64,
    /// Seconds that waited for other GPUs.
    pub exchange_s: f64,
}

impl Stats {
    pub(crate) fn add_step(&mut self, time: &StepTime, load: &StepLoad, blocks: u32) {
        self.steps += 1;
        self.in_steps += load.answers + load.chunks;
        self.blocks_peak = self.blocks_peak.max(blocks);
        self.host_s += time.host_s;
        self.exchange_s += time.exchange_s;
        self.memory_s += time.context_s;
        self.compute_s += time.prompt_attention_s;
        match time.is_compute_bound {
            true => self.compute_s += time.layers_s + time.head_s,
            false => self.memory_s += time.layers_s + time.head_s,
        }
    }

    /// The counts of another replica, or of a later time, added.
    pub fn add(&mut self, other: &Stats) {
        self.steps += other.steps;
        self.in_steps += other.in_steps;
        self.preemptions += other.preemptions;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.generated_tokens += other.generated_tokens;
        self.drafts += other.drafts;
        self.drafted_tokens += other.drafted_tokens;
        self.accepted_tokens += other.accepted_tokens;
        self.blocks_peak = self.blocks_peak.max(other.blocks_peak);
        self.memory_s += other.memory_s;
        self.compute_s += other.compute_s;
        self.host_s += other.host_s;
        self.exchange_s += other.exchange_s;
    }

    /// What most of the steps' time waited for; absent before the first step.
    pub fn binds(&self) -> Option<&'static str> {
        let waits = [
            (self.memory_s, "memory bandwidth"),
            (self.compute_s, "arithmetic"),
            (self.host_s, "host time"),
            (self.exchange_s, "exchange between GPUs"),
        ];
        let longest = waits.into_iter().max_by(|left, right| left.0.total_cmp(&right.0))?;
        (longest.0 > 0.0).then_some(longest.1)
    }
}
