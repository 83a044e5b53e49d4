//! What any step of a server does, as a law: seconds at the machine's peaks for each token, each
//! sequence and each token of context.
//!
//! For callers that add up millions of steps: the same counts as the operators', taken once.
//!
//! Not here: how parts overlap, and overheads of a server (`ifm-sim`).

use crate::format::Arithmetic;
use crate::operator::{STATE_BYTES, distinct_experts, flops_per_pair, link_token_s};
use crate::setup::Setup;

/// Experts of the layers of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertWork {
    /// Experts in a layer.
    pub experts: f64,
    /// Experts that a token takes.
    pub active: f64,
    /// Seconds to read one expert of every layer of the kind.
    pub read_s: f64,
}

/// Attention of the layers of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionWork {
    /// Tokens that it looks back at most; absent where it sees all.
    pub window: Option<f64>,
    /// Seconds to read keys and values of one token of context.
    pub read_s: f64,
    /// Seconds to compute with one pair of tokens while a prompt is read.
    pub prompt_pair_s: f64,
    /// Seconds to compute with one pair while an answer is made.
    pub answer_pair_s: f64,
}

/// What a step does: seconds on one GPU at its peaks.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// To read all weights of the layers that every token takes.
    pub dense_read_s: f64,
    /// Experts, by kind of layer.
    pub experts: Vec<ExpertWork>,
    /// To compute one token in all layers.
    pub token_s: f64,
    /// To read the output matrix.
    pub head_read_s: f64,
    /// To compute the output matrix for one token.
    pub head_token_s: f64,
    /// Attention, by kind of layer.
    pub attention: Vec<AttentionWork>,
    /// To read the states of constant size of one sequence.
    pub state_read_s: f64,
    /// To compute the states for one token.
    pub state_token_s: f64,
    /// To send what GPUs that share the model exchange for one token.
    pub link_token_s: f64,
    /// Layers.
    pub layers: f64,
    /// Whether some of them are a mixture of experts.
    pub has_experts: bool,
    /// Whether some of them keep a state of constant size.
    pub has_states: bool,
}

impl Work {
    /// Seconds to read the weights of the layers for `tokens` tokens, which spread evenly over the
    /// experts.
    pub fn layers_read_s(&self, tokens: f64) -> f64 {
        let experts = self.experts.iter().map(|kind| {
            distinct_experts(kind.experts, kind.active, tokens).max(kind.active) * kind.read_s
        });
        self.dense_read_s + experts.sum::<f64>()
    }
}

impl Setup {
    /// What a step of this model on these machines does.
    pub fn work(&self) -> Work {
        let (model, precision, gpus) = (self.model(), self.precision(), self.gpus());
        let bandwidth = self.machine().bytes_per_s();
        let (mut dense_read_s, mut token_s) = (0.0, 0.0);
        let (mut state_read_s, mut state_token_s) = (0.0, 0.0);
        let (mut experts, mut attention) = (Vec::new(), Vec::new());
        let shared_out = gpus.min(model.kv_heads() as f64);
        let arithmetics = self.arithmetics();
        let rate = |arithmetic: Arithmetic| arithmetic.rate(self.machine());
        for (block, bytes) in model.blocks.iter().zip(&self.weights.layers) {
            let (matrices, count) = (block.matrices(model.hidden), block.layers as f64);
            dense_read_s += count * bytes.dense / gpus / bandwidth;
            token_s += 2.0 * count * matrices.dense() / gpus / rate(arithmetics.dense);
            token_s += 2.0 * count * matrices.active * matrices.expert()
                / gpus
                / rate(arithmetics.experts);
            if matrices.experts > 0.0 {
                let read_s = count * bytes.expert / gpus / bandwidth;
                experts.push(ExpertWork {
                    experts: matrices.experts,
                    active: matrices.active,
                    read_s,
                });
            }
            if block.cache_elements() > 0.0 {
                let cache = count * block.cache_elements() * precision.kv.bits / 8.0 / shared_out;
                let pair = |is_prefill| {
                    count * flops_per_pair(block, is_prefill) / gpus / rate(arithmetics.attention)
                };
                attention.push(AttentionWork {
                    window: block.window(),
                    read_s: cache / bandwidth,
                    prompt_pair_s: pair(true),
                    answer_pair_s: pair(false),
                });
            }
            let elements = count * block.state_elements();
            state_read_s += elements * STATE_BYTES / gpus / bandwidth;
            state_token_s += 4.0 * elements / gpus / rate(arithmetics.states);
        }
        Work {
            dense_read_s,
            experts,
            token_s,
            head_read_s: self.weights.head / gpus / bandwidth,
            head_token_s: 2.0 * model.embedding() / gpus / rate(arithmetics.head),
            attention,
            state_read_s,
            state_token_s,
            link_token_s: link_token_s(self),
            layers: model.layers() as f64,
            has_experts: model.has_experts(),
            has_states: state_read_s > 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Machine, Model, Precision, Setup};

    /// A step of the law is a step of the operators, for every kind of model.
    #[test]
    fn the_law_says_what_the_operators_say() {
        for (model, gpus) in
            [("llama-3.1-8b", 1), ("qwen3-30b-a3b", 2), ("gpt-oss-120b", 1), ("deepseek-v3", 8)]
        {
            let machine = Machine::find("H100 SXM").expect("a machine");
            let model = Model::find(model).expect("a model");
            let precision = Precision::find("bf16").expect("a format");
            let setup = Setup::new(machine, model, precision, gpus).expect("a setup");
            let work = setup.work();
            let (batch, context) = (8.0, 4000.0);
            // A batch of one context each: memory is not asked.
            let seconds = |name: &str| {
                let bound = setup.decode(1.0, context);
                bound
                    .operators
                    .iter()
                    .find(|part| part.name == name)
                    .map_or(0.0, |part| part.memory_s)
            };
            let same = |law: f64, operator: f64| {
                assert!((law - operator).abs() <= 1e-9 * operator, "{law} {operator}");
            };
            same(work.layers_read_s(1.0), seconds("layers"));
            same(work.head_read_s, seconds("head"));
            let read: f64 = work
                .attention
                .iter()
                .map(|kind| kind.read_s * kind.window.map_or(context, |most| most.min(context)))
                .sum();
            same(read, seconds("attention"));
            let more = work.layers_read_s(batch);
            assert_eq!(more > work.layers_read_s(1.0), work.has_experts);
        }
    }
}
