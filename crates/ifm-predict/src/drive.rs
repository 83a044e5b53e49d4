//! A level of a run in virtual time: requests from the same source, sent when a client would send
//! them, and answered by a simulation.
//!
//! As on the wire (`ifm-drive`): warm-up first, then measured requests. Users send the next request
//! after an answer, or requests follow scheduled times. Nothing new is sent after the number or the
//! duration, and requests in flight finish.
//!
//! Not here: the workload, and the use of the records.

use crate::content::Contents;
use crate::grammars::Grammars;
use ifm_core::manifest::{LevelEnd, LevelInfo};
use ifm_core::record::{CountSource, Counted, TokenEvents};
use ifm_core::{Outcome, Phase, Reply, RequestRecord};
use ifm_drive::{
    Answered, DriveError, Evidence, LevelPlan, LevelResult, Loop, NextAsk, Offer, Progress,
    RequestMeta, RequestSource, Sink, Stop, StopLevel,
};
use ifm_sim::{Ask, Finished, Simulation, steady};
use ifm_wire::RequestBytes;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::atomic::Ordering;

/// Virtual time between two requests to a source that has nothing to send at the moment,
/// nanoseconds.
const ASK_AGAIN_NS: u64 = 100_000;
/// Records between two ticks of the sink.
const RECORDS_PER_TICK: u32 = 1000;
/// Maximum number of requests refused in a row while no time passes and nothing else is in flight.
const REFUSED_MAX: u32 = 10_000;
/// The status of a request that is too long for the server.
const TOO_LONG: u16 = 400;

/// Totals of a level, for mean lengths.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flow {
    /// Measured requests that were answered.
    pub requests: u64,
    /// Tokens of their prompts.
    pub prompt_tokens: u64,
    /// Tokens of their answers.
    pub output_tokens: u64,
    /// Prompt tokens that came from the cache.
    pub cached_tokens: u64,
}

impl Flow {
    /// Mean lengths; absent without answers.
    pub fn lengths(&self) -> Option<steady::Lengths> {
        let requests = (self.requests > 0).then_some(self.requests as f64)?;
        Some(steady::Lengths {
            prompt: self.prompt_tokens as f64 / requests,
            output: self.output_tokens as f64 / requests,
        })
    }
}

/// A request that is being answered.
struct Flight {
    meta: RequestMeta,
    seq: u32,
    phase: Phase,
    slot: u32,
    due_ns: u64,
    start_ns: u64,
    prompt_tokens: u32,
    answer: String,
    sent_bytes: u64,
}

/// A level in progress.
struct Level<'level> {
    plan: &'level LevelPlan,
    simulation: &'level mut Simulation,
    source: &'level mut dyn RequestSource,
    sink: &'level mut dyn Sink,
    contents: &'level mut Contents,
    grammars: &'level mut Grammars,
    flights: HashMap<u64, Flight>,
    /// Requests whose last token is on its way to the client: its arrival time.
    ending: BinaryHeap<Reverse<(u64, u64)>>,
    finished: HashMap<u64, Finished>,
    free: BTreeSet<u32>,
    /// Requests that were taken from the source.
    taken: u32,
    /// A request of an open loop that is not due yet, or has no free slot.
    held: Option<(RequestMeta, RequestBytes)>,
    warm_left: u32,
    /// Start of the measurement.
    measured_ns: Option<u64>,
    send_end_ns: Option<u64>,
    ran_out: bool,
    /// The source had nothing to send at the moment.
    is_later: bool,
    /// Number of consecutive requests that did not fit, at one moment.
    refused: (u64, u32),
    keeps_blocks: bool,
    records: u32,
    flow: Flow,
    buffer: RequestBytes,
}

