//! The thread that lets a simulation run beside the clock on the wall.
//!
//! It sleeps until the next step ends or the next token is to be seen, or until a request
//! comes, and hands each request its tokens at the instant when the simulation says that a
//! client sees them.
//!
//! Not here: the time of a step (`ifm-sim`), the bytes of an event (`frames`).

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, PoisonError,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use ifm_engine::{EngineStats, FinishReason};
use ifm_kernels::RandomStream;
use ifm_sim::{Ask, BLOCK_TOKENS, Emitted, Finished, Simulation};
use tokio::sync::mpsc::Sender;

use super::{Shared, clock::Clock};
use crate::{
    event::{Event, Finish, Piece, Times},
    facts::{Counters, Drafts},
};

/// What the thread is told.
#[derive(Debug)]
pub(super) enum Command {
    Start(Box<Start>),
    Throttle { after: Duration, factor: f64 },
    ClearCache,
}

/// A request.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) arrival: Instant,
    pub(super) ask: Ask,
    pub(super) answer: RandomStream,
    pub(super) events: Sender<Event>,
}

/// A request under way.
#[derive(Debug)]
struct Live {
    prompt_tokens: u32,
    output_tokens: u32,
    sent_tokens: u32,
    answer: RandomStream,
    events: Sender<Event>,
    /// What the simulation says of it, from its last step on.
    finished: Option<Finished>,
}

/// The state of the thread.
#[derive(Debug)]
pub(super) struct Driver {
    simulation: Simulation,
    clock: Clock,
    shared: Arc<Shared>,
    live: HashMap<u64, Live>,
    /// Tokens that are on their way to clients, in order of time.
    on_the_way: VecDeque<Emitted>,
    /// From the scheduler to a client.
    way_ns: u64,
    emitted: Vec<Emitted>,
    /// Events that are to be sent: the first of each request, and all others.
    firsts: Vec<(u64, Piece)>,
    written: Vec<(u64, Piece)>,
    accepted_by_position: Vec<u64>,
    finished_total: u64,
    cancelled_total: u64,
    failed_total: u64,
}

impl Driver {
    pub(super) fn new(simulation: Simulation, clock: Clock, shared: Arc<Shared>) -> Self {
        let drafts = simulation.deployment().settings.speculation.map_or(0, |it| it.drafts);
        Self {
            clock,
            shared,
            live: HashMap::new(),
            on_the_way: VecDeque::new(),
            way_ns: (simulation.deployment().step.constants().frontend_s / 2.0 * 1e9) as u64,
            emitted: Vec::new(),
            firsts: Vec::new(),
            written: Vec::new(),
            accepted_by_position: vec![0; drafts as usize],
            finished_total: 0,
            cancelled_total: 0,
            failed_total: 0,
            simulation,
        }
    }

