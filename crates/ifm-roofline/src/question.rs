//! The questions that can be asked of a model on machines.
//!
//! Numbers of sequences and tokens are real, so that means can be asked for; what is below 1 or no
//! number counts as 1. One step gives each sequence one token: with speculative decoding a step
//! gives more, and these bounds do not hold for it.
//!
//! Not here: prefix caches. A token that is served from one is not computed; give the tokens that
//! are.

use crate::bound::{Binding, Bound, Question};
use crate::operator::{Operator, Steps, operators, sequence_bytes};
use crate::setup::Setup;
use serde::Serialize;

/// What fits into memory. Bytes are per GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity {
    /// Memory, where it is known.
    pub memory_bytes: Option<f64>,
    /// Weights.
    pub weight_bytes: f64,
    /// Keys, values and states of one request.
    pub request_bytes: f64,
    /// Requests that fit at once, all memory but the weights being theirs; 0 where the weights alone
    /// do not fit, `None` where the memory is not known.
    pub requests: Option<f64>,
}

impl Setup {
    /// Bytes that one GPU reads in a decode step and the operations it does: see [`Bound`].
    ///
    /// The time of one step that gives each of `batch` sequences a token, each looking at `context`
    /// tokens: the lower bound of the gap between tokens.
    ///
    /// Where memory holds fewer sequences the rest waits. How many a server then runs at a time is
    /// unknown, since it keeps memory for other things too. Only one is certain: the strict and the
    /// balanced bound are for one sequence, the serial bound is for all that memory holds.
    pub fn decode(&self, batch: f64, context: f64) -> Bound {
        let (batch, context) = (at_least_one(batch), at_least_one(context));
        let step = |sequences| self.operators(&Steps::decode(sequences, context - 1.0, 1.0));
        let likely = self.served(batch, context);
        let parts = step(likely);
        let question = Question::Decode { batch, context };
        if likely >= batch {
            let bound = Bound::of(question, batch, &parts, parts.clone());
            return self.with_cache(bound, 1.0);
        }
        let certain = step(1.0);
        // A context is a mean: where some are shorter, one sequence more may find room.
        let tokens = batch.min(likely + 1.0);
        let mut bound = Bound::of(question, tokens, &certain, parts);
        bound.cache_share = self.cache_share(&certain, 1.0);
        bound
    }

    /// The time of one step that reads `prompts` prompts of `tokens` tokens: the lower bound of the
    /// time to the first token when nothing comes from a prefix cache.
    pub fn prefill(&self, prompts: f64, tokens: f64) -> Bound {
        let (prompts, tokens) = (at_least_one(prompts), at_least_one(tokens));
        let parts = self.operators(&Steps::prefill(prompts, tokens));
        let question = Question::Prefill { prompts, tokens };
        let bound = Bound::of(question, prompts * tokens, &parts, parts.clone());
        self.with_cache(bound, 1.0)
    }

    /// The mean time of a request when `users` users always have one under way; in that time
    /// `users` requests are answered. Prompts of some run in the same steps as answers to others.
    /// Where memory holds fewer requests the rest waits.
    pub fn closed_loop(&self, users: f64, input: f64, output: f64) -> Bound {
        let (users, input, output) =
            (at_least_one(users), at_least_one(input), at_least_one(output));
        // A request that is under way holds its prompt in any case, and half its answer on average.
        let certain = self.served(users, input + 1.0);
        let likely = self.served(users, input + output / 2.0);
        let cycle = |served: f64| -> Vec<Operator> {
            let mut parts = self.request_operators(served, input, output);
            parts.iter_mut().for_each(Operator::overlap);
            parts.into_iter().map(|part| part.times(users / served)).collect()
        };
        let question = Question::ClosedLoop { users, input, output };
        let mut bound = Bound::of(question, users * output, &cycle(certain), cycle(likely));
        if certain < users {
            bound.strict.binds = Binding::KvCapacity;
            bound.balanced.binds = Binding::KvCapacity;
        }
        if likely < users {
            bound.serial.binds = Binding::KvCapacity;
        }
        self.with_cache(bound, output * users / likely)
    }

    /// The time until `batch` requests that start together are answered: prompts first, then a token
    /// for each in every step.
    pub fn static_batch(&self, batch: f64, input: f64, output: f64) -> Bound {
        let (batch, input, output) =
            (at_least_one(batch), at_least_one(input), at_least_one(output));
        let parts = self.request_operators(batch, input, output);
        let question = Question::StaticBatch { batch, input, output };
        let bound = Bound::of(question, batch * output, &parts, parts.clone());
        self.with_cache(bound, output)
    }

    /// What fits into memory, requests being `tokens` tokens long.
    pub fn capacity(&self, tokens: f64) -> Capacity {
        let request_bytes = sequence_bytes(self, at_least_one(tokens));
        let weight_bytes = self.weights.total / self.gpus();
        let memory_bytes = self.machine().memory_bytes();
        let requests = memory_bytes.map(|memory| {
            let free = memory - weight_bytes;
            if free <= 0.0 { 0.0 } else { (free / request_bytes).floor() }
        });
        Capacity { memory_bytes, weight_bytes, request_bytes, requests }
    }

