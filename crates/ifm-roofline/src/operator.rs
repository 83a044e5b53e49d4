//! The parts of a step: what each reads, computes and sends on one GPU, and how long that takes at
//! the machine's peaks.
//!
//! Not here: how parts add up to a bound (`bound`), which steps a question asks for (`question`).

use crate::format::Arithmetic;
use crate::model::{Attention, Block};
use crate::setup::Setup;
use crate::weights::WeightBytes;
use serde::Serialize;

/// Operations of one multiply-add.
const MULTIPLY_ADD: f64 = 2.0;
/// Bytes of an activation that is sent to other GPUs.
const ACTIVATION_BYTES: f64 = 2.0;
/// All-reduces in a layer under tensor parallelism: after attention and after feed-forward.
const ALL_REDUCES: f64 = 2.0;
/// Bytes of an element of a state of constant size.
pub(crate) const STATE_BYTES: f64 = 4.0;

/// One part of a step, or the same part of many steps together. Bytes, operations and seconds are
/// per GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Operator {
    /// What it is.
    pub name: &'static str,
    /// Bytes from memory; of a mixture of experts those that evenly spread tokens need.
    pub bytes: f64,
    /// Bytes from memory that are needed in any case.
    pub bytes_floor: f64,
    /// Operations.
    pub flops: f64,
    /// Bytes to other GPUs, one direction, by a ring.
    pub link_bytes: f64,
    /// Seconds that `bytes` take.
    pub memory_s: f64,
    /// Seconds that `bytes_floor` take.
    pub memory_floor_s: f64,
    /// Seconds that `flops` take.
    pub compute_s: f64,
    /// Seconds that `link_bytes` take.
    pub link_s: f64,
    /// Seconds that the least exchange takes, where the switch adds up.
    pub link_floor_s: f64,
    /// Seconds when this part runs alone: the longest of memory, arithmetic and links.
    pub serial_s: f64,
}

impl Operator {
    fn new(name: &'static str) -> Operator {
        Operator {
            name,
            bytes: 0.0,
            bytes_floor: 0.0,
            flops: 0.0,
            link_bytes: 0.0,
            memory_s: 0.0,
            memory_floor_s: 0.0,
            compute_s: 0.0,
            link_s: 0.0,
            link_floor_s: 0.0,
            serial_s: 0.0,
        }
    }

    /// Counts work in, and the seconds it takes.
    fn finish(mut self, setup: &Setup) -> Operator {
        let bandwidth = setup.machine().bytes_per_s();
        self.memory_s = self.bytes / bandwidth;
        self.memory_floor_s = self.bytes_floor / bandwidth;
        self.overlap();
        self
    }

    fn compute(&mut self, setup: &Setup, flops: f64, arithmetic: Arithmetic) {
        let share = flops / setup.gpus();
        self.flops += share;
        self.compute_s += share / arithmetic.rate(setup.machine());
    }

    /// Takes the part as one: what is read may be read while something is computed.
    pub(crate) fn overlap(&mut self) {
        self.serial_s = self.memory_s.max(self.compute_s).max(self.link_s);
    }

    /// The same part of one more step, which runs after this one.
    pub(crate) fn then(&mut self, other: &Operator) {
        self.bytes += other.bytes;
        self.bytes_floor += other.bytes_floor;
        self.flops += other.flops;
        self.link_bytes += other.link_bytes;
        self.memory_s += other.memory_s;
        self.memory_floor_s += other.memory_floor_s;
        self.compute_s += other.compute_s;
        self.link_s += other.link_s;
        self.link_floor_s += other.link_floor_s;
        self.serial_s += other.serial_s;
    }

    /// This many times the same.
    pub(crate) fn times(mut self, factor: f64) -> Operator {
        for value in [
            &mut self.bytes,
            &mut self.bytes_floor,
            &mut self.flops,
            &mut self.link_bytes,
            &mut self.memory_s,
            &mut self.memory_floor_s,
            &mut self.compute_s,
            &mut self.link_s,
            &mut self.link_floor_s,
            &mut self.serial_s,
        ] {
            *value *= factor;
        }
        self
    }
}

/// Steps that are alike except for the length of the context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    /// How many.
    pub count: f64,
    /// Tokens in each.
    pub tokens: f64,
    /// Sequences in each, all of one length.
    pub sequences: f64,
    /// Tokens of context before the first step.
    pub context: f64,
    /// Whether each sequence brings all its tokens at once, without a cache.
    pub is_prefill: bool,
}