/// Runs one level to its end, in virtual time that continues from the end of the last level: the
/// cache keeps its content, and the same stretches of text identify it.
///
/// # Errors
/// A source that cannot create a request, or a sink that cannot store one.
pub fn drive_level(
    plan: &LevelPlan,
    (simulation, contents, grammars): (&mut Simulation, &mut Contents, &mut Grammars),
    source: &mut dyn RequestSource,
    sink: &mut dyn Sink,
    (stop, progress): (&Stop, &Progress),
) -> Result<(LevelResult, Flow), DriveError> {
    let keeps_blocks = simulation.deployment().settings.prefix_cache;
    let mut level = Level {
        plan,
        simulation,
        source,
        sink,
        contents,
        grammars,
        flights: HashMap::new(),
        ending: BinaryHeap::new(),
        finished: HashMap::new(),
        free: (0..plan.slots).collect(),
        taken: 0,
        held: None,
        warm_left: plan.warmup_requests,
        measured_ns: None,
        send_end_ns: None,
        ran_out: false,
        is_later: false,
        refused: (0, 0),
        keeps_blocks,
        records: 0,
        flow: Flow::default(),
        buffer: RequestBytes::default(),
    };
    let mut now_ns = level.simulation.now_ns();
    let mut is_whole = true;
    loop {
        if stop.level() > StopLevel::Run && level.send_end_ns.is_none() {
            is_whole = false;
            level.send_end_ns = Some(now_ns);
        }
        if level.sink.has_enough() && level.send_end_ns.is_none() {
            level.send_end_ns = Some(now_ns);
        }
        level.send(now_ns)?;
        let Some(next_ns) = level.next_ns(now_ns) else { break };
        if level.simulation.next_ns().is_some_and(|step_ns| step_ns <= next_ns) {
            level.simulation.advance(None);
        }
        now_ns = next_ns.max(now_ns);
        level.collect(now_ns, progress)?;
        if stop.level() == StopLevel::Cancel {
            level.cancel_all(now_ns)?;
            is_whole = false;
            break;
        }
    }
    level.drop_rest()?;
    level.sink.tick().map_err(DriveError::Sink)?;
    let Level { measured_ns, send_end_ns, ran_out, flow, .. } = level;
    let info = measured_ns.map(|start_ns| LevelInfo {
        level: plan.level,
        start_ns,
        send_end_ns: send_end_ns.unwrap_or(now_ns),
        end_ns: now_ns,
        complete: is_whole,
        ended_by: Some(if is_whole { LevelEnd::Planned } else { LevelEnd::Stopped }),
        measured_again: None,
    });
    let result =
        LevelResult { info, evidence: Evidence::default(), workload_ended: ran_out, gave_up: None };
    Ok((result, flow))
}