    /// Tokens in a step from which the layers' operations take longer than reading their weights;
    /// `None` where that never happens.
    pub fn ridge_tokens(&self) -> Option<f64> {
        let is_compute = |tokens: f64| {
            let parts = self.operators(&Steps::decode(tokens, 0.0, 1.0));
            parts.first().is_some_and(|layers| layers.compute_s >= layers.memory_s)
        };
        let (mut below, mut above) = (1.0, f64::from(1_u32 << 24));
        if is_compute(below) {
            return Some(below);
        }
        if !is_compute(above) {
            return None;
        }
        while above - below > 0.5 {
            let middle = f64::midpoint(below, above);
            if is_compute(middle) { above = middle } else { below = middle }
        }
        Some(above)
    }

    fn operators(&self, steps: &Steps) -> Vec<Operator> {
        operators(self, &self.weights, steps)
    }

    /// Reading prompts, then one step for each further token.
    fn request_operators(&self, batch: f64, input: f64, output: f64) -> Vec<Operator> {
        let mut parts = self.operators(&Steps::prefill(batch, input));
        if output > 1.0 {
            let decode = self.operators(&Steps::decode(batch, input, output - 1.0));
            for (part, other) in parts.iter_mut().zip(&decode) {
                part.then(other);
            }
        }
        parts
    }

    /// Users of these whose requests of this length fit into memory, at least one.
    fn served(&self, users: f64, tokens: f64) -> f64 {
        self.capacity(tokens).requests.map_or(users, |requests| users.min(requests.max(1.0)))
    }

    /// Says how much of a step's bytes the cache could keep.
    fn with_cache(&self, mut bound: Bound, steps: f64) -> Bound {
        bound.cache_share = self.cache_share(&bound.operators, steps);
        bound
    }

    /// Share of the bytes of parts that the cache could keep from one of `steps` steps to the next.
    fn cache_share(&self, parts: &[Operator], steps: f64) -> f64 {
        let cache = self.machine().cache_mib.unwrap_or(0.0) * f64::from(1_u32 << 20);
        let floor: f64 = parts.iter().map(|part| part.bytes_floor).sum();
        if floor > 0.0 { (cache * steps / floor).min(1.0) } else { 0.0 }
    }
}

fn at_least_one(number: f64) -> f64 {
    if number.is_finite() { number.max(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::Verdict;
    use crate::format::Precision;
    use crate::machine::Machine;
    use crate::model::Model;

    fn llama_on_l40s() -> Setup {
        let machine = Machine::parse("l40s").expect("a machine");
        let model = Model::find("llama-3.1-8b").expect("a model");
        Setup::new(machine, model, Precision::find("bf16").expect("a format"), 1).expect("a setup")
    }

    /// 44.99 GiB less 16.06 GB of weights hold 15 sequences of 16 250 tokens at 131 072 bytes: a
    /// step of 15 009 841 152 + 15 x 16 250 x 131 072 bytes at 864 GB/s is 54.4 ms, one of 64 would
    /// be 175 ms. A server that keeps a tenth of the memory for itself runs 12 in 47 ms.
    #[test]
    fn where_memory_holds_fewer_the_step_is_not_that_of_all() {
        let setup = llama_on_l40s();
        let fits = setup.capacity(16_250.0).requests.expect("a known memory");
        assert_eq!(fits, 15.0);
        let bound = setup.decode(64.0, 16_250.0);
        let bytes = |sequences: f64| 15_009_841_152.0 + sequences * 16_250.0 * 131_072.0;
        assert!((bound.serial.seconds / (bytes(fits) / 864e9) - 1.0).abs() < 1e-6);
        assert!((bound.strict.seconds / (bytes(1.0) / 864e9) - 1.0).abs() < 1e-6);
        let verdict = |seconds| bound.share(seconds).map(|share| share.verdict);
        assert_eq!(verdict(0.060), Some(Verdict::Possible));
        assert_eq!(verdict(0.047), Some(Verdict::BelowSerial));
        assert_eq!(verdict(0.010), Some(Verdict::BelowStrict));
        // The rate that follows is never below that of the sequences that fit.
        assert!(bound.tokens >= fits && bound.tokens <= 64.0);
    }

    #[test]
    fn where_all_fit_nothing_changes() {
        let setup = llama_on_l40s();
        let bound = setup.decode(8.0, 1000.0);
        let bytes = 15_009_841_152.0 + 8.0 * 1000.0 * 131_072.0;
        assert!((bound.strict.seconds / (bytes / 864e9) - 1.0).abs() < 1e-6);
        assert_eq!(bound.tokens, 8.0);
    }
}
