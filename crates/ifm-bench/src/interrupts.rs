//! How soon to end: the signals that the program has received, as counts.
//!
//! The first ends the current work in good order, the second at once. Measured results are kept
//! either way. Not here: receiving signals (`inferometer`).

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

/// Counts signals.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    interrupts: Arc<AtomicU32>,
    terminations: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
}

impl Interrupts {
    /// Counts a signal of the user.
    pub fn count_interrupt(&self) {
        self.count(&self.interrupts);
    }

    /// Counts a signal of the system.
    pub fn count_termination(&self) {
        self.count(&self.terminations);
    }

    fn count(&self, signals: &AtomicU32) {
        signals.fetch_add(1, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
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

    /// Whether the system asked to end.
    pub fn is_terminated(&self) -> bool {
        self.terminations.load(Ordering::Relaxed) > 0
    }
}
