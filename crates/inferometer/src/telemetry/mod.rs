//! What is recorded beside the answers while levels run, or while a command runs: the server's
//! counters, power and clocks.
//!
//! A thread of low priority reads everything once a second; the session has it read before and
//! after each level too, so that counters can be told apart by level. Whatever fails, the run goes
//! on: what is missing is absent. Not here: what pages and devices say (`ifm-telemetry`), what
//! follows from it (`ifm-analysis`).

mod sources;

use crate::job::{Job, TelemetryAsk};
use crate::output::Format;
use crate::terminal::{say, warn};
use ifm_core::Series;
use ifm_telemetry::Recorder;
use sources::Sources;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two samples.
const PERIOD: Duration = Duration::from_secs(1);
/// Steps by which the thread gives way to the load.
const NICE_STEPS: i32 = 10;

/// Recording.
pub struct Telemetry {
    shared: Option<Arc<Shared>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Rung when the run is over.
    bell: Condvar,
}

struct State {
    sources: Sources,
    recorder: Recorder,
    origin_ns: u64,
    is_over: bool,
}

impl State {
    fn sample(&mut self) {
        let readings = self.sources.read();
        // After the reading: what a counter says was so at the end of its answer at the latest.
        let at_ns = ifm_sys::mono_ns().saturating_sub(self.origin_ns);
        self.recorder.add(at_ns, readings);
    }
}

impl Telemetry {
    /// Looks for what there is to record, says what it is, and begins.
    pub fn start(job: &Job, origin_ns: u64) -> Telemetry {
        let tells = !job.quiet && job.format == Format::Text;
        Telemetry::watch(&job.telemetry, Some(job), tells, origin_ns)
    }

    /// The same for what runs on this host without a server: of a job only where there is one.
    pub fn watch(
        ask: &TelemetryAsk,
        server: Option<&Job>,
        tells: bool,
        origin_ns: u64,
    ) -> Telemetry {
        let (sources, absent) = Sources::find(ask, server);
        for (why, is_asked) in absent {
            match is_asked {
                true => warn(&why),
                false if ask.verbose => say(&format!("not recorded: {why}")),
                false => {}
            }
        }
        let words = sources.words();
        if words.is_empty() {
            return Telemetry { shared: None, thread: None };
        }
        if tells {
            say(&format!("also recorded: {}", words.join(", ")));
        }
        let state = State { sources, recorder: Recorder::default(), origin_ns, is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), bell: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        let work = std::thread::Builder::new().name("telemetry".to_owned());
        let thread = work.spawn(move || of_thread.work()).ok();
        Telemetry { shared: Some(shared), thread }
    }

    /// Reads everything once, now.
    pub fn sample(&self) {
        if let Some(shared) = &self.shared {
            shared.lock().sample();
        }
    }

    /// Ends, and gives what was recorded.
    pub fn finish(mut self) -> Vec<Series> {
        self.end();
        let Some(shared) = &self.shared else { return Vec::new() };
        let recorder = std::mem::take(&mut shared.lock().recorder);
        if recorder.is_full() {
            warn("the telemetry was too long: its end is not recorded");
        }
        recorder.into_series()
    }

    fn end(&mut self) {
        if let Some(shared) = &self.shared {
            shared.lock().is_over = true;
            shared.bell.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            // It gives nothing back: what it recorded is shared.
            let _ = thread.join();
        }
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Samples until it is over.
    fn work(&self) {
        ifm_sys::thread::be_nice(NICE_STEPS);
        let mut state = self.lock();
        while !state.is_over {
            let waited = self.bell.wait_timeout_while(state, PERIOD, |state| !state.is_over);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() && !state.is_over {
                state.sample();
            }
        }
    }
}
