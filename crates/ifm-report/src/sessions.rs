//! Conversations as wholes, in words and as rows that every format shows alike.
//!
//! Not here: their turns (`parts`), charts (`kind/sweep/sessions`), and JSON (`json/session`).

use crate::format::{ABSENT, count, marked_span, number, percent, span};
use ifm_core::SessionEnd;
use ifm_metrics::LevelSummary;
use ifm_metrics::level::{KnownPart, SessionsSummary};

/// How a session ended, in words.
pub(crate) fn end_words(end: SessionEnd) -> &'static str {
    match end {
        SessionEnd::Complete => "complete",
        SessionEnd::Failed => "failed",
        SessionEnd::Overflow => "ended by a full context",
        SessionEnd::EmptyAnswer => "ended by an empty answer",
        SessionEnd::CutOff => "cut off by the end of the level",
    }
}

/// `24 begun: 22 complete, 1 failed, 1 cut off by the end of the level`.
pub(crate) fn ends(sessions: &SessionsSummary) -> String {
    let known: u64 = sessions.ends.iter().map(|(_, count)| count).sum();
    let mut parts: Vec<String> = sessions
        .ends
        .iter()
        .map(|(end, of)| format!("{} {}", count(*of), end_words(*end)))
        .collect();
    if known < sessions.begun() {
        parts.push(format!("{} whose end is not known", count(sessions.begun() - known)));
    }
    format!("{} begun: {}", count(sessions.begun()), parts.join(", "))
}

/// Differences of the ideal share below this are not shown.
const TOLD_MIN: f64 = 0.005;

