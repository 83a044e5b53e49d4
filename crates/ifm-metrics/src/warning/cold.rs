//! Levels that are worse than the next larger load: mostly the first one, when something was cold.

use super::{Check, Context, Finding, Made, Severity, ms};
use crate::cold::is_break;
use crate::level::{LevelSummary, Load};
use crate::stat::Distribution;
use ifm_core::Metric;
use ifm_core::words::counted;
use std::mem::discriminant;

/// Complete answers that both levels need: a percentile of fewer jumps by itself.
const ANSWERS_MIN: u64 = 20;
/// Times below this are not compared with each other: they are the client's and the host's own.
const NS_MIN: f64 = 1e6;

pub(super) const CHECK: Check = Check {
    id: "cold_level",
    title: "no load was worse than the next larger one",
    run: Made::ForRun(make),
};

/// The levels that were worse than the next larger load, in the order in which they ran: each
/// deserves to be measured again.
pub fn cold_levels(levels: &[LevelSummary]) -> Vec<u16> {
    let mut cold: Vec<u16> = pairs(levels)
        .iter()
        .filter(|pair| !worse(pair).is_empty())
        .map(|pair| pair.level.level)
        .collect();
    cold.sort_unstable();
    cold
}

fn make(context: &Context) -> Option<Vec<Finding>> {
    let pairs = pairs(context.levels);
    let again = context.levels.iter().filter_map(|level| measured_again(context, level));
    let mut findings: Vec<Finding> = again.collect();
    if pairs.is_empty() && findings.is_empty() {
        return None;
    }
    for pair in &pairs {
        let worse = worse(pair);
        let ran_first = pair.levels.iter().all(|other| pair.level.level < other.level);
        let first = if ran_first { "; it ran first" } else { "" };
        let advice = match replaces_another(context, pair.level) {
            true => ", and was so when it was measured again",
            false => ": measure that level again",
        };
        if !worse.is_empty() {
            let text = format!("{}{first}{advice}", worse.join(", "));
            findings.push((Severity::Caution, text));
        }
    }
    Some(findings)
}

/// Whether a level replaces another one.
fn replaces_another(context: &Context, level: &LevelSummary) -> bool {
    context.levels.iter().any(|other| other.measured_again == Some(level.level))
}

/// What a level showed at first that was measured again.
fn measured_again(context: &Context, level: &LevelSummary) -> Option<Finding> {
    let second = level.measured_again?;
    let second = context.levels.iter().find(|other| other.level == second)?;
    let median = |level: &LevelSummary, pick: Pick| pick(level)?.median();
    let figures =
        [("TTFT p50", TTFT), ("TPOT p50", TPOT)].into_iter().filter_map(|(name, pick)| {
            let (before, after) = (median(level, pick)?, median(second, pick)?);
            Some(format!("{name} {} ms at first, {} ms then", ms(before), ms(after)))
        });
    let figures: Vec<String> = figures.collect();
    let load = words(level.load()?);
    Some((
        Severity::Note,
        format!(
            "{load} was worse than a larger load and was measured again; the second measurement \
             counts: {}",
            figures.join("; ")
        ),
    ))
}

type Pick = fn(&LevelSummary) -> Option<&Distribution>;
const TTFT: Pick = |level| level.latencies.get(Metric::Ttft);
const TPOT: Pick = |level| level.latencies.tpot().map(|(tpot, _)| tpot);

/// A level, and the levels of the next larger load.
struct Pair<'a> {
    load: Load,
    level: &'a LevelSummary,
    larger: Load,
    /// At least one.
    levels: Vec<&'a LevelSummary>,
}

/// Each level with the next larger load of its kind, where both have answers enough.
fn pairs(levels: &[LevelSummary]) -> Vec<Pair<'_>> {
    let held: Vec<(Load, &LevelSummary)> = levels
        .iter()
        .filter(|level| level.counts.ok >= ANSWERS_MIN)
        .filter_map(|level| Some((level.held_load()?, level)))
        .collect();
    let next = |load: Load| {
        let same_kind = |other: &Load| discriminant(other) == discriminant(&load);
        let larger = held.iter().map(|(other, _)| *other).filter(same_kind);
        larger
            .filter(|other| other.value() > load.value())
            .min_by(|a, b| a.value().total_cmp(&b.value()))
    };
    let pairs = held.iter().filter_map(|&(load, level)| {
        let larger = next(load)?;
        let of_larger = held.iter().filter(|(other, _)| *other == larger);
        let levels = of_larger.map(|(_, level)| *level).collect();
        Some(Pair { load, level, larger, levels })
    });
    pairs.collect()
}

