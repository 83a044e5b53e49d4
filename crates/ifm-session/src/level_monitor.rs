//! Samples a level while it runs, for the record. What the user sees is in `live`.

use ifm_core::Series;
use ifm_drive::Progress;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between samples.
const PERIOD: Duration = Duration::from_millis(250);

/// Samples of all levels so far.
#[derive(Debug)]
pub struct LevelMonitor {
    origin_ns: u64,
    in_flight: Series,
    events: Series,
    cpu: Series,
}

impl LevelMonitor {
    /// A monitor for a run with this origin.
    pub fn new(origin_ns: u64) -> LevelMonitor {
        let series = |name: &str, unit: &str| Series {
            name: name.to_owned(),
            unit: unit.to_owned(),
            source: "client".to_owned(),
            at_ns: Vec::new(),
            value: Vec::new(),
        };
        LevelMonitor {
            origin_ns,
            in_flight: series("requests_in_flight", "requests"),
            events: series("token_events_per_s", "events per second"),
            cpu: series("client_cpu_share", "share of one processor"),
        }
    }

    /// Samples until the level is over.
    pub fn watch(&mut self, progress: &Progress, over: &AtomicBool) {
        let mut last_ns = ifm_sys::mono_ns();
        let mut last_cpu_ns = ifm_sys::process_cpu_ns();
        let mut last_events = progress.events.load(Ordering::Relaxed);
        loop {
            std::thread::park_timeout(PERIOD);
            let now_ns = ifm_sys::mono_ns();
            if now_ns - last_ns < PERIOD.as_nanos() as u64 / 2 {
                // Woken early: the level is over, and a short remainder gives no sample.
                break;
            }
            let span_s = (now_ns - last_ns) as f64 / 1e9;
            let cpu_ns = ifm_sys::process_cpu_ns();
            let events = progress.events.load(Ordering::Relaxed);
            let in_flight = progress.in_flight.load(Ordering::Relaxed);
            let rate = (events - last_events) as f64 / span_s;
            let at_ns = now_ns - self.origin_ns;
            for (series, value) in [
                (&mut self.in_flight, in_flight as f64),
                (&mut self.events, rate),
                (&mut self.cpu, (cpu_ns - last_cpu_ns) as f64 / 1e9 / span_s),
            ] {
                series.at_ns.push(at_ns);
                series.value.push(value);
            }
            (last_ns, last_cpu_ns, last_events) = (now_ns, cpu_ns, events);
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
    }

    /// The samples, for the run folder.
    pub fn into_series(self) -> Vec<Series> {
        [self.in_flight, self.events, self.cpu]
            .into_iter()
            .filter(|series| !series.at_ns.is_empty())
            .collect()
    }
}
