//! Running one level: the threads, what they share, and what came of it.

use crate::Histogram;
use crate::decoder::{Decoder, DecoderReport};
use crate::feed::Feed;
use crate::plan::{LevelPlan, Progress, RequestSource, Sink, Stop, StopLevel};
use crate::shard::{Shard, ShardReport};
use crate::shared::Shared;
use ifm_core::manifest::{LevelEnd, LevelInfo};
use ifm_sys::{mono_ns, process_cpu_ns, thread};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What keeps a level from running or from being kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The workload could not make a request.
    #[error("the workload failed: {0}")]
    Source(String),
    /// Finished requests could not be kept. What was kept before is still there.
    #[error("results cannot be kept: {0}")]
    Sink(String),
    /// The event loop could not run.
    #[error("{0}")]
    Host(String),
}

/// What the client can tell about its own part in a level, or, merged, in a run.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// From the kernel's receive stamp to our read, per read.
    pub reader_lag: Histogram,
    /// From a slot's becoming free to its next request, per request.
    pub send_lateness: Histogram,
    /// Reads that brought bytes.
    pub reads: u64,
    /// Of these, with a kernel stamp.
    pub stamped_reads: u64,
    /// Token-bearing events.
    pub events: u64,
    /// Of these, in one read with another.
    pub co_arrived_events: u64,
    /// CPU time of all shards, nanoseconds.
    pub reader_cpu_ns: u64,
    /// CPU time of the decoder, nanoseconds.
    pub decoder_cpu_ns: u64,
    /// CPU time of the process over the level, nanoseconds.
    pub process_cpu_ns: u64,
    /// Wall time of the level, nanoseconds.
    pub wall_ns: u64,
    /// Largest share of its wall time that a shard was on a CPU, 0 to 1.
    pub reader_busy_share: f64,
    /// Times a shard was put off its CPU against its will.
    pub involuntary_switches: u64,
    /// Times a free slot had to wait for the feeder.
    pub starved_sends: u64,
    /// Segments made after the start.
    pub late_segments: u64,
    /// Times a shard found the decoder's queue full.
    pub decoder_stalls: u64,
    /// Steps of the wall clock.
    pub clock_steps: u64,
    /// Connections found dead and opened again.
    pub reconnects: u64,
    /// Whether every shard ran before all other threads; absent where that was not asked for.
    pub shards_first: Option<bool>,
    /// (monotonic time, wall minus monotonic clock), nanoseconds, about one a second.
    pub clock: Vec<(u64, i64)>,
}

impl Evidence {
    /// Adds what another level told.
    pub fn merge(&mut self, other: &Evidence) {
        self.reader_lag.merge(&other.reader_lag);
        self.send_lateness.merge(&other.send_lateness);
        self.reads += other.reads;
        self.stamped_reads += other.stamped_reads;
        self.events += other.events;
        self.co_arrived_events += other.co_arrived_events;
        self.reader_cpu_ns += other.reader_cpu_ns;
        self.decoder_cpu_ns += other.decoder_cpu_ns;
        self.process_cpu_ns += other.process_cpu_ns;
        self.wall_ns += other.wall_ns;
        self.reader_busy_share = self.reader_busy_share.max(other.reader_busy_share);
        self.involuntary_switches += other.involuntary_switches;
        self.starved_sends += other.starved_sends;
        self.late_segments += other.late_segments;
        self.decoder_stalls += other.decoder_stalls;
        self.clock_steps += other.clock_steps;
        self.reconnects += other.reconnects;
        self.shards_first = match (self.shards_first, other.shards_first) {
            (Some(own), Some(other)) => Some(own && other),
            (own, other) => own.or(other),
        };
        self.clock.extend_from_slice(&other.clock);
    }

    fn of(plan: &LevelPlan, shards: Vec<ShardReport>, decoder: &DecoderReport) -> Evidence {
        let mut evidence = Evidence {
            shards_first: plan.precise.then(|| shards.iter().all(|shard| shard.ran_first)),
            reader_lag: decoder.lag.clone(),
            reads: decoder.reads,
            stamped_reads: decoder.stamped_reads,
            events: decoder.events,
            co_arrived_events: decoder.co_arrived_events,
            decoder_cpu_ns: decoder.cpu_ns,
            ..Evidence::default()
        };
        for (index, shard) in shards.into_iter().enumerate() {
            let busy = shard.cpu_ns as f64 / shard.wall_ns.max(1) as f64;
            evidence.reader_busy_share = evidence.reader_busy_share.max(busy);
            evidence.send_lateness.merge(&shard.send_lateness);
            evidence.reader_cpu_ns += shard.cpu_ns;
            evidence.involuntary_switches += shard.involuntary_switches;
            evidence.starved_sends += shard.starved_sends;
            evidence.late_segments += shard.late_segments;
            evidence.decoder_stalls += shard.decoder_stalls;
            evidence.clock_steps = evidence.clock_steps.max(shard.clock_steps);
            evidence.reconnects += shard.reconnects;
            if index == 0 {
                evidence.clock = shard.clock;
            }
        }
        evidence
    }
}

/// What came of a level.
#[derive(Debug)]
pub struct LevelResult {
    /// When it ran, relative to the run's origin; absent if nothing was measured.
    pub info: Option<LevelInfo>,
    /// The client's part.
    pub evidence: Evidence,
    /// Whether the workload had nothing more to send before the level was to end.
    pub workload_ended: bool,
    /// Why the level was given up before its planned end: what the server keeps answering.
    pub gave_up: Option<String>,
}

