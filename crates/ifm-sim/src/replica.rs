//! One copy of a model: which requests are in the next step, and what the step did.
//!
//! Not here: which replica a request goes to, and when it arrives there (`simulation`); the time of
//! a step (`step`).

use crate::deployment::{Deployment, Policy, Speculation};
use crate::kv::{BLOCK_TOKENS, Pool};
use crate::stats::Stats;
use crate::step::StepLoad;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::VecDeque;

/// Stamps of steps that are kept before unneeded ones are dropped.
const TIMELINE_MAX: usize = 8192;

/// Tokens that came out of a step for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emitted {
    /// The request.
    pub ticket: u64,
    /// When a client sees them, nanoseconds.
    pub at_ns: u64,
    /// How many.
    pub tokens: u32,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub ticket: u64,
    pub arrived_ns: u64,
    pub prompt: u32,
    pub output: u32,
    /// Hashes of the full blocks of prompt and answer, each of everything up to its end.
    pub hashes: Vec<u64>,
    /// Whether keys and values of the prompt come from another replica.
    pub is_handed: bool,
    pub generated: u32,
    pub cached: u32,
    pub preemptions: u32,
    pub begun_ns: Option<u64>,
    /// When steps ended that gave it tokens.
    pub stamps: Vec<u64>,
    /// How many tokens each gave; empty where each gave one.
    pub counts: Vec<u32>,
}

/// What the loop over all sequences of a step touches.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// Tokens whose keys and values are there.
    computed: u32,
    /// Tokens that its blocks hold.
    room: u32,
    /// Tokens of the answer that are still to come.
    left: u32,
    /// Whether the prompt has been read.
    answers: bool,
}

#[derive(Debug)]
struct Runner {
    sequence: Sequence,
    /// Tokens to compute before the next token of the answer: the prompt, and what was answered
    /// before it was put back.
    target: u32,
    blocks: Vec<u32>,
    /// Number of the first step of answers whose stamp is not yet its own.
    since: u64,
}

/// One copy of a model.
#[derive(Debug)]
pub(crate) struct Replica {
    waiting: VecDeque<Sequence>,
    runners: Vec<Runner>,
    paces: Vec<Pace>,
    pool: Pool,
    /// Pieces of prompts of the step under way: who, and how many tokens.
    chunks: Vec<(usize, u32)>,
    /// Answers in the step under way.
    answers: u32,
    /// End of the step under way, nanoseconds.
    end_ns: Option<u64>,
    /// Ends of steps with answers, and the number of the first of them.
    timeline: VecDeque<u64>,
    timeline_first: u64,
    /// Whether it reads prompts and hands them on.
    hands_on: bool,
    /// Whether it gathers prompts, where a batch is answered to its end.
    reads: bool,
    cancelled: Vec<u64>,
    random: ChaCha8Rng,
    pub stats: Stats,
}

/// What a step ended with.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Requests whose last token came.
    pub finished: Vec<Sequence>,
    /// Requests whose prompt is read, to be answered elsewhere.
    pub handed: Vec<Sequence>,
}

impl Replica {
    pub fn new(deployment: &Deployment, number: u64, hands_on: bool) -> Replica {
        let mut random = ChaCha8Rng::seed_from_u64(deployment.settings.seed);
        random.set_stream(number);
        Replica {
            waiting: VecDeque::new(),
            runners: Vec::new(),
            paces: Vec::new(),
            pool: Pool::new(deployment.blocks, deployment.settings.prefix_cache),
            chunks: Vec::new(),
            answers: 0,
            end_ns: None,
            timeline: VecDeque::new(),
            timeline_first: 0,
            hands_on,
            reads: true,
            cancelled: Vec::new(),
            random,
            stats: Stats::default(),
        }
    }

    /// When the step under way ends.
    pub fn end_ns(&self) -> Option<u64> {
        self.end_ns
    }

    /// Requests that are here.
    pub fn load(&self) -> usize {
        self.waiting.len() + self.runners.len()
    }

