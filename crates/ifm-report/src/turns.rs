//! Conversations by turn, as rows of text that every format shows alike.

use crate::format::{ABSENT, number, percent};
use crate::words::marked_span;
use ifm_analysis::LevelSummary;
use ifm_analysis::level::TurnSummary;
use ifm_analysis::stat::Distribution;

/// Heads of the columns; `gap` is what gaps between events may be called.
pub(crate) fn heads(gap: &str) -> [String; 10] {
    [
        "turn".to_owned(),
        "ok/sent".to_owned(),
        "prompt".to_owned(),
        "known".to_owned(),
        "cached".to_owned(),
        "out tok".to_owned(),
        "TTFT p50".to_owned(),
        "TTFT p99".to_owned(),
        format!("{gap} p50"),
        "E2E p50".to_owned(),
    ]
}

/// One row for each turn of a level, the first turn being 1, and those of sub-agents apart; empty
/// where requests stand alone. Known is what a cache that forgets nothing would know of the prompt,
/// cached what the answers say.
pub(crate) fn rows(level: &LevelSummary) -> Vec<[String; 10]> {
    level.turns.iter().map(row).collect()
}

fn row(turn: &TurnSummary) -> [String; 10] {
    let absent = || ABSENT.to_owned();
    let time = |distribution: &Option<Distribution>, p: f64| {
        let found = distribution.as_ref().and_then(|distribution| distribution.percentile(p));
        found.map_or_else(absent, marked_span)
    };
    let mean = |mean: Option<f64>| mean.map_or_else(absent, number);
    [
        format!(
            "{}{}{}",
            if turn.is_of_sub_agents { "sub " } else { "" },
            u32::from(turn.turn) + 1,
            if turn.and_later { "+" } else { "" }
        ),
        format!("{}/{}", turn.ok, turn.sent),
        mean(turn.prompt_mean),
        turn.ideal_share.map_or_else(absent, percent),
        turn.cached_share.map_or_else(absent, percent),
        mean(turn.output_mean),
        time(&turn.ttft_ns, 50.0),
        time(&turn.ttft_ns, 99.0),
        time(&turn.gap_ns, 50.0),
        time(&turn.e2e_ns, 50.0),
    ]
}
