//! Conversations by turn, as rows of text that every format shows alike.

use crate::format::{ABSENT, number, percent};
use crate::words::marked_span;
use ifm_analysis::LevelSummary;
use ifm_analysis::level::TurnSummary;
use ifm_analysis::stat::Distribution;

/// Heads of the columns; `gap` is what gaps between events may be called.
pub(crate) fn heads(gap: &str) -> [String; 9] {
    [
        "turn".to_owned(),
        "ok/sent".to_owned(),
        "prompt tok".to_owned(),
        "cached".to_owned(),
        "out tok".to_owned(),
        "TTFT p50".to_owned(),
        "TTFT p99".to_owned(),
        format!("{gap} p50"),
        "E2E p50".to_owned(),
    ]
}

/// One row for each turn of a level, the first turn being 1; empty where requests stand alone.
pub(crate) fn rows(level: &LevelSummary) -> Vec<[String; 9]> {
    level.turns.iter().map(row).collect()
}

fn row(turn: &TurnSummary) -> [String; 9] {
    let absent = || ABSENT.to_owned();
    let time = |distribution: &Option<Distribution>, p: f64| {
        let found = distribution.as_ref().and_then(|distribution| distribution.percentile(p));
        found.map_or_else(absent, marked_span)
    };
    let mean = |mean: Option<f64>| mean.map_or_else(absent, number);
    [
        format!("{}{}", u32::from(turn.turn) + 1, if turn.and_later { "+" } else { "" }),
        format!("{}/{}", turn.ok, turn.sent),
        mean(turn.prompt_mean),
        turn.cached_share.map_or_else(absent, percent),
        mean(turn.output_mean),
        time(&turn.ttft_ns, 50.0),
        time(&turn.ttft_ns, 99.0),
        time(&turn.gap_ns, 50.0),
        time(&turn.e2e_ns, 50.0),
    ]
}
