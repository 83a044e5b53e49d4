//! Sessions that did not come to their end.
//!
//! One rule is that of InferenceX for agents: a session whose context overflows ends, and more than 1 %
//! of such sessions make a run invalid. That requests failed is said by
//! `failures`: how many sessions that ended is a note. Not here: single requests.

use super::{AtLevel, Check, Context, Made, Severity, percent};
use crate::level::LevelSummary;
use ifm_core::SessionEnd;

/// Above this share of sessions that a full context ended, the level does not show what it was meant
/// to show. Source: the rules of InferenceX for agentic traces.
const OVERFLOW_SHARE_MAX: f64 = 0.01;
/// Above this share of sessions that the level's end cut off, those that are complete are the short
/// ones: as for requests, see `cut_off`.
const CUT_SHARE_MAX: f64 = 0.05;

pub(super) const CHECK: Check =
    Check { id: "sessions", title: "conversations were complete", run: Made::ByLevel(make) };

fn make(_: &Context, level: &LevelSummary) -> AtLevel {
    let Some(sessions) = level.sessions.as_deref() else { return AtLevel::NotApplicable };
    let ended = sessions.ended_by_themselves();
    let known: u64 = sessions.ends.iter().map(|(_, count)| count).sum();
    // Runs before format 1.3 hold of most sessions no end.
    if known == 0 || known < sessions.begun() {
        return AtLevel::NotApplicable;
    }
    let share = |end| sessions.ended(end) as f64 / ended.max(1) as f64;
    let cut = sessions.ended(SessionEnd::CutOff);
    let cut_share = cut as f64 / known as f64;
    let cut = (cut_share > CUT_SHARE_MAX).then(|| {
        format!(
            "{cut} of {known} sessions ({}) were cut off by the end of the level, the long ones \
             first: durations are too short (--sessions ends a level after whole ones)",
            percent(cut_share)
        )
    });
    let said = |end, words: &str| {
        let n = sessions.ended(end);
        (n > 0).then(|| format!("{n} of {ended} sessions ({}) {words}", percent(share(end))))
    };
    let found: Vec<String> = [
        said(SessionEnd::Overflow, "were ended by a full context"),
        said(SessionEnd::EmptyAnswer, "were ended by an empty answer"),
        said(SessionEnd::Failed, "were ended by a request that failed"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.is_empty() {
        return cut.map_or(AtLevel::Silent, |cut| AtLevel::Fires(Severity::Caution, cut));
    }
    let others = sessions.ended(SessionEnd::Overflow) + sessions.ended(SessionEnd::EmptyAnswer);
    let severity = match others {
        _ if share(SessionEnd::Overflow) > OVERFLOW_SHARE_MAX => Severity::Invalid,
        // That requests failed is the caution of another check.
        0 if cut.is_none() => Severity::Note,
        _ => Severity::Caution,
    };
    let words = "later turns, which have the longest prompts, are missing";
    let cut = cut.map(|cut| format!("; {cut}")).unwrap_or_default();
    AtLevel::Fires(severity, format!("{}: {words}{cut}", found.join(", ")))
}

#[cfg(test)]
mod tests {
    use crate::testing::{conversations, run};
    use crate::warning::CheckState;
    use crate::warning::testing::state;
    use ifm_core::{EndedSession, Outcome, RunData, SessionEnd};

    /// 200 sessions of two users, of which this many overflowed.
    fn sessions(overflowed: u32) -> RunData {
        let mut run = run(&[2], conversations((0, 0), (2, 100), 2, 0.0, 0.0));
        let ended = (0..overflowed).map(|session| EndedSession {
            session,
            level: 0,
            end: SessionEnd::Overflow,
        });
        run.manifest.workload.as_mut().expect("a workload").ended_sessions = ended.collect();
        run
    }

    #[test]
    fn one_overflow_in_a_hundred_is_a_caution_and_more_are_too_many() {
        assert_eq!(state(&sessions(0), "sessions"), CheckState::Passed);
        assert_eq!(state(&sessions(2), "sessions"), CheckState::Caution);
        assert_eq!(state(&sessions(3), "sessions"), CheckState::Invalid);
    }

    #[test]
    fn counts_sessions_that_sent_nothing() {
        let mut never = sessions(0);
        let ended = &mut never.manifest.workload.as_mut().expect("a workload").ended_sessions;
        let end = SessionEnd::Overflow;
        ended.extend((1000..1003).map(|session| EndedSession { session, level: 0, end }));
        assert_eq!(state(&never, "sessions"), CheckState::Invalid);
        let level = crate::summarize(&never).levels.remove(0);
        assert_eq!(level.sessions.map(|it| (it.begun(), it.never_sent)), Some((203, 3)));
    }

    #[test]
    fn many_that_the_end_cut_off_make_durations_short() {
        let mut cut = sessions(0);
        let last = |record: &ifm_core::RequestRecord| record.turn == Some(1);
        cut.requests.retain(|record| !(last(record) && record.session < Some(9)));
        assert_eq!(state(&cut, "sessions"), CheckState::Passed);
        cut.requests.retain(|record| !(last(record) && record.session < Some(11)));
        assert_eq!(state(&cut, "sessions"), CheckState::Caution);
    }

    #[test]
    fn a_failed_session_is_a_note_and_single_requests_are_not_checked() {
        let mut failed = sessions(0);
        failed.requests[9].outcome = Outcome::HttpError;
        let checks = crate::summarize(&failed).checks;
        let check = checks.iter().find(|check| check.id == "sessions").expect("a check");
        assert_eq!(check.state(), CheckState::Passed);
        assert!(check.warnings[0].text.contains("1 of 200 sessions (0.5 %)"), "{check:?}");
        let alone = crate::warning::testing::sound_run();
        assert_eq!(state(&alone, "sessions"), CheckState::NotApplicable);
    }
}