    pub fn running(&self) -> usize {
        self.runners.len()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    pub fn forget(&mut self) {
        self.pool.forget();
    }

    pub fn enqueue(&mut self, sequence: Sequence) {
        self.waiting.push_back(sequence);
    }

    /// Drops a request, at the end of the step under way at the latest. Whether it was here.
    pub fn cancel(&mut self, ticket: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|sequence| sequence.ticket != ticket);
        if self.waiting.len() < before {
            return true;
        }
        let runs = self.runners.iter().any(|runner| runner.sequence.ticket == ticket);
        if runs {
            self.cancelled.push(ticket);
        }
        runs
    }

    /// Begins a step, if there is something to do.
    pub fn begin(&mut self, deployment: &Deployment, now_ns: u64) {
        self.drop_cancelled();
        let settings = &deployment.settings;
        let drafts = settings.speculation.map_or(0, |speculation| speculation.drafts);
        self.chunks.clear();
        self.answers = 0;
        let mut load = StepLoad { tokens_per_answer: f64::from(1 + drafts), ..StepLoad::default() };
        match settings.policy {
            Policy::Mixed => {
                let put_back = self.put_answers(deployment, drafts, &mut load);
                let taken = self.answers * (1 + drafts);
                let budget = settings.step_tokens.saturating_sub(taken);
                self.put_chunks(deployment, budget, put_back, now_ns, &mut load);
            }
            Policy::PrefillFirst => {
                self.put_chunks(deployment, settings.step_tokens, false, now_ns, &mut load);
                if self.chunks.is_empty() {
                    self.put_answers(deployment, drafts, &mut load);
                }
            }
            Policy::DecodeFirst => {
                self.reads = self.reads || !self.paces.iter().any(|pace| pace.answers);
                if self.reads {
                    self.put_chunks(deployment, settings.step_tokens, false, now_ns, &mut load);
                    self.reads = !self.chunks.is_empty();
                }
                if self.chunks.is_empty() {
                    self.put_answers(deployment, drafts, &mut load);
                }
            }
        }
        // Requests that came with their prompt read wait for the next step, which has to come.
        if self.answers == 0 && self.chunks.is_empty() {
            if self.paces.iter().any(|pace| pace.answers) {
                self.put_answers(deployment, drafts, &mut load);
            }
            if self.answers == 0 && self.chunks.is_empty() {
                self.end_ns = None;
                return;
            }
        }
        self.end_ns = Some(now_ns + self.step_ns(deployment, &load));
    }

    fn step_ns(&mut self, deployment: &Deployment, load: &StepLoad) -> u64 {
        let time = deployment.step.time(load);
        let mut seconds = time.seconds();
        if let Some(Speculation { drafts, draft_share, .. }) = deployment.settings.speculation
            && draft_share > 0.0
            && load.answers > 0.0
        {
            let plain = StepLoad {
                tokens_per_answer: 1.0,
                chunks: 0.0,
                chunk_tokens: 0.0,
                chunk_rows: 0.0,
                chunk_s: 0.0,
                ..*load
            };
            seconds += f64::from(drafts) * draft_share * deployment.step.time(&plain).seconds();
        }
        if deployment.settings.jitter_share > 0.0 {
            seconds *= (deployment.settings.jitter_share * self.normal()).exp();
        }
        self.stats.add_step(&time, load, self.pool.total() - self.pool.free());
        // A step takes some time, so that virtual time goes on.
        ((seconds * 1e9).round() as u64).max(1)
    }

    /// A number of the standard normal law (G. E. P. Box and M. E. Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius: f64 = self.random.random::<f64>();
        let angle: f64 = self.random.random::<f64>();
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Every request that is being answered takes part. Returns whether one was put back for want
    /// of room.
    fn put_answers(&mut self, deployment: &Deployment, drafts: u32, load: &mut StepLoad) -> bool {
        let law = &deployment.step;
        let (mut index, mut tokens, mut windows_s, mut put_back) = (0, 0_u64, 0.0, false);
        self.answers = 0;
        while let Some(&pace) = self.paces.get(index) {
            if !pace.answers {
                index += 1;
                continue;
            }
            if pace.computed + 1 + drafts > pace.room {
                let (is_there, gave_way) = self.make_room(index, pace.computed + 1 + drafts);
                put_back |= gave_way;
                if !is_there {
                    break;
                }
            }
            tokens += u64::from(pace.computed + 1);
            if law.has_windows() {
                windows_s += law.window_s(f64::from(pace.computed + 1));
            }
            self.answers += 1;
            index += 1;
        }
        load.answers = f64::from(self.answers);
        load.context_s = tokens as f64 * law.full_context_s() + windows_s;
        put_back
    }

