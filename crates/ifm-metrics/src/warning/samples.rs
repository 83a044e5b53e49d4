//! Levels with few answers.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;
use crate::stat::quantile::{is_enough, needed_for};
use ifm_core::Metric;

/// The percentile whose tail the tables show.
const P99: f64 = 99.0;
/// With fewer complete answers, not even a median is worth much.
const ANSWERS_MIN: u64 = 20;

pub(super) const CHECK: Check =
    Check { id: "samples", title: "enough requests were answered", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let ok = level.counts.ok;
    if ok < ANSWERS_MIN {
        let text = match ok {
            0 => "no complete answer".to_owned(),
            1 => "only 1 complete answer".to_owned(),
            _ => format!("only {ok} complete answers: even medians are approximate"),
        };
        return AtLevel::Fires(Severity::Caution, text);
    }
    // Of the answers that latencies are over, without each user's first.
    let n = level.latencies.get(Metric::E2e).map_or(ok, |e2e| e2e.n);
    if !is_enough(n, P99) {
        let needed = needed_for(P99);
        let text = format!("P99 is approximate: fewer than {needed} requests");
        return AtLevel::Fires(Severity::Note, text);
    }
    AtLevel::Silent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_loop, run};
    use crate::warning::testing::check;

    #[test]
    fn counts_the_answers() {
        check("samples", |run| run.requests.truncate(19), Severity::Caution, "only 19 complete");
        let text = "P99 is approximate: fewer than 1000 requests";
        check("samples", |_| {}, Severity::Note, text);
        // Four users begin together, so that latencies are over 996 answers, as the table says.
        let most = run(&[4], closed_loop((0, 0), (4, 250), 0.0, (10.0, 1.0, 2)));
        assert_eq!(crate::summarize(&most).warnings.len(), 1);
        let enough = run(&[4], closed_loop((0, 0), (4, 251), 0.0, (10.0, 1.0, 2)));
        let summary = crate::summarize(&enough);
        assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    }
}
