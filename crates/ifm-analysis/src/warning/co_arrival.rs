//! Events that share their read, and so their stamp, with another one.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use crate::stat::Distribution;

/// Above this share, zero gaps show up in the percentiles that are printed.
const SHARE_MAX: f64 = 0.05;

pub(super) const CHECK: Check =
    Check { id: "co_arrival", title: "events came one by one", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    match level.tokens.co_arrived_share() {
        None => AtLevel::NotApplicable,
        Some(share) if share <= SHARE_MAX => AtLevel::Silent,
        Some(share) if has_no_median(level) => AtLevel::Fires(
            Severity::Caution,
            format!(
                "{} of the events came in one read with another, and most gaps count as 0: the \
                 server, or something before it, sends several at a time; TPOT still holds",
                percent(share)
            ),
        ),
        Some(share) => AtLevel::Fires(
            Severity::Note,
            format!(
                "{} of the events came in one read with another: the gaps between them count as 0",
                percent(share)
            ),
        ),
    }
}

/// Whether at least half of the gaps are 0.
fn has_no_median(level: &LevelSummary) -> bool {
    let median = level.latencies.gap_ns.as_ref().and_then(Distribution::median);
    median.is_some_and(|median| median <= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;

    #[test]
    fn notes_events_that_came_together() {
        let spoil = |run: &mut ifm_core::RunData| {
            run.requests.iter_mut().for_each(|record| record.co_arrived_events = 4);
        };
        check("co_arrival", spoil, Severity::Note, "25.0 % of the events");
    }

    #[test]
    fn most_events_together_call_for_caution() {
        let spoil = |run: &mut ifm_core::RunData| {
            for record in &mut run.requests {
                record.co_arrived_events = 16;
                // Four at a time: 12 of 15 gaps are 0.
                let at = record.events.at_ns.clone();
                let batch = |place: usize| at[place / 4 * 4 + 3];
                record.events.at_ns = (0..at.len()).map(batch).collect();
            }
        };
        check("co_arrival", spoil, Severity::Caution, "most gaps count as 0");
    }
}
