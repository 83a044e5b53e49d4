//! Ctrl-C and SIGTERM while a plan or an engine runs: the first ends the current work in good
//! order, the second at once. Measured results are kept either way.

use crate::exit::Code;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How soon to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urge {
    /// Not at all.
    None,
    /// After the requests in flight.
    Drain,
    /// At once.
    Now,
}

/// Counts the signals of this process.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    interrupts: Arc<AtomicU32>,
    terminations: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
}

impl Interrupts {
    /// Starts to watch. If that is not possible, signals end the process, and its guard ends what
    /// it had started.
    pub fn watch() -> Interrupts {
        let signals = Interrupts::default();
        let Ok(mut stream) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else {
            return signals;
        };
        let of_thread = signals.clone();
        std::thread::spawn(move || {
            for signal in stream.forever() {
                let count = match signal == SIGTERM {
                    true => &of_thread.terminations,
                    false => &of_thread.interrupts,
                };
                count.fetch_add(1, Ordering::Relaxed);
                of_thread.stop.store(true, Ordering::Relaxed);
            }
        });
        signals
    }

    /// How soon to end.
    pub fn urge(&self) -> Urge {
        let count =
            self.interrupts.load(Ordering::Relaxed) + self.terminations.load(Ordering::Relaxed);
        match count {
            0 => Urge::None,
            1 => Urge::Drain,
            _ => Urge::Now,
        }
    }

    /// Set by the first signal, for callers that need no more.
    pub fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// The exit code of the received signal, if any.
    pub fn code(&self) -> Option<Code> {
        if self.terminations.load(Ordering::Relaxed) > 0 {
            return Some(Code::Terminated);
        }
        (self.urge() > Urge::None).then_some(Code::Interrupted)
    }
}
