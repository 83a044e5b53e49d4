//! The background probe: small requests of another workload, sent one at a time over their own
//! connection. They show what the load does to a bystander.
//!
//! A few are sent before the first level, without load. During each level, the next one is sent a pause
//! after the previous one has ended, from the first measured request to the last. A separate shard
//! drives the probe as it would a level, so that no slot of the load ever waits for it. Its records
//! have their own phase, class and numbers.
//!
//! Not here: the flags (`cli::probe_args`), and what its times mean (`ifm-metrics`).

use crate::source::PromptSource;
use ifm_core::spec::RunSpec;
use ifm_core::{Phase, RequestRecord};
use ifm_drive::{
    DriveError, LevelPlan, Loop, NextAsk, Offer, Progress, RequestMeta, RequestSource, Sink, Stop,
};
use ifm_wire::{RequestBytes, RequestTemplate};
use ifm_workload::Dataset;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Sequence number of a probe's first request; the load uses lower numbers.
const FIRST_SEQ: u32 = 1 << 30;
/// Number of requests sent one after another before all load.
const ALONE: u32 = 10;
/// Nanoseconds after which no further one of them starts.
const ALONE_NS: u64 = 30_000_000_000;
/// How long the source sleeps while there is nothing to send.
const REST: Duration = Duration::from_millis(1);
/// Instead of a time: a request is in flight.
const IN_FLIGHT: u64 = u64::MAX;

/// Whether a request belongs to the load, and not to the probe.
pub fn is_of_load(record: &RequestRecord) -> bool {
    record.seq < FIRST_SEQ
}

/// Finished requests of a probe, until they are written to the run.
pub type Finished = Arc<Mutex<Vec<RequestRecord>>>;

/// Takes the requests that have finished since the last call.
pub fn take(finished: &Finished) -> Vec<RequestRecord> {
    std::mem::take(&mut *finished.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The probe of a run.
pub struct BackgroundProbe {
    prompts: PromptSource,
    class: u16,
    pause_ns: u64,
    next_seq: u32,
    finished: Finished,
}

impl BackgroundProbe {
    /// The probe of a run, with prompts of the data set and requests written by the template; `None` if the run
    /// has no probe.
    pub fn new(
        spec: &RunSpec,
        dataset: Arc<dyn Dataset>,
        template: RequestTemplate,
    ) -> Option<BackgroundProbe> {
        let asked = spec.workload.probe.as_ref()?;
        Some(BackgroundProbe {
            prompts: PromptSource::new(dataset, template.into()),
            class: asked.class,
            pause_ns: (asked.pause_s * 1e9) as u64,
            next_seq: FIRST_SEQ,
            finished: Finished::default(),
        })
    }

    /// Where finished requests can be collected.
    pub fn finished(&self) -> Finished {
        self.finished.clone()
    }

    /// Sends a few requests without load. The first one is a warm-up.
    ///
    /// # Errors
    /// As for a level.
    pub fn alone(&mut self, plan: &LevelPlan, stop: &Stop) -> Result<(), DriveError> {
        let plan = LevelPlan {
            warmup_requests: 1,
            requests: Some(ALONE),
            duration_ns: Some(ALONE_NS),
            ..plan.clone()
        };
        self.drive(&plan, 0, &|| true, &|| false, stop)
    }

    /// Sends requests during a level's measurement, until the level ends.
    ///
    /// # Errors
    /// As for a level.
    pub fn accompany(
        &mut self,
        plan: &LevelPlan,
        (level, over): (&Progress, &AtomicBool),
        stop: &Stop,
    ) -> Result<(), DriveError> {
        // Requests left by the previous level are older.
        let begun_ns = ifm_sys::mono_ns();
        let has = |at: &AtomicU64| at.load(Ordering::Relaxed) > begun_ns;
        let may_begin = || has(&level.measure_start_ns);
        let is_over = || over.load(Ordering::Relaxed) || has(&level.send_end_ns);
        let plan =
            LevelPlan { warmup_requests: 0, requests: None, duration_ns: None, ..plan.clone() };
        self.drive(&plan, self.pause_ns, &may_begin, &is_over, stop)
    }

    fn drive(
        &mut self,
        plan: &LevelPlan,
        pause_ns: u64,
        may_begin: &(dyn Fn() -> bool + Sync),
        is_over: &(dyn Fn() -> bool + Sync),
        stop: &Stop,
    ) -> Result<(), DriveError> {
        let plan = LevelPlan {
            first_seq: self.next_seq,
            arrivals: Loop::Closed,
            slots: 1,
            follows_answers: false,
            shards: 1,
            cpus: Vec::new(),
            precise: false,
            ..plan.clone()
        };
        let free_ns = AtomicU64::new(0);
        let made = self.prompts.made();
        let mut source = Paced {
            prompts: &mut self.prompts,
            class: self.class,
            free_ns: &free_ns,
            may_begin,
            is_over,
        };
        let mut sink = Aside {
            finished: &self.finished,
            free_ns: &free_ns,
            pause_ns,
            origin_ns: plan.origin_ns,
        };
        let progress = Arc::new(Progress::default());
        let driven = ifm_drive::drive_level(&plan, &mut source, &mut sink, stop, &progress);
        self.next_seq = self.next_seq.saturating_add(self.prompts.made() - made);
        // What the probe shows about the client is not evidence about the load.
        driven.map(|_| ())
    }
}

/// One prompt at a time, each a pause after the previous one has ended.
struct Paced<'drive> {
    prompts: &'drive mut PromptSource,
    class: u16,
    /// Earliest time of the next request, nanoseconds on the monotonic clock.
    free_ns: &'drive AtomicU64,
    may_begin: &'drive (dyn Fn() -> bool + Sync),
    is_over: &'drive (dyn Fn() -> bool + Sync),
}

impl RequestSource for Paced<'_> {
    fn next(&mut self, ask: &NextAsk, buffer: &mut RequestBytes) -> Result<Offer, String> {
        if (self.is_over)() {
            return Ok(Offer::End);
        }
        if !(self.may_begin)() || ask.now_ns < self.free_ns.load(Ordering::Acquire) {
            std::thread::sleep(REST);
            return Ok(Offer::Later);
        }
        Ok(match self.prompts.next(ask, buffer)? {
            Offer::Request(meta) => {
                self.free_ns.store(IN_FLIGHT, Ordering::Release);
                Offer::Request(RequestMeta { class: Some(self.class), ..meta })
            }
            other => other,
        })
    }
}

/// Stores finished requests, and sets when the next one may start.
struct Aside<'drive> {
    finished: &'drive Finished,
    free_ns: &'drive AtomicU64,
    pause_ns: u64,
    origin_ns: u64,
}

impl Sink for Aside<'_> {
    fn record(&mut self, mut record: RequestRecord) -> Result<(), String> {
        let end_ns = self.origin_ns.saturating_add(record.end_ns);
        if record.phase == Phase::Measure {
            record.phase = Phase::Probe;
        }
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        self.free_ns.store(end_ns.saturating_add(self.pause_ns), Ordering::Release);
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}
