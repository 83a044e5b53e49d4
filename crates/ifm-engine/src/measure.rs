//! The speed of the model alone: prompts and static batches, without a scheduler.
//!
//! What llama-bench calls `pp` and `tg`. Not here: repeats and statistics, CPU time
//! (the caller brackets the call with its own counter).

use std::time::Instant;

use ifm_kernels::{Activations, Format, ceiling};

use crate::{
    BUILT, NOT_BUILT,
    decoder::{ComputeError, Row},
    kv::{KvCache, KvPool, TILE_TOKENS, tiles_for},
    model::Model,
    sample::most_likely,
    weights::{TensorName, matrices},
};

/// A static batch: equal sequences, whose first `depth_tokens` are not timed; prompts first, then one
/// token for each per step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticBatch {
    /// Sequences at once.
    pub sequences: usize,
    /// Tokens before each prompt, computed before the clock starts.
    pub depth_tokens: usize,
    /// Tokens of each prompt. Without any, the steps begin after one token that is not timed.
    pub prompt_tokens: usize,
    /// Tokens generated for each sequence, beyond the one that ends the prompt.
    pub generated_tokens: usize,
    /// Most tokens of prompts in one pass.
    pub prefill_chunk: usize,
}

/// How long the two parts of a [`StaticBatch`] took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticTiming {
    /// All prompts, to the logits after the last token of each; 0 without prompts.
    pub prompt_ns: u64,
    /// Each decoding step, in order.
    pub step_ns: Vec<u64>,
}

/// Why a static batch could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The program has no engine.
    #[error("{NOT_BUILT}")]
    NotBuilt,
    /// The batch has no sequence or nothing to time, or is longer than the context.
    #[error("a static batch of {sequences} x {tokens} tokens does not fit the context {context}")]
    Batch {
        /// Sequences asked for.
        sequences: usize,
        /// Tokens of each, prompt and answer.
        tokens: usize,
        /// The context of the model.
        context: usize,
    },
    /// A pass failed.
    #[error(transparent)]
    Compute(#[from] ComputeError),
    /// No memory for the keys and values.
    #[error(transparent)]
    Memory(#[from] crate::kv::KvExhausted),
}

/// What the machine can do at most with the threads of a model, as found by running.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceilings {
    /// Reading weights that no cache holds, bytes per second.
    pub read_bytes_per_s: f64,
    /// Products of the model's kind whose operands caches hold, operations per second,
    /// two for each weight and token.
    pub ops_per_s: f64,
}

impl Model {
    /// Finds the ceilings of this machine; takes half a second and 512 MiB. Absent where
    /// there is no product to run.
    pub fn ceilings(&self) -> Option<Ceilings> {
        if !BUILT {
            return None;
        }
        let processor = self.decoder.processor();
        let (format, computed) = self.decoder.computed();
        let activations = match (format, computed) {
            (Format::Int8, "int8 x int8") => Activations::Token8,
            _ => Activations::usual(format),
        };
        let (pool, isa) = (&processor.pool, processor.isa);
        Some(Ceilings {
            read_bytes_per_s: ceiling::read_bytes_per_s(pool, isa).ok()?,
            ops_per_s: ceiling::ops_per_s(pool, isa, (format, activations)).ok()?,
        })
    }

    /// Operations that a token takes in the products with weights, the last layer and
    /// attention left out: two for each weight.
    pub fn ops_per_token(&self) -> u64 {
        let inner = matrices(self.decoder.shape())
            .into_iter()
            .filter(|(name, ..)| matches!(name, TensorName::Layer(..)));
        inner.map(|(_, rows, columns)| 2 * (rows * columns) as u64).sum()
    }

    /// Runs a static batch with greedy decoding and times it.
    ///
    /// # Errors
    /// [`MeasureError`].
    pub fn time_static_batch(&self, batch: StaticBatch) -> Result<StaticTiming, MeasureError> {
        if !BUILT {
            return Err(MeasureError::NotBuilt);
        }
        let (depth, prompt) = (batch.depth_tokens, batch.prompt_tokens);
        let timed = prompt.saturating_add(batch.generated_tokens);
        let tokens = depth.saturating_add(timed).saturating_add(usize::from(prompt == 0));
        let context = self.decoder.shape().context_max;
        if batch.sequences == 0 || timed == 0 || tokens > context {
            return Err(MeasureError::Batch { sequences: batch.sequences, tokens, context });
        }
        let capacity = batch.sequences * tiles_for(tokens) * TILE_TOKENS;
        let mut pool = KvPool::new(self.decoder.shape(), capacity);
        let mut caches = Vec::with_capacity(batch.sequences);
        for _ in 0..batch.sequences {
            let mut cache = KvCache::default();
            pool.extend(&mut cache, tokens)?;
            caches.push(cache);
        }
        let chunk = batch.prefill_chunk;
        self.run_prompts(0..depth, chunk, &mut caches)?;
        let start = Instant::now();
        let mut last = self.run_prompts(depth..depth + prompt, chunk, &mut caches)?;
        let prompt_ns = if prompt > 0 { elapsed_ns(start) } else { 0 };
        if prompt == 0 {
            last = self.run_prompts(depth..depth + 1, chunk, &mut caches)?;
        }
        let mut step_ns = Vec::with_capacity(batch.generated_tokens);
        for _ in 0..batch.generated_tokens {
            let start = Instant::now();
            let mut rows: Vec<Row<'_>> = caches
                .iter_mut()
                .zip(&last)
                .map(|(cache, token)| Row {
                    cache,
                    tokens: std::slice::from_ref(token),
                    wants_logits: true,
                })
                .collect();
            let logits = self.decoder.step(&mut rows)?;
            last = logits.data.chunks_exact(logits.width).map(most_likely).collect();
            step_ns.push(elapsed_ns(start));
        }
        Ok(StaticTiming { prompt_ns, step_ns })
    }

    /// These positions of each sequence in chunks, one sequence after the other; their next tokens.
    fn run_prompts(
        &self,
        positions: std::ops::Range<usize>,
        chunk: usize,
        caches: &mut [KvCache],
    ) -> Result<Vec<u32>, ComputeError> {
        let vocabulary = self.decoder.shape().vocabulary;
        let mut last = Vec::with_capacity(caches.len());
        for (sequence, cache) in caches.iter_mut().enumerate() {
            // Any tokens do: their embedding is looked up, the rest is arithmetic.
            let prompt: Vec<u32> = positions
                .clone()
                .map(|index| ((index * 31 + sequence * 7 + 11) % vocabulary) as u32)
                .collect();
            let mut chunks = prompt.chunks(chunk.max(1)).peekable();
            while let Some(tokens) = chunks.next() {
                let wants_logits = chunks.peek().is_none();
                let logits =
                    self.decoder.step(&mut [Row { cache: &mut *cache, tokens, wants_logits }])?;
                if wants_logits {
                    last.push(most_likely(&logits.data));
                }
            }
        }
        Ok(last)
    }
}

fn elapsed_ns(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