impl Steps {
    pub fn prefill(prompts: f64, tokens: f64) -> Steps {
        let all = prompts * tokens;
        Steps { count: 1.0, tokens: all, sequences: prompts, context: 0.0, is_prefill: true }
    }

    /// Steps of one token for each sequence; the first sees `context` tokens before its own.
    pub fn decode(sequences: f64, context: f64, count: f64) -> Steps {
        Steps { count, tokens: sequences, sequences, context, is_prefill: false }
    }

    /// Pairs of a token and one that it attends to, of one sequence over all steps.
    fn pairs(&self, window: Option<f64>) -> f64 {
        let rows = if self.is_prefill { self.tokens / self.sequences } else { self.count };
        sum_of_contexts(self.context, rows, window)
    }
}

/// Sum of min(context + j, window) for j from 1 to `count`.
fn sum_of_contexts(context: f64, count: f64, window: Option<f64>) -> f64 {
    let full = |from: f64, count: f64| count * (from + (count + 1.0) / 2.0);
    match window {
        Some(window) if context + count > window => {
            let before = (window - context).clamp(0.0, count);
            full(context, before) + (count - before) * window
        }
        _ => full(context, count),
    }
}

/// Parts of these steps, in a fixed order.
pub(crate) fn operators(setup: &Setup, weights: &WeightBytes, steps: &Steps) -> Vec<Operator> {
    vec![
        layers(setup, weights, steps),
        head(setup, weights, steps),
        attention(setup, steps),
        states(setup, steps),
        exchange(setup, steps),
    ]
}

/// Distinct experts that `tokens` evenly spread choices of `active` among `experts` touch.
pub(crate) fn distinct_experts(experts: f64, active: f64, tokens: f64) -> f64 {
    if experts <= 0.0 {
        return 0.0;
    }
    experts * (1.0 - (1.0 - active / experts).powf(tokens))
}

fn layers(setup: &Setup, weights: &WeightBytes, steps: &Steps) -> Operator {
    let mut operator = Operator::new("layers");
    let model = setup.model();
    let arithmetics = setup.arithmetics();
    for (block, bytes) in model.blocks.iter().zip(&weights.layers) {
        let matrices = block.matrices(model.hidden);
        let count = block.layers as f64;
        let even = distinct_experts(matrices.experts, matrices.active, steps.tokens);
        let read = |experts: f64| count * (bytes.dense + experts * bytes.expert);
        operator.bytes += steps.count * read(even.max(matrices.active)) / setup.gpus();
        operator.bytes_floor += steps.count * read(matrices.active) / setup.gpus();
        let tokens = steps.count * steps.tokens;
        let dense = MULTIPLY_ADD * count * matrices.dense() * tokens;
        operator.compute(setup, dense, arithmetics.dense);
        let experts = MULTIPLY_ADD * count * matrices.active * matrices.expert() * tokens;
        operator.compute(setup, experts, arithmetics.experts);
    }
    operator.finish(setup)
}

fn head(setup: &Setup, weights: &WeightBytes, steps: &Steps) -> Operator {
    let mut operator = Operator::new("head");
    let arithmetic = setup.arithmetics().head;
    operator.bytes = steps.count * weights.head / setup.gpus();
    operator.bytes_floor = operator.bytes;
    let rows = steps.count * steps.sequences;
    operator.compute(setup, MULTIPLY_ADD * setup.model().embedding() * rows, arithmetic);
    operator.finish(setup)
}

/// Keys and values that are read, and what is computed with them.
fn attention(setup: &Setup, steps: &Steps) -> Operator {
    let mut operator = Operator::new("attention");
    let kv = setup.precision().kv;
    let arithmetic = setup.arithmetics().attention;
    let shared_out = setup.gpus().min(setup.model().kv_heads() as f64);
    for block in &setup.model().blocks {
        let pairs = block.layers as f64 * steps.sequences * steps.pairs(block.window());
        if !steps.is_prefill {
            operator.bytes += pairs * block.cache_elements() * kv.bits / 8.0 / shared_out;
        }
        operator.compute(setup, pairs * flops_per_pair(block, steps.is_prefill), arithmetic);
    }
    operator.bytes_floor = operator.bytes;
    operator.finish(setup)
}

