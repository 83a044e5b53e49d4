//! Requests in flight over time, exact from the stamps of their starts and ends.

use ifm_core::RequestRecord;

/// Requests in flight over a window, weighted by time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Concurrency {
    /// Time-weighted mean.
    pub mean: f64,
    /// For half of the time, at most this many.
    pub p50: u32,
    /// For 95 % of the time, at most this many.
    pub p95: u32,
    /// The most at any time.
    pub max: u32,
}

/// The number in flight as a step function.
pub(crate) struct InFlight {
    /// (stamp, number in flight from then on), rising stamps, one entry a stamp.
    steps: Vec<(u64, u32)>,
}

impl InFlight {
    /// From requests that were all sent. A request is in flight from its start to its end; one that
    /// ends when another starts does not overlap it.
    pub fn of(sent: &[&RequestRecord]) -> InFlight {
        let mut changes: Vec<(u64, i32)> = Vec::with_capacity(sent.len() * 2);
        for record in sent {
            changes.push((record.start_ns, 1));
            changes.push((record.end_ns.max(record.start_ns), -1));
        }
        changes.sort_unstable();
        let mut steps: Vec<(u64, u32)> = Vec::with_capacity(changes.len());
        let mut count = 0i64;
        for (at_ns, change) in changes {
            count += i64::from(change);
            // Ends sort before starts, so within one stamp the count may dip; the last one holds.
            let now = count.max(0) as u32;
            match steps.last_mut() {
                Some(last) if last.0 == at_ns => last.1 = now,
                _ => steps.push((at_ns, now)),
            }
        }
        InFlight { steps }
    }

    /// From the first moment with at least `target` in flight to the last such moment.
    pub fn span_with(&self, target: u32) -> Option<(u64, u64)> {
        let reaches = |step: &&(u64, u32)| step.1 >= target;
        let start = self.steps.iter().find(reaches)?.0;
        let last = self.steps.iter().rposition(|step| step.1 >= target)?;
        let end = self.steps.get(last + 1)?.0;
        Some((start, end))
    }

    /// The most in flight at any time.
    pub fn max(&self) -> u32 {
        self.steps.iter().map(|step| step.1).max().unwrap_or(0)
    }

    /// Weighted by time over a window; absent for an empty one.
    pub fn over(&self, start_ns: u64, end_ns: u64) -> Option<Concurrency> {
        let total = end_ns.checked_sub(start_ns).filter(|total| *total > 0)?;
        let mut time_at = vec![0u64; self.max() as usize + 1];
        let mut now = (start_ns, 0u32);
        let mut spend = |from: (u64, u32), until: u64| {
            let span = until.min(end_ns).saturating_sub(from.0.max(start_ns));
            if let Some(time) = time_at.get_mut(from.1 as usize) {
                *time += span;
            }
        };
        for &step in &self.steps {
            spend(now, step.0);
            now = step;
        }
        spend(now, end_ns);
        let area: f64 =
            time_at.iter().enumerate().map(|(count, time)| count as f64 * *time as f64).sum();
        let at_share = |share: f64| {
            let wanted = total as f64 * share;
            let mut passed = 0u64;
            let place = time_at.iter().position(|time| {
                passed += time;
                passed as f64 >= wanted
            });
            place.unwrap_or(0) as u32
        };
        Some(Concurrency {
            mean: area / total as f64,
            p50: at_share(0.5),
            p95: at_share(0.95),
            max: time_at.iter().rposition(|time| *time > 0).unwrap_or(0) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, request};

    #[test]
    fn computes_three_overlapping_requests() {
        // 0..100, 20..60 and 60..100: one alone for 20 ms, two for 80 ms, never three.
        let requests = [
            request(0, 0, 0, 0.0, &[100.0]),
            request(1, 0, 1, 20.0, &[40.0]),
            request(2, 0, 1, 60.0, &[40.0]),
        ];
        let refs: Vec<&RequestRecord> = requests.iter().collect();
        let in_flight = InFlight::of(&refs);
        let over = in_flight.over(0, 100 * MS).expect("a window");
        assert!((over.mean - 1.8).abs() < 1e-12);
        assert_eq!((over.p50, over.p95, over.max), (2, 2, 2));
        assert_eq!(in_flight.span_with(2), Some((20 * MS, 100 * MS)));
        assert_eq!(in_flight.span_with(3), None);
        // Half of the window before anything was sent.
        let late = in_flight.over(0, 40 * MS).expect("a window");
        assert_eq!((late.p50, late.max), (1, 2));
        assert_eq!(in_flight.over(5, 5), None);
    }
}
