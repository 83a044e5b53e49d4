//! Levels that are worse than the next larger load: mostly the first one, when something was cold.

use super::{Check, Context, Finding, Made, Severity};
use crate::level::{LevelSummary, Load};
use crate::stat::Distribution;

/// A smaller load that is worse by more than this factor was not measured under the same
/// conditions.
const FACTOR_MAX: f64 = 2.0;
/// Complete answers that both levels need: a percentile of fewer jumps by itself.
const ANSWERS_MIN: u64 = 20;
/// Times below this are not held against each other: they are the client's and the host's own.
const NS_MIN: f64 = 1e6;

pub(super) const CHECK: Check = Check {
    id: "cold_level",
    title: "no load was worse than the next larger one",
    run: Made::ForRun(make),
};

fn make(context: &Context) -> Option<Vec<Finding>> {
    let mut by_load: Vec<(Load, &LevelSummary)> =
        context.levels.iter().filter_map(|level| Some((level.load()?, level))).collect();
    by_load.sort_by(|a, b| a.0.value().total_cmp(&b.0.value()));
    let comparable = |pair: &&[(Load, &LevelSummary)]| {
        let same_kind = matches!(
            (pair[0].0, pair[1].0),
            (Load::Users(_), Load::Users(_)) | (Load::ReqPerS(_), Load::ReqPerS(_))
        );
        same_kind
            && pair[0].0.value() < pair[1].0.value()
            && pair.iter().all(|(_, level)| level.counts.ok >= ANSWERS_MIN)
    };
    let pairs: Vec<_> = by_load.windows(2).filter(comparable).collect();
    if pairs.is_empty() {
        return None;
    }
    let findings = pairs.into_iter().filter_map(|pair| {
        let worse = [
            compare("TTFT p50", pair, 50.0, |level| level.latencies.ttft_ns.as_ref()),
            compare("TTFT p95", pair, 95.0, |level| level.latencies.ttft_ns.as_ref()),
            compare("TPOT p50", pair, 50.0, |level| level.latencies.tpot_ns.as_ref()),
        ];
        let worse: Vec<String> = worse.into_iter().flatten().collect();
        let first = if pair[0].1.level < pair[1].1.level { "; it ran first" } else { "" };
        (!worse.is_empty()).then(|| {
            (Severity::Caution, format!("{}{first}: measure that level again", worse.join(", ")))
        })
    });
    Some(findings.collect())
}

/// What is worse at the smaller load, in words.
fn compare(
    name: &str,
    pair: &[(Load, &LevelSummary)],
    percentile: f64,
    pick: fn(&LevelSummary) -> Option<&Distribution>,
) -> Option<String> {
    let value = |level: &LevelSummary| Some(pick(level)?.percentile(percentile)?.value);
    let (smaller, larger) = (value(pair[0].1)?, value(pair[1].1)?);
    (smaller > FACTOR_MAX * larger && smaller > NS_MIN).then(|| {
        format!(
            "{name} of {} ({:.1} ms) is worse than of {} ({:.1} ms)",
            words(pair[0].0),
            smaller / 1e6,
            words(pair[1].0),
            larger / 1e6
        )
    })
}

fn words(load: Load) -> String {
    match load {
        Load::Users(1) => "1 user".to_owned(),
        Load::Users(users) => format!("{users} users"),
        Load::ReqPerS(rate) => format!("{rate:.2} req/s"),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{closed_loop, run};
    use crate::warning::CheckState;
    use crate::warning::testing::state;
    use ifm_core::RunData;

    /// Levels of 1 and 2 users with these TTFT, milliseconds.
    fn two_levels(first_ms: f64, second_ms: f64) -> RunData {
        let mut requests = closed_loop((0, 0), (1, 40), 0.0, (first_ms, 10.0, 16));
        requests.extend(closed_loop((40, 1), (2, 40), 0.0, (second_ms, 10.0, 16)));
        run(&[1, 2], requests)
    }

    #[test]
    fn fires_when_the_smaller_load_is_far_worse() {
        assert_eq!(state(&two_levels(100.0, 110.0), "cold_level"), CheckState::Passed);
        assert_eq!(state(&two_levels(100.0, 60.0), "cold_level"), CheckState::Passed);
        let run = two_levels(300.0, 110.0);
        assert_eq!(state(&run, "cold_level"), CheckState::Caution);
        let summary = crate::summarize(&run);
        let found = summary.warnings.iter().find(|warning| warning.check == "cold_level");
        let text = &found.expect("it fires").text;
        assert!(
            text.contains("TTFT p50 of 1 user (300.0 ms)") && text.contains("ran first"),
            "{text}"
        );
    }

    #[test]
    fn one_level_has_no_neighbour() {
        let run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        assert_eq!(state(&run, "cold_level"), CheckState::NotApplicable);
    }
}
