//! What disturbed a repeat while it was measured, and when that is too much for it to count.
//!
//! Not here: who watches a process, and which repeats are measured again.

use serde::{Deserialize, Serialize};

/// Above this share of the time a repeat was disturbed.
const SHARE_MAX: f64 = 0.05;
/// Total wait, in nanoseconds, up to which nothing counts as a disturbance: every thread waits a little
/// when it wakes.
const WAKING_NS: u64 = 500_000;

/// What took processors away.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Time on processors of all threads, nanoseconds.
    pub cpu_ns: u64,
    /// Longest that one thread could have run and waited for a processor, nanoseconds.
    pub waited_ns: u64,
    /// Times that a thread was put aside for another.
    pub switches: u64,
    /// Share of the processors' time that the host took; absent where it is not reported.
    pub stolen: Option<f64>,
    /// How long the repeat took, nanoseconds.
    pub wall_ns: u64,
}

impl Disturbance {
    /// The field of a stored row: one for a repeat, a list for all runs of a row.
    pub const FIELD: &str = "disturbance";

    /// Share of the time in which some thread waited.
    pub fn waited(&self) -> f64 {
        (self.waited_ns as f64 / self.wall_ns.max(1) as f64).min(1.0)
    }

    fn has_waited(&self) -> bool {
        self.waited_ns > WAKING_NS && self.waited() > SHARE_MAX
    }

    /// Whether it is too much for the repeat to count.
    pub fn is_too_much(&self) -> bool {
        self.has_waited() || self.stolen.is_some_and(|share| share > SHARE_MAX)
    }

    /// As text: `waited 12 % of its time for a CPU`.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        if self.has_waited() {
            words.push(format!("waited {:.0} % of its time for a CPU", 100.0 * self.waited()));
        }
        if let Some(stolen) = self.stolen.filter(|share| *share > SHARE_MAX) {
            words.push(format!("{:.0} % CPU steal by the host", 100.0 * stolen));
        }
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_or_a_host_that_takes_processors_is_too_much() {
        let quiet = Disturbance {
            cpu_ns: 99_000_000,
            waited_ns: 1_000_000,
            switches: 0,
            stolen: Some(0.0),
            wall_ns: 100_000_000,
        };
        assert!(!quiet.is_too_much());
        // A short repeat whose threads woke up once.
        assert!(!Disturbance { waited_ns: 60_000, wall_ns: 300_000, ..quiet }.is_too_much());
        let busy = Disturbance { waited_ns: 40_000_000, ..quiet };
        assert!(busy.is_too_much());
        assert_eq!(busy.words(), "waited 40 % of its time for a CPU");
        assert!(Disturbance { stolen: Some(0.2), ..quiet }.is_too_much());
        assert!(!Disturbance { stolen: None, ..quiet }.is_too_much());
    }
}