    /// Allocates blocks for `tokens` tokens of a request; the last ones give way. Returns whether the request
    /// is still there, and whether one was put back.
    fn make_room(&mut self, index: usize, tokens: u32) -> (bool, bool) {
        let mut put_back = false;
        while self.paces.get(index).is_some_and(|pace| pace.room < tokens) {
            if self.add_block(index) {
                continue;
            }
            put_back = true;
            let last = self.runners.len() - 1;
            self.put_back(last);
            if last == index {
                return (false, true);
            }
        }
        (true, put_back)
    }

    fn add_block(&mut self, index: usize) -> bool {
        let Some(id) = self.pool.take() else { return false };
        if let (Some(runner), Some(pace)) = (self.runners.get_mut(index), self.paces.get_mut(index))
        {
            runner.blocks.push(id);
            pace.room += BLOCK_TOKENS;
        }
        true
    }

    /// Takes a request out of the batch; it will read its prompt and its answer again.
    fn put_back(&mut self, index: usize) {
        let Some((mut sequence, _)) = self.take_out(index) else { return };
        sequence.preemptions += 1;
        sequence.is_handed = false;
        self.stats.preemptions += 1;
        self.waiting.push_front(sequence);
    }

    fn take_out(&mut self, index: usize) -> Option<(Sequence, Pace)> {
        if index >= self.runners.len() {
            return None;
        }
        let (runner, pace) = (self.runners.remove(index), self.paces.remove(index));
        Some((self.part_with(runner, pace), pace))
    }

    /// A request leaves the batch with its stamps, and without its blocks.
    fn part_with(&mut self, mut runner: Runner, pace: Pace) -> Sequence {
        if pace.answers {
            let from = runner.since.saturating_sub(self.timeline_first) as usize;
            if runner.sequence.counts.is_empty() {
                runner.sequence.stamps.extend(self.timeline.range(from.min(self.timeline.len())..));
            }
        }
        runner.sequence.generated = runner.sequence.output - pace.left;
        self.pool.give_back(&mut runner.blocks);
        runner.sequence
    }

    fn drop_cancelled(&mut self) {
        while let Some(ticket) = self.cancelled.pop() {
            let is_it = |runner: &Runner| runner.sequence.ticket == ticket;
            if let Some(index) = self.runners.iter().position(is_it) {
                self.take_out(index);
            }
        }
    }

    /// Pieces of prompts: of those under way, then of those that wait.
    fn put_chunks(
        &mut self,
        deployment: &Deployment,
        mut budget: u32,
        mut put_back: bool,
        now_ns: u64,
        load: &mut StepLoad,
    ) {
        let most = deployment.settings.prompt_piece.unwrap_or(u32::MAX);
        let mut index = 0;
        while budget > 0 && index < self.runners.len() {
            let (Some(runner), Some(&pace)) = (self.runners.get(index), self.paces.get(index))
            else {
                break;
            };
            if !pace.answers && pace.computed < runner.target {
                let piece = (runner.target - pace.computed).min(budget).min(most);
                let (is_there, gave_way) = self.make_room(index, pace.computed + piece);
                put_back |= gave_way;
                if !is_there {
                    break;
                }
                budget -= piece;
                self.put_chunk(deployment, index, piece, load);
            }
            index += 1;
        }
        let drafts = deployment.settings.speculation.map_or(0, |speculation| speculation.drafts);
        let seats =
            deployment.settings.sequences.min(deployment.settings.step_tokens / (1 + drafts));
        while !put_back && budget > 0 && self.runners.len() < seats as usize {
            let Some(piece) = self.admit(budget.min(most), drafts, now_ns) else { break };
            if piece > 0 {
                budget -= piece;
                self.put_chunk(deployment, self.runners.len() - 1, piece, load);
            }
        }
    }

