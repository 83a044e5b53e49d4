//! Events that share their read, and so their stamp, with another one.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use crate::stat::Distribution;
use ifm_core::Metric;

/// Above this share, zero gaps show up in the percentiles that are printed.
const SHARE_MAX: f64 = 0.05;

pub(super) const CHECK: Check =
    Check { id: "co_arrival", title: "events came one by one", run: Made::ByLevel(make) };

/// What buffers streams, and how to turn it off.
const CULPRITS: &str = "Check what is between client and model: HAProxy needs `option http-no-delay`, \
                        nginx `proxy_buffering off`";

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let at_once = level.latencies.tpot_absent.at_once;
    let share = match level.tokens.co_arrived_share() {
        None => return AtLevel::NotApplicable,
        Some(share) if share <= SHARE_MAX && at_once == 0 => return AtLevel::Silent,
        Some(share) => share,
    };
    let events = format!("{} of the events arrived in one read with another", percent(share));
    if !has_no_median(level) && at_once as f64 <= SHARE_MAX * level.counts.ok as f64 {
        return AtLevel::Fires(
            Severity::Note,
            format!("{events}: the gaps between them count as 0{}", unknown(at_once)),
        );
    }
    let head = match (at_once, has_no_median(level)) {
        (_, true) => format!("{events}, and most gaps count as 0"),
        (_, false) => format!("all or nearly all tokens of {at_once} answers arrived in one read"),
    };
    let tpot = match level.latencies.tpot() {
        Some((_, true)) => "; TPOT is estimated without the tokens of the first read",
        Some((_, false)) => "; TPOT leaves out the tokens of the first read",
        None => "",
    };
    AtLevel::Fires(
        Severity::Caution,
        format!(
            "{head}: the server, or something before it, sends several at a time. Whatever holds \
             events back also delays the first token, so TTFT is too long by up to the time of a \
             hold{tpot}{}. Only E2E and E2E per token are valid. {CULPRITS}",
            unknown(at_once)
        ),
    )
}

/// The answers without a time per token.
fn unknown(at_once: u64) -> String {
    match at_once {
        0 => String::new(),
        1 => "; TPOT and tok/s/user of 1 answer are not known".to_owned(),
        answers => format!("; TPOT and tok/s/user of {answers} answers are not known"),
    }
}

/// Whether at least half of the gaps are 0.
fn has_no_median(level: &LevelSummary) -> bool {
    let median = level.latencies.get(Metric::Itl).and_then(Distribution::median);
    median.is_some_and(|median| median <= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;

    #[test]
    fn notes_events_that_came_together() {
        let corrupt = |run: &mut ifm_core::RunData| {
            run.requests.iter_mut().for_each(|record| record.co_arrived_events = 4);
        };
        check("co_arrival", corrupt, Severity::Note, "25.0 % of the events");
    }

    #[test]
    fn most_events_together_call_for_caution() {
        let corrupt = |run: &mut ifm_core::RunData| {
            for record in &mut run.requests {
                record.co_arrived_events = 16;
                // Four at a time: 12 of 15 gaps are 0.
                let at = record.events.at_ns.clone();
                let batch = |place: usize| at[place / 4 * 4 + 3];
                record.events.at_ns = (0..at.len()).map(batch).collect();
            }
        };
        check("co_arrival", corrupt, Severity::Caution, "most gaps count as 0");
        let said = "TTFT is too long by up to the time of a hold; TPOT is estimated without the \
                    tokens of the first read. Only E2E and E2E per token are valid. Check";
        check("co_arrival", corrupt, Severity::Caution, said);
    }

    #[test]
    fn answers_that_came_at_once_have_no_tpot() {
        let corrupt = |run: &mut ifm_core::RunData| {
            for record in run.requests.iter_mut().step_by(2) {
                record.co_arrived_events = 16;
                let last = record.events.at_ns.last().copied().unwrap_or(0);
                record.events.at_ns.fill(last);
            }
        };
        let said = "TPOT and tok/s/user of 59 answers are not known. Only E2E";
        check("co_arrival", corrupt, Severity::Caution, said);
    }
}