/// What is worse at the smaller of two loads, as text.
fn worse(pair: &Pair) -> Vec<String> {
    let all = [
        compare("TTFT p50", pair, 50.0, TTFT),
        compare("TTFT p95", pair, 95.0, TTFT),
        compare("TPOT p50", pair, 50.0, TPOT),
    ];
    all.into_iter().flatten().collect()
}

/// What is worse at the smaller load than in any repeat of the larger one, as text.
fn compare(name: &str, pair: &Pair, percentile: f64, pick: Pick) -> Option<String> {
    let value = |level: &LevelSummary| Some(pick(level)?.percentile(percentile)?.value);
    let smaller = value(pair.level)?;
    let larger = pair.levels.iter().filter_map(|level| value(level)).max_by(f64::total_cmp)?;
    (is_break(smaller, larger) && smaller > NS_MIN).then(|| {
        format!(
            "{name} of {} ({} ms) is worse than of {} ({} ms)",
            words(pair.load),
            ms(smaller),
            words(pair.larger),
            ms(larger)
        )
    })
}

/// A load as text.
pub fn words(load: Load) -> String {
    match load {
        Load::Users(users) => counted(users.into(), "user"),
        Load::ReqPerS(rate) => format!("{rate:.2} req/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn one_repeat_that_was_cold_is_found_among_the_others() {
        // 1, 2, 2 and 1 users: only the first was slow.
        let ttft_ms = [300.0, 110.0, 120.0, 100.0];
        let users = [1, 2, 2, 1];
        let mut requests = Vec::new();
        for (level, (users, ttft_ms)) in users.into_iter().zip(ttft_ms).enumerate() {
            let start = (requests.len() as u32, level as u16);
            requests.extend(closed_loop(start, (users, 40), 0.0, (ttft_ms, 10.0, 16)));
        }
        assert_eq!(cold_levels(&crate::summarize(&run(&users, requests)).levels), [0]);
    }

    #[test]
    fn reports_a_replaced_level_that_no_longer_counts() {
        // 1 and 2 users, then 1 again, which replaces the first.
        let again = |third_ms: f64| {
            let mut requests = closed_loop((0, 0), (1, 40), 0.0, (300.0, 10.0, 16));
            requests.extend(closed_loop((40, 1), (2, 40), 0.0, (110.0, 10.0, 16)));
            requests.extend(closed_loop((120, 2), (1, 40), 0.0, (third_ms, 10.0, 16)));
            let mut run = run(&[1, 2, 1], requests);
            assert_eq!(cold_levels(&crate::summarize(&run).levels)[0], 0);
            run.manifest.levels[0].measured_again = Some(2);
            run
        };
        let run = again(100.0);
        let summary = crate::summarize(&run);
        assert_eq!(cold_levels(&summary.levels), Vec::<u16>::new());
        assert_eq!(state(&run, "cold_level"), CheckState::Passed);
        let note = summary.warnings.iter().find(|warning| warning.check == "cold_level");
        let note = note.expect("the first result is reported");
        assert!(note.text.contains("TTFT p50 300.0 ms at first, 100.0 ms then"), "{}", note.text);
        // It is not a repeat, and no part of an answer.
        assert!(summary.repeats.is_empty());
        let answers = summary.answers.as_ref().expect("levels");
        let users = Load::Users;
        assert_eq!((answers.users.load, answers.at.repeats), (Some(users(2)), 1));
        // The same again is the server's, not the cold.
        let run = again(300.0);
        assert_eq!(state(&run, "cold_level"), CheckState::Caution);
        let summary = crate::summarize(&run);
        let texts: Vec<&str> = summary
            .warnings
            .iter()
            .filter(|warning| warning.check == "cold_level")
            .map(|warning| warning.text.as_str())
            .collect();
        assert!(texts[1].contains("was so when it was measured again"), "{texts:?}");
    }

    #[test]
    fn one_level_has_no_neighbour() {
        let run = run(&[2], closed_loop((0, 0), (2, 60), 0.0, (100.0, 10.0, 16)));
        assert_eq!(state(&run, "cold_level"), CheckState::NotApplicable);
    }
}
