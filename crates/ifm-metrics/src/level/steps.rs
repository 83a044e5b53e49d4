//! A level whose rate goes up in steps, step by step: what was asked, what came back, how long it
//! took.
//!
//! A step's requests are those that were due in it, and their waits count from the due time, so a
//! queue that one step leaves behind shows in the next. What is served is counted by the clock:
//! complete answers that ended in the step, of any step. Not here: ramps, which have no step,
//! and a verdict, which does not exist for a rate that changes.

use super::{Counts, Latencies};
use crate::stat::Distribution;
use ifm_core::spec::{LoadSpec, RateStretch};
use ifm_core::{LevelInfo, RequestRecord};

const NS_PER_S: f64 = 1e9;

/// One step of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSummary {
    /// Requested rate, requests per second.
    pub req_per_s_asked: f64,
    /// When it began, nanoseconds since the run's origin.
    pub start_ns: u64,
    /// How long it lasted, nanoseconds: less than was asked where the level was ended in it.
    pub span_ns: u64,
    /// Requests that were due in it, by how they ended.
    pub counts: Counts,
    /// Complete answers that ended while it lasted, per second.
    pub req_per_s_served: f64,
    /// Due time to first token, over complete answers to the requests that were due in it,
    /// nanoseconds.
    pub ttft_ns: Option<Distribution>,
    /// Due time to last token, over the same, nanoseconds.
    pub e2e_ns: Option<Distribution>,
}

impl StepSummary {
    /// Requests that were due.
    pub fn due(&self) -> u64 {
        self.counts.sent + self.counts.dropped
    }

    /// How long it lasted, seconds.
    pub fn seconds(&self) -> f64 {
        self.span_ns as f64 / NS_PER_S
    }

    fn of(
        (start_ns, end_ns): (u64, u64),
        req_per_s_asked: f64,
        measured: &[&RequestRecord],
        percentiles: &[f64],
    ) -> StepSummary {
        let lasts = start_ns..end_ns;
        let due: Vec<&RequestRecord> =
            measured.iter().copied().filter(|record| lasts.contains(&record.due_ns)).collect();
        let is_served =
            |record: &&&RequestRecord| record.outcome.is_ok() && lasts.contains(&record.end_ns);
        let served = measured.iter().filter(is_served).count();
        let latencies = Latencies::of(&due, percentiles);
        let span_ns = end_ns - start_ns;
        StepSummary {
            req_per_s_asked,
            start_ns,
            span_ns,
            counts: Counts::of(&due),
            req_per_s_served: served as f64 * NS_PER_S / span_ns as f64,
            ttft_ns: latencies.ttft().cloned(),
            e2e_ns: latencies.e2e().cloned(),
        }
    }
}