    fn put_chunk(
        &mut self,
        deployment: &Deployment,
        index: usize,
        piece: u32,
        load: &mut StepLoad,
    ) {
        let (Some(runner), Some(pace)) = (self.runners.get(index), self.paces.get(index)) else {
            return;
        };
        load.chunks += 1.0;
        load.chunk_tokens += f64::from(piece);
        load.chunk_rows += f64::from(u8::from(pace.computed + piece == runner.target));
        load.chunk_s += deployment.step.chunk_s(f64::from(piece), f64::from(pace.computed));
        self.chunks.push((index, piece));
    }

    /// Takes the first that waits into the batch. Returns the tokens of its prompt to read in this
    /// step, 0 where it came with its prompt read; absent where it has to wait.
    fn admit(&mut self, most: u32, drafts: u32, now_ns: u64) -> Option<u32> {
        let sequence = self.waiting.front()?;
        let target = sequence.prompt + sequence.generated;
        // At least one token has to be computed for there to be a next one.
        let full = (target.saturating_sub(1) / BLOCK_TOKENS) as usize;
        let known = sequence.hashes.get(..full.min(sequence.hashes.len())).unwrap_or_default();
        let (held, unused) = if sequence.is_handed { (0, 0) } else { self.pool.held(known) };
        let cached = held * BLOCK_TOKENS;
        let piece = if sequence.is_handed { 0 } else { (target - cached).min(most) };
        let tokens = if sequence.is_handed { target + drafts } else { cached + piece };
        let needed = tokens.div_ceil(BLOCK_TOKENS) - held;
        if self.pool.free().saturating_sub(unused) < needed {
            return None;
        }
        let mut sequence = self.waiting.pop_front()?;
        sequence.begun_ns.get_or_insert(now_ns);
        let mut blocks = Vec::with_capacity((held + needed) as usize);
        blocks.extend(
            sequence.hashes.iter().take(held as usize).filter_map(|hash| self.pool.share(*hash)),
        );
        if !sequence.is_handed && sequence.generated == 0 {
            sequence.cached = cached;
            self.stats.prompt_tokens += u64::from(target);
            self.stats.cached_tokens += u64::from(cached);
        }
        let pace = Pace {
            computed: if sequence.is_handed { target.saturating_sub(1) } else { cached },
            room: blocks.len() as u32 * BLOCK_TOKENS,
            left: sequence.output - sequence.generated,
            answers: sequence.is_handed,
        };
        let since = self.timeline_first + self.timeline.len() as u64;
        self.runners.push(Runner { sequence, target, blocks, since });
        self.paces.push(pace);
        let index = self.runners.len() - 1;
        for _ in 0..needed {
            self.add_block(index);
        }
        Some(piece)
    }

