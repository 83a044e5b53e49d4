//! The thread that runs a simulation in step with the wall clock.
//!
//! It sleeps until a step is to be looked at or the next token is to be seen, or until a request
//! comes, and hands each request its tokens at the instant when the simulation says that a
//! client sees them. Tokens are on their way for a while: a step is looked at late enough that requests
//! which were slow to be read are in it, and early enough that its events are ready when they are due.
//!
//! Not here: the time of a step (`ifm-sim`), the bytes of an event (`frames`).

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use ifm_engine::{EngineStats, FinishReason};
use ifm_kernels::RandomStream;
use ifm_sim::{Ask, BLOCK_TOKENS, Emitted, Finished, Simulation};
use tokio::sync::mpsc::Sender;

use super::{Shared, clock::Clock, inbox::Sleeper};
use crate::{
    event::{Event, Finish, Piece, Times},
    facts::{Counters, Drafts},
};

/// How long before they are due the events of a step are made, of the wall's time.
const LEAD: Duration = Duration::from_millis(2);

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
    /// Bytes of the text before its stop string; absent for an answer that ends at its length.
    pub(super) text_bytes: Option<usize>,
    pub(super) events: Sender<Event>,
}

/// A request under way.
#[derive(Debug)]
struct Live {
    prompt_tokens: u32,
    output_tokens: u32,
    sent_tokens: u32,
    answer: RandomStream,
    /// Whether a stop string ends it, and bytes of its text that are left.
    stops: bool,
    text_bytes: usize,
    events: Sender<Event>,
    /// What the simulation says of it, from its last step on.
    finished: Option<Finished>,
}

/// An event that is to be seen.
#[derive(Debug)]
struct Ready {
    at_ns: u64,
    ticket: u64,
    piece: Piece,
}

/// The state of the thread.
#[derive(Debug)]
pub(super) struct Driver {
    simulation: Simulation,
    clock: Clock,
    shared: Arc<Shared>,
    live: HashMap<u64, Live>,
    /// Tokens that are on their way to clients, in order of time.
    on_the_way: VecDeque<Ready>,
    /// From the scheduler to a client, of simulated time.
    way_ns: u64,
    /// How long a step waits to be looked at, of simulated time.
    rest_ns: u64,
    emitted: Vec<Emitted>,
    /// Events of a step that are not the first of their request.
    later: Vec<Ready>,
    accepted_by_position: Vec<u64>,
    finished_total: u64,
    /// Answers that a stop string ended.
    stopped_total: u64,
    cancelled_total: u64,
    failed_total: u64,
}

impl Driver {
    pub(super) fn new(simulation: Simulation, clock: Clock, shared: Arc<Shared>) -> Self {
        let drafts = simulation.deployment().settings.speculation.map_or(0, |it| it.drafts);
        let way_ns = (simulation.deployment().step.constants().frontend_s / 2.0 * 1e9) as u64;
        Self {
            rest_ns: way_ns.saturating_sub(clock.simulated_span_ns(LEAD)),
            clock,
            shared,
            live: HashMap::new(),
            on_the_way: VecDeque::new(),
            way_ns,
            emitted: Vec::new(),
            later: Vec::new(),
            accepted_by_position: vec![0; drafts as usize],
            finished_total: 0,
            stopped_total: 0,
            cancelled_total: 0,
            failed_total: 0,
            simulation,
        }
    }