/// One summary for each step that began; empty for a level without steps, and where it is not known
/// when the level began.
pub(super) fn by_step(
    asked: Option<&LoadSpec>,
    info: Option<&LevelInfo>,
    measured: &[&RequestRecord],
    percentiles: &[f64],
) -> Vec<StepSummary> {
    let stretches = asked
        .and_then(|load| load.arrivals.as_ref())
        .map_or(&[][..], |arrivals| &arrivals.stretches);
    let (Some(info), Some(load)) = (info, asked) else { return Vec::new() };
    let is_step = |stretch: &RateStretch| {
        stretch.from_req_per_s == stretch.to_req_per_s && stretch.seconds.is_some()
    };
    if stretches.len() < 2 || !stretches.iter().all(is_step) {
        return Vec::new();
    }
    // A schedule that ran to its end fills its last step, however early the last request was due.
    let is_cut =
        !info.complete || load.requests.is_some_and(|most| measured.len() as u64 >= most.into());
    let last_ns = if is_cut { info.send_end_ns } else { u64::MAX };
    let (mut steps, mut seconds) = (Vec::new(), 0.0);
    for stretch in stretches {
        let at_ns = |seconds: f64| info.start_ns.saturating_add((seconds * NS_PER_S) as u64);
        let start_ns = at_ns(seconds);
        seconds += stretch.seconds.unwrap_or_default();
        let end_ns = at_ns(seconds).min(last_ns);
        if end_ns > start_ns {
            let rate = stretch.from_req_per_s;
            steps.push(StepSummary::of((start_ns, end_ns), rate, measured, percentiles));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{failed, request, run};
    use ifm_core::RunData;
    use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve};

    fn level(run: &RunData) -> Vec<StepSummary> {
        crate::summarize(run).levels.remove(0).steps
    }

    /// 10 requests per second for 2 s, then 30 for 2 s. In the first step each answer is there
    /// 100 ms after it was due; the second is answered at 20 per second: its k-th request is done
    /// (k + 1) · 50 ms after the step began, which for the last of 60 is 1 s after it.
    fn stepped() -> RunData {
        let mut requests: Vec<RequestRecord> =
            (0..20).map(|k| request(k, 0, k, f64::from(k) * 100.0, &[50.0, 100.0])).collect();
        requests.extend((0..60).map(|k| {
            let due_ms = 2000.0 + f64::from(k) * 1000.0 / 30.0;
            let waits_ms = 2000.0 + f64::from(k + 1) * 50.0 - due_ms;
            request(20 + k, 0, k, due_ms, &[waits_ms - 10.0, waits_ms])
        }));
        let mut run = run(&[100], requests);
        let stretch = |rate: f64| RateStretch {
            from_req_per_s: rate,
            to_req_per_s: rate,
            curve: RateCurve::Linear,
            seconds: Some(2.0),
        };
        let stretches = vec![stretch(10.0), stretch(30.0)];
        let law = ArrivalLaw::Constant;
        run.manifest.spec.levels[0].arrivals = Some(ArrivalSpec { law, stretches, seed: 0 });
        run.manifest.levels[0].start_ns = 0;
        run
    }

    #[test]
    fn each_step_has_the_requests_that_were_due_in_it() {
        let [calm, busy] = level(&stepped()).try_into().expect("two steps");
        assert_eq!((calm.req_per_s_asked, calm.due(), calm.counts.ok), (10.0, 20, 20));
        assert_eq!((busy.req_per_s_asked, busy.due(), busy.counts.ok), (30.0, 60, 60));
        assert_eq!((busy.start_ns, busy.seconds()), (2_000_000_000, 2.0));
        // The last answer of the first step ends at 2.0 s, which is in the second.
        assert_eq!((calm.req_per_s_served, busy.req_per_s_served), (9.5, 20.0));
        let median = |found: &Option<Distribution>| found.as_ref().and_then(Distribution::median);
        assert_eq!(median(&calm.ttft_ns), Some(50e6));
        // The last was due at 1.967 s of the step and is done at 3 s.
        let last = busy.e2e_ns.as_ref().expect("answers").max;
        assert!((last - (3000.0 - 59.0 * 1000.0 / 30.0) * 1e6).abs() < 1e3, "{last}");
        // Between the 30th and the 31st, which wait 533 and 550 ms, 10 ms of them after the first
        // token.
        let middle = median(&busy.ttft_ns).expect("answers");
        assert!((middle - 531.7e6).abs() < 0.1e6, "{middle}");
    }

    #[test]
    fn failures_count_in_the_step_in_which_they_were_due() {
        let mut run = stepped();
        run.requests[25] = failed(25, 0, 5, run.requests[25].start_ns as f64 / 1e6, 5.0);
        let [calm, busy] = level(&run).try_into().expect("two steps");
        assert_eq!((calm.counts.failed, busy.counts.failed, busy.due()), (0, 1, 60));
    }

    #[test]
    fn a_level_that_was_ended_has_the_steps_that_began() {
        let mut run = stepped();
        run.manifest.levels[0].complete = false;
        run.manifest.levels[0].send_end_ns = 3_000_000_000;
        let cut = level(&run);
        assert_eq!(cut.iter().map(StepSummary::seconds).collect::<Vec<_>>(), [2.0, 1.0]);
        run.manifest.levels[0].send_end_ns = 1_500_000_000;
        assert_eq!(level(&run).len(), 1);
    }

    #[test]
    fn one_rate_and_a_ramp_have_no_steps() {
        let mut run = stepped();
        let arrivals = run.manifest.spec.levels[0].arrivals.as_mut().expect("open");
        arrivals.stretches[1].to_req_per_s = 40.0;
        assert!(level(&run).is_empty());
        let arrivals = run.manifest.spec.levels[0].arrivals.as_mut().expect("open");
        arrivals.stretches.truncate(1);
        assert!(level(&run).is_empty());
        run.manifest.spec.levels[0].arrivals = None;
        assert!(level(&run).is_empty());
    }
}
