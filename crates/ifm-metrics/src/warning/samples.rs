//! Levels with few answers.

use super::{AtLevel, Check, Context, Made, Severity};
use crate::level::LevelSummary;
use crate::stat::quantile::is_enough;

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
    if !is_enough(ok, 99.0) {
        let text = format!("P99 is approximate: {ok} requests, 1000 needed");
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
        check("samples", |_| {}, Severity::Note, "P99 is approximate: 120 requests");
        let enough = run(&[4], closed_loop((0, 0), (4, 250), 0.0, (10.0, 1.0, 2)));
        let summary = crate::summarize(&enough);
        assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    }
}
