//! A server in virtual time: requests arrive, steps follow one another, tokens come out.
//!
//! The caller decides when requests arrive, also in response to finished ones, and may let virtual
//! time pass at full speed or in step with a real clock. Memory grows with the
//! requests that are under way, not with those that were.
//!
//! Not here: who sends requests, and what is made of their stamps.

use crate::deployment::{Deployment, Router};
use crate::kv::BLOCK_TOKENS;
use crate::replica::{Emitted, Ended, Replica, Sequence};
use crate::stats::Stats;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// A request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// Tokens of the prompt, at least 1.
    pub prompt_tokens: u32,
    /// Tokens of the answer, at least 1.
    pub output_tokens: u32,
    /// For each full block of 16 tokens of prompt and answer, a hash of everything up to its end;
    /// may end early. Blocks with the same hash hold the same.
    pub blocks: Vec<u64>,
}

/// The outcome of a request. Stamps are the client's, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its number.
    pub ticket: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When the scheduler took it into its first step.
    pub begun_ns: u64,
    /// When tokens arrived, event by event.
    pub stamps: Vec<u64>,
    /// Tokens of each event; empty where each held one.
    pub counts: Vec<u32>,
    /// Tokens of the prompt that came from the cache.
    pub cached_tokens: u32,
    /// Times that it was put back for want of room.
    pub preemptions: u32,
}

/// Why a request cannot be answered, however long it waits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{tokens} tokens of prompt and answer do not fit into the {room} tokens of keys and values"
)]
pub struct TooLong {
    /// Tokens of prompt and answer.
    pub tokens: u64,
    /// Room for keys and values of one replica.
    pub room: u64,
}

/// The state of all replicas together, as a metrics page reports it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gauges {
    /// Requests in batches.
    pub running: usize,
    /// Requests that wait.
    pub waiting: usize,
    /// Blocks in use.
    pub blocks_used: u64,
    /// Blocks in all.
    pub blocks: u64,
}

/// A server in virtual time.
#[derive(Debug)]
pub struct Simulation {
    deployment: Deployment,
    replicas: Vec<Replica>,
    /// Replicas that only read prompts: the first ones of `replicas`.
    readers: usize,
    /// When requests reach the scheduler.
    arrivals: BinaryHeap<Reverse<(u64, u64)>>,
    arriving: HashMap<u64, Sequence>,
    finished: VecDeque<Finished>,
    next_ticket: u64,
    now_ns: u64,
    /// Until when the front end is busy with earlier requests.
    front_busy_ns: u64,
    /// Half of what lies between client and scheduler.
    way_ns: u64,
    turn: usize,
}

impl Simulation {
    /// A server that has nothing to do.
    pub fn new(deployment: Deployment) -> Simulation {
        let settings = &deployment.settings;
        let readers = settings.disaggregation.map_or(0, |apart| apart.prefill_replicas as usize);
        let count = readers + settings.replicas as usize;
        let replicas = (0..count)
            .map(|number| Replica::new(&deployment, number as u64, number < readers))
            .collect();
        let way_ns = (deployment.step.constants().frontend_s / 2.0 * 1e9) as u64;
        Simulation {
            replicas,
            readers,
            arrivals: BinaryHeap::new(),
            arriving: HashMap::new(),
            finished: VecDeque::new(),
            next_ticket: 0,
            now_ns: 0,
            front_busy_ns: 0,
            way_ns,
            turn: 0,
            deployment,
        }
    }

    /// What it simulates.
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// The time, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// A client sends a request at this time; it is not to lie before the time now.
    ///
    /// # Errors
    /// [`TooLong`] where it never fits.
    pub fn submit(&mut self, at_ns: u64, ask: Ask) -> Result<u64, TooLong> {
        self.submit_held((at_ns, 0), ask)
    }

