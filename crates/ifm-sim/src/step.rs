//! The time of one step of an engine.
//!
//! Layers, output matrix, keys and values, attention over prompts, exchange between GPUs and the
//! host one after another; within the layers and the output matrix reading and computing overlap,
//! softly: `(read^4 + compute^4)^(1/4)`.
//!
//! Not here: what a server puts into a step (`replica`).

use crate::constants::Constants;
use ifm_roofline::{Setup, Work};

/// The contents of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepLoad {
    /// Sequences that get tokens.
    pub answers: f64,
    /// Tokens computed for each of them: more than one where drafts are checked.
    pub tokens_per_answer: f64,
    /// Seconds to read or compute the context of all of them: see [`StepModel::context_s`].
    pub context_s: f64,
    /// Pieces of prompts.
    pub chunks: f64,
    /// Tokens of all pieces.
    pub chunk_tokens: f64,
    /// Pieces that end their prompt and give a first token.
    pub chunk_rows: f64,
    /// Seconds of attention of all pieces: see [`StepModel::chunk_s`].
    pub chunk_s: f64,
}

/// Seconds of a step, part by part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepTime {
    /// The layers' products.
    pub layers_s: f64,
    /// The output matrix.
    pub head_s: f64,
    /// Keys and values of answers.
    pub context_s: f64,
    /// Attention over prompts.
    pub prompt_attention_s: f64,
    /// Between GPUs.
    pub exchange_s: f64,
    /// The host.
    pub host_s: f64,
    /// Whether the layers compute longer than they read.
    pub is_compute_bound: bool,
}

impl StepTime {
    /// All of it, seconds.
    pub fn seconds(&self) -> f64 {
        self.layers_s
            + self.head_s
            + self.context_s
            + self.prompt_attention_s
            + self.exchange_s
            + self.host_s
    }
}

/// The time of a step as a function of its contents.
#[derive(Debug, Clone)]
pub struct StepModel {
    work: Work,
    constants: Constants,
    /// Seconds for each token of context, of layers that see all of it.
    full_context_s: f64,
    /// Seconds for each token of context, and the window, of layers that look back so far.
    windows: Vec<(f64, f64)>,
    /// Seconds of the host for each step.
    host_s: f64,
    /// Seconds of exchange for each step.
    exchange_s: f64,
}

impl StepModel {
    /// The law of a model on machines, with these constants.
    pub fn new(setup: &Setup, constants: Constants) -> StepModel {
        let work = setup.work();
        let token_s = |kind: &ifm_roofline::AttentionWork| {
            let read_s = kind.read_s / constants.kv_share;
            read_s.max(kind.answer_pair_s / constants.attention_share)
        };
        let kinds = || work.attention.iter();
        let full_context_s = kinds().filter(|kind| kind.window.is_none()).map(token_s).sum();
        let windows = kinds().filter_map(|kind| Some((token_s(kind), kind.window?))).collect();
        let exchanges = if setup.gpus() > 1.0 { 2.0 * work.layers } else { 0.0 };
        StepModel {
            full_context_s,
            windows,
            host_s: constants.step_host_s + constants.layer_host_s * work.layers,
            exchange_s: exchanges * constants.exchange_s,
            work,
            constants,
        }
    }

    /// The constants.
    pub fn constants(&self) -> &Constants {
        &self.constants
    }

