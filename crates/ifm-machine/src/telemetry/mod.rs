//! What is recorded in addition to the answers while levels or a command run: the server's metrics,
//! power and clocks.
//!
//! A low-priority thread reads everything once a second. It also reads before and after each level,
//! so that counters can be assigned to levels. If a source fails, the run continues without its
//! values. Not here: the content of pages and devices (`ifm-telemetry`), and what follows from it
//! (`ifm-metrics`).

mod ask;
mod sources;

pub use ask::{MeteredServer, MetricsAsk, PowerAsk, TelemetryAsk};

use ifm_core::series::Signal;
use ifm_core::{RequestRecord, Series};
use ifm_telemetry::Recorder;
use ifm_terminal::streams::{say, warn};
use sources::Sources;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two samples.
const PERIOD: Duration = Duration::from_secs(1);
/// Time between two samples while the server is still counting finished requests.
const SETTLE_PERIOD: Duration = Duration::from_millis(100);
/// Time without a new count after which no more is expected.
const SETTLE_STILL: Duration = Duration::from_secs(1);
/// Time limit for that.
const SETTLE_MAX: Duration = Duration::from_secs(3);
/// Granularity at which the thread yields to the load.
const NICE_STEPS: i32 = 10;

/// Recording.
pub struct Telemetry {
    shared: Option<Arc<Shared>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Signaled when the run is over.
    bell: Condvar,
}

struct State {
    sources: Sources,
    recorder: Recorder,
    origin_ns: u64,
    is_over: bool,
}

/// Finished requests, and their generated tokens. Absent if they are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// Requests.
    pub requests: Option<f64>,
    /// Generated tokens.
    pub output_tokens: Option<f64>,
}

impl Counted {
    /// Whether all of `ended` was counted since `before`: requests if the server counts them, else
    /// tokens. Also true if it counts neither.
    fn has(self, before: Counted, ended: Counted) -> bool {
        let of = |now: Option<f64>, before: Option<f64>, ended: Option<f64>| {
            now.zip(before).zip(ended).map(|((now, before), ended)| now - before >= ended)
        };
        let requests = of(self.requests, before.requests, ended.requests);
        let tokens = || of(self.output_tokens, before.output_tokens, ended.output_tokens);
        requests.or_else(tokens).unwrap_or(true)
    }
}

/// What a server has to count for these requests: the answered ones. Without tokens if some answers
/// were not counted.
pub fn ended(records: &[RequestRecord]) -> Counted {
    let answered = || records.iter().filter(|record| record.outcome.is_ok());
    let tokens = |record: &RequestRecord| {
        let counted = record.output_tokens.filter(|counted| !counted.from.is_estimate())?;
        Some(f64::from(counted.tokens))
    };
    Counted {
        requests: Some(answered().count() as f64),
        output_tokens: answered().map(tokens).sum(),
    }
}

impl State {
    fn counted(&self) -> Counted {
        let last = |quantity: Signal| {
            let mut all = self.recorder.series().iter();
            all.find(|series| series.name == quantity.word())?.value.last().copied()
        };
        Counted {
            requests: last(Signal::ServerRequests),
            output_tokens: last(Signal::ServerOutputTokens),
        }
    }

    fn sample(&mut self) {
        let readings = self.sources.read();
        // After the reading: a counter's value was reached by the end of its answer at the latest.
        let at_ns = ifm_sys::mono_ns().saturating_sub(self.origin_ns);
        self.recorder.add(at_ns, readings);
    }
}

impl Telemetry {
    /// Looks for available sources and starts. `reports` says whether to print what is recorded. Without a
    /// server, the devices of this host count.
    pub fn start(
        ask: &TelemetryAsk,
        server: Option<&MeteredServer<'_>>,
        reports: bool,
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
        if reports {
            say(&format!("server metrics: recording {}", words.join(", ")));
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

    /// The server's counts so far.
    pub fn counted(&self) -> Counted {
        self.shared.as_ref().map_or_else(Counted::default, |shared| shared.lock().counted())
    }

    /// Reads again until the server has counted these requests and tokens since `before`, its counters
    /// no longer change, or it took too long: a busy server counts a request after its answer has
    /// ended.
    pub fn settle(&self, before: Counted, ended: Counted, goes_on: impl Fn() -> bool) {
        let begun = Instant::now();
        let (mut last, mut moved) = (self.counted(), begun);
        while !last.has(before, ended)
            && moved.elapsed() < SETTLE_STILL
            && begun.elapsed() < SETTLE_MAX
            && goes_on()
        {
            std::thread::sleep(SETTLE_PERIOD);
            self.sample();
            let now = self.counted();
            if now != last {
                (last, moved) = (now, Instant::now());
            }
        }
    }

    /// Ends, and returns what was recorded.
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
            // It returns nothing: its recording is shared.
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

#[cfg(test)]
mod tests {
    use super::Counted;

    #[test]
    fn all_is_counted_once_the_counter_has_risen_by_what_ended() {
        let counted = |requests, output_tokens| Counted { requests, output_tokens };
        let before = counted(Some(100.0), Some(1000.0));
        let ended = counted(Some(8.0), Some(64.0));
        assert!(!counted(Some(107.0), Some(1064.0)).has(before, ended));
        assert!(counted(Some(108.0), Some(1000.0)).has(before, ended));
        let no_requests = counted(None, Some(1000.0));
        assert!(!counted(None, Some(1063.0)).has(no_requests, ended));
        assert!(counted(None, Some(1064.0)).has(no_requests, ended));
        assert!(counted(None, None).has(counted(None, None), ended));
        // Answers that were not counted show nothing about the server's tokens.
        assert!(counted(None, Some(1000.0)).has(no_requests, counted(Some(8.0), None)));
    }
}
