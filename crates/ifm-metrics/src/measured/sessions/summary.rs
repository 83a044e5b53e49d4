//! All sessions of a level as numbers: how many ended how, how long they took, what a cache knew.
//!
//! Durations are over complete sessions alone: one that was cut off or failed early would be short
//! for the wrong reason. Not here: one session, see [`Session`].

use super::{KnownPart, Session};
use crate::stat::Distribution;
use ifm_core::{EndedSession, SessionEnd};
use std::collections::BTreeSet;

const NS_PER_HOUR: f64 = 3_600e9;

/// The sessions of a level.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionsSummary {
    /// Each of them that sent something, in the order in which they began. Never empty.
    pub each: Vec<Session>,
    /// Those that sent nothing, because their first prompt was too long.
    pub never_sent: u64,
    /// How many ended in each way that occurred, in the order of [`SessionEnd`].
    pub ends: Vec<(SessionEnd, u64)>,
    /// First start to last end of complete sessions, nanoseconds.
    pub duration_ns: Option<Distribution>,
    /// The part of that time in which no request was under way, nanoseconds.
    pub waiting_ns: Option<Distribution>,
    /// Complete sessions per hour of the time from the first start to the last end of any; absent
    /// where none was complete.
    pub per_hour: Option<f64>,
    /// What a cache that forgets nothing would have known of all prompts.
    pub ideal: KnownPart,
    /// The same if it finds prompts again and no answers of the server: see [`Session`].
    pub ideal_of_prompts: KnownPart,
    /// The value of `ideal` in whole blocks of the server's cache; empty if their size is not
    /// reported.
    pub ideal_in_blocks: KnownPart,
    /// Tokens of such a block.
    pub block_tokens: Option<u32>,
    /// Tokens from the server's cache, as it reported them.
    pub told: KnownPart,
}

impl SessionsSummary {
    /// Absent if requests are independent. `ended` are the sessions of the level of which no
    /// request shows how they ended.
    pub fn of(
        each: Vec<Session>,
        ended: &[EndedSession],
        percentiles: &[f64],
        block_tokens: Option<u32>,
    ) -> Option<SessionsSummary> {
        let first_ns = each.iter().map(|session| session.start_ns).min()?;
        let last_ns = each.iter().map(|session| session.end_ns).max()?;
        let sent: BTreeSet<u32> = each.iter().map(|session| session.session).collect();
        let unsent = || ended.iter().filter(|ended| !sent.contains(&ended.session));
        let count = |end| {
            let sent = each.iter().filter(|session| session.end == Some(end)).count();
            (sent + unsent().filter(|ended| ended.end == end).count()) as u64
        };
        let ends = SessionEnd::ALL.into_iter().map(|end| (end, count(end)));
        let complete = || each.iter().filter(|session| session.is_complete());
        let times = |time: fn(&Session) -> u64| {
            Distribution::from_values(complete().map(|one| time(one) as f64).collect(), percentiles)
        };
        let hours = last_ns.saturating_sub(first_ns) as f64 / NS_PER_HOUR;
        let n = complete().count();
        let sum = |part: fn(&Session) -> KnownPart| {
            each.iter().map(part).fold(KnownPart::default(), KnownPart::and)
        };
        Some(SessionsSummary {
            never_sent: unsent().count() as u64,
            ends: ends.filter(|(_, count)| *count > 0).collect(),
            duration_ns: times(Session::duration_ns),
            waiting_ns: times(Session::waiting_ns),
            per_hour: (n > 0 && hours > 0.0).then(|| n as f64 / hours),
            ideal: sum(|session| session.ideal),
            ideal_of_prompts: sum(|session| session.ideal_of_prompts),
            ideal_in_blocks: sum(|session| session.ideal_in_blocks),
            block_tokens,
            told: sum(|session| session.told),
            each,
        })
    }

    /// Sessions that were begun.
    pub fn begun(&self) -> u64 {
        self.each.len() as u64 + self.never_sent
    }

    /// How many ended in one way.
    pub fn ended(&self, end: SessionEnd) -> u64 {
        self.ends.iter().find(|(of, _)| *of == end).map_or(0, |(_, count)| *count)
    }

    /// Sessions of which every turn has its answer.
    pub fn complete(&self) -> u64 {
        self.ended(SessionEnd::Complete)
    }

    /// Sessions that ended by themselves: all whose end is known, but those that the level cut off.
    pub fn ended_by_themselves(&self) -> u64 {
        let all: u64 = self.ends.iter().map(|(_, count)| count).sum();
        all - self.ended(SessionEnd::CutOff)
    }

    /// Complete sessions over those that ended by themselves, 0 to 1; absent if none did.
    pub fn ok_share(&self) -> Option<f64> {
        let ended = self.ended_by_themselves();
        (ended > 0).then(|| self.complete() as f64 / ended as f64)
    }

    /// For each complete session with cache counts from the server, the share of prompt tokens that
    /// came from no cache, 0 to 1.
    pub fn uncached(&self) -> Vec<f64> {
        let complete = self.each.iter().filter(|session| session.is_complete());
        complete.filter_map(|session| Some(1.0 - session.told.share()?)).collect()
    }

    /// Turns that were sent, over all sessions.
    pub fn turns(&self) -> u64 {
        self.each.iter().map(|session| session.sent).sum()
    }

    /// Turns that failed.
    pub fn failed_turns(&self) -> u64 {
        self.each.iter().map(|session| session.failed).sum()
    }

    /// Sessions in which at least one turn failed.
    pub fn with_failures(&self) -> u64 {
        self.each.iter().filter(|session| session.failed > 0).count() as u64
    }

    /// Agents other than those that began a session, that sent something.
    pub fn sub_agents(&self) -> u64 {
        self.each.iter().map(|session| u64::from(session.agents.saturating_sub(1))).sum()
    }

    /// Mean over complete sessions of what each has; absent where one does not tell it.
    fn mean(&self, value: impl Fn(&Session) -> Option<f64>) -> Option<f64> {
        let complete = self.each.iter().filter(|session| session.is_complete());
        let values: Vec<f64> = complete.map(value).collect::<Option<_>>()?;
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Mean turns of a complete session.
    pub fn turns_mean(&self) -> Option<f64> {
        self.mean(|session| Some(session.sent as f64))
    }

    /// Mean prompt tokens of a complete session, over all its turns.
    pub fn prompt_mean(&self) -> Option<f64> {
        self.mean(|session| session.prompt_tokens.map(|tokens| tokens as f64))
    }

    /// Mean output tokens of a complete session, over all its turns.
    pub fn output_mean(&self) -> Option<f64> {
        self.mean(|session| session.output_tokens.map(|tokens| tokens as f64))
    }

    /// Share of the time of complete sessions in which no request was under way, 0 to 1.
    pub fn waiting_share(&self) -> Option<f64> {
        let (waiting, all) = (self.waiting_ns.as_ref()?.mean, self.duration_ns.as_ref()?.mean);
        (all > 0.0).then(|| waiting / all)
    }
}