    /// How long after its arrival a request is looked at for the first time, at the earliest.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_nanos(self.clock.wall_ns(0, self.way_ns + self.rest_ns))
    }

    /// Works until no sender is left.
    pub(super) fn run(mut self, sleeper: &Sleeper<Command>) {
        ifm_sys::thread::sharpen_timers();
        ifm_sys::thread::take_short_turns();
        self.publish();
        while sleeper.wait(self.due(), |command| self.take(command)) {
            self.catch_up();
        }
    }

    /// When there is something to do next. What happens before that in the simulation may wait for it:
    /// simulated time does not run away.
    fn due(&self) -> Option<Instant> {
        let seen = self.on_the_way.front().map(|ready| ready.at_ns);
        let next = self.simulation.next_ns().map(|next_ns| next_ns + self.rest_ns);
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
        let Start { arrival, ask, answer, text_bytes, events } = start;
        let (prompt_tokens, output_tokens) = (ask.prompt_tokens, ask.output_tokens);
        // The way to the scheduler may still lie ahead of what is simulated, also if the arrival
        // does not; a request that comes later than that waits for the next step.
        let at_ns = self.clock.simulated_ns(arrival);
        match self.simulation.submit(at_ns, ask) {
            Ok(ticket) => {
                let live = Live {
                    prompt_tokens,
                    output_tokens,
                    sent_tokens: 0,
                    answer,
                    stops: text_bytes.is_some(),
                    text_bytes: text_bytes.unwrap_or(usize::MAX),
                    events,
                    finished: None,
                };
                self.live.insert(ticket, live);
            }
            Err(error) => {
                self.leave(1);
                self.failed_total += 1;
                // The receiver is gone, or the channel has room for one event.
                let _ = events.try_send(Event::Failed(error.to_string()));
            }
        }
    }

    /// Does everything whose time has come.
    fn catch_up(&mut self) {
        let now_ns = self.clock.simulated_ns(Instant::now());
        let mut steps = 0;
        while self.simulation.next_ns().is_some_and(|next_ns| next_ns + self.rest_ns <= now_ns) {
            self.simulation.advance(Some(&mut self.emitted));
            self.make_ready();
            steps += 1;
        }
        self.send(now_ns);
        if steps > 0 {
            self.drop_abandoned();
        }
    }

    /// Makes the events of a step. All are due at the same instant and are sent one after the other, so
    /// that the last of them are late: first tokens, for which somebody waits, go first, and the others
    /// keep their order, which keeps their gaps.
    fn make_ready(&mut self) {
        while let Some(finished) = self.simulation.take_finished() {
            if let Some(live) = self.live.get_mut(&finished.ticket) {
                live.finished = Some(finished);
            }
        }
        for Emitted { ticket, tokens, at_ns } in self.emitted.drain(..) {
            let Some(live) = self.live.get_mut(&ticket) else { continue };
            let words = &self.shared.words;
            let mut text: String = (0..tokens).map(|_| words.draw(&mut live.answer).1).collect();
            // Words are ASCII, and stop strings may span several of them.
            text.truncate(live.text_bytes);
            live.text_bytes -= text.len();
            let is_first = live.sent_tokens == 0;
            live.sent_tokens += tokens;
            let is_last = live.sent_tokens >= live.output_tokens;
            let finish = is_last.then(|| finish(live, self.way_ns, &self.clock));
            let due = Some(self.clock.instant(at_ns));
            let piece = Piece { text, tokens: tokens as usize, due, finish };
            let ready = Ready { at_ns, ticket, piece };
            match is_first {
                true => self.on_the_way.push_back(ready),
                false => self.later.push(ready),
            }
        }
        self.on_the_way.extend(self.later.drain(..));
    }

    /// Hands over the events that are due. Counters are told before tokens, so that who has the last token
    /// of an answer finds it counted.
    fn send(&mut self, now_ns: u64) {
        let due = self.on_the_way.iter().take_while(|ready| ready.at_ns <= now_ns).count();
        let mut ended = 0;
        for Ready { ticket, piece, .. } in self.on_the_way.range(..due) {
            if !self.live.contains_key(ticket) {
                continue;
            }
            // One of the tokens is the model's own, the others were guessed.
            let accepted = piece.tokens.saturating_sub(1);
            self.accepted_by_position.iter_mut().take(accepted).for_each(|count| *count += 1);
            let Some(finish) = &piece.finish else { continue };
            ended += 1;
            self.stopped_total += u64::from(finish.reason == FinishReason::Stop);
        }
        self.finished_total += ended as u64;
        self.leave(ended);
        self.publish();
        for Ready { ticket, piece, .. } in self.on_the_way.drain(..due) {
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
                finished_stop_total: self.stopped_total,
                finished_length_total: self.finished_total - self.stopped_total,
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
        reason: if live.stops { FinishReason::Stop } else { FinishReason::Length },
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
                stops: false,
                text_bytes: usize::MAX,
                events: events.clone(),
                finished: None,
            };
            driver.live.insert(ticket, live);
        }
        driver.emitted.extend((1..=4).map(|ticket| Emitted { ticket, tokens: 1, at_ns: 7 }));
        driver.make_ready();
        driver.send(6);
        assert_eq!(driver.live.len(), 4, "nothing is sent before its time");
        driver.send(7);
        let order = std::iter::from_fn(|| match sent.try_recv() {
            Ok(Event::Piece(piece)) => Some(piece.finish.expect("the last token").prompt_tokens),
            _ => None,
        });
        assert_eq!(order.collect::<Vec<usize>>(), [2, 4, 1, 3]);
        assert!(driver.live.is_empty(), "whose answer has ended is forgotten");
    }
}