/// Runs one level to its end. Blocks; records go to the sink as requests finish.
///
/// # Errors
/// [`DriveError`] when requests cannot be made or kept, or the host refuses an event loop.
/// Failed requests are not errors: they are records.
pub fn drive_level(
    plan: &LevelPlan,
    source: &mut dyn RequestSource,
    sink: &mut dyn Sink,
    stop: &Stop,
    progress: &Arc<Progress>,
) -> Result<LevelResult, DriveError> {
    // The level may stop itself without stopping the run: it winds down a stop of its own.
    let own_stop = Stop::default();
    let feed = Feed::new(plan, own_stop.clone());
    let shared = Shared::new(plan, own_stop.clone(), progress.clone());
    let cpu_before = process_cpu_ns();
    let start_ns = mono_ns();
    let finished = AtomicBool::new(false);
    let (shards, decoder) = std::thread::scope(|scope| {
        // Dropped before the scope waits for its threads: none waits for ever for one that broke.
        let _end = EndOfLevel { finished: &finished, shared: &shared, stop: &own_stop };
        scope.spawn(|| feed.fill(source, plan.first_seq, plan.requests));
        let watcher = scope.spawn(|| {
            while !finished.load(Ordering::Relaxed) {
                own_stop.raise(stop.level());
                let start_ns = feed.measure_start_ns().unwrap_or(0);
                let send_end_ns = feed.send_end_ns().unwrap_or(0);
                progress.measure_start_ns.store(start_ns, Ordering::Relaxed);
                progress.send_end_ns.store(send_end_ns, Ordering::Relaxed);
                std::thread::park_timeout(std::time::Duration::from_millis(10));
            }
        });
        let decoder = scope.spawn(|| Decoder::new(plan, &feed, &shared).run(sink));
        let shards: Vec<_> = (0..plan.shards)
            .map(|index| {
                let (feed, shared) = (&feed, &shared);
                scope.spawn(move || run_shard(plan, feed, shared, index))
            })
            .collect();
        if plan.precise {
            for index in 0..plan.shards {
                let over = &finished;
                scope.spawn(move || keep_awake(processor_of(plan, index), over));
            }
        }
        let reports: Vec<ShardReport> = shards.into_iter().map(joined).collect();
        shared.shards_done.store(true, Ordering::Release);
        let decoder = joined(decoder);
        finished.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        (reports, decoder)
    });
    let end_ns = mono_ns();
    if let Some(error) = shards.iter().find_map(|shard| shard.failure.clone()) {
        return Err(DriveError::Host(error));
    }
    if let Some(error) = decoder.sink_failure.clone() {
        return Err(DriveError::Sink(error));
    }
    if let Some(error) = feed.failure() {
        return Err(DriveError::Source(error));
    }
    let mut evidence = Evidence::of(plan, shards, &decoder);
    evidence.process_cpu_ns = process_cpu_ns() - cpu_before;
    evidence.wall_ns = end_ns - start_ns;
    // A sink that had enough knows why; it is for the caller to say so.
    let is_whole = stop.level() == StopLevel::Run && decoder.gave_up.is_none();
    let info = feed.measure_start_ns().map(|measure_start_ns| LevelInfo {
        level: plan.level,
        start_ns: measure_start_ns - plan.origin_ns,
        send_end_ns: feed.send_end_ns().unwrap_or(end_ns) - plan.origin_ns,
        end_ns: end_ns - plan.origin_ns,
        complete: is_whole,
        ended_by: Some(if is_whole { LevelEnd::Planned } else { LevelEnd::Stopped }),
        measured_again: None,
    });
    Ok(LevelResult { info, evidence, workload_ended: feed.ran_out(), gave_up: decoder.gave_up })
}

/// Tells the threads of a level that it is over when it goes out of scope, by a panic as well.
struct EndOfLevel<'level> {
    finished: &'level AtomicBool,
    shared: &'level Shared,
    stop: &'level Stop,
}

impl Drop for EndOfLevel<'_> {
    fn drop(&mut self) {
        self.shared.shards_done.store(true, Ordering::Release);
        self.finished.store(true, Ordering::Relaxed);
        // The feeder may still be ahead of shards that gave up.
        self.stop.raise(StopLevel::Drain);
    }
}

fn run_shard(plan: &LevelPlan, feed: &Feed, shared: &Shared, index: usize) -> ShardReport {
    if let Some(cpu) = processor_of(plan, index) {
        // A processor that is not ours to use leaves the shard where it is: no wrong number.
        let _ = thread::pin_to(&[cpu]);
    }
    match Shard::new(plan, feed, shared, index) {
        Ok(shard) => shard.run(),
        Err(error) => {
            shared.stop.raise(StopLevel::Cancel);
            let failure = Some(format!("no event loop can be made: {error}"));
            ShardReport { failure, ..ShardReport::default() }
        }
    }
}

/// The processor to which a shard is tied, if it is. A precise one always is: its processor is
/// kept awake. Without a choice of the user they are the last ones, since a server on this host
/// is more often on the first.
fn processor_of(plan: &LevelPlan, index: usize) -> Option<usize> {
    if !plan.cpus.is_empty() {
        return Some(plan.cpus[index % plan.cpus.len()]);
    }
    let allowed = plan.precise.then(thread::allowed_cpus)?.ok()?;
    allowed.iter().rev().cycle().nth(index).copied()
}

/// Keeps a processor from going to sleep until the level is over, without taking it from other
/// threads of this process: one that slept takes up to milliseconds to come back, on a virtual
/// machine above all.
fn keep_awake(cpu: Option<usize>, over: &AtomicBool) {
    let is_out_of_the_way =
        cpu.is_some_and(|cpu| thread::pin_to(&[cpu]).is_ok()) && thread::run_last().is_ok();
    while is_out_of_the_way && !over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// The result of a thread. A panic of one of ours is a bug and goes on as such.
fn joined<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