    /// Works until nobody can submit any more.
    pub(super) fn run(mut self, inbox: &Receiver<Command>) {
        self.publish();
        loop {
            let command = match self.due() {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match command {
                Ok(command) => {
                    self.take(command);
                    inbox.try_iter().for_each(|command| self.take(command));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.catch_up();
        }
    }

    /// When a client may see something next. What happens before that in the simulation may
    /// wait for it: simulated time does not run away.
    fn due(&self) -> Option<Instant> {
        let seen = self.on_the_way.front().map(|emitted| emitted.at_ns);
        let next = self.simulation.next_ns().map(|next_ns| next_ns + self.way_ns);
        let first = seen.into_iter().chain(next).min()?;
        Some(self.clock.instant(first))
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Start(start) => self.start(*start),
            Command::Throttle { after, factor } => {
                self.clock.slow_down(Instant::now() + after, factor);
            }
            Command::ClearCache => self.simulation.clear_cache(),
        }
    }

    fn start(&mut self, start: Start) {
        let Start { arrival, ask, answer, events } = start;
        let (prompt_tokens, output_tokens) = (ask.prompt_tokens, ask.output_tokens);
        // The way to the scheduler may still lie ahead of what is simulated, also if the arrival
        // does not; a request that comes later than that waits for the next step.
        let at_ns = self.clock.simulated_ns(arrival);
        match self.simulation.submit(at_ns, ask) {
            Ok(ticket) => {
                let (sent_tokens, finished) = (0, None);
                let live =
                    Live { prompt_tokens, output_tokens, sent_tokens, answer, events, finished };
                self.live.insert(ticket, live);
            }
            Err(error) => {
                self.leave(1);
                self.failed_total += 1;
                // Nobody listens any more, or the channel has room for one event.
                let _ = events.try_send(Event::Failed(error.to_string()));
            }
        }
    }

    /// Does everything whose time has come. Counters are told before tokens, so that who has
    /// the last token of an answer finds it counted.
    fn catch_up(&mut self) {
        let now_ns = self.clock.simulated_ns(Instant::now());
        let mut steps = 0;
        loop {
            let seen = self.on_the_way.front().map(|emitted| emitted.at_ns);
            let next = self.simulation.next_ns();
            match (seen, next) {
                (Some(seen_ns), _) if seen_ns <= now_ns && next.is_none_or(|ns| seen_ns <= ns) => {
                    if let Some(emitted) = self.on_the_way.pop_front() {
                        self.write(emitted);
                    }
                }
                (_, Some(next_ns)) if next_ns <= now_ns => {
                    self.advance();
                    steps += 1;
                }
                _ => break,
            }
        }
        self.publish();
        self.send();
        if steps > 0 {
            self.drop_abandoned();
        }
    }

    fn advance(&mut self) {
        self.simulation.advance(Some(&mut self.emitted));
        self.on_the_way.extend(self.emitted.drain(..));
        while let Some(finished) = self.simulation.take_finished() {
            if let Some(live) = self.live.get_mut(&finished.ticket) {
                live.finished = Some(finished);
            }
        }
    }

    /// Makes an event of tokens that came out.
    fn write(&mut self, emitted: Emitted) {
        let Emitted { ticket, tokens, at_ns } = emitted;
        let Some(live) = self.live.get_mut(&ticket) else { return };
        let words = &self.shared.words;
        let text: String = (0..tokens).map(|_| words.draw(&mut live.answer).1).collect();
        let is_first = live.sent_tokens == 0;
        live.sent_tokens += tokens;
        // One of the tokens is the model's own, the others were guessed.
        let accepted = tokens.saturating_sub(1) as usize;
        self.accepted_by_position.iter_mut().take(accepted).for_each(|count| *count += 1);
        let is_last = live.sent_tokens >= live.output_tokens;
        let finish = is_last.then(|| finish(live, self.way_ns, &self.clock));
        let due = Some(self.clock.instant(at_ns));
        let list = if is_first { &mut self.firsts } else { &mut self.written };
        list.push((ticket, Piece { text, tokens: tokens as usize, due, finish }));
        if is_last {
            self.finished_total += 1;
            self.leave(1);
        }
    }

    /// Hands the events to their requests. All of a step are due at the same instant and are sent one
    /// after the other, so that the last of them are late: first tokens, for which somebody waits, go
    /// first, and the others keep their order, which keeps their gaps.
    fn send(&mut self) {
        for (ticket, piece) in self.firsts.drain(..).chain(self.written.drain(..)) {
            let is_last = piece.finish.is_some();
            if let Some(live) = self.live.get(&ticket) {
                // The channel has room for every token, so only a closed one refuses; those
                // are found after the next step.
                let _ = live.events.try_send(Event::Piece(piece));
            }
            if is_last {
                self.live.remove(&ticket);
            }
        }
    }

    /// Forgets requests whose clients went away.
    fn drop_abandoned(&mut self) {
        let before = self.live.len();
        let simulation = &mut self.simulation;
        self.live.retain(|ticket, live| {
            let stays = !live.events.is_closed();
            if !stays {
                simulation.cancel(*ticket);
            }
            stays
        });
        let gone = before - self.live.len();
        self.cancelled_total += gone as u64;
        self.leave(gone);
    }

    fn leave(&self, requests: usize) {
        self.shared.requests.fetch_sub(requests, Ordering::Relaxed);
    }

    /// Tells the counters to whoever asks.
    fn publish(&self) {
        let (stats, gauges) = (self.simulation.stats(), self.simulation.gauges());
        let settings = &self.simulation.deployment().settings;
        let tokens = |blocks: u64| (blocks * u64::from(BLOCK_TOKENS)) as usize;
        let looked_up = if settings.prefix_cache { stats.prompt_tokens } else { 0 };
        let counters = Counters {
            engine: EngineStats {
                running: gauges.running,
                // Those on their way to the scheduler wait as well.
                waiting: self
                    .shared
                    .requests
                    .load(Ordering::Relaxed)
                    .saturating_sub(gauges.running),
                kv_tokens_reserved: tokens(gauges.blocks_used),
                kv_tokens: tokens(gauges.blocks),
                prompt_tokens_total: stats.prompt_tokens,
                generation_tokens_total: stats.generated_tokens,
                finished_stop_total: 0,
                finished_length_total: self.finished_total,
                cancelled_total: self.cancelled_total,
                failed_total: self.failed_total,
                refused_total: 0,
                steps_total: stats.steps,
            },
            preemptions_total: stats.preemptions,
            prefix_queries_total: looked_up,
            prefix_hits_total: stats.cached_tokens,
            drafts: settings.speculation.map(|_| Drafts {
                drafts_total: stats.drafts,
                tokens_total: stats.drafted_tokens,
                accepted_total: self.accepted_by_position.iter().sum(),
                accepted_by_position: self.accepted_by_position.clone(),
            }),
        };
        *self.shared.counters.lock().unwrap_or_else(PoisonError::into_inner) = counters;
    }
}

/// What the last event of a request says.
fn finish(live: &Live, way_ns: u64, clock: &Clock) -> Finish {
    let times = live.finished.as_ref().and_then(|finished| {
        let (first_ns, last_ns) = (*finished.stamps.first()?, *finished.stamps.last()?);
        let begun_ns = finished.begun_ns;
        Some(Times {
            // Ways to and from the scheduler are not the scheduler's.
            queued_ns: clock.wall_ns(finished.sent_ns + way_ns, begun_ns),
            first_token_ns: clock.wall_ns(begun_ns, first_ns.saturating_sub(way_ns)),
            generation_ns: clock.wall_ns(first_ns, last_ns),
        })
    });
    Finish {
        reason: FinishReason::Length,
        prompt_tokens: live.prompt_tokens as usize,
        completion_tokens: live.sent_tokens as usize,
        cached_tokens: live.finished.as_ref().map(|finished| finished.cached_tokens as usize),
        times,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ifm_engine::Tokenizer;
    use ifm_roofline::{Machine, Model, Precision, Setup};
    use ifm_sim::{Constants, Deployment, Kind, Settings};

    use super::super::words::{Words, answer};

    /// The thread's state without a thread, and nothing to do.
    fn driver() -> Driver {
        let setup = Setup::new(
            Machine::find("l40s").expect("a machine"),
            Model::find("llama-3.1-8b").expect("a model"),
            Precision::find("bf16").expect("a format"),
            1,
        )
        .expect("a setup");
        let (constants, settings) =
            (Constants::defaults(Kind::Vllm, &setup), Settings::defaults(Kind::Vllm, &setup));
        let deployment = Deployment::new(setup, constants, settings).expect("a deployment");
        let tokenizer = Tokenizer::embedded().expect("the vocabulary");
        let shared = Shared {
            words: Words::of(&tokenizer),
            tokenizer,
            counters: std::sync::Mutex::default(),
            requests: 4.into(),
            refused_total: 0.into(),
        };
        let clock = Clock::new(Instant::now(), 1.0);
        Driver::new(Simulation::new(deployment), clock, Arc::new(shared))
    }

    /// Four answers get a token in one step. Two of them have begun before: their tokens wait for the
    /// first ones of the others, and each kind keeps its order.
    #[test]
    fn of_a_step_the_first_tokens_go_first() {
        let mut driver = driver();
        // All write into one channel, which keeps the order in which they do.
        let (events, mut sent) = tokio::sync::mpsc::channel(8);
        for (ticket, sent_tokens) in [(1, 7), (2, 0), (3, 5), (4, 0)] {
            let live = Live {
                // By which an event is told from the others; each is the last of its answer.
                prompt_tokens: ticket as u32,
                output_tokens: sent_tokens + 1,
                sent_tokens,
                answer: answer(0, &[1]),
                events: events.clone(),
                finished: None,
            };
            driver.live.insert(ticket, live);
        }
        (1..=4).for_each(|ticket| driver.write(Emitted { ticket, tokens: 1, at_ns: 0 }));
        driver.send();
        let order = std::iter::from_fn(|| match sent.try_recv() {
            Ok(Event::Piece(piece)) => Some(piece.finish.expect("the last token").prompt_tokens),
            _ => None,
        });
        assert_eq!(order.collect::<Vec<usize>>(), [2, 4, 1, 3]);
        assert!(driver.live.is_empty(), "whose answer has ended is forgotten");
    }
}