/// What an ideal cache would know: `63% with an ideal cache (62% in whole blocks of 16 tokens; 58% if it
/// finds only prompts again, and no answers)`.
fn ideal(sessions: &SessionsSummary) -> Option<String> {
    let whole = sessions.ideal.share()?;
    let share = |part: KnownPart| part.share().filter(|_| part.of == sessions.ideal.of);
    let blocks = share(sessions.ideal_in_blocks).unwrap_or(whole);
    let less = |part: KnownPart, than: f64| {
        let share = share(part)?;
        (than - share >= TOLD_MIN).then(|| percent(share))
    };
    let in_blocks = less(sessions.ideal_in_blocks, whole).zip(sessions.block_tokens);
    let told: Vec<String> = [
        in_blocks.map(|(share, size)| format!("{share} in whole blocks of {size} tokens")),
        less(sessions.ideal_of_prompts, blocks)
            .map(|share| format!("{share} if it finds only prompts again, and no answers")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let more = if told.is_empty() { String::new() } else { format!(" ({})", told.join("; ")) };
    Some(format!("{} with an ideal cache{more}", percent(whole)))
}

/// What a cache knew of the prompts, by everybody who says: the workload's arithmetic, the answers,
/// and the server's own counter, which is over all prompts where the others may not be.
pub(crate) fn cache(level: &LevelSummary) -> Option<String> {
    let sessions = level.sessions.as_ref()?;
    let counter = level.server.as_ref().and_then(|server| server.cache_share());
    let is_of_some = level.tokens.prompt_total.is_some_and(|all| all > sessions.told.of);
    let over = if is_of_some { " over all prompts" } else { "" };
    let parts: Vec<String> = [
        ideal(sessions),
        sessions.told.share().map(|share| format!("{} by the answers", percent(share))),
        counter.map(|share| format!("{} by the server's counter{over}", percent(share))),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// The lines about the sessions of one level, each with a name; empty where requests are
/// independent.
pub(crate) fn facts(level: &LevelSummary) -> Vec<(&'static str, String)> {
    let Some(sessions) = level.sessions.as_deref() else { return Vec::new() };
    let mut lines = vec![("sessions", ends(sessions))];
    if let Some(duration) = &sessions.duration_ns {
        let at = |p: f64| {
            let found = duration.percentile(p)?;
            Some(format!("p{p} {}", marked_span(found)))
        };
        let mut parts: Vec<String> = [50.0, 90.0, 99.0].into_iter().filter_map(at).collect();
        parts.push(format!("max {}", span(duration.max)));
        parts.extend(
            sessions
                .waiting_share()
                .map(|share| format!("{} of it in no request (tools, pauses)", percent(share))),
        );
        parts.extend(sessions.per_hour.map(|rate| format!("{} complete per hour", number(rate))));
        lines.push(("", parts.join(" · ")));
    }
    let each: Vec<String> = [
        sessions.turns_mean().map(|mean| format!("{} turns", number(mean))),
        sessions.prompt_mean().map(|mean| format!("{} prompt tok", number(mean))),
        sessions.output_mean().map(|mean| format!("{} output tok", number(mean))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !each.is_empty() {
        lines.push(("", format!("a complete one has on average {}", each.join(", "))));
    }
    if sessions.failed_turns() > 0 {
        lines.push(("", failures(sessions)));
    }
    if sessions.sub_agents() > 0 {
        lines.push(("", format!("{} sub-agents", count(sessions.sub_agents()))));
    }
    lines.extend(cache(level).map(|line| ("cached", line)));
    lines
}

/// How failures spread over sessions.
fn failures(sessions: &SessionsSummary) -> String {
    format!(
        "{} of {} turns failed, in {} of {} sessions",
        count(sessions.failed_turns()),
        count(sessions.turns()),
        count(sessions.with_failures()),
        count(sessions.begun())
    )
}

/// Heads of the table over levels, except the load.
pub(crate) const HEADS: [&str; 11] = [
    "begun",
    "complete",
    "failed",
    "other",
    "p50",
    "p90",
    "p99",
    "per hour",
    "ideal hits",
    "told hits",
    "server hits",
];

/// One row of that table; absent where requests are independent.
pub(crate) fn row(level: &LevelSummary) -> Option<[String; 11]> {
    let sessions = level.sessions.as_deref()?;
    let share = |share: Option<f64>| share.map_or_else(|| ABSENT.to_owned(), percent);
    let time = |p: f64| {
        let found = sessions.duration_ns.as_ref().and_then(|duration| duration.percentile(p));
        found.map_or_else(|| ABSENT.to_owned(), marked_span)
    };
    let failed = sessions.ended(SessionEnd::Failed);
    let other = sessions.begun() - sessions.complete() - failed;
    Some([
        count(sessions.begun()),
        count(sessions.complete()),
        count(failed),
        count(other),
        time(50.0),
        time(90.0),
        time(99.0),
        sessions.per_hour.map_or_else(|| ABSENT.to_owned(), number),
        share(sessions.ideal.share()),
        share(sessions.told.share()),
        share(level.server.as_ref().and_then(|server| server.cache_share())),
    ])
}

/// What the table holds.
pub(crate) const CAPTION: &str = "Times are of complete sessions, from the first request to the \
    last answer. Other: cut off by the end of the level, ended by a full context or an empty \
    answer, or of unknown end. Hits are shares of prompt tokens: of an ideal \
    cache, by the workload's arithmetic; as reported in the answers; by the server's own counter.";

#[cfg(test)]
mod tests {
    use super::{cache, facts, row};
    use ifm_core::facts::ServerProcess;
    use ifm_core::series::Signal;
    use ifm_core::{Facts, Outcome};
    use ifm_metrics::testing::{conversations, run, telemetry};

    #[test]
    fn sessions_are_told_with_their_cache_beside_each_other() {
        let mut run = run(&[2], conversations((0, 0), (2, 12), 3, 500.0, 100.0));
        run.requests[4].outcome = Outcome::HttpError;
        run.series = vec![
            telemetry(Signal::ServerCacheQueries, "x", (0.0, 60.0), &|at_s| 100.0 * at_s),
            telemetry(Signal::ServerCacheHits, "x", (0.0, 60.0), &|at_s| 25.0 * at_s),
        ];
        let summary = ifm_metrics::summarize(&run);
        let level = &summary.levels[0];
        let text: Vec<String> =
            facts(level).into_iter().map(|(name, line)| format!("{name}|{line}")).collect();
        insta::assert_snapshot!(text.join("\n"));
        assert!(cache(level).is_some_and(|line| line.contains("25% by the server's counter")));
        // Of 80 known tokens two blocks of 32 are whole.
        let notes = [("block_size".to_owned(), "32".to_owned())].into();
        let server = Some(ServerProcess { notes, ..ServerProcess::default() });
        run.manifest.facts = Some(Facts { server, ..Facts::default() });
        let told = ifm_metrics::summarize(&run);
        let line = cache(&told.levels[0]).expect("known");
        assert!(line.contains("an ideal cache (42% in whole blocks of 32 tokens)"), "{line}");
        let row = row(level).expect("conversations");
        assert_eq!(row[..4], ["24", "23", "1", "0"].map(str::to_owned));
    }
}
