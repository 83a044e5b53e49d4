//! Watches a level while it runs: samples for the record, a line for the user.

use crate::terminal::say;
use ifm_core::Series;
use ifm_drive::Progress;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(250);
/// Samples between two lines where the lines do not replace each other.
const SAMPLES_PER_LINE: u64 = 40;

/// Samples of all levels so far.
#[derive(Debug)]
pub struct Monitor {
    origin_ns: u64,
    quiet: bool,
    redraws: bool,
    in_flight: Series,
    events: Series,
    cpu: Series,
}

impl Monitor {
    /// A monitor of a run with this origin.
    pub fn new(origin_ns: u64, quiet: bool) -> Monitor {
        let series = |name: &str, unit: &str| Series {
            name: name.to_owned(),
            unit: unit.to_owned(),
            source: "client".to_owned(),
            at_ns: Vec::new(),
            value: Vec::new(),
        };
        Monitor {
            origin_ns,
            quiet,
            redraws: std::io::stderr().is_terminal(),
            in_flight: series("requests_in_flight", "requests"),
            events: series("token_events_per_s", "events per second"),
            cpu: series("client_cpu_share", "share of one processor"),
        }
    }

    /// Samples until the level is over. `label` names the level.
    pub fn watch(&mut self, label: &str, progress: &Progress, over: &AtomicBool) {
        let mut last_ns = ifm_sys::mono_ns();
        let mut last_cpu_ns = ifm_sys::process_cpu_ns();
        let mut last_events = progress.events.load(Ordering::Relaxed);
        let start_ns = last_ns;
        let mut samples = 0;
        loop {
            std::thread::park_timeout(PERIOD);
            let now_ns = ifm_sys::mono_ns();
            if now_ns - last_ns < PERIOD.as_nanos() as u64 / 2 {
                // Woken early: the level is over, and a short rest makes no sample.
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
            samples += 1;
            if !self.quiet && (self.redraws || samples % SAMPLES_PER_LINE == 0) {
                let finished = progress.finished.load(Ordering::Relaxed);
                let failed = progress.failed.load(Ordering::Relaxed);
                let seconds = (now_ns - start_ns) as f64 / 1e9;
                let failures =
                    if failed > 0 { format!(", {failed} failed") } else { String::new() };
                self.show(&format!(
                    "{label}: {seconds:.0} s, {finished} done{failures}, {in_flight} in flight, \
                     {rate:.0} token events/s"
                ));
            }
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
        self.clear();
    }

    fn show(&self, line: &str) {
        if self.redraws {
            // With standard error closed there is nobody to show it to.
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K{line}");
        } else {
            say(line);
        }
    }

    fn clear(&self) {
        if self.redraws && !self.quiet {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
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
