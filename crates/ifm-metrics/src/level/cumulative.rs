//! How the latencies of the requests of a level are distributed, value by value.

use super::Judged;
use crate::request::RequestMetrics;
use crate::stat::Cumulative;
use ifm_core::RequestRecord;
use ifm_core::spec::RunSpec;

/// Steps of a distribution, at most: what a chart can show.
const STEPS_MAX: usize = 100;

/// The latencies of the complete answers of a level, one value for each request.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelCumulative {
    /// Index of the level in the spec.
    pub level: u16,
    /// Time to first token, nanoseconds; in an open loop from the due time, as targets count it.
    pub ttft_ns: Option<Cumulative>,
    /// Time per output token, nanoseconds, estimates among them.
    pub tpot_ns: Option<Cumulative>,
}

impl LevelCumulative {
    /// Of the measured requests of a level of `spec`, without its first wave. O(n log n).
    pub fn of(spec: &RunSpec, level: u16, measured: &[&RequestRecord]) -> LevelCumulative {
        let judged = Judged::of(spec.levels.get(usize::from(level)), measured).requests;
        let (mut ttft, mut tpot) = (Vec::new(), Vec::new());
        for record in judged.iter().filter(|record| record.outcome.is_ok()) {
            let metrics = RequestMetrics::derive(record);
            ttft.extend(metrics.ttft_ns_from_due.map(|ns| ns as f64));
            tpot.extend(metrics.tpot_ns.or(metrics.tpot_ns_estimated));
        }
        let of = |values| Cumulative::of(values, STEPS_MAX);
        LevelCumulative { level, ttft_ns: of(ttft), tpot_ns: of(tpot) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured_by_level;
    use super::*;
    use crate::testing::{closed_loop, failed, run};

    #[test]
    fn complete_answers_alone_are_counted() {
        // Three answers after 100 ms, then every 10 ms a token, and one that failed.
        let mut requests = closed_loop((0, 0), (1, 3), 0.0, (100.0, 10.0, 4));
        requests.push(failed(3, 0, 0, 1e3, 5.0));
        let run = run(&[1], requests);
        let measured = measured_by_level(&run.requests);
        let found = LevelCumulative::of(&run.manifest.spec, 0, &measured[&0]);
        let ttft = found.ttft_ns.expect("answers");
        assert_eq!((ttft.n, ttft.steps), (3, vec![(100e6, 1.0)]));
        assert_eq!(found.tpot_ns.map(|found| found.steps), Some(vec![(10e6, 1.0)]));
    }
}
