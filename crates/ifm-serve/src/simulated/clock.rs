//! The time of a simulation next to the wall clock.
//!
//! Simulated time runs at a rate of its own: with a scale of 0.1 ten times as fast. From some
//! time on it may run slower, which makes every step take longer.
//!
//! Not here: what happens when (`driver`).

use std::time::{Duration, Instant};

/// The two times, side by side.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    start: Instant,
    /// Wall time of one unit of simulated time.
    scale: f64,
    /// Wall time since the start from which on everything takes so many times as long,
    /// nanoseconds.
    slower: Option<(f64, f64)>,
}

impl Clock {
    pub(super) fn new(start: Instant, scale: f64) -> Self {
        Self { start, scale, slower: None }
    }

    /// From an instant on, which is to lie ahead, everything takes `factor` times as long.
    pub(super) fn slow_down(&mut self, from: Instant, factor: f64) {
        self.slower = Some((self.since_start(from), factor));
    }

    fn since_start(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.start).as_nanos() as f64
    }

    /// The simulated time at an instant, nanoseconds.
    pub(super) fn simulated_ns(&self, at: Instant) -> u64 {
        let wall = self.since_start(at);
        let even = match self.slower {
            Some((from, factor)) if wall > from => from + (wall - from) / factor,
            _ => wall,
        };
        (even / self.scale) as u64
    }

    /// The simulated time that passes in a while, before everything is slowed down, nanoseconds.
    pub(super) fn simulated_span_ns(&self, span: Duration) -> u64 {
        (span.as_nanos() as f64 / self.scale) as u64
    }

    /// The instant of a simulated time.
    pub(super) fn instant(&self, simulated_ns: u64) -> Instant {
        let even = simulated_ns as f64 * self.scale;
        let wall = match self.slower {
            Some((from, factor)) if even > from => from + (even - from) * factor,
            _ => even,
        };
        // Rounded up, so that an event is due at its instant.
        self.start + Duration::from_nanos(wall.ceil() as u64 + 1)
    }

    /// The wall time between two simulated times, nanoseconds.
    pub(super) fn wall_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let span = self.instant(to_ns).saturating_duration_since(self.instant(from_ns));
        u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_runs_at_its_rate_and_slower_later() {
        let start = Instant::now();
        let mut clock = Clock::new(start, 0.5);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(clock.simulated_ns(at(3)), 6_000_000_000);
        clock.slow_down(at(10), 4.0);
        assert_eq!(clock.simulated_ns(at(10)), 20_000_000_000);
        assert_eq!(clock.simulated_ns(at(18)), 24_000_000_000, "8 s are as 2 s, which are 4 s");
        assert_eq!(clock.wall_ns(20_000_000_000, 21_000_000_000), 2_000_000_000);
    }

    #[test]
    fn what_is_due_is_due_at_its_instant() {
        for scale in [1.0, 0.1, 1.0 / 3.0, 7.3] {
            let mut clock = Clock::new(Instant::now(), scale);
            clock.slow_down(clock.instant(500_000_000_000), 1.5);
            for step in 1..2000_u64 {
                let ns = step * 1_234_567_891;
                let seen = clock.simulated_ns(clock.instant(ns));
                assert!((ns..ns + 64).contains(&seen), "{scale}: {seen} is not {ns}");
            }
        }
    }
}