    /// Ends the step under way.
    pub fn end(
        &mut self,
        speculation: Option<Speculation>,
        seen_ns: u64,
        mut emitted: Option<&mut Vec<Emitted>>,
    ) -> Ended {
        let Some(end_ns) = self.end_ns.take() else { return Ended::default() };
        let mut ended = Ended::default();
        let mut tell = |ticket: u64, tokens: u32| {
            if let Some(list) = emitted.as_mut() {
                list.push(Emitted { ticket, at_ns: seen_ns, tokens });
            }
        };
        let mut over = false;
        if self.answers > 0 {
            if speculation.is_none() {
                self.timeline.push_back(end_ns);
            }
            for (pace, runner) in self.paces.iter_mut().zip(&mut self.runners) {
                if !pace.answers {
                    continue;
                }
                let tokens = match speculation {
                    None => 1,
                    Some(speculation) => {
                        let accepted = accepted(&mut self.random, speculation);
                        self.stats.drafted_tokens += u64::from(speculation.drafts);
                        self.stats.accepted_tokens += u64::from(accepted);
                        self.stats.drafts += 1;
                        let tokens = (1 + accepted).min(pace.left);
                        runner.sequence.stamps.push(end_ns);
                        runner.sequence.counts.push(tokens);
                        tokens
                    }
                };
                let before = pace.computed / BLOCK_TOKENS;
                pace.computed += tokens;
                pace.left -= tokens;
                self.stats.generated_tokens += u64::from(tokens);
                over |= pace.left == 0;
                if pace.computed / BLOCK_TOKENS > before {
                    fill(&mut self.pool, runner, before, pace.computed / BLOCK_TOKENS);
                }
                tell(runner.sequence.ticket, tokens);
            }
        }
        for position in 0..self.chunks.len() {
            let Some(&(index, piece)) = self.chunks.get(position) else { break };
            let (Some(pace), Some(runner)) =
                (self.paces.get_mut(index), self.runners.get_mut(index))
            else {
                continue;
            };
            let before = pace.computed / BLOCK_TOKENS;
            pace.computed += piece;
            fill(&mut self.pool, runner, before, pace.computed / BLOCK_TOKENS);
            if pace.computed == runner.target {
                pace.answers = true;
                pace.left -= 1;
                self.stats.generated_tokens += 1;
                over |= pace.left == 0 || self.hands_on;
                runner.sequence.stamps.push(end_ns);
                if speculation.is_some() {
                    runner.sequence.counts.push(1);
                }
                runner.since = self.timeline_first + self.timeline.len() as u64;
                tell(runner.sequence.ticket, 1);
            }
        }
        self.chunks.clear();
        if over {
            self.collect(&mut ended);
        }
        self.trim();
        ended
    }

    fn collect(&mut self, ended: &mut Ended) {
        let hands_on = self.hands_on;
        let leaves = |pace: &Pace| pace.answers && (pace.left == 0 || hands_on);
        let mut paces = self.paces.iter();
        // Both lists are as long, and each closes its gaps once, however many leave.
        let runners: Vec<Runner> =
            self.runners.extract_if(.., |_| paces.next().is_some_and(leaves)).collect();
        let paces: Vec<Pace> = self.paces.extract_if(.., |pace| leaves(pace)).collect();
        for (runner, pace) in runners.into_iter().zip(paces) {
            let sequence = self.part_with(runner, pace);
            let list = if pace.left == 0 { &mut ended.finished } else { &mut ended.handed };
            list.push(sequence);
        }
    }

    /// Drops stamps that no request needs any more.
    fn trim(&mut self) {
        if self.timeline.len() < TIMELINE_MAX {
            return;
        }
        let answering = self.runners.iter().zip(&self.paces).filter(|(_, pace)| pace.answers);
        let next = self.timeline_first + self.timeline.len() as u64;
        let needed = answering.map(|(runner, _)| runner.since).min().unwrap_or(next);
        if needed - self.timeline_first < (TIMELINE_MAX / 2) as u64 {
            // A long answer: its stamps become its own, so that each is moved once.
            for (runner, pace) in self.runners.iter_mut().zip(&self.paces) {
                if pace.answers && runner.sequence.counts.is_empty() {
                    let from = runner.since.saturating_sub(self.timeline_first) as usize;
                    runner
                        .sequence
                        .stamps
                        .extend(self.timeline.range(from.min(self.timeline.len())..));
                    runner.since = next;
                }
            }
            self.timeline.clear();
            self.timeline_first = next;
            return;
        }
        self.timeline.drain(..(needed - self.timeline_first) as usize);
        self.timeline_first = needed;
    }
}

/// Blocks from one number to another are full.
fn fill(pool: &mut Pool, runner: &Runner, from: u32, to: u32) {
    for number in from as usize..to as usize {
        if let (Some(id), Some(hash)) =
            (runner.blocks.get(number), runner.sequence.hashes.get(number))
        {
            pool.fill(*id, *hash);
        }
    }
}

/// Drafts accepted in one step: each only if the one before it was.
fn accepted(random: &mut ChaCha8Rng, speculation: Speculation) -> u32 {
    let is_accepted = |_: &u32| random.random::<f64>() < speculation.acceptance;
    (0..speculation.drafts).take_while(is_accepted).count() as u32
}