impl Level<'_> {
    /// Sends everything that can be sent at this time.
    fn send(&mut self, now_ns: u64) -> Result<(), DriveError> {
        self.is_later = false;
        loop {
            let phase = match self.warm_left {
                0 if self.measured_ns.is_none() && !self.flights.is_empty() => return Ok(()),
                0 => Phase::Measure,
                _ => Phase::Warmup,
            };
            if phase == Phase::Measure {
                let measured_ns = *self.measured_ns.get_or_insert_with(|| {
                    // Counts of the level include only what is measured.
                    self.simulation.restart_stats();
                    now_ns
                });
                let end_ns = self.plan.duration_ns.map(|span_ns| measured_ns + span_ns);
                if self.send_end_ns.is_none() && end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
                    self.send_end_ns = end_ns;
                }
            }
            if self.send_end_ns.is_some() || self.free.is_empty() || !self.hold(phase, now_ns)? {
                return Ok(());
            }
            if self.due_ns().is_some_and(|due_ns| due_ns > now_ns) {
                return Ok(());
            }
            let Some((meta, request)) = self.held.take() else { return Ok(()) };
            self.submit(meta, &request, phase, now_ns)?;
            self.buffer = request;
        }
    }

    /// Takes the next request from the source, if none is held. Returns whether one is.
    fn hold(&mut self, phase: Phase, now_ns: u64) -> Result<bool, DriveError> {
        if self.held.is_some() {
            return Ok(true);
        }
        let measured = self.taken.saturating_sub(self.plan.warmup_requests);
        if phase == Phase::Measure && self.plan.requests.is_some_and(|most| measured >= most) {
            self.send_end_ns.get_or_insert(now_ns);
            return Ok(false);
        }
        let seq = self.plan.first_seq + self.taken;
        // The measured phase begins when all warm-up requests have been answered.
        let is_warm = phase == Phase::Measure;
        let ask = NextAsk { phase, seq, now_ns: self.plan.origin_ns + now_ns, is_warm };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        match self.source.next(&ask, &mut buffer).map_err(DriveError::Source)? {
            Offer::Request(meta) => {
                self.held = Some((meta, buffer));
                Ok(true)
            }
            Offer::Later => {
                self.is_later = true;
                self.buffer = buffer;
                Ok(false)
            }
            Offer::End => {
                self.ran_out = true;
                self.send_end_ns = Some(now_ns);
                self.warm_left = 0;
                Ok(false)
            }
        }
    }

    /// When the held request is due; absent if it is due at once.
    fn due_ns(&self) -> Option<u64> {
        let (meta, _) = self.held.as_ref()?;
        Some(self.measured_ns? + meta.due_ns?)
    }

    fn submit(
        &mut self,
        meta: RequestMeta,
        request: &RequestBytes,
        phase: Phase,
        now_ns: u64,
    ) -> Result<(), DriveError> {
        let Some(slot) = self.free.pop_first() else { return Ok(()) };
        let seq = self.plan.first_seq + self.taken;
        self.taken += 1;
        self.warm_left -= u32::from(phase == Phase::Warmup);
        let due_ns = match (self.plan.arrivals, meta.due_ns, meta.turn.and_then(|turn| turn.due_ns))
        {
            (_, _, Some(due_ns)) => due_ns.saturating_sub(self.plan.origin_ns),
            (Loop::Open, Some(due_ns), None) => self.measured_ns.unwrap_or(now_ns) + due_ns,
            _ => now_ns,
        };
        let Some(output_tokens) = meta.output_tokens_asked else {
            return Err(DriveError::Source(
                "the workload does not say how long answers are: --output-len does".to_owned(),
            ));
        };
        let needs_text = self.keeps_blocks || meta.prompt_tokens_asked.is_none();
        let said = if needs_text { Contents::of_request(&request.to_vec()) } else { Vec::new() };
        let prompt_tokens = self.contents.tokens(&said, meta.prompt_tokens_asked);
        let answer = match meta.turn {
            Some(_) => self.contents.answer(seq, output_tokens),
            None => String::new(),
        };
        let blocks = match self.keeps_blocks {
            true => self.contents.blocks(&said, prompt_tokens, &answer, output_tokens),
            false => Vec::new(),
        };
        let flight = Flight {
            meta,
            seq,
            phase,
            slot,
            due_ns,
            start_ns: now_ns,
            prompt_tokens,
            answer,
            sent_bytes: request.len() as u64,
        };
        let held_ns = self.grammars.wait_ns(flight.meta.form, now_ns);
        let ask = Ask { prompt_tokens, output_tokens, blocks };
        match self.simulation.submit_held((now_ns, held_ns), ask) {
            Ok(ticket) => _ = self.flights.insert(ticket, flight),
            Err(error) => {
                // A refused user asks again at once, and no time passes.
                let former = if self.refused.0 == now_ns { self.refused.1 } else { 0 };
                self.refused = (now_ns, former + 1);
                if former >= REFUSED_MAX && self.flights.is_empty() {
                    return Err(DriveError::Source(format!(
                        "no request fits: {error}; use shorter prompts and answers, or more memory"
                    )));
                }
                let record = RequestRecord {
                    http_status: Some(TOO_LONG),
                    error: Some(error.to_string()),
                    ..self.record(&flight, Outcome::HttpError, now_ns)
                };
                self.finish(flight, record, now_ns)?;
            }
        }
        Ok(())
    }

    /// Time of the next event; absent at the end of the level.
    fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let step = self.simulation.next_ns();
        let due = self.due_ns().filter(|_| self.send_end_ns.is_none() && !self.free.is_empty());
        let end = match (self.plan.duration_ns, self.measured_ns, self.send_end_ns) {
            (Some(span_ns), Some(measured_ns), None) => Some(measured_ns + span_ns),
            _ => None,
        };
        let again = (self.is_later && self.send_end_ns.is_none()).then_some(now_ns + ASK_AGAIN_NS);
        let ending = self.ending.peek().map(|Reverse((end_ns, _))| *end_ns);
        match self.send_end_ns {
            Some(_) if self.flights.is_empty() => None,
            _ => [step, ending, due, end, again].into_iter().flatten().min(),
        }
    }

    /// Takes the requests whose last token has arrived.
    fn collect(&mut self, now_ns: u64, progress: &Progress) -> Result<(), DriveError> {
        while let Some(finished) = self.simulation.take_finished() {
            let end_ns = finished.stamps.last().copied().unwrap_or(now_ns);
            self.ending.push(Reverse((end_ns, finished.ticket)));
            self.finished.insert(finished.ticket, finished);
        }
        while let Some(&Reverse((end_ns, ticket))) = self.ending.peek()
            && end_ns <= now_ns
        {
            self.ending.pop();
            let ended = self.flights.remove(&ticket).zip(self.finished.remove(&ticket));
            let Some((flight, finished)) = ended else { continue };
            if flight.phase == Phase::Measure {
                progress.finished.fetch_add(1, Ordering::Relaxed);
                self.flow.requests += 1;
                self.flow.prompt_tokens += u64::from(flight.prompt_tokens);
                self.flow.output_tokens += u64::from(flight.meta.output_tokens_asked.unwrap_or(0));
                self.flow.cached_tokens += u64::from(finished.cached_tokens);
            }
            progress.events.fetch_add(finished.stamps.len() as u64, Ordering::Relaxed);
            let record = self.answered(&flight, finished, end_ns);
            self.finish(flight, record, end_ns)?;
        }
        progress.in_flight.store(self.flights.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn answered(&self, flight: &Flight, finished: Finished, end_ns: u64) -> RequestRecord {
        let settings = &self.simulation.deployment().settings;
        let told = |tokens: u32| Some(Counted { tokens, from: CountSource::FinalUsage });
        let output_tokens = flight.meta.output_tokens_asked.unwrap_or(finished.stamps.len() as u32);
        let drafts = settings.speculation.map(|speculation| {
            // Every step but the first one, which ends the prompt, checks drafts.
            let checks = (finished.counts.len() as u32).saturating_sub(1);
            let accepted = finished.counts.iter().skip(1).map(|tokens| tokens - 1).sum::<u32>();
            (accepted, checks * speculation.drafts - accepted)
        });
        RequestRecord {
            first_event_ns: finished.stamps.first().copied(),
            first_answer_ns: finished.stamps.first().copied(),
            stream_end_ns: Some(end_ns),
            first_event_tokens: finished.counts.first().copied(),
            events: TokenEvents {
                at_ns: finished.stamps,
                tokens: finished.counts,
                choice: Vec::new(),
            },
            prompt_tokens: told(flight.prompt_tokens),
            output_tokens: told(output_tokens),
            cached_tokens: settings.prefix_cache.then_some(finished.cached_tokens),
            accepted_draft_tokens: drafts.map(|(accepted, _)| accepted),
            rejected_draft_tokens: drafts.map(|(_, rejected)| rejected),
            choices: 1,
            finish_reason: Some("length".to_owned()),
            ..self.record(flight, Outcome::Ok, end_ns)
        }
    }

    /// A record without an answer.
    fn record(&self, flight: &Flight, outcome: Outcome, end_ns: u64) -> RequestRecord {
        RequestRecord {
            seq: flight.seq,
            level: self.plan.level,
            phase: flight.phase,
            slot: flight.slot,
            item: flight.meta.item,
            session: flight.meta.turn.map(|turn| turn.session),
            turn: flight.meta.turn.map(|turn| turn.turn),
            agent: flight.meta.turn.filter(|turn| turn.has_agents).map(|turn| turn.agent),
            agent_turns: flight.meta.turn.map(|turn| turn.turns),
            class: flight.meta.class,
            known_tokens: flight.meta.known_tokens,
            due_ns: flight.due_ns,
            start_ns: flight.start_ns,
            sent_ns: Some(flight.start_ns),
            end_ns,
            streamed: true,
            prompt_tokens_asked: flight.meta.prompt_tokens_asked,
            output_tokens_asked: flight.meta.output_tokens_asked,
            outcome,
            sent_bytes: flight.sent_bytes,
            media: flight.meta.media,
            form: flight.meta.form,
            ..RequestRecord::blank()
        }
    }

    fn finish(
        &mut self,
        flight: Flight,
        record: RequestRecord,
        end_ns: u64,
    ) -> Result<(), DriveError> {
        self.free.insert(flight.slot);
        if let Some(turn) = flight.meta.turn.filter(|_| flight.phase == Phase::Measure) {
            self.source.answered(Answered {
                session: turn.session,
                agent: turn.agent,
                turn: turn.turn,
                end_ns: self.plan.origin_ns + end_ns,
                reply: record.outcome.is_ok().then(|| Reply {
                    content: flight.answer,
                    output_tokens: record.output_tokens.map(|counted| counted.tokens),
                    ..Reply::default()
                }),
                // The only reason for the simulation to refuse: a prompt that does not fit.
                is_overflow: record.http_status == Some(TOO_LONG),
                session_token: None,
            });
        }
        self.records += 1;
        self.sink.record(record).map_err(DriveError::Sink)?;
        if self.records.is_multiple_of(RECORDS_PER_TICK) {
            self.sink.tick().map_err(DriveError::Sink)?;
        }
        Ok(())
    }

    fn cancel_all(&mut self, now_ns: u64) -> Result<(), DriveError> {
        let tickets: Vec<u64> = self.flights.keys().copied().collect();
        for ticket in tickets {
            self.simulation.cancel(ticket);
            let Some(flight) = self.flights.remove(&ticket) else { continue };
            let record = self.record(&flight, Outcome::Cancelled, now_ns);
            self.finish(flight, record, now_ns)?;
        }
        Ok(())
    }

    /// Requests of an open loop that were due before the end and found no free slot were never
    /// sent.
    fn drop_rest(&mut self) -> Result<(), DriveError> {
        let (Loop::Open, Some(end_ns)) = (self.plan.arrivals, self.send_end_ns) else {
            return Ok(());
        };
        loop {
            let meta = match self.held.take() {
                Some((meta, _)) => meta,
                None => match self.source.skip() {
                    Some(meta) => meta,
                    None => return Ok(()),
                },
            };
            let due_ns = self.measured_ns.unwrap_or(0) + meta.due_ns.unwrap_or(u64::MAX / 2);
            let most =
                self.plan.warmup_requests.saturating_add(self.plan.requests.unwrap_or(u32::MAX));
            if due_ns >= end_ns || self.taken >= most {
                return Ok(());
            }
            let flight = Flight {
                meta,
                seq: self.plan.first_seq + self.taken,
                phase: Phase::Measure,
                slot: 0,
                due_ns,
                start_ns: due_ns,
                prompt_tokens: 0,
                answer: String::new(),
                sent_bytes: 0,
            };
            self.taken += 1;
            let record =
                RequestRecord { sent_ns: None, ..self.record(&flight, Outcome::Dropped, end_ns) };
            self.sink.record(record).map_err(DriveError::Sink)?;
        }
    }
}