/// Operations for one token that attends to one other, all heads of a layer: a score and a weighted
/// sum. Latent attention decodes in the space of the latent vector.
pub(crate) fn flops_per_pair(block: &Block, is_prefill: bool) -> f64 {
    match block.attention {
        Attention::Grouped { heads, head_dim, .. } => {
            2.0 * MULTIPLY_ADD * (heads * head_dim) as f64
        }
        Attention::Latent { heads, kv_rank, rope_dim, nope_dim, value_dim, .. } => {
            let width =
                if is_prefill { nope_dim + rope_dim + value_dim } else { 2 * kv_rank + rope_dim };
            MULTIPLY_ADD * (heads * width) as f64
        }
        Attention::Delta { .. } => 0.0,
    }
}

/// States of constant size: read once a step, two products a token.
fn states(setup: &Setup, steps: &Steps) -> Operator {
    let mut operator = Operator::new("states");
    for block in &setup.model().blocks {
        let elements = block.layers as f64 * block.state_elements();
        if !steps.is_prefill {
            operator.bytes += steps.count * steps.sequences * elements * STATE_BYTES / setup.gpus();
        }
        let flops = 2.0 * MULTIPLY_ADD * elements * steps.count * steps.tokens;
        operator.compute(setup, flops, setup.arithmetics().states);
    }
    operator.bytes_floor = operator.bytes;
    operator.finish(setup)
}

/// What GPUs that share a model send each other.
fn exchange(setup: &Setup, steps: &Steps) -> Operator {
    let mut operator = Operator::new("all-reduce");
    let gpus = setup.gpus();
    if let Some(link) = setup.machine().link_gb_s.filter(|_| gpus > 1.0) {
        let sent = sent_bytes_per_token(setup) * steps.count * steps.tokens;
        let ring = ring_share(gpus);
        operator.link_bytes = sent * ring;
        operator.link_s = operator.link_bytes / (link * 1e9);
        operator.link_floor_s = sent / (link * 1e9);
    }
    operator.finish(setup)
}

/// Bytes that all-reduces add up for one token.
fn sent_bytes_per_token(setup: &Setup) -> f64 {
    let model = setup.model();
    ALL_REDUCES * model.layers() as f64 * model.hidden as f64 * ACTIVATION_BYTES
}

/// The share of it that each GPU sends in a ring of `gpus`.
fn ring_share(gpus: f64) -> f64 {
    2.0 * (gpus - 1.0) / gpus
}

/// Seconds that GPUs which share the model take to send what one token needs; 0 for one GPU, and
/// where the links are unknown.
pub(crate) fn link_token_s(setup: &Setup) -> f64 {
    let gpus = setup.gpus();
    let link = setup.machine().link_gb_s.filter(|_| gpus > 1.0);
    link.map_or(0.0, |link| sent_bytes_per_token(setup) * ring_share(gpus) / (link * 1e9))
}

/// Bytes of cache and state of one sequence of this length on one GPU.
pub(crate) fn sequence_bytes(setup: &Setup, tokens: f64) -> f64 {
    let kv = setup.precision().kv;
    let model = setup.model();
    let shared_out = setup.gpus().min(model.kv_heads() as f64);
    model
        .blocks
        .iter()
        .map(|block| {
            let held = block.window().map_or(tokens, |window| tokens.min(window));
            let cache = block.cache_elements() * held * kv.bits / 8.0 / shared_out;
            let state = block.state_elements() * STATE_BYTES / setup.gpus();
            block.layers as f64 * (cache + state)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_add_up_with_and_without_a_window() {
        // 1 + 2 + 3 + 4; 11 + 12; with a window of 3: 1 + 2 + 3 + 3; all beyond it: 3 + 3.
        assert_eq!(sum_of_contexts(0.0, 4.0, None), 10.0);
        assert_eq!(sum_of_contexts(10.0, 2.0, None), 23.0);
        assert_eq!(sum_of_contexts(0.0, 4.0, Some(3.0)), 9.0);
        assert_eq!(sum_of_contexts(10.0, 2.0, Some(3.0)), 6.0);
        assert_eq!(sum_of_contexts(0.0, 4.0, Some(0.0)), 0.0);
    }

    #[test]
    fn one_token_touches_its_own_experts_and_many_touch_all() {
        assert!((distinct_experts(128.0, 8.0, 1.0) - 8.0).abs() < 1e-9);
        assert!((distinct_experts(128.0, 8.0, 1e4) - 128.0).abs() < 1e-9);
        assert_eq!(distinct_experts(0.0, 0.0, 5.0), 0.0);
    }
}
