//! Open loops in which the server fell behind: the longer the level, the longer the queue.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{LevelSummary, Load};

/// A server that completes less than this share of what is due falls behind.
const KEPT_UP_SHARE: f64 = 0.95;

pub(super) const CHECK: Check =
    Check { id: "overload", title: "the server kept up with the rate", run: Made::ByLevel(make) };

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let Some(Load::ReqPerS(asked)) = level.load() else { return AtLevel::NotApplicable };
    let dropped = level.counts.dropped;
    if dropped > 0 {
        return AtLevel::Fires(
            Severity::Caution,
            format!(
                "{dropped} requests were due and never sent, because as many as allowed were in \
                 flight: this is an overloaded server, and its latencies depend on how long it ran"
            ),
        );
    }
    let Some(steady) = &level.steady else { return AtLevel::NotApplicable };
    // What was due within the window, as it was: a random schedule is not its mean.
    let within = |at: u64| at > steady.window.start_ns && at <= steady.window.end_ns;
    let due = context.measured(level).iter().filter(|record| within(record.due_ns)).count();
    let due_per_s = due as f64 / steady.window.seconds();
    let share = steady.req_per_s / due_per_s;
    if due == 0 || share >= KEPT_UP_SHARE {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "{:.2} of {due_per_s:.2} requests due per second ({} of them; {asked:.2} were asked \
             for) came back: the queue grew, and latencies depend on how long it ran",
            steady.req_per_s,
            percent(share)
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::{request, run};
    use crate::warning::CheckState;
    use crate::warning::testing::state;
    use ifm_core::spec::{ArrivalLaw, ArrivalSpec, RateCurve, RateStretch};
    use ifm_core::{Outcome, RunData};

    /// Ten requests per second for 20 s; the k-th answer takes 0.2 s and `slower` ms more than the
    /// one before.
    fn open_loop(slower_ms: f64) -> RunData {
        let requests = (0..200u32).map(|k| {
            let start_ms = f64::from(k) * 100.0;
            let end_ms = 200.0 + f64::from(k) * slower_ms;
            request(k, 0, k, start_ms, &[end_ms / 2.0, end_ms])
        });
        let mut run = run(&[500], requests.collect());
        run.manifest.spec.levels[0].arrivals = Some(ArrivalSpec {
            law: ArrivalLaw::Constant,
            stretches: vec![RateStretch {
                from_req_per_s: 10.0,
                to_req_per_s: 10.0,
                curve: RateCurve::Linear,
                seconds: Some(20.0),
            }],
            seed: 0,
        });
        run
    }

    #[test]
    fn fires_when_answers_come_slower_than_requests() {
        assert_eq!(state(&open_loop(0.0), "overload"), CheckState::Passed);
        assert_eq!(state(&open_loop(30.0), "overload"), CheckState::Caution);
    }

    #[test]
    fn fires_when_there_was_no_time_to_send() {
        let mut run = open_loop(0.0);
        run.requests[199].outcome = Outcome::Dropped;
        assert_eq!(state(&run, "overload"), CheckState::Caution);
    }

    #[test]
    fn a_closed_loop_cannot_be_overloaded() {
        let mut run = open_loop(30.0);
        run.manifest.spec.levels[0].arrivals = None;
        assert_eq!(state(&run, "overload"), CheckState::NotApplicable);
    }
}