    /// Whether the time of a context is not simply in proportion to its length.
    pub fn has_windows(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Seconds for each token of context of layers that see all of it.
    pub fn full_context_s(&self) -> f64 {
        self.full_context_s
    }

    /// Seconds for the windows of one answer that looks back on `context` tokens.
    pub fn window_s(&self, context: f64) -> f64 {
        self.windows.iter().map(|(token_s, window)| token_s * context.min(*window)).sum()
    }

    /// Seconds for one answer that looks back on `context` tokens.
    pub fn context_s(&self, context: f64) -> f64 {
        self.full_context_s * context + self.window_s(context)
    }

    /// Seconds of attention for a piece of `tokens` tokens of a prompt of which `done` are computed.
    pub fn chunk_s(&self, tokens: f64, done: f64) -> f64 {
        let constants = &self.constants;
        let each = self.work.attention.iter().map(|kind| {
            let most = kind.window.unwrap_or(f64::INFINITY);
            // Mean of what a token of the piece looks back on.
            let looks = (done + tokens / 2.0).min(most);
            let computes = tokens * looks * kind.prompt_pair_s / constants.attention_share;
            computes.max(done.min(most) * kind.read_s / constants.kv_share)
        });
        each.sum()
    }

    /// The time of a step, part by part.
    pub fn time(&self, load: &StepLoad) -> StepTime {
        let (work, constants) = (&self.work, &self.constants);
        let answered = load.answers * load.tokens_per_answer;
        let tokens = answered + load.chunk_tokens;
        if tokens <= 0.0 {
            return StepTime::default();
        }
        let reads = match work.experts.is_empty() {
            true => work.dense_read_s,
            false => work.layers_read_s(tokens),
        } + load.answers * work.state_read_s;
        let reads = reads / constants.bandwidth_share;
        let computes = tokens * (work.token_s + work.state_token_s) / constants.arithmetic_share;
        let rows = answered + load.chunk_rows;
        let head_s = match rows > 0.0 {
            true => overlapped(
                work.head_read_s / constants.bandwidth_share,
                rows * work.head_token_s / constants.arithmetic_share,
            ),
            false => 0.0,
        };
        StepTime {
            layers_s: overlapped(reads, computes),
            head_s,
            context_s: load.context_s,
            prompt_attention_s: load.chunk_s,
            exchange_s: self.exchange_s + tokens * work.link_token_s,
            host_s: self.host_s + constants.sequence_host_s * (load.answers + load.chunks),
            is_compute_bound: computes > reads,
        }
    }

    /// Seconds of a step that gives each of `batch` sequences one token.
    pub fn decode_s(&self, batch: f64, context: f64) -> f64 {
        let context_s = batch * self.context_s(context);
        let load =
            StepLoad { answers: batch, tokens_per_answer: 1.0, context_s, ..StepLoad::default() };
        self.time(&load).seconds()
    }

    /// Seconds of the steps that read one prompt alone, in pieces of at most `budget` tokens.
    pub fn prompt_s(&self, tokens: f64, budget: f64) -> f64 {
        let (mut done, mut seconds) = (0.0, 0.0);
        while done < tokens {
            let piece = (tokens - done).min(budget.max(1.0));
            let is_last = done + piece >= tokens;
            seconds += self
                .time(&StepLoad {
                    chunks: 1.0,
                    chunk_tokens: piece,
                    chunk_rows: if is_last { 1.0 } else { 0.0 },
                    chunk_s: self.chunk_s(piece, done),
                    ..StepLoad::default()
                })
                .seconds();
            done += piece;
        }
        seconds
    }
}

/// Two things at once: as long as the longer one where they differ much.
fn overlapped(left: f64, right: f64) -> f64 {
    let fourth = |value: f64| (value * value) * (value * value);
    (fourth(left) + fourth(right)).sqrt().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_roofline::{Machine, Model, Precision};

    fn setup(machine: &str, model: &str, gpus: u32) -> Setup {
        Setup::new(
            Machine::find(machine).expect("a machine"),
            Model::find(model).expect("a model"),
            Precision::find("bf16").expect("a format"),
            gpus,
        )
        .expect("a setup")
    }

    /// With nothing lost a step is never below the serial bound, and above it only by the softness
    /// of the overlap: at most 2^(1/4) where reading and computing take the same time.
    #[test]
    fn with_nothing_lost_a_step_is_the_serial_bound() {
        for (machine, model, gpus) in [
            ("L40S", "llama-3.1-8b", 1),
            ("H100 SXM", "qwen3-30b-a3b", 1),
            ("H100 SXM", "gpt-oss-120b", 4),
        ] {
            let setup = setup(machine, model, gpus);
            let law = StepModel::new(&setup, Constants::NONE_LOST);
            for (batch, context) in [(1.0, 200.0), (8.0, 1000.0), (32.0, 300.0)] {
                let bound = setup.decode(batch, context).serial.seconds;
                let ratio = law.decode_s(batch, context) / bound;
                assert!((0.999..1.19).contains(&ratio), "{model} {batch} {context}: {ratio}");
            }
        }
    }

    /// Llama 3.1 8B on an L40S, worked out manually: 15.01 GB of weights that a step reads and 131 072 bytes a
    /// token of context at 90 % of 864 GB/s, 32 layers of 65 us, 0.3 ms and 15 us a sequence.
    #[test]
    fn a_step_by_hand() {
        let setup = setup("L40S", "llama-3.1-8b", 1);
        let constants = Constants::defaults(crate::Kind::Vllm, &setup);
        let law = StepModel::new(&setup, constants);
        let bytes = 15_009_841_152.0 + 1000.0 * 131_072.0;
        let by_hand = bytes / (0.9 * 864e9) + 32.0 * 65e-6 + 0.3e-3 + 15e-6;
        let seconds = law.decode_s(1.0, 1000.0);
        assert!((seconds / by_hand - 1.0).abs() < 1e-3, "{seconds} {by_hand}");
    }

    #[test]
    fn pieces_of_a_prompt_take_longer_than_the_whole() {
        let law = StepModel::new(&setup("L40S", "llama-3.1-8b", 1), Constants::NONE_LOST);
        let whole = law.prompt_s(8192.0, 8192.0);
        let pieces = law.prompt_s(8192.0, 512.0);
        assert!(pieces > whole, "{pieces} {whole}");
        assert!(pieces < 1.6 * whole, "{pieces} {whole}");
    }
}
