//! Continuous batching: which sequences go into each pass.
//!
//! Every pass takes one token of each running answer and fills up with chunks of
//! prompts, oldest first, up to a number of tokens: a long prompt delays the others'
//! next token by one chunk, not by all of it. Requests start in the order of their
//! arrival, as soon as there is a place in the batch and memory for all the tokens
//! they may come to need. Memory is reserved at the start, so a running request never
//! has to be put off again, and there is nothing to deadlock on.
//!
//! Without work the thread sleeps in a channel.
//!
//! Not here: the checks before a request gets here (`engine`).

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, TryRecvError},
    },
};

use crate::{
    decoder::{ComputeError, Row},
    kv::{KvPool, TILE_TOKENS},
    linear::Matrix,
    model::Model,
    request::{Event, FinishReason},
    sample::Sampler,
    sequence::{Rules, Sequence},
    stats::{Counters, count},
};

/// Commands to the thread.
pub(crate) enum Command {
    Start(Box<Sequence>),
    Shutdown,
}

/// The limits of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_batch: usize,
    pub(crate) prefill_chunk: usize,
}

/// The state of the engine's thread.
pub(crate) struct Scheduler {
    model: Arc<Model>,
    limits: Limits,
    rules: Rules,
    sampler: Sampler,
    pool: KvPool,
    tiles_reserved: usize,
    waiting: VecDeque<Sequence>,
    running: Vec<Sequence>,
    counters: Arc<Counters>,
}

impl Scheduler {
    pub(crate) fn new(
        model: Arc<Model>,
        limits: Limits,
        kv_tokens: usize,
        counters: Arc<Counters>,
    ) -> Self {
        let shape = model.decoder.shape();
        let known = model.tokenizer.vocab_size() as usize;
        let rules = Rules {
            eos_ids: model.info().eos_ids.clone(),
            vocabulary: if known == 0 { shape.vocabulary } else { known.min(shape.vocabulary) },
        };
        Self {
            pool: KvPool::new(shape, kv_tokens),
            sampler: Sampler::new(model.decoder.arch()),
            model,
            limits,
            rules,
            tiles_reserved: 0,
            waiting: VecDeque::new(),
            running: Vec::new(),
            counters,
        }
    }

    /// Works until it receives the shutdown command, or until no sender is left.
    pub(crate) fn run(mut self, commands: &Receiver<Command>) {
        while self.take_commands(commands) {
            self.drop_abandoned();
            self.admit();
            self.step();
        }
        self.stop();
    }

