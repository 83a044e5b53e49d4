//! Answers that stopped in the middle and went on.
//!
//! Not here: answers that never went on (`failures`), and answers that began late: a queue does that too.

use super::{AtLevel, Check, Context, Made, Severity, ms, percent};
use crate::level::LevelSummary;
use crate::request::each_gap;
use ifm_core::Metric;
use ifm_core::words::counted;

/// A gap of this many times the level's usual gap is a stop.
const FACTOR: f64 = 20.0;
/// Shorter stops are not noticeable, nanoseconds.
const NS_MIN: f64 = 250e6;
/// Gaps that an answer needs.
const GAPS_MIN: usize = 8;
/// A larger share of the answers is reported.
const SHARE_MAX: f64 = 0.01;

pub(super) const CHECK: Check =
    Check { id: "stalls", title: "answers had no long stalls", run: Made::ByLevel(make) };

fn make(context: &Context, level: &LevelSummary) -> AtLevel {
    let mut longest = Vec::new();
    for record in context.measured(level).iter().filter(|it| it.outcome.is_ok() && it.streamed) {
        if record.events.len() <= GAPS_MIN {
            continue;
        }
        let mut most = 0;
        each_gap(record, |gap, _| most = most.max(gap));
        longest.push(most);
    }
    // Where most gaps are 0, events come several at a time, and their mean says how far apart.
    let gaps = level.latencies.get(Metric::Itl);
    let usual =
        gaps.and_then(|gaps| gaps.median().filter(|median| *median > 0.0).or(Some(gaps.mean)));
    let Some(usual) = usual.filter(|_| !longest.is_empty()) else { return AtLevel::NotApplicable };
    let limit = (FACTOR * usual).max(NS_MIN);
    let stopped: Vec<u64> = longest.iter().copied().filter(|gap| *gap as f64 > limit).collect();
    let share = stopped.len() as f64 / longest.len() as f64;
    let Some(most) = stopped.iter().max().filter(|_| share > SHARE_MAX) else {
        return AtLevel::Silent;
    };
    let text = format!(
        "{} of {} ({}) stopped for more than {} ms in the middle, at most for {} ms: this \
         dominates the tail of E2E and of the gaps",
        stopped.len(),
        counted(longest.len() as u64, "answer"),
        percent(share),
        ms(limit),
        ms(*most as f64)
    );
    AtLevel::Fires(Severity::Note, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::testing::check;
    use ifm_core::RunData;

    fn stop(run: &mut RunData, answers: usize, ns: u64) {
        for record in run.requests.iter_mut().take(answers) {
            record.events.at_ns.iter_mut().skip(8).for_each(|at| *at += ns);
            record.end_ns += ns;
        }
    }

    #[test]
    fn notes_answers_that_stop() {
        let corrupt = |run: &mut RunData| stop(run, 6, 990_000_000);
        check(
            "stalls",
            corrupt,
            Severity::Note,
            "6 of 120 answers (5.0 %) stopped for more than 250",
        );
    }

    #[test]
    fn one_in_a_hundred_and_short_ones_are_let_pass() {
        for (answers, ns) in [(1, 990_000_000), (60, 200_000_000)] {
            let mut run = crate::warning::testing::sound_run();
            stop(&mut run, answers, ns);
            let summary = crate::summarize(&run);
            let found = summary.checks.iter().find(|check| check.id == "stalls").unwrap();
            assert!(found.is_applicable && found.warnings.is_empty(), "{:?}", found.warnings);
        }
    }
}
