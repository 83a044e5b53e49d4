//! Open loops in which the server fell behind: the longer the level, the longer the queue.
//!
//! It fires where clearly fewer requests ended than were due, and those due and not answered grew by
//! more than chance explains. How few came back alone says little: of 40 random arrivals the last four
//! are still under way. Requests that a limit in flight holds back in the client are part of the queue.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::{LevelSummary, Load, Window, WindowKind};
use ifm_core::RequestRecord;

/// A server that completes less than this share of what is due falls behind.
const KEPT_UP_SHARE: f64 = 0.95;
/// Standard deviations by which the requests in flight have to grow. Of a server that keeps up with
/// random arrivals their number is about Poisson, so two looks at it differ by the root of their sum
/// by chance alone.
const NOISE: f64 = 3.0;

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
    let Some(window) = window(context, level) else { return AtLevel::NotApplicable };
    let Growth { due, ended, in_flight } = growth(window, context.measured(level));
    let share = ended as f64 / due as f64;
    let grew = in_flight.1 as f64 - in_flight.0 as f64;
    let noise = NOISE * ((in_flight.0 + in_flight.1) as f64).sqrt();
    if due == 0 || share >= KEPT_UP_SHARE || grew <= noise {
        return AtLevel::Silent;
    }
    let per_s = |count: u64| count as f64 / window.seconds();
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "{:.2} of {:.2} requests due per second ({} of them; {asked:.2} were asked for) came \
             back, and those due and not answered grew from {} to {}: the queue grew, and latencies \
             depend on how long it ran",
            per_s(ended),
            per_s(due),
            percent(share),
            in_flight.0,
            in_flight.1
        ),
    )
}

/// The time in which requests were due, without its first part: the time before the steady window,
/// or the first third if there is no such window (a growing queue may cause that) or if it begins
/// late. It ends with the last due time: requests delayed by a limit in flight end after it, and
/// would make up for the queue. Absent at a rate that changes.
fn window(context: &Context, level: &LevelSummary) -> Option<Window> {
    if level.is_changing() {
        return None;
    }
    let due = context.measured(level).iter().map(|record| record.due_ns);
    let (first, last) = (due.clone().min()?, due.clone().max()?);
    let latest = first + (last - first) / 3;
    let steady = level.steady.as_ref().map(|steady| steady.window.start_ns);
    let start_ns = steady.map_or(latest, |start_ns| start_ns.min(latest).max(first));
    // Both ends at a due time: of bursts as many are in flight at the one as at the other.
    let start_ns = due.filter(|at| *at <= start_ns).max()?;
    (last > start_ns).then_some(Window { kind: WindowKind::Whole, start_ns, end_ns: last })
}

/// Whether the server fell behind the rate of a level.
pub(super) fn falls_behind(context: &Context, level: &LevelSummary) -> bool {
    matches!(make(context, level), AtLevel::Fires(..))
}

/// What a queue did within a window.
struct Growth {
    /// Requests that were due in it, as they were: a random schedule is not its mean.
    due: u64,
    /// Requests that ended in it, whichever way.
    ended: u64,
    /// Requests that were due and had not ended at its start and at its end.
    in_flight: (u64, u64),
}