    /// Takes all commands that are there; without work, sleeps until there is one.
    /// `false` ends the thread.
    fn take_commands(&mut self, commands: &Receiver<Command>) -> bool {
        if self.is_idle() {
            match commands.recv() {
                Ok(Command::Start(sequence)) => self.waiting.push_back(*sequence),
                Ok(Command::Shutdown) | Err(_) => return false,
            }
        }
        loop {
            match commands.try_recv() {
                Ok(Command::Start(sequence)) => self.waiting.push_back(*sequence),
                Err(TryRecvError::Empty) => return true,
                Ok(Command::Shutdown) | Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    fn stop(mut self) {
        self.leave_queue(self.waiting.len());
        let sequences: Vec<_> = self.waiting.drain(..).chain(self.running.drain(..)).collect();
        count(&self.counters.failed, sequences.len());
        self.tiles_reserved = 0;
        self.publish();
        for sequence in sequences {
            sequence.send(Event::Failed("the engine is shutting down".to_owned()));
        }
    }

    /// Forgets requests whose clients went away.
    fn drop_abandoned(&mut self) {
        let before = self.waiting.len();
        self.waiting.retain(|sequence| !sequence.is_abandoned());
        let gone = before - self.waiting.len();
        self.leave_queue(gone);
        count(&self.counters.cancelled, gone);
        for index in (0..self.running.len()).rev() {
            if self.running[index].is_abandoned() {
                self.remove(index);
                count(&self.counters.cancelled, 1);
            }
        }
    }

    /// Starts requests that have a place and memory, in the order of their arrival.
    fn admit(&mut self) {
        while self.running.len() < self.limits.max_batch {
            let Some(next) = self.waiting.front() else { break };
            let tiles = next.tiles_most();
            if self.tiles_reserved + tiles > self.pool.tiles_max() {
                break;
            }
            self.tiles_reserved += tiles;
            self.running.extend(self.waiting.pop_front());
            self.leave_queue(1);
        }
        self.publish();
    }

    /// Requests count as waiting from the moment they are submitted.
    fn leave_queue(&self, requests: usize) {
        self.counters.waiting.fetch_sub(requests, Ordering::Relaxed);
    }

    fn publish(&self) {
        let reserved = self.tiles_reserved * TILE_TOKENS;
        self.counters.running.store(self.running.len(), Ordering::Relaxed);
        self.counters.kv_tokens_reserved.store(reserved, Ordering::Relaxed);
    }

    /// One pass.
    fn step(&mut self) {
        let plan = self.plan();
        if plan.is_empty() {
            return;
        }
        match self.compute(&plan) {
            Ok(mut logits) => self.finish_step(&plan, &mut logits),
            Err(error) => self.fail_all(&error.to_string()),
        }
    }

    /// For each running sequence, how many tokens it computes in this pass.
    fn plan(&self) -> Vec<usize> {
        let mut left = self.limits.prefill_chunk;
        let shares = self.running.iter().map(|sequence| {
            if sequence.is_decoding() {
                return 1;
            }
            let share = sequence.prompt_left().min(left);
            left -= share;
            share
        });
        shares.collect()
    }

    fn compute(&mut self, plan: &[usize]) -> Result<Matrix, StepError> {
        let mut rows: Vec<Row<'_>> = Vec::with_capacity(plan.len());
        for (sequence, tokens) in self.running.iter_mut().zip(plan) {
            if *tokens > 0 {
                self.pool.extend(&mut sequence.cache, *tokens)?;
                rows.push(sequence.row(*tokens));
            }
        }
        let logits = self.model.decoder.step(&mut rows)?;
        count(&self.counters.steps, 1);
        Ok(logits)
    }

    /// Hands each sequence its logits, and takes out those that ended.
    fn finish_step(&mut self, plan: &[usize], logits: &mut Matrix) {
        let width = logits.width.max(1);
        let mut rows = logits.data.chunks_exact_mut(width);
        let mut ended = Vec::new();
        let planned = self.running.iter_mut().zip(plan).enumerate();
        for (index, (sequence, tokens)) in planned.filter(|(_, (_, tokens))| **tokens > 0) {
            if sequence.generated() == 0 {
                count(&self.counters.prompt_tokens, *tokens);
            }
            // Those still in their prompt have no logits.
            if !sequence.is_decoding() {
                continue;
            }
            let Some(row) = rows.next() else { continue };
            match sequence.advance(row, &self.rules, &self.sampler) {
                Ok(token) => {
                    count(&self.counters.generation_tokens, 1);
                    match token.finish {
                        None => sequence.send(Event::Token(token)),
                        Some(finish) => {
                            ended.push((index, Event::Token(token), Some(finish.reason)))
                        }
                    }
                }
                Err(error) => ended.push((index, Event::Failed(error.to_string()), None)),
            }
        }
        for (index, event, reason) in ended.into_iter().rev() {
            self.end(index, event, reason);
        }
    }

    fn fail_all(&mut self, reason: &str) {
        for index in (0..self.running.len()).rev() {
            self.end(index, Event::Failed(reason.to_owned()), None);
        }
    }

    /// Ends a sequence: the counters first, so that who has read the last event reads
    /// them as they are afterwards.
    fn end(&mut self, index: usize, event: Event, reason: Option<FinishReason>) {
        count(
            match reason {
                Some(FinishReason::Stop) => &self.counters.finished_stop,
                Some(FinishReason::Length) => &self.counters.finished_length,
                None => &self.counters.failed,
            },
            1,
        );
        let sequence = self.remove(index);
        sequence.send(event);
    }

    /// Takes a sequence out of the batch and gives its memory back.
    fn remove(&mut self, index: usize) -> Sequence {
        let mut sequence = self.running.remove(index);
        self.tiles_reserved -= sequence.tiles_most();
        self.pool.release(std::mem::take(&mut sequence.cache));
        self.publish();
        sequence
    }
}

/// Why a pass failed.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error(transparent)]
    Compute(#[from] ComputeError),
    #[error(transparent)]
    Memory(#[from] crate::kv::KvExhausted),
}