    /// The same for a request that is held back for `held_ns` nanoseconds before a scheduler has it, while
    /// nothing else waits: as until its grammar is compiled.
    ///
    /// # Errors
    /// [`TooLong`] where it never fits.
    pub fn submit_held(&mut self, (at_ns, held_ns): (u64, u64), ask: Ask) -> Result<u64, TooLong> {
        let (prompt, output) = (ask.prompt_tokens.max(1), ask.output_tokens.max(1));
        let drafts = self.deployment.settings.speculation.map_or(0, |drafts| drafts.drafts);
        let tokens = u64::from(prompt) + u64::from(output) + u64::from(drafts);
        let room = u64::from(self.deployment.blocks) * u64::from(BLOCK_TOKENS);
        if tokens > room {
            return Err(TooLong { tokens, room });
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let serial_ns = (self.deployment.step.constants().request_serial_s * 1e9) as u64;
        let reaches_ns = (at_ns + self.way_ns).max(self.front_busy_ns) + serial_ns;
        if serial_ns > 0 {
            self.front_busy_ns = reaches_ns;
        }
        let sequence = Sequence {
            ticket,
            arrived_ns: at_ns,
            prompt,
            output,
            hashes: if self.deployment.settings.prefix_cache { ask.blocks } else { Vec::new() },
            is_handed: false,
            generated: 0,
            cached: 0,
            preemptions: 0,
            begun_ns: None,
            stamps: Vec::new(),
            counts: Vec::new(),
        };
        self.arriving.insert(ticket, sequence);
        let reaches_ns = reaches_ns.saturating_add(held_ns).max(self.now_ns);
        self.arrivals.push(Reverse((reaches_ns, ticket)));
        Ok(ticket)
    }

    /// When something happens next; absent where nothing is under way.
    pub fn next_ns(&self) -> Option<u64> {
        let arrival = self.arrivals.peek().map(|Reverse((at_ns, _))| *at_ns);
        let step = self.replicas.iter().filter_map(Replica::end_ns).min();
        match (arrival, step) {
            (Some(arrival), Some(step)) => Some(arrival.min(step)),
            (one, other) => one.or(other),
        }
    }

    /// Processes the next event. `emitted` gets the generated tokens, with the time when a
    /// client sees them; requests that finish are kept for [`Simulation::take_finished`].
    pub fn advance(&mut self, mut emitted: Option<&mut Vec<Emitted>>) {
        let Some(now_ns) = self.next_ns() else { return };
        self.now_ns = now_ns;
        let mut has_arrived = false;
        while let Some(&Reverse((at_ns, ticket))) = self.arrivals.peek()
            && at_ns <= now_ns
        {
            self.arrivals.pop();
            has_arrived = true;
            if let Some(sequence) = self.arriving.remove(&ticket) {
                self.route(sequence);
            }
        }
        let seen_ns = now_ns + self.way_ns;
        for index in 0..self.replicas.len() {
            let Some(replica) = self.replicas.get_mut(index) else { break };
            match replica.end_ns() {
                Some(end_ns) if end_ns == now_ns => {
                    let speculation = self.deployment.settings.speculation;
                    let ended = replica.end(speculation, seen_ns, emitted.as_deref_mut());
                    replica.begin(&self.deployment, now_ns);
                    self.take(ended, now_ns);
                }
                None if has_arrived && replica.load() > 0 => {
                    replica.begin(&self.deployment, now_ns);
                }
                _ => {}
            }
        }
    }

    fn take(&mut self, ended: Ended, now_ns: u64) {
        for mut sequence in ended.finished {
            sequence.stamps.iter_mut().for_each(|stamp| *stamp += self.way_ns);
            self.finished.push_back(Finished {
                ticket: sequence.ticket,
                sent_ns: sequence.arrived_ns,
                begun_ns: sequence.begun_ns.unwrap_or(now_ns),
                stamps: sequence.stamps,
                counts: sequence.counts,
                cached_tokens: sequence.cached,
                preemptions: sequence.preemptions,
            });
        }
        for mut sequence in ended.handed {
            let apart = self.deployment.settings.disaggregation;
            let bytes = self.deployment.setup.kv_bytes_per_token() * f64::from(sequence.prompt);
            let seconds = apart.map_or(0.0, |apart| bytes / (apart.transfer_gb_s * 1e9));
            sequence.is_handed = true;
            let ticket = sequence.ticket;
            self.arriving.insert(ticket, sequence);
            self.arrivals.push(Reverse((now_ns + (seconds * 1e9) as u64, ticket)));
        }
    }

    /// The next request that has finished.
    pub fn take_finished(&mut self) -> Option<Finished> {
        self.finished.pop_front()
    }

    /// A client has gone: its request takes part in no further step.
    pub fn cancel(&mut self, ticket: u64) {
        if self.arriving.remove(&ticket).is_some() {
            return;
        }
        let _ = self.replicas.iter_mut().any(|replica| replica.cancel(ticket));
    }

    /// All replicas forget what their caches hold.
    pub fn clear_cache(&mut self) {
        self.replicas.iter_mut().for_each(Replica::forget);
    }

    /// Counts of all replicas together.
    pub fn stats(&self) -> Stats {
        let mut all = Stats::default();
        self.replicas.iter().for_each(|replica| all.add(&replica.stats));
        all
    }

    /// Counts begin again; caches and requests stay.
    pub fn restart_stats(&mut self) {
        self.replicas.iter_mut().for_each(|replica| replica.stats = Stats::default());
    }

    /// The state of all replicas together.
    pub fn gauges(&self) -> Gauges {
        let mut gauges = Gauges { running: 0, waiting: 0, blocks_used: 0, blocks: 0 };
        for replica in &self.replicas {
            gauges.running += replica.running();
            gauges.waiting += replica.waiting();
            gauges.blocks += u64::from(replica.pool().total());
            gauges.blocks_used += u64::from(replica.pool().total() - replica.pool().free());
        }
        gauges
    }

    fn route(&mut self, sequence: Sequence) {
        let range = match sequence.is_handed {
            false if self.readers > 0 => 0..self.readers,
            _ => self.readers..self.replicas.len(),
        };
        let candidates = self.replicas.get(range.clone()).unwrap_or_default();
        let least = |candidates: &[Replica]| {
            let loads =
                candidates.iter().enumerate().map(|(index, replica)| (replica.load(), index));
            loads.min().map_or(0, |(_, index)| index)
        };
        let chosen = match self.deployment.settings.router {
            _ if candidates.len() < 2 => 0,
            Router::RoundRobin => {
                self.turn += 1;
                (self.turn - 1) % candidates.len()
            }
            Router::LeastLoaded => least(candidates),
            Router::PrefixAware => {
                let lightest = candidates.iter().map(Replica::load).min().unwrap_or(0);
                let held = candidates
                    .iter()
                    .enumerate()
                    .filter(|(_, replica)| replica.load() <= 2 * lightest + 4);
                let best = held
                    .map(|(index, replica)| {
                        (replica.pool().held(&sequence.hashes).0, Reverse(index))
                    })
                    .max();
                match best {
                    Some((1.., Reverse(index))) => index,
                    _ => least(candidates),
                }
            }
        };
        if let Some(replica) = self.replicas.get_mut(range.start + chosen) {
            replica.enqueue(sequence);
        }
    }
}
