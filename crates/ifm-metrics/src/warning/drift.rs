//! Levels that got slower or faster while they ran.
//!
//! The first and the last third of the answers that began and ended in the steady window are
//! compared. A drift is named only if the 95 % intervals of the two medians do not meet and the
//! medians differ by more than a tenth. Behind the window users have nothing more to send, and those
//! that are still answered get their tokens faster: that is the drain, and no drift.

use super::{AtLevel, Check, Context, Made, Severity, ms, percent};
use crate::level::{LevelSummary, Window};
use crate::request::RequestMetrics;
use crate::stat::Distribution;
use ifm_core::RequestRecord;
use ifm_core::order::Order as _;

/// Smaller changes are no reason to distrust a mean.
const SHARE_MIN: f64 = 0.10;
/// A third with fewer answers is not compared.
const THIRD_MIN: usize = 20;

pub(super) const CHECK: Check = Check {
    id: "drift",
    title: "latencies did not drift during a level",
    run: Made::ByLevel(make),
};

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let Some(steady) = &level.steady else { return AtLevel::NotApplicable };
    let within = within(steady.window, context.measured(level));
    let third = within.len() / 3;
    let (Some(first), Some(last)) = (within.get(..third), within.get(within.len() - third..))
    else {
        return AtLevel::NotApplicable;
    };
    if third < THIRD_MIN {
        return AtLevel::NotApplicable;
    }
    let ttft = |metrics: RequestMetrics| metrics.ttft_ns.map(|value| value as f64);
    let tpot = |metrics: RequestMetrics| metrics.tpot_ns.or(metrics.tpot_ns_estimated);
    let found: Vec<String> = [change("TTFT", first, last, ttft), change("TPOT", first, last, tpot)]
        .into_iter()
        .flatten()
        .collect();
    if found.is_empty() {
        return AtLevel::Silent;
    }
    AtLevel::Fires(
        Severity::Caution,
        format!("not steady from the first to the last third: {}", found.join(", ")),
    )
}

/// Complete answers that began in the window before the first one that outlasts it, by start: a cut
/// by start leaves out long answers no sooner than short ones.
fn within<'a>(window: Window, measured: &[&'a RequestRecord]) -> Vec<&'a RequestRecord> {
    let outlasts = |record: &&&RequestRecord| record.end_ns > window.end_ns;
    let drain = measured.iter().filter(outlasts).map(|record| record.start_ns).min();
    let until_ns = drain.unwrap_or(window.end_ns).min(window.end_ns);
    let mut within: Vec<&RequestRecord> = measured
        .iter()
        .copied()
        .filter(|record| record.outcome.is_ok())
        .filter(|record| record.start_ns >= window.start_ns && record.start_ns < until_ns)
        .collect();
    within.order_by_key(|record| (record.start_ns, record.seq));
    within
}

fn change(
    name: &str,
    first: &[&RequestRecord],
    last: &[&RequestRecord],
    value: fn(RequestMetrics) -> Option<f64>,
) -> Option<String> {
    let median = |records: &[&RequestRecord]| {
        let values =
            records.iter().filter_map(|record| value(RequestMetrics::derive(record))).collect();
        let median = *Distribution::from_values(values, &[50.0])?.percentile(50.0)?;
        let interval = median.interval?;
        Some((median.value, interval.low?, interval.high?))
    };
    let (before, before_low, before_high) = median(first)?;
    let (after, after_low, after_high) = median(last)?;
    let apart = before_high < after_low || after_high < before_low;
    let change = after / before - 1.0;
    (before > 0.0 && apart && change.abs() > SHARE_MIN).then(|| {
        let sign = if change > 0.0 { "+" } else { "" };
        format!("median {name} {} to {} ms ({sign}{})", ms(before), ms(after), percent(change))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, closed_loop};
    use crate::warning::CheckState;
    use crate::warning::testing::{check, sound_run, state};
    use ifm_core::RunData;

    /// Delays the first token of each request by `step_ms` more than that of the one before.
    fn slow_down(step_ms: f64) -> impl Fn(&mut RunData) {
        move |run| {
            for (index, record) in run.requests.iter_mut().enumerate() {
                let delay = (index as f64 * step_ms * MS as f64) as u64;
                record.events.at_ns[0] = record.start_ns + 50 * MS + delay;
            }
        }
    }

    #[test]
    fn fires_on_a_growing_queue() {
        check("drift", slow_down(0.4), Severity::Caution, "median TTFT");
    }

    #[test]
    fn a_slight_change_is_not_a_drift() {
        let mut run = sound_run();
        slow_down(0.04)(&mut run);
        assert_eq!(state(&run, "drift"), CheckState::Passed);
    }

    #[test]
    fn the_drain_is_not_a_drift() {
        // 24 users, each with five requests; when the first user stops, the others' last answers
        // come in half the time. They are a fifth of all.
        let mut requests = closed_loop((0, 0), (24, 6), 0.0, (100.0, 10.0, 16));
        for (index, record) in requests.iter_mut().enumerate() {
            let late = (index as u64 % 24) * 5 * MS;
            record.start_ns += late;
            record.end_ns += late;
            let is_last = index >= 5 * 24;
            for (place, at) in record.events.at_ns.iter_mut().enumerate() {
                *at = record.start_ns + 100 * MS + place as u64 * if is_last { 5 } else { 10 } * MS;
            }
            if is_last {
                // Each is the last one under way a little longer than the one before.
                record.end_ns = record.events.at_ns[15];
            }
        }
        let run = crate::testing::run(&[24], requests);
        assert_eq!(state(&run, "drift"), CheckState::Passed);
    }

    #[test]
    fn a_short_level_cannot_be_checked() {
        let mut run = sound_run();
        run.requests.truncate(50);
        assert_eq!(state(&run, "drift"), CheckState::NotApplicable);
    }
}