fn growth(window: Window, measured: &[&RequestRecord]) -> Growth {
    let within = |at: u64| at > window.start_ns && at <= window.end_ns;
    let count = |is: &dyn Fn(&RequestRecord) -> bool| {
        measured.iter().filter(|record| is(record)).count() as u64
    };
    let in_flight = |at: u64| count(&|record| record.due_ns <= at && record.end_ns > at);
    Growth {
        due: count(&|record| within(record.due_ns)),
        ended: count(&|record| within(record.end_ns)),
        in_flight: (in_flight(window.start_ns), in_flight(window.end_ns)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{request, run};
    use crate::warning::CheckState;
    use crate::warning::testing::state;
    use ifm_core::Metric;
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

    /// Requests at random times, at this rate per second for 10 s, each answered by the first free
    /// of `slots` places after `service_ms`.
    fn random_arrivals(rate: f64, slots: usize, service_ms: f64, seed: u64) -> RunData {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut gap_ms = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let share = ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            -share.ln() / rate * 1e3
        };
        let mut free_ms = vec![0.0; slots];
        let mut requests = Vec::new();
        let mut at_ms = gap_ms();
        while at_ms < 10_000.0 {
            let slot = (0..slots).min_by(|a, b| f64::total_cmp(&free_ms[*a], &free_ms[*b]));
            let slot = slot.expect("a slot");
            let end_ms = f64::max(at_ms, free_ms[slot]) + service_ms;
            free_ms[slot] = end_ms;
            let k = requests.len() as u32;
            let took_ms = end_ms - at_ms;
            requests.push(request(k, 0, k, at_ms, &[took_ms / 2.0, took_ms]));
            at_ms += gap_ms();
        }
        let mut run = open_loop(0.0);
        run.requests = requests;
        let stretch =
            &mut run.manifest.spec.levels[0].arrivals.as_mut().expect("open").stretches[0];
        (stretch.from_req_per_s, stretch.to_req_per_s) = (rate, rate);
        stretch.seconds = Some(10.0);
        run
    }

    /// Two per second that each take 2 s: of 20 the last four are under way at the end.
    #[test]
    fn random_arrivals_are_not_an_overload() {
        let fired = |rate: f64, slots: usize, service_ms: f64| {
            let fires = |seed: &u64| {
                let run = random_arrivals(rate, slots, service_ms, *seed);
                state(&run, "overload") == CheckState::Caution
            };
            (1..=100).filter(fires).count()
        };
        assert!(fired(2.0, 1_000, 2_000.0) <= 2, "{}", fired(2.0, 1_000, 2_000.0));
        assert!(fired(20.0, 1_000, 88.0) <= 2);
        // Four places of 100 ms bear 40 per second.
        assert!(fired(30.0, 4, 100.0) <= 5);
        assert_eq!(fired(60.0, 4, 100.0), 100);
        // So far behind that no steady window is left.
        assert_eq!(fired(80.0, 4, 100.0), 100);
        assert_eq!(fired(200.0, 4, 100.0), 100);
    }

    /// Requests that are due every `gap_ms`; at most `limit` of them are sent at a time, and the server
    /// answers them one after another, `service_ms` each.
    fn limited(requests: u32, gap_ms: f64, limit: usize, service_ms: f64) -> RunData {
        let mut run = open_loop(0.0);
        let mut ends: Vec<f64> = Vec::new();
        run.requests = (0..requests)
            .map(|k| {
                let due_ms = f64::from(k) * gap_ms;
                let free_ms = ends.len().checked_sub(limit).map_or(0.0, |place| ends[place]);
                let start_ms = f64::max(due_ms, free_ms);
                let begins_ms = f64::max(start_ms, ends.last().copied().unwrap_or(0.0));
                ends.push(begins_ms + service_ms);
                let took_ms = begins_ms + service_ms - start_ms;
                let mut record = request(k, 0, k, start_ms, &[took_ms]);
                record.due_ns = (due_ms * 1e6) as u64;
                record
            })
            .collect();
        let load = &mut run.manifest.spec.levels[0];
        let stretch = &mut load.arrivals.as_mut().expect("open").stretches[0];
        (stretch.from_req_per_s, stretch.to_req_per_s) = (1e3 / gap_ms, 1e3 / gap_ms);
        (stretch.seconds, load.requests) = (None, Some(requests));
        run
    }

    /// One request at a time, 50 ms each: 20 per second at most, regardless of the limit in flight hides.
    #[test]
    fn a_limit_in_flight_does_not_hide_a_queue() {
        for limit in [1, 4, 16, 1_000] {
            let run = limited(100, 1e3 / 30.0, limit, 50.0);
            assert_eq!(state(&run, "overload"), CheckState::Caution, "{limit}");
            assert_ne!(state(&run, "warm_up"), CheckState::Caution, "{limit}");
            assert_eq!(
                state(&limited(100, 1e3 / 15.0, limit, 50.0), "overload"),
                CheckState::Passed
            );
        }
        let text = super::super::testing::text(&limited(100, 1e3 / 30.0, 4, 50.0), "overload");
        assert!(text.starts_with("20.") && text.contains(" of 30.00 requests due"), "{text}");
    }

    #[test]
    fn the_answer_has_the_served_rate_and_the_wait_from_the_due_time() {
        let summary = crate::summarize(&limited(100, 1e3 / 30.0, 4, 50.0));
        let at = summary.answers.expect("a level").at;
        let served = at.req_per_s.expect("answers");
        assert!((served - 20.0).abs() < 0.7, "{served}");
        let level = &summary.levels[0];
        let from_due = level.latencies.get(Metric::TtftDue).expect("an open loop");
        assert_eq!(at.ttft_ns_p50, from_due.median());
        // The 50th waits 50 · (50 - 33.3) ms.
        assert!((at.ttft_ns_p50.expect("answers") / 1e6 - 867.0).abs() < 30.0, "{at:?}");
    }

    /// Bursts that are answered before the next one are no queue, however large they are.
    #[test]
    fn bursts_are_not_an_overload() {
        let mut run = open_loop(0.0);
        let arrivals = run.manifest.spec.levels[0].arrivals.as_mut().expect("open");
        arrivals.law = ArrivalLaw::Burst(20);
        for (k, record) in run.requests.iter_mut().enumerate() {
            let due_ms = (k / 20) as f64 * 2_000.0;
            *record = request(k as u32, 0, k as u32, due_ms, &[800.0, 1_600.0]);
        }
        assert_eq!(state(&run, "overload"), CheckState::Passed);
        run.requests.truncate(60);
        assert_eq!(state(&run, "overload"), CheckState::Passed);
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
