//! Running one level: the threads, what they share, and what came of it.

use crate::Histogram;
use crate::decoder::{Decoder, DecoderReport};
use crate::feed::Feed;
use crate::mark::{self, LateStamps, Marks};
use crate::plan::{LevelPlan, Progress, RequestSource, Sink, Stop, StopLevel};
use crate::shard::{Shard, ShardReport};
use crate::shared::Shared;
use ifm_core::ClientHealth;
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

/// The client's evidence about its own part in a level, or, merged, in a run.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// From the kernel's receive stamp to our read, per read.
    pub reader_lag: Histogram,
    /// How late the stamps were; empty where the kernel takes them.
    pub late_stamps: LateStamps,
    /// From a slot's becoming free to its next request, per request.
    pub send_lateness: Histogram,
    /// What was counted and timed: all but those above, the share stolen, and the verdict.
    pub counts: ClientHealth,
    /// (monotonic time, wall minus monotonic clock), nanoseconds, about one a second.
    pub clock: Vec<(u64, i64)>,
}

impl Evidence {
    /// Adds the report of another level.
    pub fn merge(&mut self, other: &Evidence) {
        self.reader_lag.merge(&other.reader_lag);
        self.late_stamps.merge(&other.late_stamps);
        self.send_lateness.merge(&other.send_lateness);
        let (own, more) = (&mut self.counts, &other.counts);
        own.reads += more.reads;
        own.stamped_reads += more.stamped_reads;
        own.events += more.events;
        own.co_arrived_events += more.co_arrived_events;
        own.reader_cpu_ns += more.reader_cpu_ns;
        own.decoder_cpu_ns += more.decoder_cpu_ns;
        own.process_cpu_ns += more.process_cpu_ns;
        own.wall_ns += more.wall_ns;
        own.reader_busy_share = own.reader_busy_share.max(more.reader_busy_share);
        own.involuntary_switches += more.involuntary_switches;
        own.starved_sends += more.starved_sends;
        own.late_allocations += more.late_allocations;
        own.decoder_stalls += more.decoder_stalls;
        own.clock_steps += more.clock_steps;
        own.reconnects += more.reconnects;
        own.connections = Some(own.connections.unwrap_or(0) + more.connections.unwrap_or(0));
        own.readers_first = match (own.readers_first, more.readers_first) {
            (Some(own), Some(other)) => Some(own && other),
            (own, other) => own.or(other),
        };
        self.clock.extend_from_slice(&other.clock);
    }

    fn of(plan: &LevelPlan, shards: Vec<ShardReport>, decoder: &DecoderReport) -> Evidence {
        let mut counts = ClientHealth {
            readers_first: plan.precise.then(|| shards.iter().all(|shard| shard.ran_first)),
            reads: decoder.reads,
            stamped_reads: decoder.stamped_reads,
            events: decoder.events,
            co_arrived_events: decoder.co_arrived_events,
            decoder_cpu_ns: decoder.cpu_ns,
            ..ClientHealth::default()
        };
        let (mut send_lateness, mut clock) = (Histogram::default(), Vec::new());
        let mut late_stamps = LateStamps::default();
        for (index, shard) in shards.into_iter().enumerate() {
            let busy = shard.cpu_ns as f64 / shard.wall_ns.max(1) as f64;
            counts.reader_busy_share = counts.reader_busy_share.max(busy);
            send_lateness.merge(&shard.send_lateness);
            late_stamps.merge(&shard.late_stamps);
            counts.reader_cpu_ns += shard.cpu_ns;
            counts.involuntary_switches += shard.involuntary_switches;
            counts.starved_sends += shard.starved_sends;
            counts.late_allocations += shard.late_segments;
            counts.decoder_stalls += shard.decoder_stalls;
            counts.clock_steps = counts.clock_steps.max(shard.clock_steps);
            counts.reconnects += shard.reconnects;
            counts.connections = Some(counts.connections.unwrap_or(0) + shard.connections);
            if index == 0 {
                clock = shard.clock;
            }
        }
        Evidence { reader_lag: decoder.lag.clone(), late_stamps, send_lateness, counts, clock }
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
    // Without loopback the error of the stamps stays unknown; the load does not need it.
    let marked = (!plan.kernel_stamps).then(|| mark::connect(plan.shards).ok()).flatten();
    let (marker, marks) =
        marked.map_or((None, Vec::new()), |(marker, marks)| (Some(marker), marks));
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
        if let Some(marker) = marker {
            scope.spawn(|| marker.run(&finished));
        }
        let mut marks = marks.into_iter();
        let shards: Vec<_> = (0..plan.shards)
            .map(|index| {
                let (feed, shared, marks) = (&feed, &shared, marks.next());
                scope.spawn(move || run_shard(plan, feed, shared, index, marks))
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
    evidence.counts.process_cpu_ns = process_cpu_ns() - cpu_before;
    evidence.counts.wall_ns = end_ns - start_ns;
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

/// Signals the end of the level to its threads when it goes out of scope, after a panic as well.
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

fn run_shard(
    plan: &LevelPlan,
    feed: &Feed,
    shared: &Shared,
    index: usize,
    marks: Option<Marks>,
) -> ShardReport {
    if let Some(cpu) = processor_of(plan, index) {
        // A processor that is not ours to use leaves the shard where it is: no wrong number.
        let _ = thread::pin_to(&[cpu]);
    }
    match Shard::new(plan, feed, shared, index, marks) {
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

/// The result of a thread. A panic in one of our threads is a bug and is propagated.
fn joined<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
